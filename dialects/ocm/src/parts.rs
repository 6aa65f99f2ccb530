//! Decisions over a fleet in parts: each process has some of the clusters, and together the processes choose
//! the same clusters as one process with all of them (docs/scaling.md).
//!
//! Sets, predicates and taints judge one cluster at a time, so each part judges its own clusters. A score
//! depends on other clusters only through a few numbers, the [`Outline`] of all fitting clusters. Each part
//! returns its own outline ([`outline`]); the caller merges the outlines, and passes the whole to each part.
//! Each part then returns its best clusters ([`best`]), of which the caller picks the best ([`merge`]).
//! Every part has all Placements, sets, bindings and PlacementDecisions.
//!
//! The cost limit of CEL expressions applies to each part separately.

use std::any::Any;
use std::cmp::Reverse;
use std::sync::Arc;

use berth_dialect_contract::{Ask, Decision, Inventory};
use berth_scheduling::Ix;

use crate::decide;
use crate::fleet::Fleet;
pub use crate::outline::{Outline, Range};

/// A cluster that fits, with its score.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScoredCluster {
    /// The weighted total of the scores; a higher total is better.
    pub total: Reverse<i64>,
    /// The name of the cluster. If totals are equal, the first name is better.
    pub cluster: Arc<str>,
}

/// The outline of the clusters of `part` that fit the Placement in `ask`; `None` if `part` is not a fleet of
/// this dialect or has no such Placement, or if the clusters that the caller chose are refused. No cluster
/// fits a misconfigured Placement.
#[must_use]
pub fn outline(part: &dyn Inventory, ask: &Ask<'_>) -> Option<Outline> {
    let fleet = fleet(part)?;
    let decision = decide_part(fleet, ask, None)?;
    let columns = fleet.columns();
    let fitting = &decision.solved.feasible;
    let amounts = |amount: fn(&crate::columns::Columns, Ix) -> f64| {
        Range::of(fitting.iter().map(|&candidate| amount(columns, candidate)))
    };
    Some(Outline {
        fitting: fitting.len(),
        cpu: amounts(|columns, candidate| columns.cpu.get(candidate)),
        memory: amounts(|columns, candidate| columns.memory.get(candidate)),
    })
}

/// The clusters of `part` that the Placement in `ask` would choose without the other parts, best first. The
/// clusters are scored as clusters of a fleet with the outline `whole`. `None` as for [`outline`].
#[must_use]
pub fn best(part: &dyn Inventory, ask: &Ask<'_>, whole: &Outline) -> Option<Vec<ScoredCluster>> {
    let fleet = fleet(part)?;
    let decision = decide_part(fleet, ask, Some(whole))?;
    let solved = &decision.solved;
    let scored = |&candidate: &Ix| ScoredCluster {
        // A kept cluster that cannot be read has no score, and is picked before all others.
        total: Reverse(solved.total_of(candidate).unwrap_or(i64::MAX)),
        cluster: Arc::clone(&fleet.columns().row(candidate).name),
    };
    Some(solved.picked.iter().map(scored).collect())
}

/// Merges the `best` clusters of all parts, best first: the best `wanted` of them, or all if `wanted` is
/// `None`.
#[must_use]
pub fn merge(
    best: impl IntoIterator<Item = Vec<ScoredCluster>>,
    wanted: Option<usize>,
) -> Vec<ScoredCluster> {
    let mut all: Vec<ScoredCluster> = best.into_iter().flatten().collect();
    all.sort_unstable();
    all.truncate(wanted.unwrap_or(usize::MAX));
    all
}

/// The fleet of this dialect that `part` is; `None` for another inventory.
fn fleet(part: &dyn Inventory) -> Option<&Fleet> {
    let part: &dyn Any = part;
    part.downcast_ref()
}

/// The decision over one part; `whole` is the outline of all parts, if it is known.
fn decide_part(fleet: &Fleet, ask: &Ask<'_>, whole: Option<&Outline>) -> Option<Decision> {
    let record = fleet.placements.get(ask.demand)?;
    decide::decide_part(fleet, record, ask, whole).ok()
}
