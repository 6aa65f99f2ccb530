//! Abusive clients with different rights or none, beside an ordinary user: in spite of them, the user's reads
//! are answered, the user's writes succeed, probes answer, and memory stays bounded.
//!
//! Times are measured and printed. Only a generous deadline is asserted, since tests run on busy machines.

mod asking;
mod attacks;
mod explaining;
mod trickling;
mod unread;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use berth_tests::Server;
use berth_tests::raw::{self, get, write};
use http::Method;
use kube::Client;
use serde_json::json;

/// Length of the attacks.
const FOR: Duration = Duration::from_secs(12);

/// Time limit of one answer, in a debug build on a busy machine.
const DEADLINE: Duration = Duration::from_secs(15);

/// Most memory of the server: more than the limit of bytes in flight, because of the allocator's
/// reserves.
const MOST_MEMORY_KIB: u64 = 1024 * 1024;

/// Locked by the running test: each measures only the effect of its own neighbours.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Set to stop the attackers.
type Over = Arc<AtomicBool>;

fn users(server: &Server) {
    for (user, role) in [
        ("ann", "edit"),
        ("cid", "admin"),
        ("dan", "view"),
        ("eve", "edit"),
        ("fay", "edit"),
        ("gil", "view"),
        ("hal", "edit"),
    ] {
        let namespace = format!("team-{user}");
        server
            .kubectl(&format!("create namespace {namespace}"))
            .succeeds();
        server
            .kubectl(&format!(
                "-n {namespace} create rolebinding own --clusterrole {role} --user {user}"
            ))
            .succeeds();
    }
    for role in ["berth:explainer", "berth:target-viewer", "view"] {
        let name = role.replace(':', "-");
        server
            .kubectl(&format!(
                "create clusterrolebinding {name} --clusterrole {role} --user fay --user gil"
            ))
            .succeeds();
    }
    // The simulation of a drain requires the right to read the drained cluster.
    for words in [
        "create clusterrole drainer --verb get --resource managedclusters.cluster.open-cluster-management.io",
        "create clusterrolebinding drainer --clusterrole drainer --user gil",
    ] {
        server.kubectl(words).succeeds();
    }
}

/// The present and the peak memory of the server, in KiB.
fn memory(server: &Server) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("the server runs");
    let of = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .expect("proc has it");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    };
    (of("VmRSS:"), of("VmHWM:"))
}

async fn timed<T>(what: &str, took: &mut Vec<Duration>, work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let outcome = tokio::time::timeout(DEADLINE, work).await;
    took.push(started.elapsed());
    outcome.unwrap_or_else(|_| panic!("{what} took longer than {DEADLINE:?}"))
}

fn show(what: &str, took: &mut [Duration]) {
    took.sort_unstable();
    let at = |part: usize| took[(took.len() * part / 1000).min(took.len() - 1)].as_secs_f64() * 1e3;
    println!(
        "{what}: {} times, median {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
        took.len(),
        at(500),
        at(990),
        at(1000)
    );
}

/// An ordinary user, and a probe.
struct Bystander {
    eve: Client,
    stranger: Client,
    rounds: usize,
    gets: Vec<Duration>,
    writes: Vec<Duration>,
    probes: Vec<Duration>,
}

impl Bystander {
    fn of(eve: Client, stranger: Client) -> Self {
        Self {
            eve,
            stranger,
            rounds: 0,
            gets: Vec::new(),
            writes: Vec::new(),
            probes: Vec::new(),
        }
    }

    /// Creates a ConfigMap with `text`, reads it and probes the server, and checks that all requests
    /// are answered.
    async fn round(&mut self, text: &str) {
        let maps = "/api/v1/namespaces/team-eve/configmaps";
        let name = format!("map-{}", self.rounds);
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": text}});
        let create = write(&self.eve, Method::POST, maps, &map);
        let created = timed("a create", &mut self.writes, create).await;
        assert_eq!(created.code, 201, "{}", String::from_utf8_lossy(&created.body));
        for _ in 0..5 {
            let got = timed("a get", &mut self.gets, get(&self.eve, &format!("{maps}/{name}"))).await;
            assert_eq!(got.code, 200, "{}", String::from_utf8_lossy(&got.body));
        }
        for path in ["/livez", "/readyz"] {
            let answer = timed(path, &mut self.probes, get(&self.stranger, path)).await;
            assert_eq!(
                answer.code,
                200,
                "{path}: {}",
                String::from_utf8_lossy(&answer.body)
            );
        }
        self.rounds += 1;
    }

    fn show(&mut self) {
        show("gets", &mut std::mem::take(&mut self.gets));
        show("creates", &mut std::mem::take(&mut self.writes));
        show("probes", &mut std::mem::take(&mut self.probes));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn abusive_clients_take_nothing_from_an_ordinary_user() {
    let _alone = ALONE.lock().await;
    let server = Server::start();
    users(&server);
    explaining::fleet(&server);
    let kubeconfig = |user: &str| server.kubeconfig_for(user, &[]);
    let eve = raw::client(&kubeconfig("eve")).await;
    let stranger = raw::client(&kubeconfig("nobody")).await;
    let over = Over::default();
    let (before, _) = memory(&server);

    let attackers = vec![
        tokio::spawn(attacks::patches(
            raw::client(&kubeconfig("ann")).await,
            over.clone(),
        )),
        tokio::spawn(attacks::unknown_fields(
            raw::client(&kubeconfig("bea")).await,
            over.clone(),
        )),
        tokio::spawn(attacks::roles(
            raw::client(&kubeconfig("cid")).await,
            over.clone(),
        )),
        tokio::spawn(attacks::selectors(
            raw::client(&kubeconfig("dan")).await,
            over.clone(),
        )),
        tokio::spawn(explaining::reviews(
            raw::client(&kubeconfig("fay")).await,
            over.clone(),
        )),
        tokio::spawn(explaining::explanations(
            raw::client(&kubeconfig("gil")).await,
            over.clone(),
        )),
        tokio::spawn(explaining::expressions(
            raw::client(&kubeconfig("hal")).await,
            over.clone(),
        )),
        tokio::spawn(unread::strangers(server.url().to_owned(), over.clone())),
    ];

    let mut bystander = Bystander::of(eve, stranger);
    let started = Instant::now();
    // Longer on a busy machine, until there are enough rounds.
    while started.elapsed() < FOR || bystander.rounds < 6 {
        bystander.round("x").await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    over.store(true, Ordering::Relaxed);
    for attacker in attackers {
        let summary = attacker.await.expect("an attacker sees what it should");
        println!("{summary}");
    }
    bystander.show();
    let (after, most) = memory(&server);
    println!("memory: {before} KiB before, {after} KiB after, {most} KiB at most");
    assert!(most < MOST_MEMORY_KIB, "{most} KiB");
}

/// Duration of each neighbour's attack alone.
const EACH: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn much_that_is_asked_in_few_bytes_takes_nothing_from_an_ordinary_user() {
    let _alone = ALONE.lock().await;
    let server = Server::start();
    users(&server);
    explaining::fleet(&server);
    asking::prepare(&server);
    server
        .kubectl("-n team-dan create rolebinding more --clusterrole edit --user ida")
        .succeeds();
    server
        .kubectl(
            "create clusterrole computed --verb list,get \
             --resource publisheddecisions.scheduling.berth.dev,decisionrecords.scheduling.berth.dev",
        )
        .succeeds();
    server
        .kubectl("create clusterrolebinding computed --clusterrole computed --user gil")
        .succeeds();
    let kubeconfig = |user: &str| server.kubeconfig_for(user, &[]);
    let mut files: std::collections::BTreeMap<_, _> = ["bob", "dan", "eve", "gil", "ida", "nobody"]
        .map(|user| (user, kubeconfig(user)))
        .into();
    let url = server.url().to_owned();
    let mut bystander = Bystander::of(
        raw::client(&files["eve"]).await,
        raw::client(&files["nobody"]).await,
    );
    let bob = files.remove("bob").expect("it was made");
    let (dan, gil, ida) = (
        raw::client(&files["dan"]).await,
        raw::client(&files["gil"]).await,
        raw::client(&files["ida"]).await,
    );
    let (over, large) = (Over::default(), "x".repeat(200_000));
    let neighbours: Vec<std::pin::Pin<Box<dyn Future<Output = String>>>> = vec![
        Box::pin(trickling::one_by_one(url.clone(), bob.clone(), over.clone())),
        Box::pin(trickling::as_streams(url, bob, over.clone())),
        Box::pin(asking::advice(gil.clone(), over.clone())),
        Box::pin(asking::selectors(dan, over.clone())),
        Box::pin(asking::policies(ida, over.clone())),
        Box::pin(asking::reviews(gil.clone(), over.clone())),
        Box::pin(asking::computed(gil, over.clone())),
    ];
    for neighbour in neighbours {
        over.store(false, Ordering::Relaxed);
        let standing_by = async {
            let (started, before) = (Instant::now(), bystander.rounds);
            while started.elapsed() < EACH || bystander.rounds < before + 3 {
                bystander.round(&large).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            over.store(true, Ordering::Relaxed);
        };
        let (summary, ()) = tokio::join!(neighbour, standing_by);
        println!("{summary}");
        bystander.show();
        let (_, most) = memory(&server);
        assert!(most < MOST_MEMORY_KIB, "{most} KiB");
    }
}
