//! Selecting clusters: by spread constraints over clusters or regions (docs/systems/karmada.md, "Spread").

mod region;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::kind::placement::SpreadConstraint;
use crate::standing::{self, RankedCluster};

/// The inputs of a selection of clusters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    /// All clusters.
    pub(crate) columns: &'a Columns,
    /// The spread constraints.
    pub(crate) constraints: &'a [SpreadConstraint],
    /// Whether the strategy of the division ignores spread constraints.
    pub(crate) is_ignored: bool,
    /// Whether every cluster gets all replicas. Room then only affects ranks and scores.
    pub(crate) is_duplicated: bool,
    /// The requested number of replicas.
    pub(crate) replicas: i64,
}

/// The minimum and maximum number of groups of one constraint; both are 0 without a constraint.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    least: i64,
    most: i64,
}

impl Limits {
    /// The number of groups to select out of `count`, at most the maximum; 0 without a maximum.
    fn selected_count(self, count: usize) -> usize {
        count.min(usize::try_from(self.most).unwrap_or(0))
    }
}

impl Terms<'_> {
    /// The limits of the last constraint by `field`, which takes precedence.
    fn limits(&self, field: &str) -> Option<Limits> {
        let mut all = self.constraints.iter().rev();
        let found = all.find(|constraint| constraint.spread_by_field == field)?;
        Some(Limits {
            least: found.min_groups,
            most: found.max_groups,
        })
    }
}

/// Selects clusters from `ranked`: feasible clusters, best first. Replicas are divided in the order of the
/// result.
///
/// # Errors
/// The reason why no selection meets the constraints.
pub(crate) fn select(ranked: Vec<RankedCluster>, terms: &Terms<'_>) -> Result<Vec<RankedCluster>, Failure> {
    if terms.constraints.is_empty() || terms.is_ignored {
        return Ok(ranked);
    }
    if let Some(regions) = terms.limits("region") {
        return region::select(ranked, terms, regions);
    }
    let clusters = terms.limits("cluster").ok_or(Failure::UnsupportedSpread)?;
    by_cluster(ranked, terms, clusters)
}

fn by_cluster(
    mut ranked: Vec<RankedCluster>,
    terms: &Terms<'_>,
    limits: Limits,
) -> Result<Vec<RankedCluster>, Failure> {
    let feasible = ranked.len();
    if i64::try_from(feasible).is_ok_and(|count| count < limits.least) {
        return Err(Failure::TooFewClusters {
            feasible,
            wanted: limits.least,
        });
    }
    let most = limits.selected_count(feasible);
    if most == 0 {
        return Err(Failure::NoMaxGroups { field: "cluster" });
    }
    let mut rest = ranked.split_off(most);
    if terms.is_duplicated {
        return Ok(ranked);
    }
    make_room(&mut ranked, &mut rest, terms.replicas);
    let available = standing::available(&ranked);
    if available < terms.replicas {
        return Err(Failure::NoRoomWithin {
            clusters: most,
            wanted: terms.replicas,
            available,
        });
    }
    Ok(ranked)
}

/// Replaces selected clusters, beginning with the last cluster, by the clusters of `rest` with the most room,
/// until there is enough room.
fn make_room(selected: &mut [RankedCluster], rest: &mut [RankedCluster], replicas: i64) {
    for place in (0..selected.len()).rev() {
        if standing::available(&*selected) >= replicas {
            return;
        }
        let available = selected[place].available();
        // The first cluster with the most room.
        let best = (0..rest.len()).rev().max_by_key(|&index| rest[index].available());
        if let Some(index) = best.filter(|&index| rest[index].available() > available) {
            std::mem::swap(&mut selected[place], &mut rest[index]);
        }
    }
}
