//! Random worlds, which are decided by the originals' own schedulers and by Berth: picks, scores, writes, and
//! the verdicts of every filter about every cluster are equal except for `known_differences`.
//!
//! `SCHEDULING_WORLDS` and `SCHEDULING_SEED` are the number of worlds and their seed. Tests that need the
//! originals, which are Go modules, are part of `make e2e` and, with more worlds, of `make
//! differential-scheduling`; they are otherwise ignored.

mod blindness;
mod compare;
mod fleet;
mod gardener;
mod karmada;
mod known_differences;
mod ocm;
mod openmcp;
mod ours;
mod side;
mod system;
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;

use berth_tests::differential::{Draw, variable};
use berth_tests::go;
use compare::{Difference, Outcome, Pair};
use side::{Original, Ours, Side};
use system::System;

/// The default number of worlds, which takes seconds.
const WORLDS: u64 = 300;
/// The most differences that are reduced and reported.
const SHOWN: usize = 12;

#[test]
#[ignore = "builds and runs OCM's scheduler: `make e2e`"]
fn ocm_decides_the_same() {
    equal(&ocm::OCM);
}

#[test]
#[ignore = "builds and runs KubeFleet's scheduler: `make e2e`"]
fn fleet_decides_the_same() {
    equal(&fleet::FLEET);
}

#[test]
#[ignore = "builds and runs Gardener's scheduler: `make e2e`"]
fn gardener_decides_the_same() {
    equal(&gardener::TODAY);
}

#[test]
#[ignore = "builds and runs Gardener's scheduler of v1.8.0: `make e2e`"]
fn gardener_of_2020_decides_the_same() {
    equal(&gardener::OF_2020);
}

#[test]
#[ignore = "builds and runs openMCP's scheduler: `make e2e`"]
fn openmcp_decides_the_same() {
    equal(&openmcp::OPENMCP);
}

#[test]
#[ignore = "builds and runs the algorithm of Karmada's scheduler: `make e2e`"]
fn karmada_decides_the_same() {
    equal(&karmada::KARMADA);
}

/// Every system.
static SYSTEMS: [&System; 6] = [
    &ocm::OCM,
    &fleet::FLEET,
    &gardener::TODAY,
    &gardener::OF_2020,
    &karmada::KARMADA,
    &openmcp::OPENMCP,
];

/// Compares the worlds of a seed, which may have only known differences.
fn equal(system: &'static System) {
    let original = Original::start(system, &program(system));
    let mut pair = Pair::new(system, Box::new(original), Box::new(Ours(system)));
    let seed = variable("SCHEDULING_SEED", 1);
    let report = run(&mut pair, seed, variable("SCHEDULING_WORLDS", WORLDS));
    println!("{}", report.summary(system, seed));
    assert!(report.found.is_empty(), "{}", report.shown(&mut pair));
}

/// The original's program, up to date.
fn program(system: &System) -> PathBuf {
    let module = format!("peers/{}", system.program);
    let name = format!("{}-judge", system.name);
    go::build_with(&module, "./judge", &name, system.linked)
}

/// Result of many worlds.
#[derive(Default)]
struct Report {
    worlds: usize,
    total: Outcome,
    found: Vec<(u64, Difference)>,
}

impl Report {
    fn add(&mut self, number: u64, outcome: Outcome) {
        let total = &mut self.total;
        self.worlds += 1;
        total.decisions += outcome.decisions;
        total.placed += outcome.placed;
        total.verdicts += outcome.verdicts;
        total.refusals += outcome.refusals;
        total.settled += outcome.settled;
        for (why, times) in outcome.known {
            *total.known.entry(why).or_default() += times;
        }
        let found = outcome.found.into_iter();
        self.found.extend(found.map(|difference| (number, difference)));
    }

    fn summary(&self, system: &System, seed: u64) -> String {
        let total = &self.total;
        let known = total.known.iter();
        let known: Vec<String> = known
            .map(|(why, times)| format!("  {times} times meant: {why}\n"))
            .collect();
        format!(
            "{}, SCHEDULING_SEED={seed}: {} worlds, {} decisions ({} place something), {} verdicts of filters ({} refuse): {} \
             equal, {} but for what is meant, {} differ\n{}",
            system.name,
            self.worlds,
            total.decisions,
            total.placed,
            total.verdicts,
            total.refusals,
            total.decisions - total.settled - self.found.len(),
            total.settled,
            self.found.len(),
            known.concat()
        )
    }

    /// The first differences of each sort, after reduction.
    fn shown(&self, pair: &mut Pair) -> String {
        let mut sorts = BTreeMap::new();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (number, difference) in &self.found {
            *counts.entry(difference.sort()).or_default() += 1;
            sorts.entry(difference.sort()).or_insert((number, difference));
        }
        let mut text = format!(
            "{} of {} decisions differ: {counts:#?}\n",
            self.found.len(),
            self.total.decisions
        );
        for (number, difference) in sorts.values().take(SHOWN) {
            let small = pair.reduce((*difference).clone());
            text.push_str(&format!("\n# world {number}\n{}", small.shown()));
        }
        text
    }
}

/// Compares `count` worlds.
fn run(pair: &mut Pair, seed: u64, count: u64) -> Report {
    let mut report = Report::default();
    for number in 0..count {
        let world = (pair.system.generate)(&mut Draw::new(seed, number));
        let outcome = pair.run(&world).unwrap_or_else(|problem| {
            panic!("world {number} cannot be decided: {problem}\n{}", world.shown())
        });
        report.add(number, outcome);
    }
    report
}

impl Pair {
    fn new(system: &'static System, reference: Box<dyn Side>, other: Box<dyn Side>) -> Self {
        Self {
            system,
            reference,
            other,
        }
    }
}
