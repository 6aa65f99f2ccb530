//! Costs of a change with published decisions: events and the server's processor time for a change of one
//! cluster, a change of one decision, and a heartbeat, with thousands of published decisions of a large
//! fleet, standalone. Fails after a write of an object that the change does not affect, or when a cluster's
//! fast-changing data are written more than once in thirty seconds.
//!
//! `make bench-publications` writes `docs/benchmarks/publications.md`, on an idle machine.
//! `PUBLICATIONS_TARGETS` and `PUBLICATIONS_DECISIONS` name other sizes, `PUBLICATIONS_SECONDS` the duration
//! of fast changes, `BENCH_OUTPUT` another folder, `BERTH_PROGRAM` an existing program to measure instead.

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
