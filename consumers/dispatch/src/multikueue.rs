//! Kueue's MultiKueue: a Workload names a decision of any system, and the decision's clusters are nominated
//! for it, the best first (docs/consumers.md, "MultiKueue").
//!
//! [`nominate`] chooses the clusters, and [`body`] builds the request; both are pure. [`dispatcher`]
//! reads, writes and reports about one Workload, whenever [`watch`] queues it.

mod again;
mod body;
mod configured;
mod dispatcher;
mod kueue;
mod nominate;
mod owned;
mod problem;
mod read;
mod tell;
mod watch;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use kube::core::ApiResource;
use kube::{Client, Config, discovery};
use tokio::signal::unix::{SignalKind, signal};

pub use configured::DISPATCHER;

/// Kueue's API group.
pub const GROUP: &str = "kueue.x-k8s.io";
/// The label or annotation of a Workload with the name of its decision.
pub const DECISION: &str = "scheduling.berth.dev/decision";
/// The annotation of a MultiKueueCluster with the name of its Target.
pub const TARGET: &str = "scheduling.berth.dev/target";
/// Pause before a server without Kueue is read again.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Arguments of `berth dispatch multikueue`.
#[derive(Args, Clone, Debug)]
pub struct MultiKueueArgs {
    /// The kubeconfig of Kueue's manager cluster; by default kubectl's, or in a Pod its service account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The kubeconfig of the server with the decisions; by default that of Kueue's manager cluster.
    #[arg(long, value_name = "FILE")]
    pub decisions_kubeconfig: Option<PathBuf>,
    /// The ConfigMap with Kueue's configuration. Its namespace is that of the ClusterProfiles for Kueue.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "kueue-system/kueue-manager-config", value_parser = place)]
    pub kueue_configuration: Place,
}

/// Place of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The object's namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
}

fn place(text: &str) -> Result<Place, String> {
    let (namespace, name) = text
        .split_once('/')
        .ok_or("a namespace and a name are expected, such as kueue-system/kueue-manager-config")?;
    for (part, valid) in [
        (namespace, berth_apimachinery::name::dns_label(namespace)),
        (name, berth_apimachinery::name::dns_subdomain(name)),
    ] {
        valid.map_err(|problem| format!("{part:?}: {problem}"))?;
    }
    Ok(Place {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

/// Clients of the two servers.
struct Servers {
    /// Client of Kueue's manager cluster.
    kueue: Client,
    /// Client of the server with the decisions.
    decisions: Client,
}

/// Nominates clusters for Workloads until a termination signal.
///
/// # Errors
/// When a kubeconfig cannot be used, or signals cannot be listened to.
pub async fn run(args: &MultiKueueArgs) -> Result<()> {
    let kueue = client(args.kubeconfig.as_deref()).await?;
    let decisions = match &args.decisions_kubeconfig {
        Some(file) => client(Some(file)).await?,
        None => kueue.clone(),
    };
    let servers = Servers { kueue, decisions };
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        () = nominate_on(servers, &args.kueue_configuration) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

async fn nominate_on(servers: Servers, configuration: &Place) {
    let workloads = workloads(&servers.kueue).await;
    // A closed output does not matter.
    writeln!(
        std::io::stdout(),
        "nominating for Workloads of {} while {}/{} has dispatcherName {DISPATCHER}",
        workloads.api_version,
        configuration.namespace,
        configuration.name
    )
    .unwrap_or_default();
    watch::run(servers, workloads, configuration.clone()).await;
}

/// Waits until Workloads are served, and returns their resource.
async fn workloads(kueue: &Client) -> ApiResource {
    let mut last = String::new();
    loop {
        let found = match discovery::oneshot::group(kueue, GROUP).await {
            Ok(group) => group.recommended_kind("Workload").map(|(resource, _)| resource),
            Err(error) => {
                let problem = format!("{:#}", anyhow::Error::new(error));
                // A problem that lasts is logged only once.
                if problem != last {
                    tracing::warn!(problem, "Kueue is not there yet; looking again");
                }
                last = problem;
                None
            }
        };
        match found {
            Some(resource) => return resource,
            None => tokio::time::sleep(RETRY_INTERVAL).await,
        }
    }
}

async fn client(file: Option<&Path>) -> Result<Client> {
    let config = match file {
        Some(path) => berth_client::config(Some(path), None).await?,
        None => Config::infer()
            .await
            .context("no --kubeconfig is given, and there is none to be found")?,
    };
    Ok(berth_client::connect(config)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_namespace_and_a_name() {
        let read = place("kueue-system/kueue-manager-config").unwrap();
        assert_eq!(
            (read.namespace.as_str(), read.name.as_str()),
            ("kueue-system", "kueue-manager-config")
        );
        for bad in ["config", "a.b/c", "a/B", "/c", "a/"] {
            assert!(place(bad).is_err(), "{bad}");
        }
    }
}
