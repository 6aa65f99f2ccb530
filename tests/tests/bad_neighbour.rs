//! Abusive clients of different rights, and none, beside one ordinary user: whatever they send, the user's reads are
//! answered, the user's writes succeed, probes answer, and memory stays bounded.
//!
//! Times are measured and printed. Only a generous deadline is asserted, since tests run on busy machines.

#[path = "bad_neighbour/attacks.rs"]
mod attacks;
#[path = "bad_neighbour/explaining.rs"]
mod explaining;
#[path = "bad_neighbour/unread.rs"]
mod unread;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tests::Server;
use tests::raw::{self, get, write};

/// How long the attacks go on.
const FOR: Duration = Duration::from_secs(12);

/// How long one answer may take, in a debug build on a busy machine.
const DEADLINE: Duration = Duration::from_secs(15);

/// What the server may have in memory: more than the bound on bytes in flight, for what the allocator keeps.
const MOST_MEMORY_KIB: u64 = 1024 * 1024;

/// Set when the attackers are to stop.
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
        server.kubectl(&format!("create namespace {namespace}")).ok();
        server
            .kubectl(&format!(
                "-n {namespace} create rolebinding own --clusterrole {role} --user {user}"
            ))
            .ok();
    }
    for role in ["berth:explainer", "berth:target-viewer", "view"] {
        let name = role.replace(':', "-");
        server
            .kubectl(&format!(
                "create clusterrolebinding {name} --clusterrole {role} --user fay --user gil"
            ))
            .ok();
    }
}

/// The kibibytes the server has in memory, and had at most.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn abusive_clients_take_nothing_from_an_ordinary_user() {
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

    let maps = "/api/v1/namespaces/team-eve/configmaps";
    let (mut gets, mut writes, mut probes) = (Vec::new(), Vec::new(), Vec::new());
    let started = Instant::now();
    let mut round = 0;
    // On a busy machine longer, until there is enough to tell.
    while started.elapsed() < FOR || round < 6 {
        let name = format!("map-{round}");
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "1"}});
        let created = timed("a create", &mut writes, write(&eve, Method::POST, maps, &map)).await;
        assert_eq!(created.code, 201, "{}", String::from_utf8_lossy(&created.body));
        for _ in 0..5 {
            let got = timed("a get", &mut gets, get(&eve, &format!("{maps}/{name}"))).await;
            assert_eq!(got.code, 200, "{}", String::from_utf8_lossy(&got.body));
        }
        for path in ["/livez", "/readyz"] {
            let answer = timed(path, &mut probes, get(&stranger, path)).await;
            assert_eq!(
                answer.code,
                200,
                "{path}: {}",
                String::from_utf8_lossy(&answer.body)
            );
        }
        round += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    over.store(true, Ordering::Relaxed);
    for attacker in attackers {
        let told = attacker.await.expect("an attacker sees what it should");
        println!("{told}");
    }
    show("gets", &mut gets);
    show("creates", &mut writes);
    show("probes", &mut probes);
    let (after, most) = memory(&server);
    println!("memory: {before} KiB before, {after} KiB after, {most} KiB at most");
    assert!(most < MOST_MEMORY_KIB, "{most} KiB");
}
