//! Generated requests to kube-apiserver, which has Berth's kinds as CustomResourceDefinitions, and to a Berth
//! that owns them: the answers are equal except for the [`known_differences`].
//!
//! `DIFFERENTIAL_SEQUENCES` and `DIFFERENTIAL_SEED` are the number of sequences and their seed. Tests that
//! need a kube-apiserver are part of `make e2e` and, with more sequences, of `make differential`; they are
//! otherwise ignored.

mod blindness;
mod compare;
mod generate;
mod kinds;
mod known_differences;
mod normal;
mod request;
mod rows;
mod side;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use berth_tests::Server;
use berth_tests::differential::variable;
use berth_tests::hub::{Hub, berth};
use berth_tests::systems::SYSTEMS;
use compare::{Difference, Outcome, Pair};
use futures::StreamExt as _;
use side::Side;

/// The default number of sequences, which takes less than a minute.
const SEQUENCES: u64 = 300;
/// Number of parallel sequences.
const BESIDE: usize = 8;
/// The most differences that are reduced and reported.
const SHOWN: usize = 25;
/// Only the requests may change objects.
const NO_CONTROLLERS: &str = "--controllers=-ocm,-fleet,-gardener,-karmada,-openmcp,-kcp-placement,-kcp-namespace,-kcp-resource,\
                              -kcp-location,-kcp-heartbeat";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn generated_requests_are_answered_as_by_kube_apiserver() {
    let world = World::shared().await;
    let pair = Pair::new(world.reference().await, world.other().await, "d");
    equal(pair, generate::sequence).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn several_managers_own_what_they_own_on_kube_apiserver() {
    let world = World::shared().await;
    let pair = Pair::new(world.reference().await, world.other().await, "m").with_owners();
    equal(pair, generate::managers).await;
}

/// Runs the sequences, which may have only known differences.
async fn equal(pair: Pair, sequence: Sequence) {
    let pair = Arc::new(pair);
    let seed = variable("DIFFERENTIAL_SEED", 1);
    let report = run(
        &pair,
        sequence,
        seed,
        variable("DIFFERENTIAL_SEQUENCES", SEQUENCES),
    )
    .await;
    println!("{}", report.summary(seed));
    assert!(report.found.is_empty(), "{}", report.shown(&pair).await);
}

/// The sequence of a seed and a number.
type Sequence = fn(u64, u64) -> Vec<request::Request>;

/// Both servers.
struct World {
    hub: Hub,
    server: Server,
}

impl World {
    /// The shared servers of this program's tests, which end with the last test that uses them.
    async fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<World>> = Mutex::new(Weak::new());
        let started = tokio::task::spawn_blocking(|| {
            let mut shared = SHARED.lock().expect("no start has panicked");
            let running = shared.upgrade();
            running.unwrap_or_else(|| {
                let started = Arc::new(Self::start());
                *shared = Arc::downgrade(&started);
                started
            })
        });
        started.await.expect("both servers start")
    }

    fn start() -> Self {
        let hub = Hub::start();
        berth::apply_definitions(&hub);
        let served = [
            "wait",
            "--for=condition=Established",
            "crd",
            "--all",
            "--timeout=60s",
        ];
        hub.kubectl_args(&served).succeeds();
        Self {
            hub,
            server: quiet_server(),
        }
    }

    async fn reference(&self) -> Side {
        let side = Side::new(&self.hub.admin()).await;
        for kind in kinds::KINDS {
            side.until_listed(kind).await;
        }
        side
    }

    async fn other(&self) -> Side {
        Side::new(&self.server.kubeconfig()).await
    }
}

/// A standalone server on which only requests change objects.
fn quiet_server() -> Server {
    let server = Server::start_with(&[NO_CONTROLLERS]);
    server.bind_by_hand(&SYSTEMS);
    server
}

/// Result of many sequences.
#[derive(Default)]
struct Report {
    sequences: usize,
    requests: usize,
    known: BTreeMap<&'static str, usize>,
    found: Vec<(u64, Difference)>,
}

impl Report {
    fn add(&mut self, number: u64, outcome: Outcome) {
        self.sequences += 1;
        self.requests += outcome.requests;
        for (why, times) in outcome.known {
            *self.known.entry(why).or_default() += times;
        }
        self.found
            .extend(outcome.difference.map(|difference| (number, difference)));
    }

    fn summary(&self, seed: u64) -> String {
        let known: Vec<String> = self
            .known
            .iter()
            .map(|(why, times)| format!("  {times} times meant: {why}\n"))
            .collect();
        format!(
            "DIFFERENTIAL_SEED={seed}: {} sequences with {} requests to each, {} equal\n{}",
            self.sequences,
            self.requests,
            self.sequences - self.found.len(),
            known.concat()
        )
    }

    /// The first differences of each sort, after reduction.
    async fn shown(&self, pair: &Pair) -> String {
        let mut text = format!("{} of {} sequences differ\n", self.found.len(), self.sequences);
        let mut sorts = BTreeMap::new();
        for (number, difference) in &self.found {
            sorts.entry(difference.sort()).or_insert((number, difference));
        }
        text.push_str(&format!("{} sorts: {:#?}\n", sorts.len(), sorts.keys()));
        for (number, difference) in sorts.values().take(SHOWN) {
            let small = pair.reduce((*difference).clone()).await;
            text.push_str(&format!("\n# sequence {number}\n{}", small.shown()));
        }
        text
    }
}

/// Runs `count` sequences.
async fn run(pair: &Arc<Pair>, sequence: Sequence, seed: u64, count: u64) -> Report {
    let outcomes = futures::stream::iter(0..count).map(|number| {
        let pair = Arc::clone(pair);
        async move { (number, pair.run(&sequence(seed, number)).await) }
    });
    let mut report = Report::default();
    let mut outcomes = outcomes.buffer_unordered(BESIDE);
    while let Some((number, outcome)) = outcomes.next().await {
        report.add(number, outcome);
    }
    report
}
