//! Cost of replicas: one, two and three standalone servers on one etcd. Reads and writes a second, the processor
//! time of each server and of etcd, and the delay until a write at one server reaches a watch at another.
//!
//! `make bench-replicas` writes `docs/benchmarks/replicas.md`, on an idle machine. `REPLICAS_SECONDS` is the time
//! of an operation's repetitions, `BENCH_OUTPUT` another folder, `BERTH_PROGRAM` an existing program to measure
//! instead.

mod delay;
mod load;
mod replicas;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use berth_tests::bench::middle::{median, shown};
use berth_tests::bench::table::Table;
use berth_tests::bench::usage;

use crate::load::{At, Cost};
use crate::replicas::Replicas;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Highest number of servers.
const MOST: usize = 3;
/// Number of measurements of each operation.
const ROUNDS: usize = 5;
/// Number of stored ManagedClusters.
const OBJECTS: usize = 5_000;
/// Size of a ManagedCluster as served, in bytes.
const BYTES: usize = 2_300;
/// Time in which servers at rest are measured.
const REST: Duration = Duration::from_secs(30);

/// Figures of one number of servers, in the order of the table's rows.
type Column = Vec<(&'static str, f64)>;

#[tokio::main]
async fn main() -> Result<()> {
    let time = std::env::var("REPLICAS_SECONDS").unwrap_or_else(|_| "3".to_owned());
    let time = Duration::from_secs_f64(time.parse().context("REPLICAS_SECONDS is a number")?);
    let before = usage::load();
    let mut columns = Vec::new();
    for servers in 1..=MOST {
        println!("{servers} servers");
        let column = column(servers, time).await?;
        for (name, value) in &column {
            println!("  {name:<70} {}", shown(*value));
        }
        columns.push(column);
    }
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks"));
    let folder = std::env::var_os("BENCH_OUTPUT").map_or(folder, PathBuf::from);
    let page = folder.join("replicas.md");
    std::fs::write(&page, text(&columns, before)).with_context(|| page.display().to_string())
}

/// Measures this number of servers on an etcd of their own.
async fn column(servers: usize, time: Duration) -> Result<Column> {
    let replicas = Replicas::start(servers, OBJECTS, BYTES).await?;
    let mut column = Vec::new();
    let memory = replicas
        .servers
        .iter()
        .map(|server| usage::resident(server.process));
    column.push(("memory of a server, MiB", median(&memory.collect::<Vec<_>>())));
    rest(&replicas, &mut column).await;
    operation(&replicas, At::All, load::get, time, &mut column, &GETS).await?;
    operation(
        &replicas,
        At::All,
        load::cached_get,
        time,
        &mut column,
        &CACHED_GETS,
    )
    .await?;
    operation(
        &replicas,
        At::First,
        load::patch,
        time,
        &mut column,
        &WRITES_AT_ONE,
    )
    .await?;
    operation(&replicas, At::All, load::patch, time, &mut column, &WRITES_AT_ALL).await?;
    let delays = delay::delays(&replicas).await?;
    column.push((
        "a write until a watch at another server (or the only one), median ms",
        median(&delays),
    ));
    Ok(column)
}

/// Measures servers that nobody asks anything.
async fn rest(replicas: &Replicas, column: &mut Column) {
    replicas.quiet();
    let before = replicas.used();
    tokio::time::sleep(REST).await;
    let cost = Cost::new(&replicas.used(), &before, REST, 1);
    let per_minute = 60.0 / REST.as_secs_f64();
    column.push(("at rest: CPU of the leader, ms a minute", cost.first * per_minute));
    column.push((
        "at rest: CPU of each other server, ms a minute",
        cost.others * per_minute,
    ));
    column.push(("at rest: CPU of etcd, ms a minute", cost.etcd * per_minute));
}

/// Names of an operation's rows: the rate, and the processor time of the first server, of each other server and
/// of etcd.
type Rows = [&'static str; 4];

const GETS: Rows = [
    "get, a second",
    "get: CPU of all servers, ms",
    "",
    "get: CPU of etcd, ms",
];
const CACHED_GETS: Rows = [
    "get with `resourceVersion=0`, a second",
    "get with `resourceVersion=0`: CPU of all servers, ms",
    "",
    "",
];
const WRITES_AT_ONE: Rows = [
    "patch, all at one server, a second",
    "patch, all at one server: its CPU, ms",
    "patch, all at one server: CPU of each other server, ms",
    "patch, all at one server: CPU of etcd, ms",
];
const WRITES_AT_ALL: Rows = [
    "patch, spread over all, a second",
    "patch, spread over all: CPU of all servers, ms",
    "",
    "patch, spread over all: CPU of etcd, ms",
];

/// Measures an operation, and adds its rows that have a name.
async fn operation(
    replicas: &Replicas,
    at: At,
    call: fn(usize) -> berth_tests::bench::http::Call,
    time: Duration,
    column: &mut Column,
    rows: &Rows,
) -> Result<()> {
    let mut costs = Vec::new();
    for _ in 0..ROUNDS {
        costs.push(load::measure(replicas, at, call, time).await?);
    }
    let middle = |figure: fn(&Cost) -> f64| median(&costs.iter().map(figure).collect::<Vec<_>>());
    let server: fn(&Cost) -> f64 = match at {
        At::First => |cost| cost.first,
        At::All => |cost| cost.all,
    };
    let figures = [
        middle(|cost| cost.rate),
        middle(server),
        middle(|cost| cost.others),
        middle(|cost| cost.etcd),
    ];
    let named = rows.iter().zip(figures).filter(|(name, _)| !name.is_empty());
    column.extend(named.map(|(name, figure)| (*name, figure)));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "numbers of a few thousands")]
fn text(columns: &[Column], before: f64) -> String {
    let heads = (1..=columns.len()).map(|count| match count {
        1 => "1 server".to_owned(),
        count => format!("{count} servers"),
    });
    let mut table = Table::new([String::new()].into_iter().chain(heads));
    for (row, (name, _)) in columns[0].iter().enumerate() {
        let values = columns
            .iter()
            .enumerate()
            .map(|(others, column)| match column[row].1 {
                _ if others == 0 && name.contains("other server,") => "-".to_owned(),
                value => shown(value),
            });
        table.row([(*name).to_owned()].into_iter().chain(values));
    }
    let mut text = String::new();
    write!(
        text,
        "# What replicas cost\n\n\
         Made by `make bench-replicas` with a release build on {}, whose load average was {before:.1} before and {:.1} after.\n\n\
         - Standalone servers on one etcd of one member, which waits for the disk. {} ManagedClusters of {:.1} KB are stored.\n\
         - Servers, etcd and the client share the machine's processors: rates do not show what more machines would give. The CPU of an\n  \
         operation does.\n\
         - {} connections are spread over the servers that are asked. Figures are medians of {ROUNDS} measurements, CPU is for one operation.\n\n{}",
        usage::machine(),
        usage::load(),
        shown(OBJECTS as f64),
        BYTES as f64 / 1e3,
        load::CONNECTIONS,
        table.markdown()
    )
    .expect("a string takes text");
    text
}
