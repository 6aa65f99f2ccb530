//! Comparison of Berth with its peers, on one machine, in one run, with one client: kube-apiserver with a CRD
//! of the same schema, sample-apiserver, and Berth, embedded, on etcd and behind the aggregator; all over
//! TLS, with durable writes, with objects of the same size. Writes `docs/benchmarks/server.md`, `.svg` and
//! `.json`, and `forms.md` about JSON, protobuf and WebSockets.
//!
//! `make bench-server` builds all programs and runs it; `settings.rs` has the environment variables for a
//! shorter run. Contestants alternate in every round, and the results are medians, so that a shared machine
//! affects all of them equally.

mod contestant;
mod feed;
mod field;
mod figures;
mod forms;
mod lists;
mod programs;
mod report;
mod settings;
mod verdict;
mod watches;
mod work;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use berth_tests::bench::middle::{millis, shown};
use berth_tests::bench::usage;

use crate::contestant::Contestant;
use crate::feed::Form;
use crate::field::Field;
use crate::figures::Figures;
use crate::settings::Settings;
use crate::watches::Crowd;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of measured starts of each program.
const STARTS: usize = 5;

#[tokio::main]
async fn main() -> Result<()> {
    let settings = Settings::read()?;
    tokio::select! {
        done = run(&settings) => done,
        // All started processes end with this one.
        interrupted = tokio::signal::ctrl_c() => interrupted.context("interrupted"),
    }
}

async fn run(settings: &Settings) -> Result<()> {
    let (begun, load) = (Instant::now(), usage::load());
    let mut field = Field::start(settings).await?;
    let mut figures = Figures::default();
    if settings.has_part("server") {
        work(&mut field, settings, &mut figures, begun).await?;
    }
    if settings.has_part("forms") {
        let mut forms = Figures::default();
        forms::measure(&field.contestants, settings, &mut forms, begun).await?;
        report::write_forms(settings, &forms, load)?;
    }
    if settings.has_part("server") {
        starts(&mut field, settings, &mut figures).await?;
        report::write(settings, &figures, begun.elapsed(), load)?;
    }
    Ok(())
}

/// Measures all contestants in turns.
async fn work(field: &mut Field, settings: &Settings, figures: &mut Figures, begun: Instant) -> Result<()> {
    for contestant in &field.contestants {
        // The aggregated contestant has the store that was already filled directly.
        if contestant.key == "sample-aggregated" && settings.wants("sample") {
            continue;
        }
        println!("{}: {} objects", contestant.key, settings.objects);
        work::fill(contestant, settings).await?;
    }
    for contestant in &field.contestants {
        figures.add(contestant.key, "memory.loaded", contestant.memory());
    }
    for round in 1..=settings.rounds {
        for contestant in &field.contestants {
            self::round(contestant, settings, figures, begun)
                .await
                .with_context(|| contestant.key)?;
            say(round, settings, contestant, figures, begun);
        }
    }
    for contestant in &field.contestants {
        figures.add(contestant.key, "memory.end", contestant.memory());
        figures.add(contestant.key, "memory.most", contestant.most_memory());
        figures.add(contestant.key, "memory.database", contestant.database_memory());
    }
    Ok(())
}

/// One contestant's turn in one round.
async fn round(
    contestant: &Contestant,
    settings: &Settings,
    figures: &mut Figures,
    base: Instant,
) -> Result<()> {
    work::create_and_delete(contestant, settings, figures).await?;
    work::get(contestant, settings, figures).await?;
    work::patch(contestant, settings, figures, base).await?;
    lists::lists(contestant, settings, figures).await?;
    let few = Crowd {
        name: "watch-few",
        watchers: 100,
        rate: 50,
        writes: 100,
        form: Form::Json,
    };
    let many = Crowd {
        name: "watch-many",
        watchers: settings.watchers,
        rate: 10,
        writes: 30,
        form: Form::Json,
    };
    watches::watch(contestant, few, figures, base).await?;
    watches::watch(contestant, many, figures, base).await
}

fn say(round: usize, settings: &Settings, contestant: &Contestant, figures: &Figures, begun: Instant) {
    let figure = |name: &str| shown(figures.median(contestant.key, name).unwrap_or_default());
    println!(
        "{:>4.0} s, round {round} of {}: {:<18} create {}/s, get {}/s, patch {}/s, list {} ms, watch {} / {} ms; medians so far",
        begun.elapsed().as_secs_f64(),
        settings.rounds,
        contestant.key,
        figure("create.rate"),
        figure("get.rate"),
        figure("patch.rate"),
        figure("list.p50"),
        figure("watch-few.p50"),
        figure("watch-many.p50"),
    );
}

async fn starts(field: &mut Field, settings: &Settings, figures: &mut Figures) -> Result<()> {
    println!("start-up times");
    let starts = STARTS.min(settings.rounds);
    for _ in 0..starts {
        for key in ["kube", "sample", "berth", "berth-etcd"] {
            if settings.wants(key)
                && let Some(time) = field.start_times(key).await?
            {
                figures.add(key, "start.p50", millis(time));
            }
            // Work that the previous contestant has left must not affect this one.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}
