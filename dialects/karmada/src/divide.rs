//! Dividing replicas among the selected clusters (docs/systems/karmada.md, "Dividing").

pub(crate) mod seats;

use std::collections::BTreeMap;

use berth_scheduling::Ix;

use crate::affinity::Affinity;
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::standing::{self, Standing};
use crate::strategy::Strategy;

/// Replicas to be divided, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    /// Strategy of dividing.
    pub(crate) strategy: &'a Strategy,
    /// Replicas.
    pub(crate) replicas: i64,
    /// Clusters that have replicas now, in their listed order.
    pub(crate) held: &'a [(Ix, i64)],
    /// Whether the decision is from scratch.
    pub(crate) is_fresh: bool,
    /// Whether ties between names fall to the later one.
    pub(crate) is_descending: bool,
}

/// Replicas by cluster, none of them 0.
pub(crate) type Shares = BTreeMap<Ix, i64>;

/// Divides among the `selected`, in their order. `cluster` gives the cluster for rules of static
/// weights. With `tiers`, replicas without room in one tier go to the next.
///
/// # Errors
/// Where there is not enough room, or no such way to divide.
pub(crate) fn divide<'a>(
    wish: &Wish<'_>,
    selected: &[Standing],
    cluster: impl Fn(Ix) -> &'a Cluster + Copy,
    tiers: bool,
) -> Result<Shares, Failure> {
    if !tiers {
        return within(wish, selected, cluster);
    }
    let mut by_tier: BTreeMap<u32, Vec<Standing>> = BTreeMap::new();
    for standing in selected {
        by_tier.entry(standing.tier).or_default().push(standing.clone());
    }
    let mut shares = Shares::new();
    let mut left = wish.replicas;
    for of_tier in by_tier.values() {
        let part = Wish {
            replicas: left.min(standing::available(of_tier)),
            ..*wish
        };
        shares.append(&mut within(&part, of_tier, cluster)?);
        left -= part.replicas;
        if left <= 0 {
            return Ok(shares);
        }
    }
    Err(Failure::NotEnoughRoom {
        wanted: wish.replicas,
        available: wish.replicas - left,
    })
}

fn within<'a>(
    wish: &Wish<'_>,
    selected: &[Standing],
    cluster: impl Fn(Ix) -> &'a Cluster,
) -> Result<Shares, Failure> {
    let shares: Shares = match wish.strategy {
        Strategy::Duplicated => selected
            .iter()
            .map(|standing| (standing.candidate, wish.replicas))
            .collect(),
        Strategy::Static(rules) => by_rules(wish, selected, rules, cluster),
        Strategy::Dynamic | Strategy::Aggregated => by_room(wish, selected)?,
        Strategy::Unknown => return Err(Failure::UnsupportedStrategy),
    };
    Ok(shares.into_iter().filter(|(_, share)| *share > 0).collect())
}

/// By static weights: the largest of the rules that match, independent of room and of present replicas.
fn by_rules<'a>(
    wish: &Wish<'_>,
    selected: &[Standing],
    rules: &[(Affinity, i64)],
    cluster: impl Fn(Ix) -> &'a Cluster,
) -> Shares {
    let weight = |standing: &Standing| {
        let matching = rules
            .iter()
            .filter(|(affinity, _)| affinity.matches(cluster(standing.candidate)));
        matching.map(|(_, weight)| *weight).max().unwrap_or(0).max(0)
    };
    let mut weights: Vec<(&Standing, i64)> = selected
        .iter()
        .map(|standing| (standing, weight(standing)))
        .filter(|(_, weight)| *weight > 0)
        .collect();
    if weights.is_empty() {
        weights = selected.iter().map(|standing| (standing, 1)).collect();
    }
    let parties = weights.iter().map(|(standing, weight)| Weighed {
        candidate: standing.candidate,
        name: &standing.name,
        weight: *weight,
    });
    give(wish.replicas, &parties.collect::<Vec<_>>(), wish.is_descending)
}

/// A cluster with a weight.
#[derive(Clone, Copy)]
struct Weighed<'a> {
    candidate: Ix,
    name: &'a str,
    weight: i64,
}

fn give(amount: i64, weighed: &[Weighed<'_>], is_descending: bool) -> Shares {
    let parties: Vec<(&str, i64)> = weighed.iter().map(|party| (party.name, party.weight)).collect();
    let seats = seats::seats(amount, &parties, is_descending);
    let all = weighed.iter().map(|party| party.candidate).zip(seats);
    all.collect()
}

/// By room: additional replicas go where there is room, excess ones are removed in proportion, and an
/// unchanged number stays.
fn by_room(wish: &Wish<'_>, selected: &[Standing]) -> Result<Shares, Failure> {
    let by_candidate: BTreeMap<Ix, &Standing> = selected
        .iter()
        .map(|standing| (standing.candidate, standing))
        .collect();
    let held: Vec<(&Standing, i64)> = wish
        .held
        .iter()
        .filter_map(|(candidate, replicas)| Some((*by_candidate.get(candidate)?, *replicas)))
        .collect();
    let has: i64 = held.iter().map(|(_, replicas)| replicas).sum();
    let kept: Shares = held
        .iter()
        .map(|(standing, replicas)| (standing.candidate, *replicas))
        .collect();
    if wish.is_fresh {
        let weights = selected.iter().map(|standing| (standing, standing.room));
        let weights = weights.map(|(standing, room)| {
            let has = kept.get(&standing.candidate).copied().unwrap_or(0);
            (standing, room.saturating_add(has))
        });
        return dispense(wish, wish.replicas, weights.collect(), &Shares::new());
    }
    match has.cmp(&wish.replicas) {
        std::cmp::Ordering::Equal => Ok(kept),
        std::cmp::Ordering::Greater => dispense(wish, wish.replicas, held, &Shares::new()),
        std::cmp::Ordering::Less => {
            let weights = selected.iter().map(|standing| (standing, standing.room));
            let mut more = dispense(wish, wish.replicas - has, weights.collect(), &kept)?;
            for (candidate, replicas) in kept {
                *more.entry(candidate).or_default() += replicas;
            }
            Ok(more)
        }
    }
}

/// Divides `amount` by `weights`, in the order that ties fall to. For Aggregated those that have replicas of
/// `kept` come first, and only as many as it takes count.
fn dispense(
    wish: &Wish<'_>,
    amount: i64,
    mut weights: Vec<(&Standing, i64)>,
    kept: &Shares,
) -> Result<Shares, Failure> {
    // Stable: ties stay in their order.
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
    if matches!(wish.strategy, Strategy::Aggregated) {
        let has = |standing: &Standing| {
            kept.get(&standing.candidate)
                .is_some_and(|replicas| *replicas > 0)
        };
        weights.sort_by_key(|(standing, _)| !has(standing));
        let mut sum = 0_i64;
        let enough = weights.iter().position(|(_, weight)| {
            sum = sum.saturating_add(*weight);
            sum >= amount
        });
        weights.truncate(enough.map_or(weights.len(), |last| last + 1));
    }
    let parties = weights.iter().map(|(standing, weight)| Weighed {
        candidate: standing.candidate,
        name: &standing.name,
        weight: *weight,
    });
    Ok(give(amount, &parties.collect::<Vec<_>>(), wish.is_descending))
}
