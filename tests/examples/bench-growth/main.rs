//! Growth of costs with the store: create, get, pages of a list, decisions, start and memory with more and
//! more objects, and with more and more targets. Only lists and starts may grow; the page names all growing
//! costs.
//!
//! `make bench-growth` writes `docs/benchmarks/growth.md`, `.svg`. `GROWTH_OBJECTS` and `GROWTH_TARGETS` name
//! other sizes, `GROWTH_SECONDS` the time of an operation's repetitions, `BENCH_OUTPUT` another folder,
//! `BERTH_PROGRAM` an existing program to measure instead.

mod measure;
mod model;
mod report;
mod store;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::measure::Column;
use crate::store::Size;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of objects while the number of targets grows.
const FEW_OBJECTS: usize = 1_000;
/// Number of targets while the number of objects grows.
const FEW_TARGETS: usize = 10;

#[tokio::main]
async fn main() -> Result<()> {
    let time = std::env::var("GROWTH_SECONDS").unwrap_or_else(|_| "2".to_owned());
    let time = Duration::from_secs_f64(time.parse().context("GROWTH_SECONDS is a number")?);
    let objects = numbers("GROWTH_OBJECTS", "1000,10000,40000,100000")?;
    let targets = numbers("GROWTH_TARGETS", "10,1000,10000,100000")?;
    let with_objects = columns(
        objects.iter().map(|&objects| Size {
            objects,
            targets: FEW_TARGETS,
        }),
        time,
    )
    .await?;
    let with_targets = columns(
        targets.iter().map(|&targets| Size {
            objects: FEW_OBJECTS,
            targets,
        }),
        time,
    )
    .await?;
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks"));
    let folder = std::env::var_os("BENCH_OUTPUT").map_or(folder, PathBuf::from);
    report::write(&folder, &with_objects, &with_targets)
}

async fn columns(sizes: impl Iterator<Item = Size>, time: Duration) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    for size in sizes {
        println!("{} objects, {} targets", size.objects, size.targets);
        let column = measure::column(size, time)
            .await
            .with_context(|| format!("{size:?}"))?;
        for figure in &column.figures {
            println!(
                "  {:<60} {}",
                figure.name,
                berth_tests::bench::middle::shown(figure.value)
            );
        }
        columns.push(column);
    }
    Ok(columns)
}

fn numbers(name: &str, usual: &str) -> Result<Vec<usize>> {
    let text = std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts
        .map(|part| part.parse().with_context(|| format!("{name} are numbers")))
        .collect()
}
