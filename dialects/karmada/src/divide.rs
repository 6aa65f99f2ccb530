//! Dividing replicas among the selected clusters (docs/systems/karmada.md, "Dividing").

pub(crate) mod seats;

use std::collections::{BTreeMap, BTreeSet};

use berth_dialect_columns::Bits;
use berth_scheduling::Ix;

use crate::affinity::Affinity;
use crate::columns::Columns;
use crate::failure::Failure;
use crate::standing::{self, RankedCluster};
use crate::strategy::Strategy;

/// The replicas to be divided, and the strategy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplicaDemand<'a> {
    /// The strategy of the division.
    pub(crate) strategy: &'a Strategy,
    /// Number of replicas.
    pub(crate) replicas: i64,
    /// The listed clusters that exist, in order, with their replicas.
    pub(crate) held: &'a [(Ix, i64)],
    /// Whether the decision is from scratch.
    pub(crate) is_fresh: bool,
    /// Whether a tie is won by the cluster with the later name.
    pub(crate) is_descending: bool,
}

/// Replicas by cluster. [`divide`] omits clusters without replicas.
pub(crate) type Shares = BTreeMap<Ix, i64>;

/// Divides the replicas among the `selected` clusters of `columns`, in their order. With `tiers`, replicas
/// without room in one tier go to the next.
///
/// # Errors
/// If there is not enough room, or the strategy is unknown.
pub(crate) fn divide(
    demand: &ReplicaDemand<'_>,
    selected: &[RankedCluster],
    columns: &Columns,
    tiers: bool,
) -> Result<Shares, Failure> {
    if !tiers {
        return within(demand, selected, columns);
    }
    let mut by_tier: BTreeMap<u32, Vec<RankedCluster>> = BTreeMap::new();
    for cluster in selected {
        by_tier.entry(cluster.tier).or_default().push(*cluster);
    }
    let mut shares = Shares::new();
    let mut remaining = demand.replicas;
    for clusters in by_tier.values() {
        let part = ReplicaDemand {
            replicas: remaining.min(standing::available(clusters)),
            ..*demand
        };
        shares.append(&mut within(&part, clusters, columns)?);
        remaining -= part.replicas;
        if remaining <= 0 {
            return Ok(shares);
        }
    }
    Err(Failure::NotEnoughRoom {
        wanted: demand.replicas,
        available: demand.replicas - remaining,
    })
}

fn within(
    demand: &ReplicaDemand<'_>,
    selected: &[RankedCluster],
    columns: &Columns,
) -> Result<Shares, Failure> {
    let mut shares: Shares = match demand.strategy {
        Strategy::Duplicated => selected
            .iter()
            .map(|cluster| (cluster.candidate, demand.replicas))
            .collect(),
        Strategy::Static(rules) => by_rules(demand, selected, rules, columns),
        Strategy::Dynamic | Strategy::Aggregated => by_room(demand, selected)?,
        Strategy::Unknown => return Err(Failure::UnsupportedStrategy),
    };
    shares.retain(|_, share| *share > 0);
    Ok(shares)
}

/// Divides by static weights, independent of room and of present replicas. The weight of a cluster is the
/// largest among the matching rules. If no cluster has a weight, all have equal weights.
fn by_rules(
    demand: &ReplicaDemand<'_>,
    selected: &[RankedCluster],
    rules: &[(Affinity, i64)],
    columns: &Columns,
) -> Shares {
    let rules: Vec<(Bits, i64)> = rules
        .iter()
        .map(|(affinity, weight)| (affinity.select(columns), *weight))
        .collect();
    let weight = |cluster: &RankedCluster| {
        let matching = rules
            .iter()
            .filter(|(clusters, _)| clusters.has(cluster.candidate));
        matching.map(|(_, weight)| *weight).max().unwrap_or(0)
    };
    let mut weights: Vec<(Ix, i64)> = selected
        .iter()
        .map(|cluster| (cluster.candidate, weight(cluster)))
        .filter(|(_, weight)| *weight > 0)
        .collect();
    if weights.is_empty() {
        weights = selected.iter().map(|cluster| (cluster.candidate, 1)).collect();
    }
    divide_by_weights(demand.replicas, &weights, demand.is_descending)
}

/// Divides `amount` among candidates with their weights, and omits candidates without a replica.
fn divide_by_weights(amount: i64, weights: &[(Ix, i64)], is_descending: bool) -> Shares {
    let seats = seats::seats(amount, weights, is_descending);
    let all = weights.iter().map(|(candidate, _)| *candidate).zip(seats);
    all.filter(|(_, seats)| *seats > 0).collect()
}

/// Divides by room: additional replicas go where there is room, excess replicas are removed in proportion,
/// and an unchanged number stays. A decision from scratch divides all replicas by the room of each cluster,
/// including the replicas that are there now.
fn by_room(demand: &ReplicaDemand<'_>, selected: &[RankedCluster]) -> Result<Shares, Failure> {
    let held: BTreeMap<Ix, i64> = demand.held.iter().copied().collect();
    let present: BTreeSet<Ix> = selected
        .iter()
        .map(|cluster| cluster.candidate)
        .filter(|candidate| held.contains_key(candidate))
        .collect();
    let current = demand.held.iter().copied();
    let current: Vec<(Ix, i64)> = current
        .filter(|(candidate, _)| present.contains(candidate))
        .collect();
    let present_replicas: i64 = current.iter().map(|(_, replicas)| replicas).sum();
    let current_shares: Shares = current.iter().copied().collect();
    let room = selected.iter().map(|cluster| (cluster.candidate, cluster.room));
    if demand.is_fresh {
        let weights = room.map(|(candidate, room)| {
            let present_replicas = current_shares.get(&candidate).copied().unwrap_or(0);
            (candidate, room.saturating_add(present_replicas))
        });
        return dispense(demand, demand.replicas, weights.collect(), &Shares::new());
    }
    match present_replicas.cmp(&demand.replicas) {
        std::cmp::Ordering::Equal => Ok(current_shares),
        std::cmp::Ordering::Greater => dispense(demand, demand.replicas, current, &Shares::new()),
        std::cmp::Ordering::Less => {
            let mut shares = dispense(
                demand,
                demand.replicas - present_replicas,
                room.collect(),
                &current_shares,
            )?;
            for (candidate, replicas) in current_shares {
                *shares.entry(candidate).or_default() += replicas;
            }
            Ok(shares)
        }
    }
}

/// Divides `amount` by `weights`. For Aggregated, only the first candidates with enough room together are
/// used: candidates with replicas in `kept` come first, then candidates with larger weights, then candidates
/// that are earlier in `weights`.
fn dispense(
    demand: &ReplicaDemand<'_>,
    amount: i64,
    mut weights: Vec<(Ix, i64)>,
    kept: &Shares,
) -> Result<Shares, Failure> {
    // The sort is stable, so candidates with equal weights stay in their order.
    weights.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    let available = weights
        .iter()
        .fold(0_i64, |sum, (_, weight)| sum.saturating_add(*weight));
    if available < amount {
        return Err(Failure::NotEnoughRoom {
            wanted: amount,
            available,
        });
    }
    if matches!(demand.strategy, Strategy::Aggregated) {
        let has_replicas = |candidate: &Ix| kept.get(candidate).is_some_and(|replicas| *replicas > 0);
        weights.sort_by_key(|(candidate, _)| !has_replicas(candidate));
        let mut sum = 0_i64;
        let enough = weights.iter().position(|(_, weight)| {
            sum = sum.saturating_add(*weight);
            sum >= amount
        });
        weights.truncate(enough.map_or(weights.len(), |last| last + 1));
    }
    Ok(divide_by_weights(amount, &weights, demand.is_descending))
}
