//! The main part of the demo: the examples of each system are loaded, decided, explained and bound.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use berth_apimachinery::Timestamp;
use berth_client::Client;
use berth_commands::load::namespaces_first;
use berth_commands::terminal::{self, dim, good, heading};
use berth_commands::words;
use berth_dialect_contract::amounts;
use berth_dialect_contract::report::Candidate;
use berth_scheduling_api::decision::Decision;
use berth_scheduling_api::scheduling::{Scheduling, verdict};
use http::Method;
use serde_json::json;

use super::examples;

const GROUP: &str = "/apis/scheduling.berth.dev/v1alpha1";
/// Longest wait for a decision.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Pause before the decision is read again.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// openMCP: a shared cluster with room, a new exclusive one, and a purpose that is not configured.
///
/// # Errors
/// When the server refuses a step.
pub(super) async fn openmcp(client: &mut Client, now: Timestamp) -> Result<()> {
    title(
        "openMCP",
        "the clusters of a purpose with room, or a new one from its template",
    );
    load(client, "openmcp/configuration.yaml", now).await?;
    load(client, "openmcp/fleet.yaml", now).await?;
    for (file, request) in [
        ("openmcp/shared.yaml", "batch"),
        ("openmcp/exclusive.yaml", "control-plane"),
        ("openmcp/unknown-purpose.yaml", "gpu"),
    ] {
        load(client, file, now).await?;
        place(client, "project-a", &format!("{request}.openmcp")).await?;
    }
    Ok(())
}

/// KubeFleet's three placement types.
///
/// # Errors
/// When the server refuses a step.
pub(super) async fn fleet(client: &mut Client, now: Timestamp) -> Result<()> {
    title(
        "KubeFleet",
        "PickAll, PickN with affinity and spread, PickFixed, as ClusterResourceBindings",
    );
    load(client, "fleet/fleet.yaml", now).await?;
    for (file, placement) in [
        ("fleet/pick-all.yaml", "everywhere"),
        ("fleet/pick-n.yaml", "two-regions"),
        ("fleet/pick-fixed.yaml", "by-name"),
    ] {
        load(client, file, now).await?;
        place(client, "", &format!("{placement}.fleet")).await?;
    }
    Ok(())
}

/// kcp: a namespace gets a workload cluster, and another one has opted out.
///
/// # Errors
/// When the server refuses a step.
pub(super) async fn kcp(client: &mut Client, now: Timestamp) -> Result<()> {
    title(
        "kcp",
        "a location, then a ready workload cluster in it, into the namespace's placement annotation",
    );
    load(client, "kcp/fleet.yaml", now).await?;
    load(client, "kcp/namespaces.yaml", now).await?;
    for namespace in ["shop", "by-hand"] {
        place(client, namespace, &format!("{namespace}.kcp")).await?;
    }
    Ok(())
}

/// OCM: user stories 1 to 4. [`super::live`] has the disaster of the third story.
///
/// # Errors
/// When the server refuses a step.
pub(super) async fn ocm(client: &mut Client, now: Timestamp) -> Result<()> {
    title(
        "Open Cluster Management",
        "weighted scores; the best N into PlacementDecision objects",
    );
    load(client, "ocm/fleet.yaml", now).await?;
    for (file, namespace, placements) in [
        ("ocm/story-1.yaml", "story-1", &["placement"][..]),
        ("ocm/story-2.yaml", "story-2", &["placement", "placement-least"]),
        ("ocm/story-3.yaml", "story-3", &["placement"]),
        ("ocm/story-4.yaml", "story-4", &["low-latency"]),
    ] {
        load(client, file, now).await?;
        for placement in placements {
            place(client, namespace, &format!("{placement}.ocm")).await?;
        }
    }
    Ok(())
}

/// Karmada: replicas are divided by room, or placed in the affinity group with room for all of them. They are
/// not divided again when a cluster is cordoned.
///
/// # Errors
/// When the server refuses a step.
pub(super) async fn karmada(client: &mut Client, now: Timestamp) -> Result<()> {
    title(
        "Karmada",
        "affinity groups, taints and spread, then replicas divided by room, into spec.clusters of the binding",
    );
    load(client, "karmada/fleet.yaml", now).await?;
    for (file, template) in [
        ("karmada/divided.yaml", "web"),
        ("karmada/groups.yaml", "orders"),
        ("karmada/ledger.yaml", "ledger"),
    ] {
        load(client, file, now).await?;
        let decision = format!("{template}-deployment.karmada");
        wait_for_decision(client, "retail", &decision).await?;
        place(client, "retail", &decision).await?;
    }
    say("Frankfurt is cordoned. Replicas that are already divided do not move.");
    cordon(client, "karmada/fleet.yaml", "frankfurt", now).await?;
    place(client, "retail", "ledger-deployment.karmada").await
}

/// Taints the cluster `name` of an example, as `karmadactl cordon` does.
async fn cordon(client: &mut Client, path: &str, name: &str, now: Timestamp) -> Result<()> {
    let mut documents = examples::read(path, now)?.into_iter();
    let cluster = documents.find(|document| document.kind() == "Cluster" && document.name() == name);
    let mut cluster = cluster
        .with_context(|| format!("{path} has no cluster {name}"))?
        .object;
    cluster["spec"]["taints"] = json!([{"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"}]);
    client.put(&cluster, &mut Vec::new()).await?;
    Ok(())
}

/// Gardener's two strategies, a shoot for testing, and a shoot that fits no seed.
///
/// # Errors
/// When the server refuses a step.
pub(super) async fn gardener(client: &mut Client, now: Timestamp) -> Result<()> {
    title(
        "Gardener",
        "filters, then the strategy, then the seed with the fewest shoots, into spec.seedName",
    );
    load(client, "gardener/fleet.yaml", now).await?;
    load(client, "gardener/load.yaml", now).await?;
    for (file, shoot) in [
        ("gardener/same-region.yaml", "web"),
        ("gardener/testing.yaml", "playground"),
        ("gardener/minimal-distance.yaml", "edge"),
    ] {
        load(client, file, now).await?;
        place(client, "garden-dev", &format!("{shoot}.gardener")).await?;
    }
    say("The strategy is changed to MinimalDistance, live.");
    load(client, "gardener/minimal-distance-configuration.yaml", now).await?;
    place(client, "garden-dev", "edge.gardener").await?;
    load(client, "gardener/unschedulable.yaml", now).await?;
    place(client, "garden-dev", "overlap.gardener").await
}

fn title(system: &str, how: &str) {
    berth_commands::say!("{} {}\n", heading(system), dim(&format!("({how})")));
}

fn say(text: &str) {
    berth_commands::say!("{}\n", heading(text));
}

/// Publishes all decisions, for tools that read ClusterProfiles and PlacementDecisions.
///
/// # Errors
/// When the server refuses the Publication.
pub(super) async fn publish(client: &mut Client, now: Timestamp) -> Result<()> {
    load(client, "consumers/publication.yaml", now).await
}

async fn load(client: &mut Client, path: &str, now: Timestamp) -> Result<()> {
    for document in namespaces_first(examples::read(path, now)?) {
        client
            .put(&document.object, &mut Vec::new())
            .await
            .map_err(|error| {
                anyhow!(
                    "{path}: document {} ({} {}): {error:#}",
                    document.number,
                    document.kind(),
                    document.name()
                )
            })?;
    }
    Ok(())
}

/// Waits until the decision `name` exists: a controller creates its demand from the loaded objects.
async fn wait_for_decision(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let path = format!("{GROUP}/namespaces/{namespace}/decisions/{name}");
    let wait = async {
        while client.get(&path).await.is_err() {
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    };
    tokio::time::timeout(TIMEOUT, wait)
        .await
        .with_context(|| format!("{namespace}/{name} does not exist after {TIMEOUT:?}"))
}

/// Prints the scheduler's decision, binds it when a cluster fits, and prints the binding. An empty
/// `namespace` means a ClusterDecision.
async fn place(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let (path, shown_name) = if namespace.is_empty() {
        (format!("{GROUP}/clusterdecisions/{name}"), name.to_owned())
    } else {
        let path = format!("{GROUP}/namespaces/{namespace}/decisions/{name}");
        (path, format!("{namespace}/{name}"))
    };
    let scheduling = client.get(&format!("{path}/scheduling")).await?;
    let scheduling: Scheduling = serde_json::from_value(scheduling)?;
    let status = scheduling.status.context("the Scheduling has no status")?;
    let placed = matches!(
        &*status.outcome,
        "Scheduled" | "Partial" | "Unchanged" | "Provision"
    );
    let picked = status.candidates.iter().filter(|candidate| candidate.picked);
    let state = words::request_state(&status.outcome, picked.count(), None);
    let state = terminal::styled(state.style, &state.phrase);
    berth_commands::say!("{shown_name}: {state}: {}", status.message);
    let mut headings = vec!["  CLUSTER", "RANK", "SCORE", "RESULT", "REASON"];
    let amount = status.amount.as_ref().map(|amount| amount.name.to_uppercase());
    if let Some(amount) = &amount {
        headings.insert(3, amount);
    }
    let rows = status.candidates.iter();
    let rows: Vec<Vec<String>> = rows.map(|candidate| row(candidate, amount.is_some())).collect();
    if !rows.is_empty() {
        terminal::print(&terminal::table(&headings, &rows));
    }
    if placed {
        let mut binding = json!({
            "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "ClusterBinding",
            "metadata": {"name": name}, "spec": {},
        });
        if !namespace.is_empty() {
            binding["kind"] = "Binding".into();
            binding["metadata"]["namespace"] = namespace.into();
        }
        let answer = client
            .send(
                Method::POST,
                &format!("{path}/binding"),
                Some(("application/json", &binding)),
            )
            .await?;
        answer.map_err(|status| anyhow!("binding {shown_name}: {}", status.message))?;
        let decision: Decision = serde_json::from_value(client.get(&path).await?)?;
        let decisions = decision.status.map(|status| status.decisions);
        let bound: Vec<String> = decisions
            .iter()
            .flatten()
            .map(|entry| amounts::cell(&entry.cluster_name, entry.amount))
            .collect();
        berth_commands::say!("  bound to {}", good(&bound.join(", ")));
    }
    berth_commands::say!();
    Ok(())
}

fn row(candidate: &Candidate, has_amounts: bool) -> Vec<String> {
    let reasons: Vec<String> = candidate
        .rejections
        .iter()
        .map(|rejection| match &*rejection.plugin {
            "" => rejection.reason.to_string(),
            plugin => format!("{plugin}/{}", rejection.reason),
        })
        .collect();
    let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
    let mut row = vec![
        format!("  {}", target(candidate)),
        candidate.rank.map(|rank| rank.to_string()).unwrap_or_default(),
        number(candidate.score),
    ];
    if has_amounts {
        row.push(number(candidate.amount));
    }
    let result = verdict(candidate.picked, candidate.feasible, candidate.out_of_scope);
    row.extend([result.to_owned(), reasons.join(", ")]);
    row
}

/// The name of the candidate's Target without the dialect, or the name of the cluster if it has no Target.
fn target(candidate: &Candidate) -> &str {
    match candidate.target.rsplit_once('.') {
        Some((name, _)) => name,
        None => &candidate.cluster_name,
    }
}
