//! Contests between two writers of one decision. Berth restores a decision that another program
//! changed, but not for ever: two writers that undo each other's writes load the API server and leave
//! no stable decision. After [`CORRECTIONS`], Berth leaves the demand alone until a user changes its
//! spec or the configuration, binds it, or restarts Berth, or until the demand has the wanted clusters.

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
use undone::Undone;

/// Number of times that Berth restores a decision after a change by another program.
const CORRECTIONS: u8 = 2;
/// Seconds after which an unchanged decision counts as accepted: later changes are counted from zero.
const ACCEPTED_AFTER: i64 = 600;

/// Writes about each demand, and the number of corrections.
#[derive(Default)]
pub(crate) struct Contests {
    states: Mutex<HashMap<Key, ContestState>>,
    /// The demands whose decisions are being written, with the number of concurrent writes.
    writing: Mutex<HashMap<Key, usize>>,
}

struct ContestState {
    inputs: u64,
    picks: Vec<(Arc<str>, Option<i64>)>,
    /// The last written objects; `None` where they were deleted.
    last_written: BTreeMap<Key, Option<Arc<Object>>>,
    corrections: u8,
    corrected: Timestamp,
    contest: Option<Arc<str>>,
}

/// Permit to write a decision, with the state to remember after the write.
pub(crate) struct WritePermit {
    inputs: u64,
    picks: Vec<(Arc<str>, Option<i64>)>,
    is_correction: bool,
}

impl Contests {
    /// Judges whether `commit`, which writes `bound` for the request `bind`, may be made.
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

    /// Remembers that `writes` were made for `bound`.
    pub(crate) fn wrote(&self, permit: WritePermit, bound: &BindOutcome, writes: &[Write]) {
        let WritePermit {
            inputs,
            picks,
            is_correction,
        } = permit;
        let now = bound.decision.now;
        let mut all = self.states.lock();
        let state = all
            .entry(bound.decision.demand.clone())
            .or_insert_with(|| ContestState {
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

    /// Records that a decision about `demand` is being written, until [`Contests::ends`].
    pub(crate) fn begins(&self, demand: &Key) {
        *self.writing.lock().entry(demand.clone()).or_default() += 1;
    }

    /// Records that a decision about `demand` is written and folded, or not written.
    pub(crate) fn ends(&self, demand: &Key) {
        let mut writing = self.writing.lock();
        if let Some(count) = writing.get_mut(demand) {
            *count -= 1;
            if *count == 0 {
                writing.remove(demand);
            }
        }
    }

    /// Whether another program made `change`, to an object with the decision about `demand`, so that the
    /// change has to be checked. Changes are not checked while Berth writes this decision, nor where Berth
    /// leaves the demand alone.
    pub(crate) fn is_others(&self, demand: &Key, change: &Change) -> bool {
        if self.writing.lock().contains_key(demand) {
            return false;
        }
        let all = self.states.lock();
        let Some(state) = all.get(demand) else {
            return true;
        };
        state.contest.is_none() && is_others(state.last_written.get(&change.key), change.new.as_ref())
    }

    /// Whether another program has changed the last written decision of `demand`, in `source`.
    pub(crate) fn is_disturbed(&self, demand: &Key, source: &dyn Source) -> bool {
        let all = self.states.lock();
        all.get(demand).is_some_and(|state| {
            let mut last_written = state.last_written.iter();
            last_written.any(|(key, last)| {
                let now = source.cached(key.resource);
                is_others(Some(last), now.get(&key.namespace, &key.name))
            })
        })
    }

    /// Records that `demand` has the wanted clusters, no matter which client wrote them. Returns
    /// whether this ends a contest.
    pub(crate) fn agreed(&self, demand: &Key) -> bool {
        let mut all = self.states.lock();
        let state = all.get_mut(demand);
        state.is_some_and(|state| state.contest.take().is_some())
    }

    /// Forgets a deleted demand.
    pub(crate) fn forget(&self, demand: &Key) {
        self.states.lock().remove(demand);
    }

    /// The contest about `demand`, in a sentence.
    pub(crate) fn of(&self, demand: &Key) -> Option<Arc<str>> {
        self.states.lock().get(demand)?.contest.clone()
    }
}

/// Whether an object differs `now` from Berth's `last` write of it, which is `None` where Berth did not
/// write the object.
fn is_others(last: Option<&Option<Arc<Object>>>, now: Option<&Arc<Object>>) -> bool {
    match (last, now) {
        (Some(Some(last)), Some(now)) => {
            now.revision() > last.revision() && undone::differs(last.value(), now.value())
        }
        (Some(None), None) => false,
        _ => true,
    }
}

/// A decision that is being written.
pub(crate) struct WriteInProgress<'a> {
    contests: &'a Contests,
    demand: &'a Key,
}

impl<'a> WriteInProgress<'a> {
    /// Records a write about `demand`, until the result is dropped.
    pub(crate) fn of(contests: &'a Contests, demand: &'a Key) -> Self {
        contests.begins(demand);
        Self { contests, demand }
    }
}

impl Drop for WriteInProgress<'_> {
    fn drop(&mut self) {
        self.contests.ends(self.demand);
    }
}

/// Hash of the users' input to a demand: its uid, its spec without the decided place, and the
/// configuration.
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

/// The picked clusters with their amounts, in order.
fn picks(bound: &BindOutcome) -> Vec<(Arc<str>, Option<i64>)> {
    let (inventory, decision) = (&bound.snapshot.inventory, &bound.decision);
    let picked = decision.solved.picked.iter().enumerate();
    let mut picks: Vec<(Arc<str>, Option<i64>)> = picked
        .map(|(index, &candidate)| (inventory.cluster_name(candidate), decision.amount_of_pick(index)))
        .collect();
    picks.sort_unstable();
    picks
}

fn sentence(dialect: &str, undone: &Undone) -> String {
    let Undone { key, manager } = undone;
    let author = manager
        .as_ref()
        .map_or_else(|| "another program".to_owned(), |manager| format!("{manager:?}"));
    format!(
        "{author} changed {key} each time Berth had written the decision there; Berth corrected it {CORRECTIONS} times and does not \
         change it again until the spec of the request or of the SchedulerConfiguration {dialect} changes, a user binds the \
         request, or Berth is restarted: stop the other writer, or let it decide (spec.mode, spec.requests)"
    )
}
