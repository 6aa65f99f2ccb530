//! Kueue's MultiKueue: a Workload names a decision of any system, and the decision's clusters are nominated
//! for it, the best first (docs/consumers.md, "MultiKueue").
//!
//! [`nominate`] chooses the clusters, and [`body`] builds the request; both are pure. [`dispatcher`] reads
//! the objects for one Workload, writes the nomination and reports it, whenever [`watch`] queues the
//! Workload.

mod body;
mod configuration;
mod dispatcher;
mod events;
mod kueue;
mod managed_fields;
mod nominate;
mod problem;
mod read;
mod recent;
mod watch;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use kube::core::ApiResource;
use kube::{Client, discovery};
use tokio::signal::unix::{SignalKind, signal};

pub use configuration::DISPATCHER;

/// Kueue's API group.
pub const GROUP: &str = "kueue.x-k8s.io";
/// The label or annotation of a Workload with the name of its decision.
pub const DECISION: &str = "scheduling.berth.dev/decision";
/// The annotation of a MultiKueueCluster with the name of its Target.
pub const TARGET: &str = "scheduling.berth.dev/target";
/// Delay before Kueue is looked for again on a server without it.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Arguments of `berth dispatch multikueue`.
#[derive(Args, Clone, Debug)]
pub struct MultiKueueArgs {
    /// The kubeconfig of Kueue's manager cluster; by default kubectl's, or in a Pod its service account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The kubeconfig of the server with the decisions; by default the kubeconfig of Kueue's manager cluster.
    #[arg(long, value_name = "FILE")]
    pub decisions_kubeconfig: Option<PathBuf>,
    /// The ConfigMap with Kueue's configuration, in the namespace of the ClusterProfiles for Kueue.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "kueue-system/kueue-manager-config", value_parser = namespaced_name)]
    pub kueue_configuration: NamespacedName,
}

/// Namespace and name of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacedName {
    /// The object's namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
}

/// Parses a text of the form `NAMESPACE/NAME`.
fn namespaced_name(text: &str) -> Result<NamespacedName, String> {
    let (namespace, name) = text
        .split_once('/')
        .ok_or("a namespace and a name are expected, such as kueue-system/kueue-manager-config")?;
    for (part, valid) in [
        (namespace, berth_apimachinery::name::dns_label(namespace)),
        (name, berth_apimachinery::name::dns_subdomain(name)),
    ] {
        valid.map_err(|problem| format!("{part:?}: {problem}"))?;
    }
    Ok(NamespacedName {
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

/// Runs the dispatcher until a termination signal.
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
        () = run_dispatcher(servers, &args.kueue_configuration) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Waits for Kueue, and nominates clusters for Workloads until the future is dropped.
async fn run_dispatcher(servers: Servers, configuration: &NamespacedName) {
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
        let problem = match discovery::oneshot::group(kueue, GROUP).await {
            Ok(group) => match group.recommended_kind("Workload") {
                Some((resource, _)) => return resource,
                None => format!("the API group {GROUP} has no kind Workload"),
            },
            Err(error) => format!("{:#}", anyhow::Error::new(error)),
        };
        // A lasting problem is logged once.
        if problem != last {
            tracing::warn!(problem, "cannot find the Workloads of Kueue; retrying");
        }
        last = problem;
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

async fn client(file: Option<&Path>) -> Result<Client> {
    let config = match file {
        Some(path) => berth_client::config(Some(path), None).await?,
        None => berth_client::config_or_service_account().await?,
    };
    Ok(berth_client::connect(config)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_into_namespace_and_name() {
        let read = namespaced_name("kueue-system/kueue-manager-config").unwrap();
        assert_eq!(
            (read.namespace.as_str(), read.name.as_str()),
            ("kueue-system", "kueue-manager-config")
        );
        for bad in ["config", "a.b/c", "a/B", "/c", "a/"] {
            assert!(namespaced_name(bad).is_err(), "{bad}");
        }
    }
}
