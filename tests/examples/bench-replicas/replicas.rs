//! Servers on one etcd, filled with ManagedClusters.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use berth_tests::Server;
use berth_tests::bench::http::{Call, Connection, Protocol, Target};
use berth_tests::bench::object::{Make, Template, standing};
use berth_tests::bench::usage;
use berth_tests::etcd::Etcd;
use http::Method;

/// Path of the objects.
pub(crate) const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
const MAKE: Make = Make::Cluster("cluster.open-cluster-management.io/v1");
/// Time limit until every server has every object.
const READY: Duration = Duration::from_secs(60);
/// Pause between two checks, at most until [`READY`].
const LOOK: Duration = Duration::from_millis(20);

/// One server.
pub(crate) struct Replica {
    /// The process id.
    pub(crate) process: u32,
    /// Target of requests.
    pub(crate) target: Target,
    /// Ends with this value.
    _server: Server,
}

/// All servers and their etcd. The first server is the leader.
pub(crate) struct Replicas {
    /// The servers, in the order of their starts.
    pub(crate) servers: Vec<Replica>,
    etcd: Etcd,
}

/// Processor time of each process so far.
pub(crate) struct Used {
    /// Of the servers, in their order.
    pub(crate) servers: Vec<Duration>,
    /// Of etcd.
    pub(crate) etcd: Duration,
}

impl Replicas {
    /// Starts `count` servers on a new etcd and stores `objects` ManagedClusters of `bytes` bytes.
    pub(crate) async fn start(count: usize, objects: usize, bytes: usize) -> Result<Self> {
        let etcd = Etcd::start_durable();
        let mut servers: Vec<Replica> = Vec::new();
        for number in 0..count {
            let url = etcd.url();
            let server = Server::start_with(&["--storage", "etcd", "--etcd-servers", &url]);
            let target = Target::of(&server.kubeconfig()).await?;
            servers.push(Replica {
                process: server.id(),
                target,
                _server: server,
            });
            if number == 0 {
                fill(&servers[0].target, objects, bytes).await?;
            }
        }
        let replicas = Self { servers, etcd };
        for server in &replicas.servers {
            has(&server.target, &standing(objects - 1)).await?;
        }
        replicas.quiet();
        Ok(replicas)
    }

    /// Processor time of all processes so far.
    pub(crate) fn used(&self) -> Used {
        let servers = self.servers.iter();
        Used {
            servers: servers
                .map(|server| usage::processor_time(server.process))
                .collect(),
            etcd: usage::processor_time(self.etcd.id()),
        }
    }

    /// Waits until the servers have nothing left to do.
    pub(crate) fn quiet(&self) {
        self.servers
            .iter()
            .for_each(|server| usage::quiet(server.process));
    }
}

async fn fill(target: &Target, objects: usize, bytes: usize) -> Result<()> {
    let template = Template::fitted(MAKE, target, bytes).await?;
    let mut connection = Connection::open(target, Protocol::One).await?;
    for serial in 0..objects {
        let body = template.body(&standing(serial), serial);
        connection
            .drained(&Call::new(Method::POST, CLUSTERS, body))
            .await?;
    }
    Ok(())
}

/// Waits until a server has this object.
async fn has(target: &Target, name: &str) -> Result<()> {
    let begun = Instant::now();
    let get = Call::get(format!("{CLUSTERS}/{name}"));
    loop {
        let mut connection = Connection::open(target, Protocol::One).await?;
        match connection.drained(&get).await {
            Ok(_) => return Ok(()),
            Err(problem) if begun.elapsed() > READY => {
                return Err(problem).context("a server lacks an object");
            }
            Err(_) => tokio::time::sleep(LOOK).await,
        }
    }
}
