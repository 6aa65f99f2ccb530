//! Division of replicas among the selected clusters (docs/systems/karmada.md, "Dividing").

pub(crate) mod seats;

use std::collections::{BTreeMap, BTreeSet};

use berth_dialect_columns::Bits;
use berth_scheduling::Ix;

use crate::affinity::Affinity;
use crate::columns::Columns;
use crate::failure::Failure;
use crate::standing::{self, RankedCluster};
use crate::strategy::Strategy;

/// A number of replicas to divide, and the strategy by which they are divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division<'a> {
    /// The strategy of the division.
    pub(crate) strategy: &'a Strategy,
    /// Number of replicas to divide.
    pub(crate) replicas: i64,
    /// The listed clusters that exist, in order, with their replicas.
    pub(crate) held: &'a [(Ix, i64)],
    /// Whether the present replicas may move, since a decision from scratch was requested.
    pub(crate) is_from_scratch: bool,
    /// Whether a tie is won by the cluster with the later name.
    pub(crate) is_descending: bool,
}

/// The replicas of each cluster. [`divide`] omits clusters without replicas.
pub(crate) type Shares = BTreeMap<Ix, i64>;

/// Divides the replicas among the `selected` clusters of `columns`, in their order. With `tiers`, the
/// replicas for which one tier has no room go to the next tier.
///
/// # Errors
/// If there is not enough room, or the strategy is unknown.
pub(crate) fn divide(
    division: &Division<'_>,
    selected: &[RankedCluster],
    columns: &Columns,
    tiers: bool,
) -> Result<Shares, Failure> {
    if !tiers {
        return divide_tier(division, selected, columns);
    }
    let mut by_tier: BTreeMap<u32, Vec<RankedCluster>> = BTreeMap::new();
    for cluster in selected {
        by_tier.entry(cluster.tier).or_default().push(*cluster);
    }
    let mut shares = Shares::new();
    let mut remaining = division.replicas;
    for clusters in by_tier.values() {
        let part = Division {
            replicas: remaining.min(standing::available(clusters)),
            ..*division
        };
        shares.append(&mut divide_tier(&part, clusters, columns)?);
        remaining -= part.replicas;
        if remaining <= 0 {
            return Ok(shares);
        }
    }
    Err(Failure::NotEnoughRoom {
        wanted: division.replicas,
        available: division.replicas - remaining,
    })
}

/// Divides the replicas among the `selected` clusters without regard to tiers.
fn divide_tier(
    division: &Division<'_>,
    selected: &[RankedCluster],
    columns: &Columns,
) -> Result<Shares, Failure> {
    let mut shares: Shares = match division.strategy {
        Strategy::Duplicated => selected
            .iter()
            .map(|cluster| (cluster.candidate, division.replicas))
            .collect(),
        Strategy::Static(rules) => by_rules(division, selected, rules, columns),
        Strategy::Dynamic | Strategy::Aggregated => by_room(division, selected)?,
        Strategy::Unknown => return Err(Failure::UnsupportedStrategy),
    };
    shares.retain(|_, share| *share > 0);
    Ok(shares)
}

/// Divides by static weights, regardless of room and of present replicas. The weight of a cluster is the
/// largest weight of the rules that match the cluster. If no rule matches any cluster, all weights are equal.
fn by_rules(
    division: &Division<'_>,
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
    divide_by_weights(division.replicas, &weights, division.is_descending)
}

/// Divides `amount` replicas among candidates in proportion to `weights`. Omits candidates that get no
/// replica.
fn divide_by_weights(amount: i64, weights: &[(Ix, i64)], is_descending: bool) -> Shares {
    let seats = seats::seats(amount, weights, is_descending);
    let all = weights.iter().map(|(candidate, _)| *candidate).zip(seats);
    all.filter(|(_, seats)| *seats > 0).collect()
}

/// Divides by room. Additional replicas go to the clusters with room, and an unchanged number of replicas
/// stays. If there are surplus replicas, the requested replicas are divided by the present replicas, as if
/// these were room. A decision from scratch divides all replicas by the room of the clusters, in which the
/// present replicas count as room.
fn by_room(division: &Division<'_>, selected: &[RankedCluster]) -> Result<Shares, Failure> {
    let held: BTreeMap<Ix, i64> = division.held.iter().copied().collect();
    let present: BTreeSet<Ix> = selected
        .iter()
        .map(|cluster| cluster.candidate)
        .filter(|candidate| held.contains_key(candidate))
        .collect();
    let current = division.held.iter().copied();
    let current: Vec<(Ix, i64)> = current
        .filter(|(candidate, _)| present.contains(candidate))
        .collect();
    let present_replicas: i64 = current.iter().map(|(_, replicas)| replicas).sum();
    let current_shares: Shares = current.iter().copied().collect();
    let room = selected.iter().map(|cluster| (cluster.candidate, cluster.room));
    if division.is_from_scratch {
        let weights = room.map(|(candidate, room)| {
            let present_replicas = current_shares.get(&candidate).copied().unwrap_or(0);
            (candidate, room.saturating_add(present_replicas))
        });
        return divide_within_room(division, division.replicas, weights.collect(), &Shares::new());
    }
    match present_replicas.cmp(&division.replicas) {
        std::cmp::Ordering::Equal => Ok(current_shares),
        std::cmp::Ordering::Greater => {
            divide_within_room(division, division.replicas, current, &Shares::new())
        }
        std::cmp::Ordering::Less => {
            let mut shares = divide_within_room(
                division,
                division.replicas - present_replicas,
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

/// Divides `amount` replicas by `weights`, each of which is the room of a candidate or its present replicas.
/// For Aggregated, only as many candidates are used as have enough room together: first candidates with
/// replicas in `kept`, then candidates with larger weights, then candidates that are earlier in `weights`.
///
/// # Errors
/// The weights together are less than `amount`.
fn divide_within_room(
    division: &Division<'_>,
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
    if matches!(division.strategy, Strategy::Aggregated) {
        let has_replicas = |candidate: &Ix| kept.get(candidate).is_some_and(|replicas| *replicas > 0);
        weights.sort_by_key(|(candidate, _)| !has_replicas(candidate));
        let mut sum = 0_i64;
        let enough = weights.iter().position(|(_, weight)| {
            sum = sum.saturating_add(*weight);
            sum >= amount
        });
        weights.truncate(enough.map_or(weights.len(), |last| last + 1));
    }
    Ok(divide_by_weights(amount, &weights, division.is_descending))
}
