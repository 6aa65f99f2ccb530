//! The changes, and the published objects that each may affect.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use berth_tests::bench::http::Call;
use http::Method;
use serde_json::{Value, json};

use crate::fleet::{self, MEMBERS, PLACED, TEAM};
use crate::world::{Concerned, Row, World};

const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
const PLACEMENTS: &str = "/apis/cluster.open-cluster-management.io/v1beta1";
const MEMBERS_PATH: &str = "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters";
/// Number of changes of each sort.
const CHANGES: usize = 100;

/// A change of a cluster, or of its `/status`.
pub(crate) fn cluster(number: usize, part: &str, patch: &Value) -> Call {
    let path = format!("{CLUSTERS}/cluster{number}{part}");
    Call::new(Method::PATCH, path, patch.to_string())
}

/// The name of a cluster's profile.
pub(crate) fn profile(number: usize) -> String {
    format!("cluster{number}.ocm")
}

fn slice(number: usize) -> String {
    format!("{TEAM}.p{number}.ocm-0")
}

/// Measures every sort of change.
pub(crate) async fn all(world: &mut World) -> Result<Vec<Row>> {
    let none = Concerned::default();
    let clusters: Vec<usize> = (0..CHANGES.min(world.size.targets)).collect();
    let decisions: Vec<usize> = (0..CHANGES.min(world.size.decisions)).collect();
    let mut rows = Vec::new();

    let calls = clusters.iter().map(|&number| {
        let label = json!({"metadata": {"labels": {"note": format!("n{number}")}}});
        cluster(number, "", &label)
    });
    let concerned = Concerned {
        profiles: clusters.iter().map(|&number| profile(number)).collect(),
        ..Concerned::default()
    };
    let labels = world
        .row("a label of a cluster", calls.collect(), &concerned)
        .await?;
    ensure!(
        labels.profiles == labels.changes,
        "{labels:?} is not one event a change"
    );
    rows.push(labels);

    let calls = clusters.iter().map(|&number| {
        let free =
            json!({"status": {"allocatable": {"cpu": "31", "memory": format!("{}Gi", 64 + number % 32)}}});
        cluster(number, "/status", &free)
    });
    rows.push(
        world
            .row("the free memory of a cluster", calls.collect(), &none)
            .await?,
    );

    let calls = (0..MEMBERS).zip(1..).map(|(number, heartbeat)| {
        let report = json!({"status": {"agentStatus": fleet::agents(heartbeat)}});
        let path = format!("{MEMBERS_PATH}/member{number}/status");
        Call::new(Method::PATCH, path, report.to_string())
    });
    rows.push(
        world
            .row("a heartbeat (KubeFleet's)", calls.collect(), &none)
            .await?,
    );

    let calls = decisions.iter().map(|number| {
        let path = format!("{PLACEMENTS}/namespaces/{TEAM}/placements/p{number}");
        let more = json!({"spec": {"numberOfClusters": PLACED + 1}});
        Call::new(Method::PATCH, path, more.to_string())
    });
    let concerned = Concerned {
        slices: decisions.iter().map(|&number| slice(number)).collect(),
        ..Concerned::default()
    };
    let more = world
        .row("a decision for one cluster more", calls.collect(), &concerned)
        .await?;
    ensure!(more.slices == more.changes, "{more:?} is not one event a change");
    rows.push(more);

    let (calls, concerned) = drained(world).await?;
    rows.push(world.row("a decided cluster drained", calls, &concerned).await?);
    Ok(rows)
}

/// Changes that taint decided clusters, which affect the decisions of these clusters.
async fn drained(world: &mut World) -> Result<(Vec<Call>, Concerned)> {
    let slices = world.slices().await?;
    let entries = |slice: &Value| -> BTreeSet<String> {
        let entries = slice["decisions"].as_array().into_iter().flatten();
        let names = entries.filter_map(|entry| entry["clusterProfileRef"]["name"].as_str());
        names.map(str::to_owned).collect()
    };
    let decided: BTreeSet<String> = slices.iter().flat_map(&entries).collect();
    let ocm = decided.iter().filter_map(|name| name.strip_suffix(".ocm"));
    let leaving: Vec<&str> = ocm.take(CHANGES).collect();
    let taint = json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoSelect"}]}});
    let calls = leaving
        .iter()
        .map(|name| Call::new(Method::PATCH, format!("{CLUSTERS}/{name}"), taint.to_string()));
    let profiles: BTreeSet<String> = leaving.iter().map(|name| format!("{name}.ocm")).collect();
    let mut concerned = Concerned::default();
    for slice in slices
        .iter()
        .filter(|slice| !entries(slice).is_disjoint(&profiles))
    {
        let name = slice["metadata"]["name"].as_str().context("a slice has a name")?;
        concerned.slices.insert(name.to_owned());
    }
    concerned.profiles = profiles;
    Ok((calls.collect(), concerned))
}
