//! Observer of bindings: keeps the reasons of written decisions until the history records their changes. So
//! the history never repeats a decision to find its reasons.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Clock, Key, Timestamp};
use berth_dialect_contract::{Action, Decision, names, report};
use berth_engine::{Bind, BindError, BindObserver, BindOutcome, Snapshot};
use berth_scheduling_api::record::{Move, MovedCluster, RecordCause, Refusal, ScorePart};
use berth_storage::Name;
use parking_lot::Mutex;

use super::causes::Causes;
use super::state::MAX_CLUSTERS;
use super::written_decision::WrittenDecision;

/// Highest number of decisions on one object that wait to be recorded.
const MAX_PER_OBJECT: usize = 8;
/// Highest number of objects with decisions that wait to be recorded.
const MAX_OBJECTS: usize = 50_000;
/// Longest time for which a decision waits to be recorded.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Keeps written decisions until their changes are recorded.
pub(crate) struct BindListener {
    clock: Arc<dyn Clock>,
    causes: Arc<Causes>,
    unrecorded: Mutex<HashMap<Name, VecDeque<WrittenDecision>>>,
}

impl BindListener {
    pub(crate) fn new(clock: Arc<dyn Clock>, causes: Arc<Causes>) -> Self {
        Self {
            clock,
            causes,
            unrecorded: Mutex::default(),
        }
    }

    /// Takes the decision that explains a change at `place`: the clusters `joined` were added,
    /// the clusters `left` were removed, and the demand was deleted if `is_gone`. Older decisions about the
    /// demand are forgotten.
    pub(crate) fn take(
        &self,
        place: &Name,
        joined: &[&str],
        left: &[&str],
        is_gone: bool,
    ) -> Option<WrittenDecision> {
        let mut all = self.unrecorded.lock();
        let list = all.get_mut(place)?;
        let found = list
            .iter()
            .position(|written| written.explains(joined, left, is_gone))?;
        let written = list.drain(..=found).next_back();
        if list.is_empty() {
            all.remove(place);
        }
        written
    }

    /// Whether a decision at `place` waits to be recorded.
    pub(crate) fn has_pending(&self, place: &Name) -> bool {
        self.unrecorded.lock().contains_key(place)
    }

    /// Forgets decisions whose changes were not recorded in time.
    pub(crate) fn sweep(&self) {
        let now = self.clock.now();
        self.unrecorded.lock().retain(|_, list| {
            list.retain(|written| {
                Duration::try_from(now.duration_since(written.at)).unwrap_or_default() <= MAX_WAIT
            });
            !list.is_empty()
        });
    }
}

impl BindObserver for BindListener {
    fn bound(&self, request: &Bind<'_>, bound: &BindOutcome) {
        let (snapshot, decision) = (&bound.snapshot, &bound.decision);
        if bound.written.is_empty() {
            self.causes.settled(&decision.demand, snapshot.revision);
            return;
        }
        let dialect = &*snapshot.dialect;
        let (namespace, name) = names::place(dialect, &decision.demand);
        let due = self
            .causes
            .take_due(dialect.name(), &decision.demand, snapshot.revision);
        let written = written_decision(snapshot, decision, request.by, due, self.clock.now());
        let mut all = self.unrecorded.lock();
        if all.len() >= MAX_OBJECTS {
            all.clear();
        }
        let list = all.entry(Name::new(&namespace, &name)).or_default();
        if list.len() >= MAX_PER_OBJECT {
            list.pop_front();
        }
        list.push_back(written);
    }

    fn failed(&self, _: &str, _: &Key, _: &BindError) {}
}

fn written_decision(
    snapshot: &Snapshot,
    decision: &Decision,
    by: Option<&str>,
    cause: Option<RecordCause>,
    at: Timestamp,
) -> WrittenDecision {
    let inventory = &*snapshot.inventory;
    let mut written = WrittenDecision {
        at,
        by: by.map(str::to_owned),
        actor: snapshot.dialect.actor(),
        cause,
        message: inventory.message(decision),
        reasons: report::reason_counts(inventory, decision)
            .into_iter()
            .map(|count| ((count.plugin, count.reason), count.targets))
            .collect(),
        ..WrittenDecision::default()
    };
    let mut counts = [0, 0];
    for change in &decision.changes {
        let name = Arc::clone(&change.cluster_name);
        let movement = match change.action {
            Action::Keep | Action::Resize => {
                written.stays.insert(name);
                continue;
            }
            Action::Bind | Action::Create | Action::Restore => {
                written.stays.insert(name);
                Move::Joined
            }
            Action::Unbind => {
                written.leaves.insert(name);
                Move::Left
            }
        };
        let count = &mut counts[usize::from(movement == Move::Left)];
        if *count < MAX_CLUSTERS {
            *count += 1;
            written
                .clusters
                .push(cluster(snapshot, decision, &change.cluster_name, movement));
        }
    }
    // A cluster that stays may be missing from the changes.
    let picked = decision.solved.picked.iter();
    written
        .stays
        .extend(picked.map(|&candidate| inventory.cluster_name(candidate)));
    written
}

/// The change of the cluster `name`, with the reasons of `decision`.
fn cluster(snapshot: &Snapshot, decision: &Decision, name: &str, movement: Move) -> MovedCluster {
    let inventory = &*snapshot.inventory;
    let mut change = MovedCluster::named(name, movement);
    let Some(candidate) = inventory.candidate(name) else {
        return change;
    };
    let solved = &decision.solved;
    if solved.feasible.is_empty() && solved.rejections.is_empty() {
        return change;
    }
    change.score = solved.total_of(candidate);
    if let Some(row) = solved.row_of(candidate) {
        let columns = solved.scores.iter();
        change.scores = columns
            .map(|column| ScorePart {
                plugin: decision.scorers[usize::from(column.plugin)].to_string(),
                weighted: column.values[row].unwrap_or(0).saturating_mul(column.weight),
            })
            .collect();
    }
    let refusals = solved.rejections_of(candidate).iter();
    change.rejections = refusals
        .map(|refusal| Refusal {
            plugin: inventory.filters()[usize::from(refusal.plugin)].into(),
            reason: inventory.token(refusal.plugin, refusal.reason).into(),
            message: inventory.sentence(decision, candidate, refusal.plugin, refusal.reason),
        })
        .collect();
    change
}
