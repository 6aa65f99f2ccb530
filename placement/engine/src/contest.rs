//! Contests between two writers of one decision. Berth restores a decision that another program changed, but
//! not for ever: two writers that undo each other's writes load the API server, and the decision never
//! becomes stable. After [`CORRECTIONS`] corrections, Berth does not write the decision any more until a user
//! changes the spec of the demand or the configuration, binds the demand, or restarts Berth, or until the
//! demand has the wanted clusters. A contest also ends when Berth loses the right to decide the demand.

mod undone;

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use berth_apimachinery::write::{Verb, Write};
use berth_apimachinery::{Change, Key, Object, Timestamp};
use berth_dialect_contract::config;
use berth_storage::Source;
use parking_lot::Mutex;
use serde_json::Value;

use crate::bound::{Bind, BindOutcome, Commit, Contest};
use undone::UndoneWrite;

/// Highest number of times that Berth restores a decision after a change by another program.
const CORRECTIONS: u8 = 2;
/// Seconds without a correction after which corrections are counted from zero again.
const ACCEPTED_AFTER: i64 = 600;

/// The last writes and the corrections of each decision, for the detection of contests.
#[derive(Default)]
pub(crate) struct Contests {
    states: Mutex<HashMap<Key, ContestState>>,
    /// The demands whose decisions are being written, with the number of concurrent writes.
    writing: Mutex<HashMap<Key, usize>>,
}

/// The last writes and the corrections of one decision.
struct ContestState {
    /// Hash of the users' input to the last written decision.
    inputs: u64,
    /// The picked clusters of the last written decision, with amounts.
    picks: Vec<(Arc<str>, Option<i64>)>,
    /// The last written objects; `None` for deleted objects.
    last_written: BTreeMap<Key, Option<Arc<Object>>>,
    corrections: u8,
    /// Time of the last correction, or of the first write.
    corrected: Timestamp,
    /// The sentence about the contest, if there is one.
    contest: Option<Arc<str>>,
}

/// Permit to write a decision, with the values to record after the write.
pub(crate) struct WritePermit {
    inputs: u64,
    picks: Vec<(Arc<str>, Option<i64>)>,
    is_correction: bool,
}

impl Contests {
    /// Returns the permit to make the writes of `commit`, which carry out the decision in `bound`. `bind` is
    /// the binding to make.
    ///
    /// # Errors
    /// When the decision is contested.
    pub(crate) fn judge(
        &self,
        bind: &Bind<'_>,
        bound: &BindOutcome,
        commit: &Commit,
        source: &dyn Source,
    ) -> Result<WritePermit, Contest> {
        let mut permit = WritePermit {
            inputs: inputs(bound, source),
            picks: picks(bound),
            is_correction: false,
        };
        let mut all = self.states.lock();
        let Some(state) = all.get_mut(bind.demand) else {
            return Ok(permit);
        };
        if bind.by.is_some() || state.inputs != permit.inputs {
            all.remove(bind.demand);
            return Ok(permit);
        }
        if let Some(text) = &state.contest {
            return Err(Contest {
                text: Arc::clone(text),
                is_new: false,
            });
        }
        let check = undone::WriteCheck {
            source,
            last_written: &state.last_written,
            same_picks: state.picks == permit.picks,
            manager: &commit.manager,
        };
        let Some(undone) = commit.writes.iter().find_map(|write| check.undone(write)) else {
            return Ok(permit);
        };
        if bound.decision.now.duration_since(state.corrected).as_secs() > ACCEPTED_AFTER {
            state.corrections = 0;
        }
        if state.corrections < CORRECTIONS {
            permit.is_correction = true;
            return Ok(permit);
        }
        let text: Arc<str> = sentence(bind.dialect, &undone).into();
        state.contest = Some(Arc::clone(&text));
        Err(Contest { text, is_new: true })
    }

    /// Records that `writes` were committed for `bound`, unless `source` does not have the demand any more.
    pub(crate) fn record_write(
        &self,
        permit: WritePermit,
        bound: &BindOutcome,
        writes: &[Write],
        source: &dyn Source,
    ) {
        let WritePermit {
            inputs,
            picks,
            is_correction,
        } = permit;
        let (demand, now) = (&bound.decision.demand, bound.decision.now);
        let mut all = self.states.lock();
        // A deletion before this check may be folded already, so that nothing else would remove the state. A
        // later deletion is folded after this, since the lock is held.
        let demands = source.cached(demand.resource);
        if demands.get(&demand.namespace, &demand.name).is_none() {
            all.remove(demand);
            return;
        }
        let state = all.entry(demand.clone()).or_insert_with(|| ContestState {
            inputs,
            picks: Vec::new(),
            last_written: BTreeMap::new(),
            corrections: 0,
            corrected: now,
            contest: None,
        });
        state.inputs = inputs;
        state.picks = picks;
        if is_correction {
            state.corrections += 1;
            state.corrected = now;
        }
        for (write, object) in writes.iter().zip(&bound.written) {
            let object = (write.verb != Verb::Delete).then(|| Arc::clone(object));
            state.last_written.insert(write.key.clone(), object);
        }
    }

    /// Records that a decision on `demand` is being written, until [`Contests::end_write`].
    pub(crate) fn begin_write(&self, demand: &Key) {
        *self.writing.lock().entry(demand.clone()).or_default() += 1;
    }

    /// Records that the write of a decision on `demand` has ended: it was folded, or it failed.
    pub(crate) fn end_write(&self, demand: &Key) {
        let mut writing = self.writing.lock();
        if let Some(count) = writing.get_mut(demand) {
            *count -= 1;
            if *count == 0 {
                writing.remove(demand);
            }
        }
    }

    /// Whether another program made `change` to an object with the decision on `demand`, so that the demand
    /// has to be decided again. False while Berth writes this decision, and while the decision is contested.
    pub(crate) fn is_foreign_change(&self, demand: &Key, change: &Change) -> bool {
        if self.writing.lock().contains_key(demand) {
            return false;
        }
        let all = self.states.lock();
        let Some(state) = all.get(demand) else {
            return true;
        };
        state.contest.is_none()
            && differs_from_last_write(state.last_written.get(&change.key), change.new.as_ref())
    }

    /// Whether objects in `source` differ from Berth's last write of the decision on `demand`.
    pub(crate) fn is_disturbed(&self, demand: &Key, source: &dyn Source) -> bool {
        let all = self.states.lock();
        all.get(demand).is_some_and(|state| {
            let mut last_written = state.last_written.iter();
            last_written.any(|(key, last)| {
                let now = source.cached(key.resource);
                differs_from_last_write(Some(last), now.get(&key.namespace, &key.name))
            })
        })
    }

    /// Records that `demand` has the wanted clusters, no matter which client wrote them, which ends a
    /// contest. Returns whether there was a contest.
    pub(crate) fn resolve(&self, demand: &Key) -> bool {
        let mut all = self.states.lock();
        let state = all.get_mut(demand);
        state.is_some_and(|state| state.contest.take().is_some())
    }

    /// Removes the state of `demand`, which was deleted, or which another scheduler decides.
    pub(crate) fn forget(&self, demand: &Key) {
        self.states.lock().remove(demand);
    }

    /// Removes the states of the demands for which `exists` is false.
    pub(crate) fn retain(&self, exists: impl Fn(&Key) -> bool) {
        self.states.lock().retain(|demand, _| exists(demand));
    }

    /// Removes the states of all demands, which another scheduler decides.
    pub(crate) fn forget_all(&self) {
        self.states.lock().clear();
    }

    /// Returns the sentence about the contest of `demand`, if there is one.
    pub(crate) fn of(&self, demand: &Key) -> Option<Arc<str>> {
        self.states.lock().get(demand)?.contest.clone()
    }
}

/// Whether the object `now` differs from Berth's `last` write of the object (`None`: Berth did not write it;
/// `Some(None)`: Berth deleted it).
fn differs_from_last_write(last: Option<&Option<Arc<Object>>>, now: Option<&Arc<Object>>) -> bool {
    match (last, now) {
        (Some(Some(last)), Some(now)) => {
            now.revision() > last.revision() && undone::differs(last.value(), now.value())
        }
        (Some(None), None) => false,
        _ => true,
    }
}

/// A write of a decision that is in progress until this is dropped.
pub(crate) struct WriteInProgress<'a> {
    contests: &'a Contests,
    demand: &'a Key,
}

impl<'a> WriteInProgress<'a> {
    /// Begins the write of a decision on `demand`.
    pub(crate) fn of(contests: &'a Contests, demand: &'a Key) -> Self {
        contests.begin_write(demand);
        Self { contests, demand }
    }
}

impl Drop for WriteInProgress<'_> {
    fn drop(&mut self) {
        self.contests.end_write(self.demand);
    }
}

/// Returns the hash of the users' input to a decision: the uid of the demand, the spec without the decided
/// place, and the configuration.
fn inputs(bound: &BindOutcome, source: &dyn Source) -> u64 {
    let BindOutcome {
        snapshot, decision, ..
    } = bound;
    let mut hasher = DefaultHasher::new();
    if let Some(object) = snapshot.inventory.object(&decision.demand) {
        object.meta().uid().hash(&mut hasher);
        let mut kinds = snapshot.dialect.demands().iter();
        let kind = kinds.find(|kind| kind.resource == decision.demand.resource);
        match kind.and_then(|kind| kind.own_place) {
            Some(own) => own.without(object.value())["spec"].hash(&mut hasher),
            None => object.value()["spec"].hash(&mut hasher),
        }
    }
    let configurations = source.cached(config::RESOURCE);
    let configuration = configurations.get("", snapshot.dialect.name());
    let spec = configuration.map_or(&Value::Null, |object| &object.value()["spec"]);
    spec.hash(&mut hasher);
    hasher.finish()
}

/// Returns the picked clusters with their amounts, sorted.
fn picks(bound: &BindOutcome) -> Vec<(Arc<str>, Option<i64>)> {
    let (inventory, decision) = (&bound.snapshot.inventory, &bound.decision);
    let picked = decision.solved.picked.iter().enumerate();
    let mut picks: Vec<(Arc<str>, Option<i64>)> = picked
        .map(|(index, &candidate)| (inventory.cluster_name(candidate), decision.amount_of_pick(index)))
        .collect();
    picks.sort_unstable();
    picks
}

/// Returns the sentence about a contest, with the remedy.
fn sentence(dialect: &str, undone: &UndoneWrite) -> String {
    let UndoneWrite { key, manager } = undone;
    let author = manager
        .as_ref()
        .map_or_else(|| "another program".to_owned(), |manager| format!("{manager:?}"));
    format!(
        "{author} changed {key} each time Berth had written the decision there; Berth corrected it {CORRECTIONS} times and does not \
         change it again until the spec of the request or of the SchedulerConfiguration {dialect} changes, a user binds the \
         request, or Berth is restarted: stop the other writer, or let it decide (spec.mode, spec.requests)"
    )
}
