//! The written report.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use berth_tests::bench::chart::{Bar, Chart};
use berth_tests::bench::middle::{median, shown};
use berth_tests::bench::table::Table;
use berth_tests::bench::usage;
use serde_json::{Value, json};

use crate::Measured;

/// Factors by which Berth must be faster than each original, with their number of clusters.
const GOALS: [(&str, usize, f64); 3] = [
    ("OCM", 10_000, 50.0),
    ("KubeFleet", 10_000, 30.0),
    ("Karmada", 5_000, 30.0),
];
/// The file of the values.
pub(crate) const VALUES: &str = "scheduling.json";

/// Writes `scheduling.md`, `.svg` and `.json`, and prints the table.
pub(crate) fn write(folder: &Path, all: &[Measured], rounds: usize) -> Result<()> {
    let mut table = Table::new([
        "one decision, ms",
        "clusters",
        "picked",
        "original",
        "original, CPU",
        "Berth",
        "Berth after a change",
        "ratio",
        "goal",
    ]);
    for measured in all {
        table.row([
            measured.title.clone(),
            shown_count(measured.clusters),
            measured.picked.to_string(),
            shown(median(&measured.theirs)),
            shown(median(&measured.processor)),
            shown(median(&measured.ours)),
            shown(median(&measured.changed)),
            shown(measured.ratio()),
            goal(measured),
        ]);
    }
    let text = format!(
        "# Decisions beside the originals\n\n\
         Made by `make bench-scheduling-peers` on {}, whose load average was {} at the end; medians of \
                  {rounds} rounds in which original and ours take turns.\n\n\
         - The originals are OCM's placement scheduler (module `open-cluster-management.io/ocm` v1.0.0), KubeFleet's scheduling framework\n  \
         (`go.goms.io/fleet` v0.14.0), the reconciler of Gardener's scheduler (`github.com/gardener/gardener` v1.150.0) and the algorithm of\n  \
         Karmada's (`github.com/karmada-io/karmada` v1.18.2). They run as Go programs\n  \
         on the same fleets as ours, and read from memory, as from their caches.\n\
         - Every decision was equal to ours: the same clusters, for OCM in the same order with the same scores,\n  \
         for Karmada with the same replicas.\n\
         - In fleets of OCM and KubeFleet half of the clusters have a label, and a request wants ten clusters with it. Fleets of Gardener are seeds\n  \
         with two shoots each, and a request wants one seed. Clusters of Karmada have nine models of nodes each, and a request divides 40 replicas\n  \
         by room: among all clusters, or in the last of twelve groups, the only one with room.\n\
         - \"After a change\" includes reading a changed label of a cluster first.\n\
         - Ratios take the smaller of the original's time and its processor time.\n\
         - Rows that were not measured again (`BENCH_SYSTEMS`, `BENCH_CLUSTERS`) are of an earlier run.\n\n\
         ![Time of one decision](scheduling.svg)\n\n{}",
        usage::machine(),
        shown(usage::load()),
        table.markdown()
    );
    println!("\n{text}");
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let put = |name: &str, content: String| {
        let path = folder.join(name);
        fs::write(&path, content).with_context(|| path.display().to_string())
    };
    put("scheduling.md", text)?;
    put("scheduling.svg", chart(all, rounds).svg())?;
    put(VALUES, format!("{:#}\n", values(all)))
}

#[expect(clippy::cast_precision_loss, reason = "a count of clusters")]
fn shown_count(count: usize) -> String {
    shown(count as f64)
}

fn goal(measured: &Measured) -> String {
    let goal = GOALS
        .iter()
        .find(|(system, size, _)| measured.title.starts_with(system) && measured.clusters == *size);
    match goal {
        Some((.., least)) => {
            let met = if measured.ratio() >= *least {
                "met"
            } else {
                "missed"
            };
            format!("{least}: {met}")
        }
        None => String::new(),
    }
}

fn chart(all: &[Measured], rounds: usize) -> Chart {
    let note = format!("ms, logarithmic; medians of {rounds} rounds");
    let mut chart = Chart::new("Time of one decision", &note);
    for measured in all {
        let bar = |name: &str, values: &[f64], colour| Bar {
            name: name.to_owned(),
            value: median(values),
            colour,
        };
        chart.group(
            &format!("{}, {} clusters", measured.title, shown_count(measured.clusters)),
            vec![
                bar("original", &measured.theirs, 1),
                bar("Berth, after a change", &measured.changed, 4),
                bar("Berth", &measured.ours, 3),
            ],
        );
    }
    chart
}

fn values(all: &[Measured]) -> Value {
    all.iter()
        .map(|measured| {
            json!({
                "case": measured.title, "clusters": measured.clusters, "picked": measured.picked,
                "original": measured.theirs,
                "originalProcessor": measured.processor, "berth": measured.ours, "berthAfterAChange": measured.changed,
            })
        })
        .collect()
}
