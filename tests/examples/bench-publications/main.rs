//! Costs of a change for the readers of published decisions: events and the server's processor time for one
//! cluster's change, one decision's, and a heartbeat, with thousands of decisions over a large fleet
//! published, standalone. Fails where anything is written that the change does not concern, or a cluster's
//! fast-moving data more than once in thirty seconds.
//!
//! `make bench-publications` writes `docs/benchmarks/publications.md`, on a machine with nothing else to do.
//! `PUBLICATIONS_TARGETS` and `PUBLICATIONS_DECISIONS` name other sizes, `PUBLICATIONS_SECONDS` how long data
//! move fast, `BENCH_OUTPUT` another folder, `BERTH_PROGRAM` a program to measure as it is.

mod changes;
mod fast;
mod fleet;
mod report;
mod watching;
mod world;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use berth_tests::bench::usage;

use crate::fleet::Size;
use crate::report::Report;
use crate::world::World;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<()> {
    let size = Size {
        targets: number("PUBLICATIONS_TARGETS", 20_000)?,
        decisions: number("PUBLICATIONS_DECISIONS", 5_000)?,
    };
    let time = Duration::from_secs(number("PUBLICATIONS_SECONDS", 100)?.try_into()?);
    let load = usage::load();
    let mut world = World::new(size).await?;
    let mut report = Report {
        size,
        time,
        load,
        published: world.publish().await?,
        rows: changes::all(&mut world).await?,
        fast: fast::measure(&mut world, time).await?,
        ..Report::default()
    };
    report.rows.push(world.restarted().await?);
    report.memory = usage::most_resident(world.server.id());
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks"));
    report.write(&std::env::var_os("BENCH_OUTPUT").map_or(folder, PathBuf::from))
}

fn number(name: &str, usual: usize) -> Result<usize> {
    std::env::var(name).map_or(Ok(usual), |text| {
        text.parse().with_context(|| format!("{name} is a number"))
    })
}
