//! Measurements of one store.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use berth_tests::Server;
use berth_tests::bench::http::{Call, Connection, Protocol, Target};
use berth_tests::bench::middle::{median, millis};
use berth_tests::bench::usage;
use http::Method;

use crate::store::{self, Size, Until, cost};

/// Objects per page.
const PAGE: usize = 500;
/// Number of created Placements, and of changed clusters.
const DECIDED: usize = 50;
/// Number of starts, whose median is reported.
const STARTS: usize = 3;
/// The pause between two checks of readiness.
const LOOK: Duration = Duration::from_millis(4);
const SCHEDULING: &str = "/apis/scheduling.berth.dev/v1alpha1/namespaces/bench/decisions/standing0.ocm/scheduling?reasons=counts&limit=10";

/// One figure of a store.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Name of the figure, with its unit.
    pub(crate) name: &'static str,
    /// The value.
    pub(crate) value: f64,
    /// Whether it may be larger in a larger store.
    pub(crate) may_grow: bool,
}

/// All figures of one store.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// The size of the store.
    pub(crate) size: Size,
    /// The figures in the order of the table, which is the same in each column.
    pub(crate) figures: Vec<Figure>,
}

impl Column {
    fn add(&mut self, name: &'static str, value: f64, may_grow: bool) {
        self.figures.push(Figure {
            name,
            value,
            may_grow,
        });
    }
}

/// Fills a store and measures it.
pub(crate) async fn column(size: Size, time: Duration) -> Result<Column> {
    let mut server = Server::start();
    let target = Target::of(&server.kubeconfig()).await?;
    store::fill(&target, size).await?;
    usage::quiet(server.id());
    let mut column = Column {
        size,
        figures: Vec::new(),
    };
    starts(&mut server, &mut column).await?;
    let target = Target::of(&server.kubeconfig()).await?;
    let target = target.at_port(port(&server)?);
    objects(&server, &target, size, time, &mut column).await?;
    decisions(&server, &target, size, &mut column).await?;
    column.add("memory at most, MiB", usage::most_resident(server.id()), true);
    Ok(column)
}

/// Single objects and pages.
async fn objects(
    server: &Server,
    target: &Target,
    size: Size,
    time: Duration,
    column: &mut Column,
) -> Result<()> {
    let (process, objects) = (server.id(), size.objects);
    let standing = move |number: usize| {
        let number = number * 7 % objects;
        format!("{}/standing-{number:06}", store::path(number))
    };
    let until = Until::Time(time);
    let (create, count) = cost(process, target, until, |number| store::create("passing", number)).await?;
    column.add("create, CPU ms", create, false);
    let get = cost(process, target, until, move |number| Call::get(standing(number))).await?;
    column.add("get, CPU ms", get.0, false);
    let patch = cost(process, target, until, move |number| {
        let body = format!(r#"{{"data":{{"round":"{number}"}}}}"#);
        Call::new(Method::PATCH, standing(number), body)
    });
    column.add("patch, CPU ms", patch.await?.0, false);
    let delete = cost(process, target, Until::Count(count), |number| {
        Call::new(
            Method::DELETE,
            format!("{}/passing-{number:06}", store::path(number)),
            "",
        )
    });
    column.add("delete, CPU ms", delete.await?.0, false);
    for (name, path) in [
        (
            "first page of 500, CPU ms",
            format!("/api/v1/configmaps?limit={PAGE}"),
        ),
        ("a page from the middle, CPU ms", middle(target, objects).await?),
    ] {
        let page = cost(process, target, until, move |_| Call::get(path.clone()));
        column.add(name, page.await?.0, false);
    }
    Ok(())
}

/// The path of the page that starts after half of the objects.
async fn middle(target: &Target, objects: usize) -> Result<String> {
    let mut connection = Connection::open(target, Protocol::One).await?;
    let half = format!("/api/v1/configmaps?limit={}", objects / 2);
    let list: serde_json::Value = serde_json::from_slice(&connection.read(&Call::get(half)).await?)?;
    let token = list["metadata"]["continue"]
        .as_str()
        .context("half a list has a token")?;
    Ok(format!("/api/v1/configmaps?limit={PAGE}&continue={token}"))
}

/// Decisions: reads, new ones, and repeated ones.
async fn decisions(server: &Server, target: &Target, size: Size, column: &mut Column) -> Result<()> {
    let process = server.id();
    let read = cost(process, target, Until::Count(DECIDED * 4), |_| {
        Call::get(SCHEDULING)
    });
    column.add("a decision read, CPU ms", read.await?.0, false);
    let made = cost(process, target, Until::Count(DECIDED), store::create_placement);
    column.add("a decision made and bound, CPU ms", made.await?.0, false);
    let changed = cost(process, target, Until::Count(DECIDED), move |number| {
        let body = format!(r#"{{"metadata":{{"labels":{{"changed":"c{number}"}}}}}}"#);
        let path = format!("{}/cluster{}", store::CLUSTERS, number % size.targets);
        Call::new(Method::PATCH, path, body)
    });
    column.add(
        "a target changed, until all is decided again, CPU ms",
        changed.await?.0,
        false,
    );
    Ok(())
}

/// Starts the server again and again with the same store.
async fn starts(server: &mut Server, column: &mut Column) -> Result<()> {
    let (mut times, mut used) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        server.crash();
        let begun = Instant::now();
        server.restart();
        let target = Target::of(&server.kubeconfig()).await?.at_port(port(server)?);
        while !ready(&target).await {
            tokio::time::sleep(LOOK).await;
        }
        times.push(millis(begun.elapsed()) / 1_000.0);
        used.push(millis(usage::processor_time(server.id())) / 1_000.0);
    }
    usage::quiet(server.id());
    let file = std::fs::metadata(server.data_dir().join("berth.redb"))?.len();
    column.add("start until ready, s", median(&times), true);
    column.add("start until ready, CPU s", median(&used), true);
    column.add("memory after a start, MiB", usage::resident(server.id()), true);
    #[expect(clippy::cast_precision_loss, reason = "megabytes")]
    column.add("file, MiB", file as f64 / f64::from(1 << 20), true);
    Ok(())
}

async fn ready(target: &Target) -> bool {
    let Ok(mut connection) = Connection::open(target, Protocol::One).await else {
        return false;
    };
    connection.drained(&Call::get("/readyz")).await.is_ok()
}

fn port(server: &Server) -> Result<u16> {
    let port = server.url().rsplit(':').next().context("the URL has a port")?;
    Ok(port.parse()?)
}
