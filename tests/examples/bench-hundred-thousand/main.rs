//! Cost of each system at its largest supported size: OCM with 100,000 clusters and 20,000 Placements,
//! Gardener with 1,000 Seeds and 50,000 Shoots, KubeFleet with 10,000 members and 5,000 placements, openMCP
//! with 10,000 Clusters and 50,000 requests. Standalone, one server after the other.
//!
//! `make bench-hundred-thousand` writes its page beside those of the other benchmarks. `BENCH_SYSTEMS` names
//! fewer systems (`ocm,gardener`), `BENCH_PART` a divisor of each size (100 for a test run), `BENCH_OUTPUT`
//! another folder, `BERTH_PROGRAM` an existing program to measure instead.

mod measure;
mod worlds;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use berth_tests::bench::table::Table;
use berth_tests::bench::usage;

use crate::measure::Row;
use crate::worlds::World;

#[tokio::main]
async fn main() -> Result<()> {
    let part = std::env::var("BENCH_PART").unwrap_or_else(|_| "1".to_owned());
    let part: usize = part.parse().context("BENCH_PART is a number")?;
    let wanted = std::env::var("BENCH_SYSTEMS").unwrap_or_else(|_| "ocm,gardener,fleet,openmcp".to_owned());
    let mut columns: Vec<(World, Vec<Row>)> = Vec::new();
    for system in wanted.split(',') {
        let world = match system {
            "ocm" => worlds::ocm::world(100_000 / part, 20_000 / part),
            "gardener" => worlds::gardener::world(1_000 / part, 50_000 / part),
            "fleet" => worlds::fleet::world(10_000 / part, 5_000 / part),
            "openmcp" => worlds::openmcp::world(10_000 / part, 50_000 / part),
            _ => bail!("BENCH_SYSTEMS are of ocm, gardener, fleet and openmcp, not {system}"),
        };
        println!("{}", world.title);
        let rows = measure::rows(&world).await.with_context(|| world.title.clone())?;
        columns.push((world, rows));
    }
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks"));
    let folder = std::env::var_os("BENCH_OUTPUT").map_or(folder, PathBuf::from);
    write(&folder.join("hundred-thousand.md"), &columns)
}

fn write(page: &std::path::Path, columns: &[(World, Vec<Row>)]) -> Result<()> {
    let heads = columns.iter().map(|(world, _)| world.title.clone());
    let mut table = Table::new([String::new()].into_iter().chain(heads));
    let (_, first) = columns.first().context("at least one system is measured")?;
    for (place, row) in first.iter().enumerate() {
        let values = columns.iter().map(|(_, rows)| rows[place].value.clone());
        table.row([row.name.to_owned()].into_iter().chain(values));
    }
    let notes: String = columns
        .iter()
        .map(|(world, _)| format!("- {}\n", world.about))
        .collect();
    let text = format!(
        "# A hundred thousand clusters\n\n\
         Made by `make bench-hundred-thousand` with a release build, standalone, on {}, whose load average was {:.1} at the end. \
         CPU is the server's own processor time, with all that it does because of what is asked; of creates and patches it is \
         that of one, of {} one after the other. A start is one after a crash: every record is verified.\n\n{}\n\n{notes}",
        usage::machine(),
        usage::load(),
        measure::TIMES,
        table.markdown(),
    );
    println!("\n{text}");
    std::fs::write(page, text).with_context(|| page.display().to_string())
}
