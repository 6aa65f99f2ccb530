//! Advice: the smallest sets of changes that make a target fit (docs/adding-a-system.md, "Advice").
//!
//! Dialects propose edits that may lift one refusal
//! ([`Advisor::remedies`](berth_dialect_contract::Advisor::remedies)). A search that is common to all
//! dialects applies the edits to forked worlds, and decides again after each proposal. The advice is the
//! difference between the edited and the stored objects as patches, which are tried once more on the
//! unchanged world. Nothing is stored.
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
use berth_dialect_contract::{ChangeOwner, Decision, names};
use berth_scheduling::Ix;
use berth_scheduling_api::advice::Obstacle;
use berth_scheduling_api::shared::none_if_empty;

use crate::simulate::Fault;
use crate::snapshot::Snapshot;
use crate::what_if::{Catalog, World};
use search::Search;

pub use patch::Form;

/// Default number of targets with advice.
pub const TARGETS: usize = 10;

/// Budget of one [`Advice`]. One unit is the cost of judging one target, about 150 ns.
const STEPS: u64 = 10_000_000;

/// Parameters of advice.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The time for which decisions are made.
    pub now: Timestamp,
    /// The seed of random strategies; `None` for the seed of a live decision.
    pub seed: Option<u64>,
    /// Highest number of targets with advice; the targets nearest to fitting come first.
    pub limit: usize,
    /// The only target to advise on, by the name of the cluster or of the Target; `None` for all targets that
    /// are not picked.
    pub only: Option<String>,
    /// Whether a Binding of the demand is possible: false if another scheduler decides the demand.
    pub can_bind: bool,
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

/// Advice for one demand: changes after which targets fit.
#[derive(Debug)]
pub struct Advice {
    /// The present decision on the demand.
    pub decision: Decision,
    /// The advice for each target, the targets nearest to fitting first.
    pub targets: Vec<TargetAdvice>,
    /// Number of further targets that are not picked; 0 with [`Terms::only`].
    pub remaining: usize,
    /// The reason why the search ended early; `None` if it was completed.
    pub gave_up: Option<String>,
}

/// Advice for one target: sets of changes after which the target fits.
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
    /// The present refusals of the target; for a feasible target, the reason why other targets are picked.
    pub rejections: Vec<Obstacle>,
    /// The sets of changes, the smallest first. Among sets of equal size, sets with fewer changes of other
    /// objects than the request come first. A server that checks the rights of the caller sorts the sets
    /// again.
    pub advice: Vec<Set>,
    /// Whether the search ended early, so that there may be further sets.
    pub gave_up: bool,
}

/// A set of changes that was tried: after all changes, the target fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// `Picked` if the target is picked after the changes, else `Feasible`.
    pub then: &'static str,
    /// Whether the caller may make all changes; `None` if the rights of the caller were not checked.
    pub allowed: Option<bool>,
    /// The changes of the set.
    pub changes: Vec<Change>,
    /// The changes as patches: one patch for each changed object.
    pub patches: Vec<Patch>,
}

/// One proposed change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The change, as a sentence in the imperative.
    pub message: String,
    /// Owner of the change: `Request`, `Target` or `Fleet`.
    pub whose: ChangeOwner,
    /// The changed objects.
    pub keys: Vec<Key>,
}

/// The changes of one object, as a patch.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Key of the object.
    pub key: Key,
    /// The served apiVersion of the object.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object; empty for a cluster-scoped object.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// Owner of the change.
    pub whose: ChangeOwner,
    /// Whether the caller may make the change; `None` if the rights of the caller were not checked.
    pub allowed: Option<bool>,
    /// The patch itself.
    pub form: Form,
    /// The patch as a shell command; empty for [`Form::Hidden`].
    pub command: String,
}

impl Set {
    /// Whether all changes are changes of the request, so that the owner of the request can make them.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.changes
            .iter()
            .all(|change| change.whose == ChangeOwner::Request)
    }

    /// Number of changes of other objects than the request, which other users may have to make.
    fn foreign_change_count(&self) -> usize {
        let others = self.changes.iter();
        others
            .filter(|change| change.whose != ChangeOwner::Request)
            .count()
    }
}

/// Returns advice for `demand` in `world`, which does not change; `catalog` has the kinds of the changed
/// objects.
///
/// # Errors
/// See [`NoAdvice`]. A search that takes too long is not an error: [`Advice::gave_up`] reports it. If the
/// decision evaluated no targets, the advice has none: the decision has the reason.
pub fn advise(world: &World, catalog: &Catalog, demand: &Key, terms: &Terms) -> Result<Advice, NoAdvice> {
    let snapshot = world.snapshot();
    let decision = decide(snapshot, demand, None, terms)?.ok_or_else(|| NoAdvice::Demand(demand.clone()))?;
    let order: Vec<Ix> = match &terms.only {
        Some(only) => {
            let target = find_target(snapshot, only)?;
            ran_filters(&decision).then_some(target).into_iter().collect()
        }
        None => nearest(snapshot, &decision),
    };
    let mut advice = Advice {
        targets: Vec::new(),
        remaining: order.len().saturating_sub(terms.limit),
        gave_up: None,
        decision,
    };
    let places = Places::of(&*snapshot.inventory, &advice.decision);
    let demand_count = snapshot.inventory.demands().len();
    let mut budget = Budget::new("advice", STEPS, u64::MAX);
    for &candidate in order.iter().take(terms.limit) {
        budget::check_needed().map_err(NoAdvice::Ended)?;
        let mut search = Search::new(
            world,
            catalog,
            demand,
            terms,
            candidate,
            demand_count,
            &mut budget,
        );
        let mut target = target_advice(snapshot, &advice.decision, &places, candidate);
        target.advice = match search.run(&advice.decision) {
            Ok(sets) => sets,
            Err(search::Stop::Spent(exceeded)) => {
                advice.gave_up = Some(exceeded.to_string());
                search.take_sets()
            }
            Err(search::Stop::Ended(exceeded)) => return Err(NoAdvice::Ended(exceeded)),
        };
        target.gave_up = search.is_incomplete() || advice.gave_up.is_some();
        advice.targets.push(target);
        if advice.gave_up.is_some() {
            advice.remaining = order.len() - advice.targets.len();
            break;
        }
    }
    Ok(advice)
}

/// Returns the decision on `demand`, with the clusters in `chosen` if there are any; `None` if the demand
/// does not exist, or `chosen` is refused.
///
/// # Errors
/// When the dialect breaks the contract.
fn decide(
    snapshot: &Snapshot,
    demand: &Key,
    chosen: Option<&[String]>,
    terms: &Terms,
) -> Result<Option<Decision>, Fault> {
    let Some(chosen) = chosen else {
        return snapshot.decide_freely(demand, terms.now, terms.seed);
    };
    let answer = match terms.seed {
        Some(seed) => snapshot.decide_with(demand, Some(chosen), terms.now, seed),
        None => snapshot.decide(demand, Some(chosen), terms.now),
    };
    Ok(answer.and_then(Result::ok))
}

/// Whether filters ran for the decision.
fn ran_filters(decision: &Decision) -> bool {
    !decision.solved.feasible.is_empty() || !decision.solved.rejections.is_empty()
}

/// Returns the target with the name `only`: the system's own name of the cluster, or the name of the Target
/// with or without the system.
fn find_target(snapshot: &Snapshot, only: &str) -> Result<Ix, NoAdvice> {
    let inventory = &*snapshot.inventory;
    let bare = names::split(only)
        .filter(|(_, system)| *system == snapshot.dialect.name())
        .map_or(only, |(bare, _)| bare);
    inventory
        .candidate(only)
        .or_else(|| (0..inventory.count()).find(|&candidate| inventory.target_name(candidate) == bare))
        .ok_or_else(|| NoAdvice::Target(only.to_owned()))
}

/// Returns the targets that are not picked: the feasible targets by rank, then the refused targets, the
/// nearest to fitting first.
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

/// Returns the facts about `candidate`, without sets of changes. A refusal that no change lifts has a note
/// with the reason.
fn target_advice(snapshot: &Snapshot, decision: &Decision, places: &Places, candidate: Ix) -> TargetAdvice {
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
                note: none_if_empty(&note(index)),
            })
            .collect(),
        advice: Vec::new(),
        gave_up: false,
    }
}
