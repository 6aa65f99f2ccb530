//! Compares the decisions of both sides about a world, and reduces a world with a difference.

use std::collections::BTreeMap;

use berth_tests::differential::differences;
use serde_json::Value;

use crate::known_differences::{self, Case};
use crate::side::Side;
use crate::system::System;
use crate::world::World;

/// Most attempts of the reducer at a smaller world.
const TRIES: usize = 4_000;

/// Both sides; the first is the reference.
pub(crate) struct Pair {
    pub(crate) system: &'static System,
    pub(crate) reference: Box<dyn Side>,
    pub(crate) other: Box<dyn Side>,
}

/// Result of a world.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Number of demands that both sides decided.
    pub(crate) decisions: usize,
    /// Number of these demands that have a place.
    pub(crate) placed: usize,
    /// Number of verdicts of the filters of both sides about a cluster and a demand.
    pub(crate) verdicts: usize,
    /// Number of these verdicts that refuse the cluster.
    pub(crate) refusals: usize,
    /// The known differences with their number, at most one per demand.
    pub(crate) known: BTreeMap<&'static str, usize>,
    /// Number of demands with only known differences.
    pub(crate) settled: usize,
    /// Unknown differences, at most one per demand.
    pub(crate) found: Vec<Difference>,
}

/// An unknown difference.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) world: World,
    pub(crate) demand: String,
    pub(crate) lines: Vec<String>,
}

impl Pair {
    /// Compares the decisions of both sides about `world`.
    pub(crate) fn run(&mut self, world: &World) -> Result<Outcome, String> {
        if !(self.system.fits)(world) {
            return Err("it cannot come about".to_owned());
        }
        let mut theirs = self.reference.decide(world)?;
        let mut ours = self.other.decide(world)?;
        let clusters = world.objects.iter();
        let clusters = clusters
            .filter(|object| object["kind"] == self.system.cluster)
            .count();
        let mut outcome = Outcome::default();
        let demands: Vec<String> = names(&theirs).chain(names(&ours)).cloned().collect();
        for demand in demands {
            let (mut one, mut two) = (theirs[&demand].take(), ours[&demand].take());
            if (&one, &two) == (&Value::Null, &Value::Null) {
                continue;
            }
            outcome.count(&one, clusters * self.system.filters);
            let case = Case {
                world,
                demand: &demand,
            };
            let settled = known_differences::settle(self.system.known, &case, &mut one, &mut two);
            for &why in &settled {
                *outcome.known.entry(why).or_default() += 1;
            }
            let lines = differences(&one, &two);
            outcome.settled += usize::from(!settled.is_empty() && lines.is_empty());
            if !lines.is_empty() {
                outcome.found.push(Difference {
                    world: world.clone(),
                    demand,
                    lines,
                });
            }
        }
        Ok(outcome)
    }

    /// Reduces the world of a difference as long as the difference remains.
    pub(crate) fn reduce(&mut self, found: Difference) -> Difference {
        let sort = found.sort();
        let mut best = found;
        let (mut place, mut progress) = (0, false);
        for _ in 0..TRIES {
            let Some(smaller) = best.world.smaller(place) else {
                // Objects that were needed before may be removable now.
                if std::mem::take(&mut progress) {
                    place = 0;
                    continue;
                }
                break;
            };
            let outcome = self.run(&smaller).unwrap_or_default();
            let same = outcome.found.into_iter().find(|other| other.sort() == sort);
            match same {
                Some(difference) => (best, progress) = (difference, true),
                None => place += 1,
            }
        }
        best
    }
}

fn names(verdicts: &Value) -> impl Iterator<Item = &String> {
    verdicts.as_object().into_iter().flat_map(|all| all.keys())
}

impl Outcome {
    fn count(&mut self, theirs: &Value, verdicts: usize) {
        self.decisions += 1;
        let placed = theirs["picked"]
            .as_array()
            .is_some_and(|picked| !picked.is_empty());
        self.placed += usize::from(placed);
        if theirs["problem"].is_null() {
            self.verdicts += verdicts;
            let refused = theirs["refused"]
                .as_object()
                .into_iter()
                .flat_map(|all| all.values());
            self.refusals += refused.filter_map(Value::as_array).map(Vec::len).sum::<usize>();
        }
    }
}

impl Difference {
    /// The difference without names of clusters: one of each sort is reported, and the sort remains during
    /// the reduction.
    pub(crate) fn sort(&self) -> String {
        let sorts = self.lines.iter().map(|line| sort_of(line));
        sorts.min().map(|(_, sort)| sort).unwrap_or_default()
    }

    /// Describes the difference for developers.
    pub(crate) fn shown(&self) -> String {
        format!(
            "{}  {} differs (original | Berth):\n    {}\n",
            self.world.shown(),
            self.demand,
            self.lines.join("\n    ")
        )
    }
}

/// Subject of a line, and its order in a decision.
fn sort_of(line: &str) -> (usize, String) {
    const EARLY_FIRST: [&str; 5] = ["problem", "refused", "scores", "totals", "picked"];
    let place = line.split(": ").next().unwrap_or_default();
    let mut parts = place.trim_start_matches('.').splitn(3, ['.', '[']);
    let part = parts.next().unwrap_or_default();
    let early = EARLY_FIRST.iter().position(|known| *known == part);
    // The second part is a cluster or an index.
    let rest = parts.nth(1).unwrap_or_default();
    (early.unwrap_or(EARLY_FIRST.len()), format!("{part} {rest}"))
}
