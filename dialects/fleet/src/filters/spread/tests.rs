//! The incremental evaluation, compared with the rule itself: every cluster is judged again for every pick.

use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object, Revision};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::fleet::cluster::Cluster;
use crate::names::CLUSTERS;
use crate::scores::best_first;

/// The columns of clusters with the labels `zone` and `ring`, if they are given.
fn columns(clusters: &[(Option<u8>, Option<u8>)]) -> Columns {
    let rows = clusters.iter().enumerate().map(|(index, (zone, ring))| {
        let mut labels = serde_json::Map::new();
        for (key, value) in [("zone", zone), ("ring", ring)] {
            if let Some(value) = value {
                labels.insert(key.to_owned(), format!("v{value}").into());
            }
        }
        let name = format!("c{index:03}");
        let value = json!({"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster",
            "metadata": {"name": name, "labels": labels}});
        let change = Change::added(
            Key::new(CLUSTERS, "", &name),
            Arc::new(Object::new(&value, Revision(1)).unwrap()),
        );
        Arc::new(Cluster::read(&change.key, &change.new.unwrap()).unwrap())
    });
    Columns::build(rows.collect::<Vec<_>>().iter())
}

/// The rule as documented: for every cluster and every pick, all domains are counted from scratch and
/// sorted.
fn naive(
    columns: &Columns,
    constraints: &[Constraint],
    held: &[Ix],
    candidates: &[CandidateRank],
    wanted: usize,
) -> Vec<CandidateRank> {
    let label = |candidate: Ix, key: &str| columns.row(candidate).labels().get(key).map(str::to_owned);
    let mut placed = held.to_vec();
    let mut picked = Vec::new();
    while picked.len() < wanted {
        let mut best: Option<CandidateRank> = None;
        for candidate in candidates.iter().filter(|rank| !placed.contains(&rank.candidate)) {
            let (mut score, mut refused) = (0, false);
            for constraint in constraints {
                let Some(own) = label(candidate.candidate, &constraint.key) else {
                    continue;
                };
                let mut domains: Vec<String> = (0..columns.count())
                    .filter_map(|c| label(c, &constraint.key))
                    .collect();
                domains.sort();
                domains.dedup();
                let count = |domain: &String| {
                    placed
                        .iter()
                        .filter(|&&c| label(c, &constraint.key).as_ref() == Some(domain))
                        .count() as i64
                };
                let mut counts: Vec<i64> = domains.iter().map(count).collect();
                counts.sort_unstable();
                let (smallest, largest) = (counts[0], counts[counts.len() - 1]);
                let mine = count(&own);
                let change = if largest == smallest {
                    1
                } else if mine == smallest && smallest != counts[1] {
                    -1
                } else if mine == largest {
                    1
                } else {
                    0
                };
                let violated = largest - smallest + change > constraint.max_skew;
                refused |= violated && constraint.hard;
                score += if violated && !constraint.hard {
                    -1_000
                } else {
                    -i32::try_from(change).unwrap()
                };
            }
            let rank = CandidateRank {
                topology: score,
                ..*candidate
            };
            if !refused && best.is_none_or(|best| rank > best) {
                best = Some(rank);
            }
        }
        let Some(best) = best else { break };
        placed.push(best.candidate);
        picked.push(best);
    }
    picked
}

fn constraint() -> impl Strategy<Value = Constraint> {
    (prop::bool::ANY, 1_i64..4, prop::bool::ANY).prop_map(|(zone, max_skew, hard)| Constraint {
        key: if zone { "zone" } else { "ring" }.to_owned(),
        max_skew,
        hard,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn picking_incrementally_gives_what_one_pick_per_cycle_gives(
        clusters in prop::collection::vec(
            (prop::option::weighted(0.8, 0_u8..4), prop::option::weighted(0.8, 0_u8..3)), 1..24),
        roles in prop::collection::vec((0_u8..4, -2_i32..3, prop::bool::ANY), 24),
        constraints in prop::collection::vec(constraint(), 1..4),
        wanted in 0_usize..12,
    ) {
        let columns = columns(&clusters);
        let role = |candidate: Ix| roles[candidate as usize];
        let held: Vec<Ix> = (0..columns.count()).filter(|&candidate| role(candidate).0 == 0).collect();
        let mut candidates: Vec<CandidateRank> = (0..columns.count())
            .filter(|&candidate| role(candidate).0 > 1)
            .map(|candidate| CandidateRank { topology: 0, affinity: role(candidate).1, sticky: role(candidate).2, candidate })
            .collect();
        best_first(&mut candidates);
        let mut spread = Spread::new(&constraints, &columns, held.iter().copied());
        let picked = spread.pick(&candidates, wanted);
        prop_assert_eq!(picked, naive(&columns, &constraints, &held, &candidates, wanted));
    }
}

#[test]
fn three_zones_fill_up_evenly() {
    let clusters: Vec<_> = (0..9).map(|index| (Some(index / 3), None)).collect();
    let columns = columns(&clusters);
    let constraints = [Constraint {
        key: "zone".to_owned(),
        max_skew: 1,
        hard: true,
    }];
    let mut candidates: Vec<CandidateRank> = (0..9)
        .map(|candidate| CandidateRank {
            topology: 0,
            affinity: 0,
            sticky: false,
            candidate,
        })
        .collect();
    best_first(&mut candidates);
    let mut spread = Spread::new(&constraints, &columns, std::iter::empty());
    let picked = spread.pick(&candidates, 4);
    let seen: Vec<(Ix, i32)> = picked
        .iter()
        .map(|pick| (pick.candidate, pick.topology))
        .collect();
    // All zones are empty: -1. One is ahead: 0 for the others. One is behind: +1. All are even again: -1.
    assert_eq!(seen, [(8, -1), (5, 0), (2, 1), (7, -1)]);
    assert_eq!(spread.violated(6), Some(0));
    let counts = DomainCounts {
        own: 2,
        least: 1,
        skew: 2,
    };
    assert_eq!(spread.counts(0, 6), Some(counts));
    assert_eq!(spread.violated(3), None);
}

#[test]
fn the_change_of_skew_follows_the_table() {
    // The counts of all domains, the count of the domain that gets one more, and the change of the skew
    // (docs/systems/fleet.md, "Topology spread").
    for (counts, count, change) in [
        (&[0][..], 0, 1),
        (&[3], 3, 1),
        (&[0, 0, 0], 0, 1),
        (&[2, 2], 2, 1),
        (&[0, 1], 0, -1),
        (&[0, 1], 1, 1),
        (&[0, 0, 1], 0, 0),
        (&[0, 0, 1], 1, 1),
        (&[0, 1, 1], 0, -1),
        (&[0, 1, 2], 0, -1),
        (&[0, 1, 2], 1, 0),
        (&[0, 1, 2], 2, 1),
        (&[1, 1, 4], 1, 0),
        (&[1, 2, 4], 1, -1),
    ] {
        assert_eq!(
            Extremes::of(counts).change(count),
            change,
            "{counts:?}, one more where there are {count}"
        );
    }
}
