//! kcp: namespaces are bound to a workload cluster, and to another one after an eviction.

use berth_apimachinery::{Clock, time};
use berth_apiserver::SystemClock;

use super::*;

fn service(victim: &Victim) -> Result<(), Died> {
    let now = time::rfc3339(SystemClock.now());
    let mut text = "apiVersion: scheduling.kcp.dev/v1alpha1\nkind: Location\nmetadata: {name: east}\n\
        spec: {resource: {group: workloads.kcp.dev, version: v1alpha1, resource: workloadclusters}, instanceSelector: {matchLabels: {region: east}}}\n"
        .to_owned();
    for name in ["one", "two"] {
        let cordoned = name == "two";
        text.push_str(&format!(
            "---\napiVersion: workloads.kcp.dev/v1alpha1\nkind: WorkloadCluster\nmetadata: {{name: {name}, labels: {{region: east}}}}\nspec: {{unschedulable: {cordoned}}}\n\
             status:\n  lastSyncerHeartbeatTime: \"{now}\"\n  conditions: [{{type: Ready, status: \"True\", lastTransitionTime: \"2021-10-28T08:00:00Z\"}}]\n"
        ));
    }
    victim.load(&text)
}

/// The present and future workload clusters of each namespace, by name.
fn placed(victim: &Victim) -> Result<Value, Died> {
    let clusters = victim.list("workloads.kcp.dev/v1alpha1/workloadclusters")?;
    let name_of = |uid: &str| {
        let found = clusters.iter().find(|cluster| cluster["metadata"]["uid"] == uid);
        found.map_or_else(
            || uid.to_owned(),
            |cluster| cluster["metadata"]["name"].to_string(),
        )
    };
    let mut all = serde_json::Map::new();
    for namespace in victim.namespaces()? {
        let text = namespace["metadata"]["annotations"]["scheduling.kcp.dev/placement"].as_str();
        let states: Value = serde_json::from_str(text.unwrap_or("{}")).expect("it is JSON");
        let live = states
            .as_object()
            .expect("a map")
            .iter()
            .filter(|(_, state)| *state == "Pending" || *state == "Bound");
        let names: Vec<String> = live
            .map(|(location, _)| name_of(location.rsplit('+').next().unwrap_or_default()))
            .collect();
        let name = namespace["metadata"]["name"].as_str().expect("a name");
        all.insert(name.to_owned(), json!(names));
    }
    Ok(Value::Object(all))
}

fn all_on(victim: &Victim, cluster: &str) -> Result<bool, Died> {
    let placed = placed(victim)?;
    let wanted = json!([format!("\"{cluster}\"")]);
    let count = placed.as_object().expect("a map").len();
    Ok(placed["a"] == wanted && placed["b"] == wanted && count >= 4)
}

pub(in super::super) const STORY: Story = Story {
    dialect: "kcp",
    phases: &[
        Phase {
            act: service,
            is_done: |_| Ok(true),
        },
        apply!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n",
            |victim| all_on(victim, "one")
        ),
        Phase {
            act: |victim| {
                victim.patch("workloadcluster two", r#"{"spec":{"unschedulable":false}}"#)?;
                let evict = r#"{"spec":{"evictAfter":"2021-10-28T08:00:00Z"}}"#;
                victim.patch("workloadcluster one", evict)
            },
            is_done: |victim| all_on(victim, "two"),
        },
    ],
    state: placed,
};
