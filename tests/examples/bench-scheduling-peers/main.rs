//! One decision of Berth and of the originals: OCM's placement scheduler, KubeFleet's scheduling framework,
//! the reconciler of Gardener's scheduler and the algorithm of Karmada's, from their published Go modules,
//! with the same fleets, read from the same files. The decisions must be equal, cluster by cluster and
//! replica by replica; where scores are added, score by score. Writes `docs/benchmarks/scheduling.md`, `.svg`
//! and `.json`.
//!
//! `make bench-scheduling-peers` builds all programs and runs it. `BENCH_ROUNDS` (5) is the number of
//! rounds, in which the original and Berth alternate, `BENCH_CLUSTERS` (1000,5000,10000) the sizes of
//! fleets, `BENCH_SYSTEMS` (ocm,fleet,gardener,karmada) the systems; other measurements in the files
//! are kept.

mod earlier;
mod fleets;
mod ours;
mod peer;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use berth_tests::bench::middle::{median, shown};

use crate::fleets::{Case, Fleet};
use crate::ours::{Decided, Ours};
use crate::peer::Peer;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of decisions of the original in a round.
const THEIRS: usize = 5;
/// Number of Berth's decisions in a round, which are short.
const OURS: usize = 41;

/// Measurements of one case, with a value per round, in milliseconds.
struct Measured {
    /// Title of the case.
    title: String,
    clusters: usize,
    picked: usize,
    theirs: Vec<f64>,
    /// The original's processor time, including its garbage collector.
    processor: Vec<f64>,
    ours: Vec<f64>,
    changed: Vec<f64>,
}

impl Measured {
    /// Ratio of the original's time to Berth's, round by round, with the smaller of the original's elapsed
    /// time and processor time: on a busy machine it waits for a processor, on an idle one it uses several.
    fn ratio(&self) -> f64 {
        let theirs = self.theirs.iter().zip(&self.processor);
        let ratios: Vec<f64> = theirs
            .zip(&self.ours)
            .map(|((clock, processor), ours)| clock.min(*processor) / ours)
            .collect();
        median(&ratios)
    }
}

fn main() -> Result<()> {
    let rounds = variable("BENCH_ROUNDS", "5")?.parse().context("BENCH_ROUNDS")?;
    let sizes: Vec<usize> = variable("BENCH_CLUSTERS", "1000,5000,10000")?
        .split(',')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .context("BENCH_CLUSTERS")?;
    let systems = variable("BENCH_SYSTEMS", "ocm,fleet,gardener,karmada")?;
    let is_wanted = |system: &str| systems.split(',').any(|wanted| wanted == system);
    let own = std::env::current_exe()?;
    let target = own
        .ancestors()
        .nth(3)
        .context("examples are in <target>/<profile>/examples")?;
    let folder = tempfile::Builder::new()
        .prefix("bench-fleets-")
        .tempdir_in(target)?;
    let mut all = Vec::new();
    for clusters in sizes {
        for fleet in fleets::all(clusters, is_wanted) {
            all.extend(measure(&fleet, rounds, target, folder.path())?);
        }
    }
    let output = std::env::var_os("BENCH_OUTPUT").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks")),
        PathBuf::from,
    );
    let all = earlier::beside(all, &output.join(report::VALUES))?;
    report::write(&output, &all, rounds)
}

fn variable(name: &str, usual: &str) -> Result<String> {
    match std::env::var(name) {
        Ok(text) => Ok(text),
        Err(std::env::VarError::NotPresent) => Ok(usual.to_owned()),
        Err(problem) => Err(problem).context(name.to_owned()),
    }
}

/// Measures all cases of one fleet.
fn measure(fleet: &Fleet, rounds: usize, target: &Path, folder: &Path) -> Result<Vec<Measured>> {
    let file = folder.join(format!("{}-{}.json", fleet.name, fleet.clusters));
    std::fs::write(&file, fleet.world.to_string()).with_context(|| file.display().to_string())?;
    let program = target.join("bench-peers").join(fleet.dialect);
    let mut peer = Peer::start(&program, &file)?;
    let mut ours = Ours::read(fleet, &file)?;
    for name in &fleet.compared {
        compare(fleet, name, name, &mut peer, &ours)?;
    }
    let mut all = Vec::new();
    for &case in fleet.cases {
        let measured = one(fleet, case, rounds, &mut peer, &mut ours)?;
        println!(
            "{:>6} clusters, {}: {} ms, ours {} ms, {} times",
            fleet.clusters,
            case.title,
            shown(median(&measured.theirs)),
            shown(median(&measured.ours)),
            shown(measured.ratio()),
        );
        all.push(measured);
    }
    Ok(all)
}

/// Requires that both decisions of `demand` are equal.
fn compare(fleet: &Fleet, title: &str, demand: &str, peer: &mut Peer, ours: &Ours) -> Result<Decided> {
    let theirs = peer.decide(demand, 1)?;
    let own = ours.decide(demand)?;
    ensure!(
        theirs.picked == own.picked
            && theirs
                .scores
                .iter()
                .all(|(name, score)| own.scores.get(name) == Some(score)),
        "{} clusters, {title}: not the same decision\noriginal: {:?} {:?}\nours: {:?} {:?}",
        fleet.clusters,
        theirs.picked,
        theirs.scores,
        own.picked,
        own.scores,
    );
    Ok(own)
}

fn one(fleet: &Fleet, case: Case, rounds: usize, peer: &mut Peer, ours: &mut Ours) -> Result<Measured> {
    let own = compare(fleet, case.title, case.placement, peer, ours)?;
    ensure!(!own.picked.is_empty(), "{}: nothing is picked", case.title);
    let mut measured = Measured {
        title: case.title.to_owned(),
        clusters: fleet.clusters,
        picked: own.picked.len(),
        theirs: Vec::new(),
        processor: Vec::new(),
        ours: Vec::new(),
        changed: Vec::new(),
    };
    for round in 0..rounds {
        let answer = peer.decide(case.placement, THEIRS)?;
        ensure!(
            answer.picked == own.picked,
            "{}: the original changed its mind",
            case.title
        );
        measured.theirs.push(median(&answer.nanoseconds) / 1e6);
        measured.processor.push(median(&answer.processor) / 1e6);
        measured.ours.push(median(&ours.times(case.placement, OURS)?));
        measured
            .changed
            .push(median(&ours.times_after_changes(case.placement, OURS, round)?));
    }
    Ok(measured)
}
