//! Advice: the smallest change that makes a target fit (docs/adding-a-system.md, "Advice").
//!
//! Dialects propose edits that may lift one refusal
//! ([`Advisor::remedies`](berth_dialect_contract::Advisor::remedies)). A search that is common to all
//! dialects tries the edits on forked worlds, and decides again after each. The advice is the
//! difference between the edited and the stored objects, which is tried once more on the unchanged
//! world. Nothing is stored.
//!
//! Start reading at [`advise`]; [`search`] finds the sets of edits for one target, [`trial`] applies edits as
//! an API server would, and [`patch`] renders the difference of two objects.

pub mod patch;
mod search;
#[cfg(test)]
mod tests;
mod trial;
mod wire;

use std::sync::Arc;

use berth_apimachinery::budget::{self, Budget, BudgetExceeded};
use berth_apimachinery::{Key, Timestamp};
use berth_dialect_contract::report::{self, Places, View};
use berth_dialect_contract::{Decision, Whose, names};
use berth_scheduling::Ix;
use berth_scheduling_api::advice::Obstacle;
use berth_scheduling_api::shared::present;

use crate::simulate::Fault;
use crate::snapshot::Snapshot;
use crate::what_if::{Catalog, World};
use search::Search;

pub use patch::Form;

/// Default number of targets with advice.
pub const TARGETS: usize = 10;

/// Highest number of steps of one [`Advice`]: one step is the cost of judging a target, some 150 ns.
const STEPS: u64 = 10_000_000;

/// Parameters of advice.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The instant to decide for.
    pub now: Timestamp,
    /// The seed of random strategies; without a seed, the seed of a live decision.
    pub seed: Option<u64>,
    /// Number of targets with advice; the targets nearest to fitting come first.
    pub limit: usize,
    /// The only requested target: the name of its cluster, or of its Target.
    pub only: Option<String>,
}

/// Reason why there is no advice.
#[derive(Debug, thiserror::Error)]
pub enum NoAdvice {
    /// The demand does not exist.
    #[error("{0} not found")]
    Demand(Key),
    /// [`Terms::only`] names no target.
    #[error("no cluster named \"{0}\"")]
    Target(String),
    /// A dialect broke its contract.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The caller no longer waits for the advice.
    #[error(transparent)]
    Ended(BudgetExceeded),
}

/// Advice about the changes after which targets fit.
#[derive(Debug)]
pub struct Advice {
    /// The present decision.
    pub decision: Decision,
    /// Target by target, the targets nearest to fitting first.
    pub targets: Vec<TargetAdvice>,
    /// Number of further targets that are not in the resulting set.
    pub remaining: usize,
    /// Reason why the search ended early.
    pub gave_up: Option<String>,
}

/// Changes that would let one target fit.
#[derive(Clone, Debug)]
pub struct TargetAdvice {
    /// The system's own name of the cluster.
    pub cluster_name: Arc<str>,
    /// The name of the Target object.
    pub target: String,
    /// Whether no filter refuses the target now.
    pub feasible: bool,
    /// Whether the target is picked now.
    pub picked: bool,
    /// The present refusals of the target; of a feasible target, the reason why others are picked.
    pub rejections: Vec<Obstacle>,
    /// The sets of changes, the smallest first; of two equally small sets, first the set that the caller can
    /// make.
    pub advice: Vec<Set>,
    /// Whether there may be further sets that were not tried.
    pub gave_up: bool,
}

/// A set of changes that was tried: after all of them, the target fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// `Picked` where the target is then in the resulting set, else `Feasible`.
    pub then: &'static str,
    /// Whether the caller may make all changes; `None` where no caller is given.
    pub allowed: Option<bool>,
    /// The changes of the set.
    pub changes: Vec<Change>,
    /// The changes as patches of objects, each object once.
    pub patches: Vec<Patch>,
}

/// One proposed change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Sentence in the imperative.
    pub message: String,
    /// Owner of the change: `Request`, `Target` or `Fleet`.
    pub whose: Whose,
    /// The changed objects.
    pub keys: Vec<Key>,
}

/// Changes in one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// The object.
    pub key: Key,
    /// The served apiVersion of the object.
    pub api_version: String,
    /// The object's kind.
    pub kind: String,
    /// The object's namespace; empty where it has none.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// Owner of the change.
    pub whose: Whose,
    /// Whether the caller may make the change; `None` where no caller is given.
    pub allowed: Option<bool>,
    /// Form of the change.
    pub form: Form,
    /// The patch as a command for a shell; empty for [`Form::Hidden`].
    pub command: String,
}

impl Set {
    /// Whether all changes belong to the request, so that its owner can make them.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.changes.iter().all(|change| change.whose == Whose::Request)
    }

    /// Number of changes that other users have to make.
    fn of_others(&self) -> usize {
        let others = self.changes.iter();
        others.filter(|change| change.whose != Whose::Request).count()
    }
}

/// Advice about `demand` in `world`, which does not change; `catalog` has the kinds of the changed
/// objects.
///
/// # Errors
/// See [`NoAdvice`]. A search that takes too long is no error: the advice reports it
/// ([`Advice::gave_up`]).
pub fn advise(world: &World, catalog: &Catalog, demand: &Key, terms: &Terms) -> Result<Advice, NoAdvice> {
    let snapshot = world.snapshot();
    let decision = decide(snapshot, demand, None, terms)?.ok_or_else(|| NoAdvice::Demand(demand.clone()))?;
    let order = match &terms.only {
        Some(only) => vec![find(snapshot, &decision, only)?],
        None => nearest(snapshot, &decision),
    };
    let mut advice = Advice {
        targets: Vec::new(),
        remaining: order.len().saturating_sub(terms.limit),
        gave_up: None,
        decision,
    };
    let places = Places::of(&*snapshot.inventory, &advice.decision);
    let demands = snapshot.inventory.demands().len();
    let mut budget = Budget::new("advice", STEPS, u64::MAX);
    for &candidate in order.iter().take(terms.limit) {
        budget::wanted().map_err(NoAdvice::Ended)?;
        let mut search = Search::new(world, catalog, demand, terms, candidate, demands, &mut budget);
        let mut target = about(snapshot, &advice.decision, &places, candidate);
        target.advice = match search.sets(&advice.decision) {
            Ok(sets) => sets,
            Err(search::Stop::Spent(exceeded)) => {
                advice.gave_up = Some(exceeded.to_string());
                search.found()
            }
            Err(search::Stop::Ended(exceeded)) => return Err(NoAdvice::Ended(exceeded)),
        };
        target.gave_up = search.is_cut() || advice.gave_up.is_some();
        advice.targets.push(target);
        if advice.gave_up.is_some() {
            advice.remaining = order.len() - advice.targets.len();
            break;
        }
    }
    Ok(advice)
}

/// The decision on `demand`, with the clusters `chosen` if there are any. `Ok(None)` where the demand
/// does not exist, or `chosen` is refused.
fn decide(
    snapshot: &Snapshot,
    demand: &Key,
    chosen: Option<&[String]>,
    terms: &Terms,
) -> Result<Option<Decision>, Fault> {
    let result = match terms.seed {
        Some(seed) => snapshot.decide_with(demand, chosen, terms.now, seed),
        None => snapshot.decide(demand, chosen, terms.now),
    };
    match result {
        Some(Ok(decision)) => Ok(Some(decision)),
        Some(Err(refused)) if chosen.is_none() => Err(Fault::new(
            demand,
            berth_apimachinery::field::aggregate(&refused.errors),
        )),
        Some(Err(_)) | None => Ok(None),
    }
}

/// Whether the decision ran the filters.
fn ran_filters(decision: &Decision) -> bool {
    !decision.solved.feasible.is_empty() || !decision.solved.rejections.is_empty()
}

/// The target that `only` names: by the system's own name, or by the name of the Target with or without the
/// system.
fn find(snapshot: &Snapshot, decision: &Decision, only: &str) -> Result<Ix, NoAdvice> {
    let unknown = || NoAdvice::Target(only.to_owned());
    if !ran_filters(decision) {
        return Err(unknown());
    }
    let inventory = &*snapshot.inventory;
    let bare = names::split(only)
        .filter(|(_, system)| *system == snapshot.dialect.name())
        .map_or(only, |(bare, _)| bare);
    inventory
        .candidate(only)
        .or_else(|| (0..inventory.count()).find(|&candidate| inventory.target_name(candidate) == bare))
        .ok_or_else(unknown)
}

/// The targets that are not picked: the feasible targets by rank, then the targets nearest to
/// fitting.
fn nearest(snapshot: &Snapshot, decision: &Decision) -> Vec<Ix> {
    if !ran_filters(decision) {
        return Vec::new();
    }
    let inventory = &*snapshot.inventory;
    let places = Places::of(inventory, decision);
    let ranked = decision.solved.ranked.iter().copied();
    let order = ranked.chain(report::nearest(inventory, decision, &places));
    order.filter(|&candidate| !places.is_picked(candidate)).collect()
}

/// The report about `candidate`. A refusal without a remedy has the reason why there is none.
fn about(snapshot: &Snapshot, decision: &Decision, places: &Places, candidate: Ix) -> TargetAdvice {
    let inventory = &*snapshot.inventory;
    let view = View {
        dialect: snapshot.dialect.name(),
        inventory,
        decision,
        places,
    };
    let facts = view.candidate(report::Entry::Target(candidate), true);
    let refusals = decision.solved.rejections_of(candidate);
    let note = |index: usize| {
        let remedies = inventory
            .advisor()
            .remedies(decision, candidate, refusals.get(index));
        let notes = remedies.into_iter().filter(|remedy| remedy.edits.is_empty());
        notes.map(|remedy| remedy.text).collect::<Vec<_>>().join("; ")
    };
    let rejections = facts.rejections.into_iter().enumerate();
    TargetAdvice {
        cluster_name: facts.cluster_name,
        target: facts.target,
        feasible: facts.feasible,
        picked: facts.picked,
        rejections: rejections
            .map(|(index, entry)| Obstacle {
                plugin: entry.plugin,
                reason: entry.reason,
                message: entry.message,
                note: present(&note(index)),
            })
            .collect(),
        advice: Vec::new(),
        gave_up: false,
    }
}
