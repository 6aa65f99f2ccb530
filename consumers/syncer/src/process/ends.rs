//! The two sides of a syncer, and the connections to them: the hub, with the view of the syncer's target, and
//! the workload cluster.

use anyhow::{Context, Result, bail};
use berth_client::Client;
use berth_dialect_contract::names::{GROUP, VERSION};
use berth_dialect_kcp::names::DIALECT;
use berth_dialect_kcp::syncer_view::registration::Registration;
use http::{Method, Uri};
use kube::Config;

use super::SyncerArgs;

/// One side of a syncer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    /// The hub.
    Up,
    /// The workload cluster.
    Down,
}

/// Connections of a syncer to the hub and to the workload cluster.
pub(super) struct Connections {
    /// The name of the WorkloadCluster.
    pub(super) target: String,
    /// Client of the hub's own API.
    pub(super) hub: Client,
    /// Client of the view that the hub shows the syncer.
    pub(super) view: kube::Client,
    /// Client of the workload cluster.
    pub(super) cluster: kube::Client,
}

impl Connections {
    /// Creates the clients. No request is sent yet.
    ///
    /// # Errors
    /// When a kubeconfig cannot be used, or its server is the API endpoint of another target.
    pub(super) async fn connect(args: &SyncerArgs) -> Result<Self> {
        let suffix = format!(".{DIALECT}");
        let target = args
            .target
            .strip_suffix(&suffix)
            .unwrap_or(&args.target)
            .to_owned();
        let from = berth_client::config(Some(&args.from_kubeconfig), args.from_context.as_deref()).await?;
        let to = match &args.to_kubeconfig {
            Some(path) => berth_client::config(Some(path), args.to_context.as_deref()).await?,
            None => Config::incluster()
                .context("no kubeconfig: pass --to-kubeconfig, or run in a Pod with a service account")?,
        };
        let (root, view) = urls(&from.cluster_url, &target)?;
        let client_at = |url: Uri| {
            let mut config = from.clone();
            config.cluster_url = url;
            berth_client::connect(config)
        };
        Ok(Self {
            target,
            hub: Client::new(client_at(root)?),
            view: client_at(view)?,
            cluster: berth_client::connect(to)?,
        })
    }

    /// The hub and the name of the WorkloadCluster, by which copies of earlier registrations are recognized.
    /// `None` if the syncer may not read the hub's identity, or there is none.
    ///
    /// # Errors
    /// When the hub does not answer, or answers with 429 or 5xx.
    pub(super) async fn registration(&self) -> Result<Option<Registration>> {
        let answer = self
            .hub
            .send(Method::GET, "/api/v1/namespaces/kube-system", None)
            .await?;
        let uid = match answer {
            Ok(namespace) => namespace["metadata"]["uid"].as_str().map(str::to_owned),
            Err(status) if status.code == 429 || status.code >= 500 => bail!(status.message),
            Err(status) => {
                tracing::warn!(
                    problem = status.message,
                    "cannot read the identity of the hub, so copies of earlier registrations are taken over with --adopt only; \
                     `berth syncer-rights` renders the right to get the namespace kube-system"
                );
                None
            }
        };
        Ok(uid.map(|hub| Registration {
            hub,
            workload_cluster: self.target.clone(),
        }))
    }
}

/// The URLs of the hub and of the view of `target` on this hub. `given` is either URL.
fn urls(given: &Uri, target: &str) -> Result<(Uri, Uri)> {
    let targets = format!("/apis/{GROUP}/{VERSION}/targets/");
    let own = format!("{targets}{target}.{DIALECT}/proxy");
    let path = given.path().trim_end_matches('/');
    let prefix = match path.split_once(&targets) {
        None => path,
        Some((prefix, _)) if path == format!("{prefix}{own}") => prefix,
        Some((_, other)) => bail!(
            "the server of --from-kubeconfig is the API endpoint of another target (…/{other}) than --target {target}"
        ),
    };
    let with_path = |path: String| {
        let mut parts = given.clone().into_parts();
        parts.path_and_query = Some(path.parse()?);
        Uri::from_parts(parts).context("cannot build a URL from the server of --from-kubeconfig")
    };
    let root = if prefix.is_empty() { "/" } else { prefix };
    Ok((with_path(root.to_owned())?, with_path(format!("{prefix}{own}"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_the_hub_or_the_view_itself() {
        let view = "/apis/scheduling.berth.dev/v1alpha1/targets/east.kcp/proxy";
        for (given, prefix) in [
            ("https://hub:7443".to_owned(), ""),
            ("https://hub:7443/".to_owned(), ""),
            ("https://hub:7443/k8s/".to_owned(), "/k8s"),
            (format!("https://hub:7443{view}"), ""),
            (format!("https://hub:7443/k8s{view}/"), "/k8s"),
        ] {
            let (root, endpoint) = urls(&given.parse().unwrap(), "east").unwrap();
            assert_eq!(root.path().trim_end_matches('/'), prefix, "{given}");
            assert_eq!(
                endpoint.to_string(),
                format!("https://hub:7443{prefix}{view}"),
                "{given}"
            );
        }
        let other = urls(&format!("https://hub{view}").parse().unwrap(), "west").unwrap_err();
        assert!(other.to_string().contains("another target"), "{other}");
    }
}
