//! Cost of Berth on a hub of OCM with 20,000 clusters and 5,000 requests: starts of a deciding server, its
//! memory, the time from a changed label to the written decision, its requests to kube-apiserver, and `why`
//! and `compare` without an installation.
//!
//! `make bench-hub` writes `docs/benchmarks/hub.md`. `BENCH_PART` is a divisor of the size (50 for a test
//! run), `BENCH_OUTPUT` another folder, `BERTH_PROGRAM` an existing program to measure instead.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use berth_tests::bench::http::{Call, Connection, Protocol, Target};
use berth_tests::bench::middle::{median, millis, quantile};
use berth_tests::bench::run::{Run, Serving, command, of_child};
use berth_tests::bench::table::Table;
use berth_tests::bench::usage;
use berth_tests::hub::audit::BERTH_USER;
use berth_tests::hub::installation::{Installation, available};
use berth_tests::hub::{Hub, berth};
use berth_tests::ocm;
use berth_tests::ocm::world::World;
use http::Method;
use http_body_util::BodyExt as _;
use serde_json::json;

/// Number of starts and of runs of each command.
const ROUNDS: usize = 3;
/// Number of patches that concern a request, one after the other.
const PATCHES: usize = 60;
/// Interval in which requests are counted.
const MINUTE: Duration = Duration::from_secs(60);
/// Pause after a written decision, in which the server does what else follows from the change: its processor time
/// counts, too.
const REST: Duration = Duration::from_millis(300);
/// Patches a second under churn. They concern no request.
const CHURN: u32 = 20;

/// One figure with its goal.
struct Row {
    name: String,
    value: String,
    goal: &'static str,
}

#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    /// Sentences below the table.
    notes: Vec<String>,
}

impl Rows {
    fn add(&mut self, name: impl Into<String>, value: String, goal: &'static str) {
        let name = name.into();
        println!("  {name:<75} {value:>9}  {goal}");
        self.rows.push(Row { name, value, goal });
    }
}

fn main() -> Result<()> {
    let part = std::env::var("BENCH_PART").unwrap_or_else(|_| "1".to_owned());
    let part: usize = part.parse().context("BENCH_PART is a number")?;
    let world = World {
        clusters: 20_000 / part,
        requests: 5_000 / part,
        are_small: true,
    };
    ensure!(world.clusters > 4 * PATCHES, "BENCH_PART leaves too few clusters");
    let mut rows = Rows::default();
    let hub = Hub::start_to_count();
    ocm::define(&hub);
    let begun = Instant::now();
    world.load(&hub);
    println!("  loaded in {:.0} s", begun.elapsed().as_secs_f64());
    deciding(&hub, world, &mut rows)?;
    looking(&hub, &mut rows);
    write(world, &rows)
}

/// A server that decides the requests.
fn deciding(hub: &Hub, world: World, rows: &mut Rows) -> Result<()> {
    let installation = Installation::new(&["--source=ocm=hub"]);
    hub.kubectl("apply --server-side -f -")
        .input(installation.manifests(&["all"]))
        .succeeds();
    let kubeconfig = hub.kubeconfig_for_service_account(berth::BERTH.namespace, berth::BERTH.name);
    let (port, service_port) = (
        installation.port.to_string(),
        format!("--service-port={}", installation.port),
    );
    let arguments = [
        "--secure-port",
        &port,
        &service_port,
        "--ca-secret=berth-ca",
        "--source=ocm=hub",
        "--storage=memory",
        "--mode=decide",
    ];
    let start = |round: usize| {
        let data = hub.folder().join(format!("berth-{round}"));
        Serving::start(&kubeconfig, &data, &arguments)
    };
    let begun = Instant::now();
    let (first, _) = start(0);
    ocm::decided(hub, world.requests);
    rows.add(
        "the first start, until all requests are decided and written, s",
        format!("{:.0}", begun.elapsed().as_secs_f64()),
        "",
    );
    let used = usage::quiet_since(first.id(), Duration::ZERO);
    rows.add(
        "of that, the server's CPU s",
        format!("{:.1}", used.as_secs_f64()),
        "",
    );
    drop(first);
    let (mut starts, mut after, mut last) = (Vec::new(), Vec::new(), None);
    for round in 1..=ROUNDS {
        drop(last.take());
        rest(hub);
        let (serving, run) = start(round);
        let used = usage::quiet_since(serving.id(), Duration::from_secs_f64(run.processor));
        starts.push(run);
        after.push((used.as_secs_f64(), usage::resident(serving.id())));
        last = Some(serving);
    }
    let serving = last.context("it was started")?;
    of_starts(&starts, &after, rows);
    available(hub);
    usage::quiet(serving.id());
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(labels(hub, &serving, rows))?;
    usage::quiet(serving.id());
    requests(hub, &serving, "at rest", rows, || std::thread::sleep(MINUTE));
    requests(hub, &serving, "under churn", rows, || {
        runtime.block_on(churn(hub)).expect("the hub takes patches");
    });
    rows.add(
        "memory at most, MiB",
        format!("{:.0}", usage::most_resident(serving.id())),
        "",
    );
    Ok(())
}

fn of_starts(starts: &[Run], after: &[(f64, f64)], rows: &mut Rows) {
    let middle = |of: &dyn Fn(&Run) -> f64| median(&starts.iter().map(of).collect::<Vec<_>>());
    rows.add(
        "start of a server until ready, s",
        format!("{:.2}", middle(&|run| run.seconds)),
        "4",
    );
    rows.add(
        "of that, the server's CPU s",
        format!("{:.2}", middle(&|run| run.processor)),
        "",
    );
    let (used, memory): (Vec<f64>, Vec<f64>) = after.iter().copied().unzip();
    rows.add(
        "CPU s behind a start, until all is decided again",
        format!("{:.2}", median(&used)),
        "",
    );
    rows.add(
        "memory after a start, MiB",
        format!("{:.0}", memory.iter().copied().fold(0.0, f64::max)),
        "450",
    );
}

/// Waits until kube-apiserver has nothing left to do.
fn rest(hub: &Hub) {
    usage::quiet(hub.process_id("kube-apiserver").expect("it runs"));
}

/// Labels one cluster after the other, so that a request selects it, and waits for the written decision.
async fn labels(hub: &Hub, serving: &Serving, rows: &mut Rows) -> Result<()> {
    let probe = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "probe", "namespace": "team-0"},
        "spec": {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"probe": "yes"}}}}]},
    });
    hub.kubectl("apply -f -").input(probe.to_string()).succeeds();
    let target = Target::of(&hub.admin()).await?;
    let mut writer = Connection::open(&target, Protocol::One).await?;
    let mut follower = Connection::open(&target, Protocol::One).await?;
    let watch = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/team-0/placementdecisions?watch=true\
                 &labelSelector=cluster.open-cluster-management.io%2Fplacement%3Dprobe";
    let mut events = follower.send(&Call::get(watch)).await?.into_body();
    let (mut took, mut used) = (Vec::new(), Vec::new());
    for number in 0..PATCHES {
        // Every fourth cluster is in a set of the namespace.
        let name = format!("cluster-{:04}", 4 * number);
        let processor = usage::processor_time(serving.id());
        let begun = Instant::now();
        writer.drained(&label(&name, "probe", "yes")).await?;
        let mut text = String::new();
        while !text.contains(&format!("\"{name}\"")) {
            let frame = tokio::time::timeout(MINUTE, events.frame()).await?;
            let frame = frame.context("the watch goes on")??;
            text += &String::from_utf8_lossy(frame.data_ref().map_or(&[], |data| data));
        }
        took.push(millis(begun.elapsed()));
        tokio::time::sleep(REST).await;
        let processor = usage::processor_time(serving.id()).saturating_sub(processor);
        used.push(millis(processor));
    }
    rows.add(
        "a label changed, until the decision is written and watched, ms",
        format!("{:.0}", median(&took)),
        "100",
    );
    rows.add(
        "of twenty such changes, the slowest, ms",
        format!("{:.0}", quantile(&took, 0.95)),
        "",
    );
    #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
    let mean = used.iter().sum::<f64>() / used.len() as f64;
    rows.add("the server's CPU ms for one", format!("{mean:.1}"), "");
    Ok(())
}

fn label(cluster: &str, key: &str, value: &str) -> Call {
    let path = format!("/apis/cluster.open-cluster-management.io/v1/managedclusters/{cluster}");
    let body = json!({"metadata": {"labels": {key: value}}});
    Call::new(Method::PATCH, path, body.to_string())
}

/// Patches labels that concern no request, for a minute.
async fn churn(hub: &Hub) -> Result<()> {
    let target = Target::of(&hub.admin()).await?;
    let mut writer = Connection::open(&target, Protocol::One).await?;
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / CHURN);
    let begun = Instant::now();
    let mut number = 0;
    while begun.elapsed() < MINUTE {
        ticks.tick().await;
        let name = format!("cluster-{:04}", number % 200);
        writer.drained(&label(&name, "beat", &number.to_string())).await?;
        number += 1;
    }
    Ok(())
}

/// Counts Berth's requests to the hub during `work`, which takes a minute, and its processor time.
fn requests(hub: &Hub, serving: &Serving, when: &str, rows: &mut Rows, work: impl FnOnce()) {
    let (witness, before) = (hub.witness(), usage::processor_time(serving.id()));
    work();
    let used = usage::processor_time(serving.id()).saturating_sub(before);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for entry in witness.entries() {
        if entry.user() == BERTH_USER && entry.verb() != "watch" {
            *kinds
                .entry(format!("{} {}", entry.verb(), entry.resource()))
                .or_default() += 1;
        }
    }
    let list: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let goal = if when == "at rest" { "the Lease" } else { "" };
    rows.notes
        .push(format!("The requests {when}: {}.", list.join(", ")));
    rows.add(
        format!("requests a minute to kube-apiserver {when}, beside watches"),
        kinds.values().sum::<usize>().to_string(),
        goal,
    );
    rows.add(
        format!("the server's CPU s of that minute {when}"),
        format!("{:.2}", used.as_secs_f64()),
        "",
    );
}

/// Commands that read the hub themselves.
fn looking(hub: &Hub, rows: &mut Rows) {
    let admin = hub.admin();
    for (name, words, goal) in [
        (
            "`berth why` of one request without a server",
            "why placement/request-0011 -n team-1 --from=hub",
            "6",
        ),
        (
            "`berth compare` of all requests without a server",
            "compare",
            "12",
        ),
    ] {
        let runs: Vec<Run> = (0..ROUNDS)
            .map(|_| {
                rest(hub);
                of_child(|| command(&admin, words))
            })
            .collect();
        let middle = |of: &dyn Fn(&Run) -> f64| median(&runs.iter().map(of).collect::<Vec<_>>());
        rows.add(
            format!("{name}, s"),
            format!("{:.2}", middle(&|run| run.seconds)),
            goal,
        );
        rows.add(
            "of that, its CPU s",
            format!("{:.2}", middle(&|run| run.processor)),
            "",
        );
        let memory = runs.iter().map(|run| run.memory).fold(0.0, f64::max);
        rows.add("its memory at most, MiB", format!("{memory:.0}"), "600");
    }
}

fn write(world: World, rows: &Rows) -> Result<()> {
    ensure!(!rows.rows.is_empty(), "something was measured");
    let mut table = Table::new(["", "measured", "goal"]);
    for Row { name, value, goal } in &rows.rows {
        table.row([name.clone(), value.clone(), (*goal).to_owned()]);
    }
    let World {
        clusters, requests, ..
    } = world;
    let notes: String = rows.notes.iter().map(|note| format!("- {note}\n")).collect();
    let text = format!(
        "# A hub of {clusters} clusters\n\n\
         Made by `make bench-hub` with a release build on {}, whose load average was {:.1} at the end: OCM's objects on a\n\
         kube-apiserver with etcd on the same machine, {clusters} ManagedClusters and {requests} Placements in ten namespaces, each for one to\n\
         ten clusters, by labels, claims, expressions, scores and tolerations. Berth decides them in place of OCM's placement controller, as\n\
         `berth manifests` installs it. Starts and commands are the median of {ROUNDS}, memory is the most of them.\n\n{}\n\n\
         - A changed label: {PATCHES} one after the other, from the request to kube-apiserver until a watch of the PlacementDecisions has\n  \
         the cluster, with what kube-apiserver and etcd take for both writes.\n\
         - Requests are counted in the audit log of kube-apiserver, for a minute each. Churn is {CHURN} patches a second that concern no\n  \
         Placement, as agents of clusters make them.\n{notes}",
        usage::machine(),
        usage::load(),
        table.markdown(),
    );
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks"));
    let folder = std::env::var_os("BENCH_OUTPUT").map_or(folder, PathBuf::from);
    let page: &Path = &folder.join("hub.md");
    println!("\n{text}");
    std::fs::write(page, text).with_context(|| page.display().to_string())
}
