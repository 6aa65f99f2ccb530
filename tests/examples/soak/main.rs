//! Sustained load: reads, writes, pages, decisions and many watchers while thousands of objects are created
//! and deleted. Prints memory, latencies and the file's size over time, and fails on any error, on a missed
//! event of a watcher, and on continued growth of memory or the file. It also prints the time of a durable
//! write of a page beside the server's file: a stall of both is the machine's.
//!
//! `make soak` runs it for `SOAK_MINUTES`. `SOAK_OBJECTS` is the number of changing objects, `SOAK_WATCHERS`
//! that of watchers, `SOAK_RATE` multiplies all rates; `BERTH_PROGRAM` names an existing program to use
//! instead.

mod load;
mod probe;
mod watchers;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use berth_tests::Server;
use berth_tests::bench::http::Target;
use berth_tests::bench::middle::{quantile, shown};
use berth_tests::bench::table::Table;
use berth_tests::bench::trend::growth;
use berth_tests::bench::usage;

use crate::load::{Load, Operation};
use crate::probe::Probe;
use crate::watchers::Watchers;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of observations.
const LOOKS: u32 = 30;
/// Allowed relative growth of memory and file over the last third of the run.
const FLAT: f64 = 0.1;

/// One observation.
struct Look {
    memory: f64,
    file: f64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let minutes: f64 = number("SOAK_MINUTES", "30")?;
    let objects = number("SOAK_OBJECTS", "20000")?;
    let crowd = number("SOAK_WATCHERS", "1000")?;
    let rate = number("SOAK_RATE", "1")?;
    let mut server = Server::start();
    let target = Target::of(&server.kubeconfig()).await?;
    Load::fill(&target, objects).await?;
    let watchers = Watchers::start(&target, crowd).await?;
    let probe = Probe::start(server.data_dir())?;
    let mut load = Load::start(&target, objects, rate).await?;
    let time = Duration::from_secs_f64(minutes * 60.0);
    let looks = soak(&server, &mut load, &watchers, &probe, time).await?;
    probe.stop()?;
    let patches = load.stop().await?;
    watchers.have_seen(patches).await?;
    let restarted = Instant::now();
    server.crash();
    server.restart();
    println!(
        "started again after kill -9 in {} s",
        shown(restarted.elapsed().as_secs_f64())
    );
    let memory: Vec<f64> = looks.iter().map(|look| look.memory).collect();
    let file: Vec<f64> = looks.iter().map(|look| look.file).collect();
    for (what, values) in [("memory", &memory), ("the file", &file)] {
        let growth = growth(values);
        println!(
            "{what}: {}% more than a third of the run before",
            shown(growth * 100.0)
        );
        ensure!(growth <= FLAT, "{what} goes on growing: {values:?}");
    }
    Ok(())
}

/// Observes the server while the load runs.
async fn soak(
    server: &Server,
    load: &mut Load,
    watchers: &Watchers,
    probe: &Probe,
    time: Duration,
) -> Result<Vec<Look>> {
    let mut table = Table::new(head());
    let (begun, every) = (Instant::now(), time / LOOKS);
    let mut looks = Vec::new();
    let (mut used, mut events, mut last) = (usage::processor_time(server.id()), watchers.events(), begun);
    for number in 1..=LOOKS {
        tokio::time::sleep_until((begun + every * number).into()).await;
        load.check()?;
        let seconds = last.elapsed().as_secs_f64();
        last = Instant::now();
        let look = look(server)?;
        let (used_now, events_now) = (usage::processor_time(server.id()), watchers.events());
        #[expect(clippy::cast_precision_loss, reason = "a count of events")]
        let delivered = (events_now - events) as f64;
        let mut cells = vec![
            shown(begun.elapsed().as_secs_f64() / 60.0),
            shown(look.memory),
            shown(look.file),
            shown((used_now - used).as_secs_f64() / seconds * 100.0),
            shown(delivered / seconds),
            shown(quantile(&probe.take(), 1.0)),
        ];
        for operation in Operation::ALL {
            let latencies = load.take(operation);
            #[expect(clippy::cast_precision_loss, reason = "a count of operations")]
            cells.push(shown(latencies.len() as f64 / seconds));
            cells.push(shown(quantile(&latencies, 0.99)));
            cells.push(shown(quantile(&latencies, 1.0)));
        }
        (used, events) = (used_now, events_now);
        println!("{}", cells.join("  "));
        table.row(cells);
        looks.push(look);
    }
    println!("\n{}", table.markdown());
    Ok(looks)
}

fn head() -> impl Iterator<Item = String> {
    let head = [
        "minute",
        "memory, MiB",
        "file, MiB",
        "CPU %",
        "events/s",
        "page on disk, longest, ms",
    ];
    let operations = Operation::ALL.iter().flat_map(|operation| {
        let name = operation.name();
        [
            format!("{name}/s"),
            format!("{name} p99, ms"),
            format!("{name} longest, ms"),
        ]
    });
    head.map(str::to_owned).into_iter().chain(operations)
}

fn look(server: &Server) -> Result<Look> {
    let file = std::fs::metadata(server.data_dir().join("berth.redb"))?.len();
    #[expect(clippy::cast_precision_loss, reason = "megabytes")]
    Ok(Look {
        memory: usage::resident(server.id()),
        file: file as f64 / f64::from(1 << 20),
    })
}

fn number<T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    name: &str,
    usual: &str,
) -> Result<T> {
    let text = std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    text.parse().with_context(|| format!("{name} is a number"))
}
