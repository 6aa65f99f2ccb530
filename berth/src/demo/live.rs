//! The last part of the demo: decisions that change by themselves, first when a cluster is lost, then when a
//! cluster is evicted. Nobody creates a Binding. The commands of the user are printed, with the output of
//! `kubectl get`.
//!
//! The demo changes a cluster as the operator of the cluster would, and waits for the controllers.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use berth_apimachinery::{Timestamp, time};
use berth_client::Client;
use berth_commands::terminal::{dim, good, heading, table};
use berth_scheduling_api::decision::{ClusterBinding, Decision};
use http::{Method, Request};
use serde_json::{Value, json};

const DECISIONS: &str = "/apis/scheduling.berth.dev/v1alpha1/namespaces";
const MANAGED_CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
const WORKLOAD_CLUSTERS: &str = "/apis/workloads.kcp.dev/v1alpha1/workloadclusters";
/// Time limit for a change by the controllers.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Pause before the next check.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Media type that `kubectl get` requests.
const TABLE_MEDIA_TYPE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// The last part of the demo, with two clients of the server: one writes like a user, the other reads like
/// `kubectl get`.
pub(super) struct LiveStory<'a> {
    client: &'a mut Client,
    kubectl: kube::Client,
}

impl<'a> LiveStory<'a> {
    /// Creates a client that reads from the server of the kubeconfig at `path`; `client` writes to the
    /// server.
    ///
    /// # Errors
    /// When the kubeconfig cannot be read or used.
    pub(super) async fn new(client: &'a mut Client, path: &Path) -> Result<Self> {
        let config = berth_client::config(Some(path), None).await?;
        let kubectl = kube::Client::try_from(config).context("creating a client for the demo's server")?;
        Ok(Self { client, kubectl })
    }

    /// OCM: the primary cluster is lost, and the decision moves to the backup cluster; when the primary
    /// cluster is back, the decision moves back.
    ///
    /// # Errors
    /// When the server refuses a step, or the decision does not move.
    pub(super) async fn disaster(&self) -> Result<()> {
        title("Live: a disaster (Open Cluster Management)");
        let decision = "decision placement.ocm";
        self.show("story-3", decision).await?;
        let taint = json!({"spec": {"taints": [{"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}]}});
        self.patch("managedcluster", MANAGED_CLUSTERS, "primary", &taint)
            .await?;
        self.wait_for_move("story-3", "placement.ocm", "backup").await?;
        self.show("story-3", decision).await?;
        let restored = json!({"spec": {"taints": null}});
        self.patch("managedcluster", MANAGED_CLUSTERS, "primary", &restored)
            .await?;
        self.wait_for_move("story-3", "placement.ocm", "primary").await?;
        self.show_events("story-3", "DecisionUpdate", 2).await
    }

    /// kcp: a workload cluster is evicted, and its namespaces move to another cluster of the same location.
    ///
    /// # Errors
    /// When the server refuses a step, or the namespaces do not move.
    pub(super) async fn eviction(&mut self, now: Timestamp) -> Result<()> {
        title("Live: an eviction (kcp)");
        let evicted = self.cluster_of("shop").await?;
        let name = name_of(&evicted);
        let standby = format!("{name}-standby");
        say(&format!("{standby} joins the location of {name}."));
        self.client
            .put(&standby_of(&evicted, &standby, now), &mut Vec::new())
            .await?;
        let new_cluster = self.client.get(&format!("{WORKLOAD_CLUSTERS}/{standby}")).await?;
        self.show("shop", "decision shop.kcp").await?;
        let before = self.namespaces_on(&evicted).await?;
        let evict = json!({"spec": {"evictAfter": time::rfc3339(now)}});
        self.patch("workloadcluster", WORKLOAD_CLUSTERS, name, &evict)
            .await?;
        let start = Instant::now();
        self.wait_for("the namespaces to move", async || {
            Ok((self.namespaces_on(&evicted).await? == 0).then_some(()))
        })
        .await?;
        let after = self.namespaces_on(&new_cluster).await?;
        say(&format!(
            "Namespaces that left {name} within {}: {before}; on {standby} now: {after}. The syncer of {name} removes their objects there:",
            milliseconds(start)
        ));
        self.show_placement("shop").await
    }

    /// Waits until a cluster has adopted the namespace, and prints the placement annotation of the namespace:
    /// its clusters, including clusters that it leaves.
    async fn show_placement(&self, namespace: &str) -> Result<()> {
        let path = format!("/api/v1/namespaces/{namespace}");
        let annotation = async || {
            let namespace = self.client.get(&path).await?;
            let stored = &namespace["metadata"]["annotations"]["scheduling.kcp.dev/placement"];
            Ok::<String, anyhow::Error>(text(stored))
        };
        self.wait_for("the namespace to be adopted", async || {
            Ok(annotation().await?.contains("\"Bound\"").then_some(()))
        })
        .await?;
        prompt(&format!(
            "kubectl get namespace {namespace} -o jsonpath='{{.metadata.annotations.scheduling\\.kcp\\.dev/placement}}'"
        ));
        berth_commands::say!("{}\n", annotation().await?);
        Ok(())
    }

    /// Waits until the namespace has a WorkloadCluster, and returns the WorkloadCluster.
    async fn cluster_of(&self, namespace: &str) -> Result<Value> {
        let path = format!("{DECISIONS}/{namespace}/decisions/{namespace}.kcp");
        let find = async || {
            let places = self.places(&path).await?;
            let all = self.client.get(WORKLOAD_CLUSTERS).await?;
            let mut clusters = all["items"].as_array().into_iter().flatten();
            let uid = places.first().map(|place| &*place.cluster_name);
            let found = clusters
                .find(|cluster| uid.is_some() && cluster["metadata"]["uid"].as_str() == uid)
                .cloned();
            Ok::<Option<Value>, anyhow::Error>(found)
        };
        self.wait_for(&format!("namespace {namespace} to be placed"), find)
            .await
    }

    /// Number of namespaces that are on `cluster` or pending there.
    async fn namespaces_on(&self, cluster: &Value) -> Result<usize> {
        let path = "/apis/scheduling.berth.dev/v1alpha1/decisions";
        let all = self.client.get(path).await?;
        let decisions: Vec<Decision> = serde_json::from_value(all["items"].clone())?;
        let is_there = |place: &ClusterBinding| {
            cluster["metadata"]["uid"] == *place.cluster_name
                && matches!(place.state.as_deref(), Some("Pending" | "Bound"))
        };
        let matching = decisions.iter().filter(|decision| {
            let mut places = decision.status.iter().flat_map(|status| &status.decisions);
            places.any(is_there)
        });
        Ok(matching.count())
    }

    /// Clusters of the decision at `path`.
    async fn places(&self, path: &str) -> Result<Vec<ClusterBinding>> {
        let decision: Decision = serde_json::from_value(self.client.get(path).await?)?;
        let decisions = decision.status.map(|status| status.decisions);
        Ok(decisions.unwrap_or_default())
    }

    /// Waits until the decision is for `cluster` alone, and prints the elapsed time.
    async fn wait_for_move(&self, namespace: &str, name: &str, cluster: &str) -> Result<()> {
        let start = Instant::now();
        let path = format!("{DECISIONS}/{namespace}/decisions/{name}");
        self.wait_for(&format!("{name} to move to {cluster}"), async || {
            let places = self.places(&path).await?;
            let is_there = matches!(places.as_slice(), [only] if *only.cluster_name == *cluster);
            Ok(is_there.then_some(()))
        })
        .await?;
        say(&format!("It moved to {cluster} within {}.", milliseconds(start)));
        Ok(())
    }

    /// Changes a cluster, and prints the equivalent command of a user.
    async fn patch(&self, kind: &str, path: &str, name: &str, change: &Value) -> Result<()> {
        prompt(&format!("kubectl patch {kind} {name} --type=merge -p '{change}'"));
        let path = format!("{path}/{name}");
        let body = Some(("application/merge-patch+json", change));
        let answer = self.client.send(Method::PATCH, &path, body).await?;
        answer.map_err(|status| anyhow!("{path}: {}", status.message))?;
        berth_commands::say!("{kind}/{name} patched\n");
        Ok(())
    }

    /// Prints `object` (`<resource> <name>`) of a namespace as `kubectl get` does.
    async fn show(&self, namespace: &str, object: &str) -> Result<()> {
        prompt(&format!("kubectl -n {namespace} get {object}"));
        let (resource, name) = object.split_once(' ').unwrap_or((object, ""));
        self.get(&format!("{DECISIONS}/{namespace}/{resource}s/{name}"))
            .await
    }

    /// Waits until there are `count` events with `reason`, and prints them.
    async fn show_events(&self, namespace: &str, reason: &str, count: usize) -> Result<()> {
        let path = format!("/api/v1/namespaces/{namespace}/events?fieldSelector=reason={reason}");
        self.wait_for("the events", async || {
            let list = self.client.get(&path).await?;
            let found = list["items"].as_array().map_or(0, Vec::len);
            Ok((found >= count).then_some(()))
        })
        .await?;
        prompt(&format!(
            "kubectl -n {namespace} get events --field-selector reason={reason}"
        ));
        self.get(&path).await
    }

    /// Prints the objects at `path` as a table, with the columns that `kubectl get` shows without `-o wide`.
    async fn get(&self, path: &str) -> Result<()> {
        let request = Request::get(path)
            .header("accept", TABLE_MEDIA_TYPE)
            .body(Vec::new())?;
        let answer: Value = self
            .kubectl
            .request(request)
            .await
            .with_context(|| path.to_owned())?;
        let all = answer["columnDefinitions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let always = |column: &&Value| column["priority"] == 0;
        let names = all.iter().filter(always).map(|column| text(&column["name"]));
        let names: Vec<String> = names.map(|name| name.to_uppercase()).collect();
        let rows = answer["rows"].as_array().into_iter().flatten().map(|row| {
            let cells = row["cells"].as_array().into_iter().flatten();
            let cells = cells.zip(&all).filter(|(_, column)| always(column));
            cells.map(|(cell, _)| text(cell)).collect()
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        berth_commands::say!("{}", table(&names, &rows));
        Ok(())
    }

    /// Repeats `read` until it returns a result. `condition` completes the error after [`TIMEOUT`].
    async fn wait_for<T>(&self, condition: &str, read: impl AsyncFn() -> Result<Option<T>>) -> Result<T> {
        let start = Instant::now();
        loop {
            if let Some(result) = read().await? {
                return Ok(result);
            }
            if start.elapsed() > TIMEOUT {
                bail!("waited {TIMEOUT:?} for {condition}");
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// A copy of the workload cluster `cluster` with another name. The copy is ready at `now`, and its spec is
/// empty.
fn standby_of(cluster: &Value, name: &str, now: Timestamp) -> Value {
    json!({
        "apiVersion": cluster["apiVersion"], "kind": cluster["kind"],
        "metadata": {"name": name, "labels": cluster["metadata"]["labels"]},
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time::rfc3339(now)}]},
    })
}

fn title(text: &str) {
    berth_commands::say!("{}\n", heading(text));
}

fn say(text: &str) {
    berth_commands::say!("{}\n", good(text));
}

fn prompt(command: &str) {
    berth_commands::say!("{}", dim(&format!("$ {command}")));
}

fn milliseconds(since: Instant) -> String {
    format!("{} ms", since.elapsed().as_millis().max(1))
}

/// The text of a cell of a table.
fn text(cell: &Value) -> String {
    match cell {
        Value::String(text) => text.clone(),
        Value::Null => "<none>".to_owned(),
        other => other.to_string(),
    }
}
