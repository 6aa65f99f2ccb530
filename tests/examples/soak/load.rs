//! Continuous load, with a separate rate for each sort of operation.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use berth_tests::bench::http::{Call, Connection, Protocol, Target};
use berth_tests::bench::middle::millis;
use berth_tests::bench::object::{Make, Template, standing};
use http::Method;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

const OURS: Make = Make::Cluster("cluster.open-cluster-management.io/v1");
const PLACEMENTS: &str = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/soak/placements";
const CONFIG_MAPS: &str = "/api/v1/namespaces/soak/configmaps";
/// Number of ManagedClusters, which are patched and watched.
const CLUSTERS: usize = 200;
/// Number of Placements before the oldest is deleted.
const STANDING: usize = 100;
/// Number of parallel calls while the store is filled.
const FILLING: usize = 8;

/// One sort of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Get,
    Page,
    Patch,
    Create,
    Delete,
    Place,
}

impl Operation {
    /// All operations, in the order of the table.
    pub(crate) const ALL: [Self; 6] = [
        Self::Get,
        Self::Page,
        Self::Patch,
        Self::Create,
        Self::Delete,
        Self::Place,
    ];

    /// The name in the table's heading.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Page => "page",
            Self::Patch => "patch",
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Place => "placement",
        }
    }
}

/// A repeated operation, with its rate per second and its number of clients.
struct Job {
    rate: f64,
    clients: usize,
    calls: fn(&Shared, usize) -> Vec<(Operation, Call)>,
}

const JOBS: [Job; 5] = [
    Job {
        rate: 200.0,
        clients: 4,
        calls: |shared, number| {
            let path = format!("{CONFIG_MAPS}/{}", churned(number * 7 % shared.objects));
            vec![(Operation::Get, Call::get(path))]
        },
    },
    Job {
        rate: 5.0,
        clients: 1,
        calls: |_, _| vec![(Operation::Page, Call::get(format!("{CONFIG_MAPS}?limit=500")))],
    },
    // Every watcher receives each of them.
    Job {
        rate: 5.0,
        clients: 1,
        calls: |shared, number| {
            let path = format!("{}/{}", Template::path(OURS), standing(number % CLUSTERS));
            let patch = Template::patch(shared.begun.elapsed().as_nanos());
            vec![(Operation::Patch, Call::new(Method::PATCH, path, patch))]
        },
    },
    Job {
        rate: 150.0,
        clients: 4,
        calls: |shared, number| {
            let name = churned(number % shared.objects);
            let delete = Call::new(Method::DELETE, format!("{CONFIG_MAPS}/{name}"), "");
            vec![
                (Operation::Delete, delete),
                (Operation::Create, create(&name, number)),
            ]
        },
    },
    Job {
        rate: 1.0,
        clients: 1,
        calls: |_, number| {
            let mut calls = vec![(Operation::Place, place(number))];
            if let Some(oldest) = number.checked_sub(STANDING) {
                let path = format!("{PLACEMENTS}/place{oldest}");
                calls.push((Operation::Delete, Call::new(Method::DELETE, path, "")));
            }
            calls
        },
    },
];

struct Shared {
    objects: usize,
    begun: Instant,
    over: AtomicBool,
    latencies: Mutex<HashMap<Operation, Vec<f64>>>,
    patches: AtomicUsize,
}

/// The running load.
pub(crate) struct Load {
    shared: Arc<Shared>,
    clients: JoinSet<Result<()>>,
}

impl Load {
    /// Fills the store.
    pub(crate) async fn fill(target: &Target, objects: usize) -> Result<()> {
        let mut one = Connection::open(target, Protocol::One).await?;
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "soak"}});
        let create_namespace = Call::new(Method::POST, "/api/v1/namespaces", namespace.to_string());
        one.drained(&create_namespace).await?;
        let template = Template::fitted(OURS, target, 2_400).await?;
        for serial in 0..CLUSTERS {
            let body = template.body(&standing(serial), serial);
            one.drained(&Call::new(Method::POST, Template::path(OURS), body))
                .await?;
        }
        let mut clients = JoinSet::new();
        for (client, mut connection) in Connection::several(target, FILLING)
            .await?
            .into_iter()
            .enumerate()
        {
            clients.spawn(async move {
                for number in (client..objects).step_by(FILLING) {
                    connection.drained(&create(&churned(number), number)).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(client) = clients.join_next().await {
            client??;
        }
        Ok(())
    }

    /// Starts the load; `rate` multiplies the rates of all operations.
    pub(crate) async fn start(target: &Target, objects: usize, rate: f64) -> Result<Self> {
        let shared = Arc::new(Shared {
            objects,
            begun: Instant::now(),
            over: AtomicBool::new(false),
            latencies: Mutex::default(),
            patches: AtomicUsize::new(0),
        });
        let mut clients = JoinSet::new();
        for job in &JOBS {
            for first in 0..job.clients {
                let connection = Connection::open(target, Protocol::One).await?;
                clients.spawn(client(Arc::clone(&shared), connection, job, first, rate));
            }
        }
        Ok(Self { shared, clients })
    }

    /// Fails when a client has ended, which is always an error.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.clients.try_join_next() {
            Some(ended) => {
                ended??;
                bail!("a client ended")
            }
            None => Ok(()),
        }
    }

    /// The latencies of `operation` since the last call, in milliseconds.
    pub(crate) fn take(&self, operation: Operation) -> Vec<f64> {
        let mut latencies = self
            .shared
            .latencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        latencies.remove(&operation).unwrap_or_default()
    }

    /// Ends the load, and returns the number of patches that every watcher must receive.
    pub(crate) async fn stop(mut self) -> Result<usize> {
        self.shared.over.store(true, Ordering::Relaxed);
        while let Some(client) = self.clients.join_next().await {
            client??;
        }
        Ok(self.shared.patches.load(Ordering::Relaxed))
    }
}

/// Runs one client of a job, with every `clients`-th number from `first` on.
async fn client(
    shared: Arc<Shared>,
    mut connection: Connection,
    job: &'static Job,
    first: usize,
    rate: f64,
) -> Result<()> {
    #[expect(clippy::cast_precision_loss, reason = "a handful of clients")]
    let every = Duration::from_secs_f64(job.clients as f64 / (job.rate * rate));
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in (first..).step_by(job.clients) {
        ticks.tick().await;
        if shared.over.load(Ordering::Relaxed) {
            break;
        }
        for (operation, call) in (job.calls)(&shared, number) {
            let sent = Instant::now();
            match connection.drained(&call).await {
                Ok(_) => {}
                // Another client has deleted it and not yet created it again.
                Err(error)
                    if operation == Operation::Get && error.to_string().contains(": 404 Not Found") => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("{} number {number}", operation.name()));
                }
            }
            let took = millis(sent.elapsed());
            if operation == Operation::Patch {
                shared.patches.fetch_add(1, Ordering::Relaxed);
            }
            let mut latencies = shared.latencies.lock().unwrap_or_else(PoisonError::into_inner);
            latencies.entry(operation).or_default().push(took);
        }
    }
    Ok(())
}

fn churned(number: usize) -> String {
    format!("churned-{number:06}")
}

/// Creates a ConfigMap of one of many sizes, so that free space of deleted ones does not fit the new ones
/// exactly.
fn create(name: &str, number: usize) -> Call {
    let padding = "x".repeat(300 + number.wrapping_mul(2_654_435_761) % 4_000);
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"padding": padding},
    });
    Call::new(Method::POST, CONFIG_MAPS, object.to_string())
}

/// Creates a Placement for which every cluster is feasible.
fn place(number: usize) -> Call {
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": format!("place{number}")}, "spec": {"numberOfClusters": 2},
    });
    Call::new(Method::POST, PLACEMENTS, placement.to_string())
}
