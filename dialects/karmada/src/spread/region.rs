//! Selection by region: first regions, then clusters of each region.
//!
//! As in Karmada, every combination of regions with enough clusters is considered. The number of
//! combinations is bounded, since it grows exponentially.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Limits, Terms};
use crate::failure::Failure;
use crate::standing::RankedCluster;

/// Highest number of combinations of regions that are considered.
const MAX_COMBINATIONS: usize = 100_000;
/// Highest number of steps of the search.
const MAX_STEPS: usize = 1_000_000;
/// Weight of a replica or a cluster against a score.
const UNIT: i64 = 1000;

/// A region with its clusters, best first.
struct Region {
    name: Arc<str>,
    score: i64,
    clusters: Vec<RankedCluster>,
}

/// Selects clusters from `ranked`, which are best first.
///
/// # Errors
/// The reason why no selection meets the constraints.
pub(super) fn select(
    ranked: Vec<RankedCluster>,
    terms: &Terms<'_>,
    limits: Limits,
) -> Result<Vec<RankedCluster>, Failure> {
    let cluster_limits = terms.limits("cluster").unwrap_or_default();
    let mut regions = group(ranked, terms, limits, cluster_limits);
    if i64::try_from(regions.len()).is_ok_and(|count| count < limits.least) {
        return Err(Failure::TooFewRegions {
            feasible: regions.len(),
            wanted: limits.least,
        });
    }
    if limits.most <= 0 {
        return Err(Failure::NoMaxGroups { field: "region" });
    }
    regions.sort_by(|one, other| {
        let key = |region: &Region| (region.clusters.len(), Reverse(region.score));
        key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
    });
    let chosen = choose(&regions, limits, cluster_limits.least)?;
    let mut selected = Vec::new();
    let mut rest = Vec::new();
    for place in chosen {
        let mut clusters = std::mem::take(&mut regions[place].clusters).into_iter();
        selected.extend(clusters.next());
        rest.extend(clusters);
    }
    rest.sort_by_key(RankedCluster::rank);
    let size = cluster_limits.selected_count(selected.len() + rest.len());
    let missing_count = size.saturating_sub(selected.len());
    selected.extend(rest.into_iter().take(missing_count));
    Ok(selected)
}

fn group(
    ranked: Vec<RankedCluster>,
    terms: &Terms<'_>,
    limits: Limits,
    cluster_limits: Limits,
) -> Vec<Region> {
    let mut by_name: BTreeMap<Arc<str>, Vec<RankedCluster>> = BTreeMap::new();
    for cluster in ranked {
        let region = &terms.columns.row(cluster.candidate).region;
        if !region.is_empty() {
            by_name.entry(Arc::clone(region)).or_default().push(cluster);
        }
    }
    let regions = by_name.into_iter();
    regions
        .map(|(name, clusters)| Region {
            score: match terms.is_duplicated {
                true => duplicated_score(&clusters, terms.replicas),
                false => divided_score(&clusters, terms.replicas, limits, cluster_limits),
            },
            name,
            clusters,
        })
        .collect()
}

/// The score of a region for duplicated replicas: first the number of clusters with room for all replicas,
/// then the average score of these clusters.
fn duplicated_score(clusters: &[RankedCluster], replicas: i64) -> i64 {
    let with_room = clusters.iter().filter(|cluster| cluster.available() >= replicas);
    let (count, scores) = with_room.fold((0, 0), |(count, sum), cluster| (count + 1, sum + cluster.score));
    match count {
        0 => 0,
        count => count * UNIT + scores / count,
    }
}

/// The score of a region for divided replicas: first the room, up to the region's share of the requested
/// replicas, then the average score of the clusters that are needed for that share.
fn divided_score(clusters: &[RankedCluster], replicas: i64, limits: Limits, cluster_limits: Limits) -> i64 {
    let share = replicas.div_euclid(limits.least.max(1)) + i64::from(replicas % limits.least.max(1) > 0);
    let needed_clusters = cluster_limits.least.max(limits.least);
    let (mut count, mut room, mut scores) = (0_i64, 0_i64, 0_i64);
    for cluster in clusters {
        room = room.saturating_add(cluster.available());
        scores += cluster.score;
        count += 1;
        if count >= needed_clusters && room >= share {
            break;
        }
    }
    if room < share {
        let all = i64::try_from(clusters.len()).unwrap_or(i64::MAX);
        return room.saturating_mul(UNIT).saturating_add(scores / all);
    }
    share.saturating_mul(UNIT).saturating_add(scores / count.max(1))
}

/// A combination of regions: their indices, in the order of score and name.
struct Combination {
    places: Vec<usize>,
    score: i64,
    clusters: usize,
}

/// The best combination: the combination with the highest score, then with the most clusters, then the
/// combination that was found first. If a shorter combination is the beginning of the best combination, the
/// shorter combination is preferred.
fn choose(regions: &[Region], limits: Limits, clusters: i64) -> Result<Vec<usize>, Failure> {
    let mut found = combinations(regions, limits, clusters)?;
    // The sort is stable: equal combinations stay in the order in which they were found.
    found.sort_by_key(|combination| (Reverse(combination.score), Reverse(combination.clusters)));
    let mut all = found.into_iter();
    let first = all.next().ok_or(Failure::NoRegions { wanted: clusters })?;
    let best = all.fold(first, |best, other| {
        let is_beginning = other.places.len() < best.places.len() && best.places.starts_with(&other.places);
        if is_beginning { other } else { best }
    });
    match best.places.is_empty() {
        true => Err(Failure::NoRegions { wanted: clusters }),
        false => Ok(best.places),
    }
}

/// Combinations with enough clusters, none longer than necessary, in the order of the search.
fn combinations(regions: &[Region], limits: Limits, clusters: i64) -> Result<Vec<Combination>, Failure> {
    let mut found = Vec::new();
    if i64::try_from(regions.len()).is_ok_and(|count| count == limits.least) {
        // If all regions are needed, Karmada only adds regions, without a search.
        let mut places = Vec::new();
        for place in 0..regions.len() {
            if is_enough(regions, &places, limits, clusters) || is_full(&places, limits) {
                break;
            }
            places.push(place);
        }
        if is_enough(regions, &places, limits, clusters) {
            found.push(combination(regions, &places));
        }
        return Ok(found);
    }
    let mut places: Vec<usize> = Vec::new();
    let mut next = 0;
    for _ in 0..MAX_STEPS {
        let ends = if is_enough(regions, &places, limits, clusters) {
            found.push(combination(regions, &places));
            if found.len() > MAX_COMBINATIONS {
                return Err(Failure::TooManyRegions);
            }
            true
        } else {
            is_full(&places, limits) || next >= regions.len()
        };
        if !ends {
            places.push(next);
            next += 1;
            continue;
        }
        // Backtrack to the last index that can be increased.
        loop {
            match places.pop() {
                None => return Ok(found),
                Some(last) if last + 1 < regions.len() => {
                    places.push(last + 1);
                    next = last + 2;
                    break;
                }
                Some(_) => {}
            }
        }
    }
    Err(Failure::TooManyRegions)
}

fn is_enough(regions: &[Region], places: &[usize], limits: Limits, clusters: i64) -> bool {
    let length = i64::try_from(places.len()).unwrap_or(i64::MAX);
    let cluster_count: usize = places.iter().map(|&place| regions[place].clusters.len()).sum();
    i64::try_from(cluster_count).unwrap_or(i64::MAX) >= clusters
        && (limits.least..=limits.most).contains(&length)
}

fn is_full(places: &[usize], limits: Limits) -> bool {
    i64::try_from(places.len()).unwrap_or(i64::MAX) >= limits.most
}

fn combination(regions: &[Region], places: &[usize]) -> Combination {
    let mut places = places.to_vec();
    places.sort_by(|&one, &other| {
        let (one, other) = (&regions[one], &regions[other]);
        other
            .score
            .cmp(&one.score)
            .then_with(|| one.name.cmp(&other.name))
    });
    let members = places.iter().map(|&place| &regions[place]);
    Combination {
        score: members
            .clone()
            .fold(0, |sum, region| sum.saturating_add(region.score)),
        clusters: members.map(|region| region.clusters.len()).sum(),
        places,
    }
}
