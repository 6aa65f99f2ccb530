//! Plans: the effect of a change on the decisions, before it is made (docs/concepts.md, "Planning").
//!
//! A plan changes a copy of a world and then works like the controllers. Demands that the change makes due
//! are decided in key order. The writes of each decision are applied before the next decision, and demands
//! that the writes make due are decided later. Demands without a place, or with only some of their places,
//! are decided again where their dialect retries them, as long as anything changes. At the end, the clusters
//! of every demand are compared with its former clusters.
//!
//! Start reading at [`Plan::of`]; [`change`] has the kinds of changes, and [`mod@compare`] the reported
//! differences of a demand.

pub mod change;
pub mod compare;
mod edits;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use berth_apimachinery::{Key, Timestamp, budget};
use berth_dialect_contract::{Decision, Phase};
use serde::{Serialize, Serializer};

pub use change::{ChangeKind, Step};
pub use compare::{Counts, Entry, Side, Verdict};
pub(crate) use edits::content_fields;
pub use edits::{apply, changed, on_drained};

use compare::{DecisionText, DemandState};

use crate::dirty::MarkedSet;
use crate::fault::Fault;
use crate::snapshot::Snapshot;
use crate::what_if::World;

/// Highest number of decisions on a demand in a plan, before the demand is reported as unsettled.
const MAX_ATTEMPTS: u32 = 8;

/// Parameters of a plan.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The instant of the decisions.
    pub now: Timestamp,
    /// The seed of random strategies; without one, each demand has the seed of a live decision on it.
    pub seed: Option<u64>,
}

/// Effects of a change, dialect by dialect.
#[derive(Debug, Default, Serialize)]
pub struct Plan {
    /// Numbers of demands by verdict, including unchanged demands without an entry that were decided again.
    pub counts: Counts,
    /// Number of decisions on demands that were due, requested or retried.
    pub decided: usize,
    /// The demands that were still due after eight decisions on each.
    #[serde(serialize_with = "as_text", skip_serializing_if = "Vec::is_empty")]
    pub unsettled: Vec<Key>,
    /// Entries about demands that change, in key order. Requested demands, and demands on a drained cluster,
    /// have an entry even if they do not change.
    pub entries: Vec<Entry>,
}

impl Plan {
    /// Effects of the changes that lead from `before` to `world`. The demands in `requested` are decided
    /// even if they are not due, and reported even if they do not change.
    ///
    /// # Errors
    /// When the dialect breaks its contract, or the result is no longer needed ([`budget::check_needed`]).
    pub fn of(
        before: &Snapshot,
        world: &mut World,
        terms: &Terms,
        requested: impl Fn(&Key) -> bool,
    ) -> Result<Self, Fault> {
        Self::of_some(before, world, terms, requested, |_| true)
    }

    /// A plan like [`Plan::of`], with entries and counts only for demands that `shown` accepts. The
    /// other demands are decided as well, since the shown ones depend on them.
    ///
    /// # Errors
    /// As [`Plan::of`].
    pub fn of_some(
        before: &Snapshot,
        world: &mut World,
        terms: &Terms,
        requested: impl Fn(&Key) -> bool,
        shown: impl Fn(&Key) -> bool,
    ) -> Result<Self, Fault> {
        let demands = world.snapshot().inventory.demands();
        let requested: BTreeSet<Key> = demands.into_iter().filter(|demand| requested(demand)).collect();
        let mut run = PlanRun {
            world,
            terms,
            queue: Queue::default(),
            texts: HashMap::new(),
            plan: Self::default(),
        };
        run.take_due();
        run.queue.add(requested.iter().cloned());
        run.settle()?;
        let PlanRun { texts, mut plan, .. } = run;
        plan.compare(before, world.snapshot(), terms, &shown, &|demand| DemandFacts {
            decision_text: texts.get(demand),
            requested: requested.contains(demand),
        })?;
        Ok(plan)
    }

    /// Adds the plan of another dialect.
    pub fn add(&mut self, other: Self) {
        self.counts.add(&other.counts);
        self.decided += other.decided;
        self.unsettled.extend(other.unsettled);
        self.entries.extend(other.entries);
    }

    /// Compares the snapshots `before` and `after`, with entries and counts only for demands that `shown`
    /// accepts. Due demands are not decided first.
    ///
    /// # Errors
    /// As [`Plan::of`].
    pub fn between(
        before: &Snapshot,
        after: &Snapshot,
        terms: &Terms,
        shown: impl Fn(&Key) -> bool,
    ) -> Result<Self, Fault> {
        let mut plan = Self::default();
        plan.compare(before, after, terms, &shown, &|_| DemandFacts::default())?;
        Ok(plan)
    }

    /// Adds entries and counts for the differences between `before` and `after`. `facts` returns the facts
    /// about a demand that the snapshots do not show.
    fn compare<'a>(
        &mut self,
        before: &Snapshot,
        after: &Snapshot,
        terms: &Terms,
        shown: &dyn Fn(&Key) -> bool,
        facts: &dyn Fn(&Key) -> DemandFacts<'a>,
    ) -> Result<(), Fault> {
        let demands = |snapshot: &Snapshot| snapshot.inventory.demands();
        let all: BTreeSet<Key> = demands(before).into_iter().chain(demands(after)).collect();
        for demand in all.into_iter().filter(shown) {
            let (old_clusters, new_clusters) = (
                compare::clusters(before, &demand, terms.now),
                compare::clusters(after, &demand, terms.now),
            );
            let DemandFacts {
                decision_text,
                requested,
            } = facts(&demand);
            let verdict = compare::verdict(old_clusters.as_ref(), new_clusters.as_ref());
            self.counts.same +=
                usize::from(verdict == Verdict::Same && (decision_text.is_some() || requested));
            if verdict == Verdict::Same && !requested {
                continue;
            }
            let old = decide(before, &demand, terms)?;
            let new = decide(after, &demand, terms)?;
            let sides = (
                DemandState::of(before, old.as_ref(), old_clusters),
                DemandState::of(after, new.as_ref(), new_clusters),
            );
            let mut entry = Entry::of(&demand, verdict, sides.0, sides.1);
            if let (Some(after), Some(decision_text)) = (&mut entry.after, decision_text) {
                after.set_text(decision_text);
            }
            if verdict != Verdict::Same {
                self.counts.count(verdict);
            }
            self.entries.push(entry);
        }
        Ok(())
    }
}

/// Facts about a demand in a plan that its snapshots do not show.
#[derive(Default)]
struct DemandFacts<'a> {
    /// Text of the last decision that wrote anything, or else of the first decision.
    decision_text: Option<&'a DecisionText>,
    /// Whether the demand was requested, and has an entry even if it does not change.
    requested: bool,
}

/// Serializes keys in their text form.
fn as_text<S: Serializer>(keys: &[Key], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().map(ToString::to_string))
}

/// The scheduler's own decision on `demand`, if the demand exists.
fn decide(snapshot: &Snapshot, demand: &Key, terms: &Terms) -> Result<Option<Decision>, Fault> {
    budget::check_needed().map_err(|ended| Fault::new(demand, ended.to_string()))?;
    snapshot.decide_freely(demand, terms.now, terms.seed)
}

/// The due demands, each once, in the order of their decisions.
#[derive(Default)]
struct Queue {
    ready: VecDeque<Key>,
    queued: BTreeSet<Key>,
    /// Number of decisions on each demand so far.
    attempts: HashMap<Key, u32>,
}

impl Queue {
    fn add(&mut self, keys: impl IntoIterator<Item = Key>) {
        for key in keys {
            if self.queued.insert(key.clone()) {
                self.ready.push_back(key);
            }
        }
    }

    fn next(&mut self) -> Option<Key> {
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        Some(key)
    }
}

/// A plan in progress.
struct PlanRun<'a> {
    world: &'a mut World,
    terms: &'a Terms,
    queue: Queue,
    /// Text of a decision on each demand: the last one that wrote anything, or else the first.
    texts: HashMap<Key, DecisionText>,
    plan: Plan,
}

impl PlanRun<'_> {
    /// Queues the demands that changes of the world made due.
    fn take_due(&mut self) {
        let due = match self.world.take_due() {
            MarkedSet::Some(keys) => keys.into_iter().collect(),
            MarkedSet::All => self.world.snapshot().inventory.demands(),
        };
        self.queue.add(due);
    }

    /// Decides until no demand is due, and retries change nothing.
    fn settle(&mut self) -> Result<(), Fault> {
        let mut tried_at = None;
        loop {
            while let Some(demand) = self.queue.next() {
                self.step(demand)?;
            }
            let retries = self.world.snapshot().inventory.pace().unplaced.is_some();
            // A demand without a place is tried again while the world has changed since the last try.
            if !retries || tried_at.replace(self.world.changes()) == Some(self.world.changes()) {
                return Ok(());
            }
            self.retry();
        }
    }

    /// Queues the demands that a controller would retry: those without a place, or with only some of their
    /// places.
    fn retry(&mut self) {
        let inventory = Arc::clone(&self.world.snapshot().inventory);
        let waits = |demand: &Key| {
            let view = inventory.demand(demand, self.terms.now);
            view.is_some_and(|view| {
                matches!(
                    view.phase,
                    Phase::Pending | Phase::Unschedulable | Phase::Invalid | Phase::Partial
                )
            })
        };
        let waiting: Vec<Key> = inventory.demands().into_iter().filter(waits).collect();
        self.queue.add(waiting);
    }

    /// Decides `demand` and applies the writes, unless the demand was decided too often.
    fn step(&mut self, demand: Key) -> Result<(), Fault> {
        let attempts = self.queue.attempts.entry(demand.clone()).or_default();
        *attempts += 1;
        if *attempts > MAX_ATTEMPTS {
            if *attempts == MAX_ATTEMPTS + 1 {
                self.plan.unsettled.push(demand);
            }
            return Ok(());
        }
        let Some(decision) = decide(self.world.snapshot(), &demand, self.terms)? else {
            return Ok(());
        };
        self.plan.decided += 1;
        let snapshot = self.world.snapshot();
        let writes = snapshot.inventory.writes(&decision);
        if !writes.is_empty() || !self.texts.contains_key(&demand) {
            let text = DecisionText::of(snapshot, &decision);
            self.texts.insert(demand.clone(), text);
        }
        let result = self.world.apply(&writes, self.terms.now);
        result.map_err(|malformed| Fault::new(&demand, malformed.to_string()))?;
        self.take_due();
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
