//! Repeated operations of several parallel clients, and their costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use berth_tests::bench::middle::{millis, quantile};
use http::Method;
use tokio::task::JoinSet;

use crate::contestant::{Contestant, Used};
use crate::figures::Figures;
use crate::settings::Settings;
use berth_tests::bench::http::{Call, Connection};
use berth_tests::bench::object::{Template, standing};

/// Costs of repeated operations.
pub(crate) struct Done {
    /// Time of each operation, in milliseconds.
    pub(crate) latencies: Vec<f64>,
    /// Total time.
    pub(crate) elapsed: Duration,
    /// Processor time of server and database.
    pub(crate) used: Used,
}

/// End of the repetitions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// After a time.
    Time(Duration),
    /// After a number of operations.
    Count(usize),
}

/// Sends the calls of `call` for 0, 1, 2 and so on over `connections`.
pub(crate) async fn repeat(
    contestant: &Contestant,
    connections: Vec<Connection>,
    until: Until,
    call: impl Fn(usize) -> Call + Send + Sync + 'static,
) -> Result<Done> {
    let call = Arc::new(call);
    let next = Arc::new(AtomicUsize::new(0));
    let (before, begun) = (contestant.used(), Instant::now());
    let mut clients = JoinSet::new();
    for mut connection in connections {
        let (call, next) = (Arc::clone(&call), Arc::clone(&next));
        clients.spawn(async move {
            let mut latencies = Vec::new();
            loop {
                // Checked before a number is taken, so that every number below the count of calls is
                // used.
                if matches!(until, Until::Time(time) if begun.elapsed() >= time) {
                    return anyhow::Ok(latencies);
                }
                let number = next.fetch_add(1, Ordering::Relaxed);
                if matches!(until, Until::Count(count) if number >= count) {
                    return anyhow::Ok(latencies);
                }
                let call = call(number);
                let sent = Instant::now();
                connection.drained(&call).await?;
                latencies.push(millis(sent.elapsed()));
            }
        });
    }
    let mut latencies = Vec::new();
    while let Some(client) = clients.join_next().await {
        latencies.extend(client??);
    }
    Ok(Done {
        latencies,
        elapsed: begun.elapsed(),
        used: contestant.used().since(before),
    })
}

impl Done {
    /// Records rate, latencies and processor time per operation as `name.…`.
    #[expect(clippy::cast_precision_loss, reason = "a count of operations")]
    pub(crate) fn note(&self, figures: &mut Figures, contestant: &'static str, name: &str) {
        let count = self.latencies.len() as f64;
        let mut add = |figure: &str, value: f64| figures.add(contestant, &format!("{name}.{figure}"), value);
        add("rate", count / self.elapsed.as_secs_f64());
        add("p50", quantile(&self.latencies, 0.5));
        add("p99", quantile(&self.latencies, 0.99));
        let (servers, database) = (millis(self.used.servers), millis(self.used.database));
        add("cpu", (servers + database) / count);
        add("cpu-server", servers / count);
        add("cpu-own", millis(self.used.own) / count);
        add("cpu-database", database / count);
    }
}

/// Creates the permanent objects.
pub(crate) async fn fill(contestant: &Contestant, settings: &Settings) -> Result<()> {
    let connections = Connection::several(&contestant.target, settings.clients).await?;
    let (path, template) = (contestant.path.clone(), contestant.template.clone());
    let create = move |serial: usize| {
        let body = template.body(&standing(serial), serial);
        Call::new(Method::POST, path.clone(), body)
    };
    repeat(contestant, connections, Until::Count(settings.objects), create)
        .await
        .map(drop)
}

/// Creates objects for a while, then deletes them.
pub(crate) async fn create_and_delete(
    contestant: &Contestant,
    settings: &Settings,
    figures: &mut Figures,
) -> Result<()> {
    let clients = || Connection::several(&contestant.target, settings.clients);
    let (path, template, objects) = (
        contestant.path.clone(),
        contestant.template.clone(),
        settings.objects,
    );
    let create = move |number: usize| {
        let body = template.body(&passing(number), objects + number);
        Call::new(Method::POST, path.clone(), body)
    };
    let created = repeat(contestant, clients().await?, Until::Time(settings.time), create).await?;
    created.note(figures, contestant.key, "create");
    let path = contestant.path.clone();
    let delete = move |number: usize| {
        let one = format!("{path}/{}", passing(number));
        Call::new(Method::DELETE, one, "")
    };
    let count = Until::Count(created.latencies.len());
    let deleted = repeat(contestant, clients().await?, count, delete).await?;
    deleted.note(figures, contestant.key, "delete");
    Ok(())
}

/// Reads single objects for a while.
pub(crate) async fn get(contestant: &Contestant, settings: &Settings, figures: &mut Figures) -> Result<()> {
    let connections = Connection::several(&contestant.target, settings.clients).await?;
    let (path, objects) = (contestant.path.clone(), settings.objects);
    let get = move |number: usize| Call::get(format!("{path}/{}", standing(number % objects)));
    repeat(contestant, connections, Until::Time(settings.time), get)
        .await?
        .note(figures, contestant.key, "get");
    Ok(())
}

/// Patches single objects for a while.
pub(crate) async fn patch(
    contestant: &Contestant,
    settings: &Settings,
    figures: &mut Figures,
    base: Instant,
) -> Result<()> {
    let connections = Connection::several(&contestant.target, settings.clients).await?;
    let (path, objects) = (contestant.path.clone(), settings.objects);
    let patch = move |number: usize| {
        let one = format!("{path}/{}", standing(number % objects));
        // Every patch changes something.
        Call::new(Method::PATCH, one, Template::patch(base.elapsed().as_nanos()))
    };
    repeat(contestant, connections, Until::Time(settings.time), patch)
        .await?
        .note(figures, contestant.key, "patch");
    Ok(())
}

fn passing(number: usize) -> String {
    format!("passing-{number:06}")
}
