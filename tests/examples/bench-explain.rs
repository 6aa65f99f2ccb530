//! Cost of explanations in comparison with decisions, by fleet size: the server's processor time for reports,
//! pages of candidates, creates and changes; the time of whole lists with kubectl; starts and memory. OCM,
//! with a Placement for every four clusters of the first 20,000, standalone.
//!
//! `make bench-explain` writes `docs/benchmarks/explain.md`, on an idle machine. `BENCH_CLUSTERS` names
//! other fleet sizes, `BERTH_PROGRAM` an existing program to measure instead.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use berth_tests::bench::middle::median;
use berth_tests::bench::table::Table;
use berth_tests::bench::usage;
use berth_tests::{Server, raw};
use http::Method;
use kube::Client;
use serde_json::{Value, json};

const GROUP: &str = "/apis/cluster.open-cluster-management.io";
const VIRTUAL: &str = "/apis/scheduling.berth.dev/v1alpha1/namespaces/bench";
/// Number of repetitions of a read, since processor time is reported in hundredths of a second.
const READS: u32 = 40;
/// Number of Placements, which are created one after the other.
const CREATES: u32 = 400;
/// Most Placements.
const PLACEMENTS: usize = 5000;
/// Pause of a server before its memory is read again: unused threads end after ten seconds.
const REST: Duration = Duration::from_secs(15);

fn main() {
    let sizes = std::env::var("BENCH_CLUSTERS").unwrap_or_else(|_| "1000,20000,50000".to_owned());
    let sizes: Vec<usize> = sizes
        .split(',')
        .map(|size| size.parse().expect("BENCH_CLUSTERS are numbers"))
        .collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut loads = vec![usage::load()];
    let columns: Vec<Vec<(&str, String)>> = sizes
        .iter()
        .map(|&clusters| {
            let column = runtime.block_on(measure(clusters));
            loads.push(usage::load());
            column
        })
        .collect();
    let mut table = Table::new(
        ["".to_owned()]
            .into_iter()
            .chain(sizes.iter().map(|size| format!("{size} clusters"))),
    );
    for (row, (name, _)) in columns[0].iter().enumerate() {
        let values = columns.iter().map(|column| column[row].1.clone());
        table.row([(*name).to_owned()].into_iter().chain(values));
    }
    let loads: Vec<String> = loads.iter().map(|load| format!("{load:.1}")).collect();
    let text = format!(
        "# What explaining costs\n\nMade by `make bench-explain`: OCM, standalone, a release build on {}.\n\n\
         - One Placement for every four clusters, {PLACEMENTS} at most, each for the three best clusters of its region.\n\
         - CPU is the server's own processor time.\n\
         - The load average before the first size and after each was {}. Where it is above the number of processors, compare\n  \
         processor time and not seconds.\n\n{}",
        usage::machine(),
        loads.join(", "),
        table.markdown()
    );
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks/explain.md");
    std::fs::write(&page, &text).expect("docs/benchmarks is writable");
    println!("{text}");
}

async fn measure(clusters: usize) -> Vec<(&'static str, String)> {
    let placements = (clusters / 4).min(PLACEMENTS);
    let mut server = Server::start();
    let fleet = server.file("fleet.yaml", &fleet(clusters, placements));
    let mut rows = Vec::new();
    let begun = Instant::now();
    server.load(&fleet);
    let objects = clusters + placements;
    rows.push((
        "`berth load`, objects a second",
        format!("{:.0}", objects as f64 / begun.elapsed().as_secs_f64()),
    ));
    usage::quiet(server.id());

    server.crash();
    let begun = Instant::now();
    server.restart();
    let client = raw::client(&server.kubeconfig()).await;
    while raw::get(&client, "/readyz").await.code != 200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    rows.push((
        "start until ready, s",
        format!("{:.2}", begun.elapsed().as_secs_f64()),
    ));
    usage::quiet(server.id());
    rows.push((
        "memory after the start, MiB",
        format!("{:.0}", usage::resident(server.id())),
    ));

    let report = format!("{VIRTUAL}/decisions/p0.ocm/scheduling");
    let size = raw::get(&client, &report).await.body.len();
    rows.push(("`scheduling`, CPU ms", cpu_of(&server, &client, &report).await));
    rows.push(("`scheduling`, MB", format!("{:.1}", size as f64 / 1e6)));
    let counts = format!("{report}?reasons=counts&limit=10");
    rows.push((
        "`scheduling?reasons=counts&limit=10`, CPU ms",
        cpu_of(&server, &client, &counts).await,
    ));
    let page = format!("{VIRTUAL}/candidates?fieldSelector=decision%3Dp0.ocm&limit=500");
    rows.push((
        "candidates, first page of 500, CPU ms",
        cpu_of(&server, &client, &page).await,
    ));
    let token = raw::get(&client, &page).await.json()["metadata"]["continue"].clone();
    let next = match token.as_str() {
        Some(token) => cpu_of(&server, &client, &format!("{page}&continue={token}")).await,
        None => "-".to_owned(),
    };
    rows.push(("candidates, a further page, CPU ms", next));
    let (whole, own) = kubectl(
        &server,
        "get candidates -n bench --field-selector decision=p0.ocm",
    );
    rows.push(("`kubectl get candidates` of one decision, s", whole));
    rows.push(("of that kubectl's own processor time, s", own));
    let (whole, own) = kubectl(&server, "get targets");
    rows.push(("`kubectl get targets`, s", whole));
    rows.push(("of that kubectl's own processor time, s", own));

    let before = usage::processor_time(server.id());
    for number in 0..CREATES {
        let placement = placement(&format!("new{number}"), 0);
        let path = format!("{GROUP}/v1beta1/namespaces/bench/placements");
        let answer = raw::write(&client, Method::POST, &path, &placement).await;
        assert_eq!(answer.code, 201, "{}", String::from_utf8_lossy(&answer.body));
    }
    let used = usage::quiet_since(server.id(), before);
    rows.push((
        "create and bind one Placement, CPU ms",
        milliseconds(used, CREATES),
    ));

    let before = usage::processor_time(server.id());
    for number in 0..CREATES {
        let path = format!("{GROUP}/v1/managedclusters/cluster{}", number as usize % clusters);
        let patch = json!({"metadata": {"labels": {"changed": number.to_string()}}});
        let headers = [("content-type", "application/merge-patch+json")];
        let body = patch.to_string();
        let answer = raw::send(&client, Method::PATCH, &path, &headers, body.as_bytes()).await;
        assert_eq!(answer.code, 200, "{}", String::from_utf8_lossy(&answer.body));
    }
    let used = usage::quiet_since(server.id(), before);
    rows.push((
        "a cluster's label patched, until all is decided again, CPU ms",
        milliseconds(used, CREATES),
    ));
    rows.push((
        "memory after all of it, MiB",
        format!("{:.0}", usage::resident(server.id())),
    ));
    // The end of the last thread cannot be observed: the memory is measured after this time.
    tokio::time::sleep(REST).await;
    rows.push((
        "the same after a quarter of a minute of rest",
        format!("{:.0}", usage::resident(server.id())),
    ));
    rows.push((
        "most memory, MiB",
        format!("{:.0}", usage::most_resident(server.id())),
    ));
    rows
}

/// The median of the server's processor time for one read of `path`, over tens of reads.
async fn cpu_of(server: &Server, client: &Client, path: &str) -> String {
    let mut rounds = Vec::new();
    for _ in 0..3 {
        let before = usage::processor_time(server.id());
        for _ in 0..READS {
            let answer = raw::get(client, path).await;
            assert_eq!(
                answer.code,
                200,
                "{path}: {}",
                String::from_utf8_lossy(&answer.body)
            );
        }
        let used = usage::processor_time(server.id()) - before;
        rounds.push(used.as_secs_f64() * 1000.0 / f64::from(READS));
    }
    format!("{:.1}", median(&rounds))
}

/// Seconds of the whole kubectl command, and seconds of kubectl's own processor time.
fn kubectl(server: &Server, arguments: &str) -> (String, String) {
    let (begun, before) = (Instant::now(), usage::ended_children());
    let lines = server.kubectl(arguments).succeeds().lines().count();
    assert!(lines > 1, "kubectl {arguments} shows nothing");
    let (whole, own) = (begun.elapsed(), usage::ended_children() - before);
    (
        format!("{:.2}", whole.as_secs_f64()),
        format!("{:.2}", own.as_secs_f64()),
    )
}

fn milliseconds(used: Duration, times: u32) -> String {
    format!("{:.1}", used.as_secs_f64() * 1000.0 / f64::from(times))
}

/// The fleet and its Placements, as documents of a file.
fn fleet(clusters: usize, placements: usize) -> String {
    let set = "cluster.open-cluster-management.io/clusterset";
    let mut text = String::new();
    let mut add = |value: Value| write!(text, "---\n{value}\n").expect("a String takes everything");
    add(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench"}}));
    add(
        json!({"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
        "metadata": {"name": "fleet"}, "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
    );
    add(
        json!({"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
        "metadata": {"namespace": "bench", "name": "fleet"}, "spec": {"clusterSet": "fleet"}}),
    );
    for number in 0..clusters {
        let condition = |kind: &str| {
            json!({"type": kind, "status": "True", "reason": "True", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        // Every tenth is drained.
        let taints = if number % 10 == 9 {
            json!([{"key": "maintenance", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"}])
        } else {
            json!([])
        };
        add(
            json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": format!("cluster{number}"), "labels": {set: "fleet", "region": region(number)}},
            "spec": {"hubAcceptsClient": true, "taints": taints},
            "status": {
                "conditions": [condition("ManagedClusterJoined"), condition("ManagedClusterConditionAvailable")],
                "capacity": {"cpu": "64", "memory": "256Gi"},
                "allocatable": {"cpu": (8 + number % 50).to_string(), "memory": format!("{}Gi", 16 + number % 200)},
                "version": {"kubernetes": "v1.34.1"},
            }}),
        );
    }
    for number in 0..placements {
        add(placement(&format!("p{number}"), number));
    }
    text
}

/// One of eight regions.
fn region(number: usize) -> String {
    format!("region-{}", number % 8)
}

/// The three best clusters of a region.
fn placement(name: &str, number: usize) -> Value {
    json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
    "metadata": {"namespace": "bench", "name": name},
    "spec": {
        "numberOfClusters": 3,
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"region": region(number)}}}}],
        "prioritizerPolicy": {"configurations": [
            {"scoreCoordinate": {"builtIn": "ResourceAllocatableMemory"}, "weight": 2},
        ]},
    }})
}
