//! Decisions over a fleet in parts: each process has some of the clusters, and together they choose what one
//! process that has all of them would (docs/scaling.md).
//!
//! Sets, predicates and taints judge one cluster at a time, so each part judges its own. A score depends on
//! other clusters by a few numbers alone, the [`Outline`] of all that fit: each part gives its own, they are
//! merged, and the whole goes back to the parts. Each then gives its best, and the best of those are the
//! choice. Every part has the Placements, sets, bindings and PlacementDecisions whole.
//!
//! The budget of CEL expressions is that of a part.

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
    /// The weighted total; more is better.
    pub total: Reverse<i64>,
    /// The name of the cluster; of equal totals the first name is better.
    pub cluster: Arc<str>,
}

/// The outline of the clusters of `part` that fit the Placement in `ask`; `None` where there is no such
/// Placement, or it chooses none.
#[must_use]
pub fn outline(part: &dyn Inventory, ask: &Ask<'_>) -> Option<Outline> {
    let fleet = fleet(part)?;
    let decision = decided(fleet, ask, None)?;
    let columns = fleet.columns();
    let fitting = &decision.solved.feasible;
    let amounts =
        |of: fn(&crate::columns::Columns, Ix) -> f64| Range::of(fitting.iter().map(|&one| of(columns, one)));
    Some(Outline {
        fitting: fitting.len(),
        cpu: amounts(|columns, candidate| columns.cpu.get(candidate)),
        memory: amounts(|columns, candidate| columns.memory.get(candidate)),
    })
}

/// The clusters of `part` that the Placement in `ask` would choose if there were no others, best first, scored as
/// clusters of a fleet with the outline `whole`.
#[must_use]
pub fn best(part: &dyn Inventory, ask: &Ask<'_>, whole: &Outline) -> Option<Vec<ScoredCluster>> {
    let fleet = fleet(part)?;
    let decision = decided(fleet, ask, Some(whole))?;
    let solved = &decision.solved;
    let scored = |&candidate: &Ix| {
        Some(ScoredCluster {
            total: Reverse(solved.total_of(candidate)?),
            cluster: Arc::clone(&fleet.columns().row(candidate).name),
        })
    };
    solved.picked.iter().map(scored).collect()
}

/// The best of the `best` of all parts: as many as the Placement wants, or all that fit.
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

fn fleet(part: &dyn Inventory) -> Option<&Fleet> {
    let part: &dyn Any = part;
    part.downcast_ref()
}

fn decided(fleet: &Fleet, ask: &Ask<'_>, whole: Option<&Outline>) -> Option<Decision> {
    let record = fleet.placements.get(ask.demand)?;
    decide::decide_part(fleet, record, ask, whole).ok()
}
