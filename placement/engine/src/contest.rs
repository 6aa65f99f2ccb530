//! Two writers of one decision. Berth restores a decision that another program changed, but not for
//! ever: two writers that undo each other's writes load the API server and leave no stable decision.
//! After [`CORRECTIONS`] the demand is left alone until a user changes its spec or the configuration,
//! binds it, or restarts Berth.

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

/// Number of times that a change by another program is put right.
const CORRECTIONS: u8 = 2;
/// Seconds after which an unchanged decision counts as accepted: later changes are counted from zero.
const PEACE: i64 = 600;

/// Writes about each demand, and the number of corrections.
#[derive(Default)]
pub(crate) struct Contests {
    held: Mutex<HashMap<Key, ContestState>>,
    /// The demands whose decisions are being written, with the number of concurrent writes.
    writing: Mutex<HashMap<Key, usize>>,
}

struct ContestState {
    inputs: u64,
    picks: Vec<(Arc<str>, Option<i64>)>,
    /// The last written objects; `None` where they were deleted.
    wrote: BTreeMap<Key, Option<Arc<Object>>>,
    corrections: u8,
    corrected: Timestamp,
    contest: Option<Arc<str>>,
}

/// A decision that may be written, in its remembered form after the write.
pub(crate) struct WritePermit {
    inputs: u64,
    picks: Vec<(Arc<str>, Option<i64>)>,
    is_correction: bool,
}

impl Contests {
    /// Judges whether `commit` may be made for `bound` as `bind` requested.
    pub(crate) fn judge(
        &self,
        bind: &Bind<'_>,
        bound: &BindOutcome,
        commit: &Commit,
        source: &dyn Source,
    ) -> Result<WritePermit, Contest> {
        let mut allowed = WritePermit {
            inputs: inputs(bound, source),
            picks: picks(bound),
            is_correction: false,
        };
        let mut all = self.held.lock();
        let Some(held) = all.get_mut(bind.demand) else {
            return Ok(allowed);
        };
        if bind.by.is_some() || held.inputs != allowed.inputs {
            all.remove(bind.demand);
            return Ok(allowed);
        }
        if let Some(text) = &held.contest {
            return Err(Contest {
                text: Arc::clone(text),
                is_new: false,
            });
        }
        let look = undone::Look {
            source,
            wrote: &held.wrote,
            same_picks: held.picks == allowed.picks,
            manager: &commit.manager,
        };
        let Some(undone) = commit.writes.iter().find_map(|write| look.undone(write)) else {
            return Ok(allowed);
        };
        if bound.decision.now.duration_since(held.corrected).as_secs() > PEACE {
            held.corrections = 0;
        }
        if held.corrections < CORRECTIONS {
            allowed.is_correction = true;
            return Ok(allowed);
        }
        let text: Arc<str> = sentence(bind.dialect, &undone).into();
        held.contest = Some(Arc::clone(&text));
        Err(Contest { text, is_new: true })
    }

    /// Remembers that `writes` were made for `bound`; returns whether this ended a contest.
    pub(crate) fn wrote(&self, allowed: WritePermit, bound: &BindOutcome, writes: &[Write]) {
        let WritePermit {
            inputs,
            picks,
            is_correction,
        } = allowed;
        let now = bound.decision.now;
        let mut all = self.held.lock();
        let held = all
            .entry(bound.decision.demand.clone())
            .or_insert_with(|| ContestState {
                inputs,
                picks: Vec::new(),
                wrote: BTreeMap::new(),
                corrections: 0,
                corrected: now,
                contest: None,
            });
        held.inputs = inputs;
        held.picks = picks;
        if is_correction {
            held.corrections += 1;
            held.corrected = now;
        }
        for (write, object) in writes.iter().zip(&bound.written) {
            let object = (write.verb != Verb::Delete).then(|| Arc::clone(object));
            held.wrote.insert(write.key.clone(), object);
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

    /// Whether `change`, of an object with the decision about `demand`, was made by another program and
    /// has to be checked. Changes are not checked while Berth writes there, nor for objects that are
    /// left alone.
    pub(crate) fn is_others(&self, demand: &Key, change: &Change) -> bool {
        if self.writing.lock().contains_key(demand) {
            return false;
        }
        let all = self.held.lock();
        let Some(held) = all.get(demand) else {
            return true;
        };
        held.contest.is_none() && is_others(held.wrote.get(&change.key), change.new.as_ref())
    }

    /// Whether another program has changed the last written decision of `demand`, in `source`.
    pub(crate) fn is_disturbed(&self, demand: &Key, source: &dyn Source) -> bool {
        let all = self.held.lock();
        all.get(demand).is_some_and(|held| {
            let mut wrote = held.wrote.iter();
            wrote.any(|(key, last)| {
                let now = source.cached(key.resource);
                is_others(Some(last), now.get(&key.namespace, &key.name))
            })
        })
    }

    /// Records that `demand` has the wanted clusters, by any writer. Returns whether this ended a
    /// contest.
    pub(crate) fn agreed(&self, demand: &Key) -> bool {
        let mut all = self.held.lock();
        let held = all.get_mut(demand);
        held.is_some_and(|held| held.contest.take().is_some())
    }

    /// Forgets a deleted demand.
    pub(crate) fn forget(&self, demand: &Key) {
        self.held.lock().remove(demand);
    }

    /// The contest about `demand`, in a sentence.
    pub(crate) fn of(&self, demand: &Key) -> Option<Arc<str>> {
        self.held.lock().get(demand)?.contest.clone()
    }
}

/// Whether an object differs `now` from Berth's `last` write of it; `None` where Berth wrote none.
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
    /// Writing about `demand`, until this is dropped.
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

/// Hash of the users' input to a demand: its spec without the decided place, and the configuration.
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
    let who = manager
        .as_ref()
        .map_or_else(|| "another program".to_owned(), |manager| format!("{manager:?}"));
    format!(
        "{who} changed {key} each time Berth had written the decision there; Berth corrected it {CORRECTIONS} times and does not \
         change it again until the spec of the request or of the SchedulerConfiguration {dialect} changes, a user binds the \
         request, or Berth is restarted: stop the other writer, or let it decide (spec.mode, spec.requests)"
    )
}
