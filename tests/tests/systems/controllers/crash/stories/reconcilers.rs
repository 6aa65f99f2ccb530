//! kcp's further controllers: a namespace and its objects are adopted, drained and released, a Location is
//! counted, and a silent syncer makes its cluster unready.

use berth_apimachinery::{Clock, time};
use berth_apiserver::SystemClock;

use super::*;

const STATE: &str = "state.internal.workloads.kcp.dev/";
const DELETION: &str = "deletion.internal.workloads.kcp.dev/";

/// Only the story's namespace is placed, and heartbeats are long-lived until the story changes that.
const CONFIGURATION: &str = "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: kcp}\n\
    spec: {kcp: {heartbeatThreshold: 1h, namespaceSelector: {matchLabels: {story: told}}}}\n";

const OBJECTS: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {story: told}}\n---\n\
    apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: a}\n";

fn service(victim: &Victim) -> Result<(), Died> {
    victim.apply(CONFIGURATION)?;
    let now = time::rfc3339(SystemClock.now());
    let mut text = "apiVersion: scheduling.kcp.dev/v1alpha1\nkind: Location\nmetadata: {name: east, labels: {cloud: own}}\n\
        spec: {resource: {group: workloads.kcp.dev, version: v1alpha1, resource: workloadclusters}, instanceSelector: {matchLabels: {region: east}}}\n"
        .to_owned();
    for name in ["one", "two"] {
        let cordoned = name == "two";
        text.push_str(&format!(
            "---\napiVersion: workloads.kcp.dev/v1alpha1\nkind: WorkloadCluster\nmetadata: {{name: {name}, labels: {{region: east}}}}\n\
             spec: {{unschedulable: {cordoned}}}\nstatus: {{lastSyncerHeartbeatTime: \"{now}\"}}\n"
        ));
    }
    victim.load(&text)
}

/// Results of the controllers, with the clusters by name, and times without their value.
fn results(victim: &Victim) -> Result<Value, Died> {
    let clusters = victim.list("workloads.kcp.dev/v1alpha1/workloadclusters")?;
    let core = |path: &str| -> Result<Value, Died> {
        let text = victim.read(path)?.unwrap_or_else(|| "{}".to_owned());
        Ok(serde_json::from_str(&text).expect("the server answers JSON"))
    };
    let namespace = core("/api/v1/namespaces/a")?;
    let resource = core("/api/v1/namespaces/a/configmaps/settings")?;
    let placement = namespace["metadata"]["annotations"]["scheduling.kcp.dev/placement"].as_str();
    let placement: Value = serde_json::from_str(placement.unwrap_or("{}")).expect("it is JSON");
    let location = victim.get("scheduling.kcp.dev/v1alpha1/locations/east")?;
    let location = location.unwrap_or_default();
    let conditions = |cluster: &Value| -> Value {
        let list = cluster["status"]["conditions"].as_array().into_iter().flatten();
        let pairs = list.map(|condition| {
            (
                condition["type"].as_str().expect("a type").to_owned(),
                condition["status"].clone(),
            )
        });
        Value::Object(pairs.collect())
    };
    let beating: serde_json::Map<String, Value> = clusters
        .iter()
        .map(|cluster| {
            (
                cluster["metadata"]["name"].as_str().expect("a name").to_owned(),
                conditions(cluster),
            )
        })
        .collect();
    let all = json!({
        "placement": placement, "namespace": marks(&namespace), "resource": marks(&resource),
        "location": location["status"], "printed": location["metadata"]["annotations"], "clusters": beating,
    });
    Ok(name_uids(vec![all], &clusters).remove(0))
}

/// The state labels of an object, and the clusters that it must leave.
fn marks(object: &Value) -> Value {
    let part = |name: &str, prefix: &str| -> serde_json::Map<String, Value> {
        let all = object["metadata"][name].as_object().into_iter().flatten();
        let ours = all.filter_map(|(key, value)| Some((key.strip_prefix(prefix)?.to_owned(), value.clone())));
        ours.collect()
    };
    let leaving: Vec<String> = part("annotations", DELETION)
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    json!({"states": part("labels", STATE), "leaving": leaving})
}

/// Whether the results contain the parts of `wanted`.
fn has_results(victim: &Victim, wanted: &Value) -> Result<bool, Died> {
    let results = results(victim)?;
    let parts = wanted.as_object().expect("a map");
    Ok(parts.iter().all(|(name, part)| results[name] == *part))
}

fn counted(instances: u32, available: u32) -> Value {
    json!({"instances": instances, "availableInstances": available})
}

pub(in super::super) const STORY: Story = Story {
    dialect: "kcp",
    phases: &[
        Phase {
            act: service,
            is_done: |victim| {
                let healthy = json!({"HeartbeatHealthy": "True", "Ready": "True"});
                let wanted =
                    json!({"location": counted(2, 1), "clusters": {"one": healthy.clone(), "two": healthy}});
                has_results(victim, &wanted)
            },
        },
        apply!(OBJECTS, |victim| {
            let marks = json!({"states": {"<one>": "Sync"}, "leaving": []});
            has_results(
                victim,
                &json!({
                    "placement": {"root:compute+east+<one>": "Bound"}, "namespace": marks.clone(), "resource": marks,
                }),
            )
        }),
        Phase {
            act: |victim| {
                victim.patch("workloadcluster two", r#"{"spec":{"unschedulable":false}}"#)?;
                let evict = r#"{"spec":{"evictAfter":"2021-10-28T08:00:00Z"}}"#;
                victim.patch("workloadcluster one", evict)
            },
            is_done: |victim| {
                let marks = json!({"states": {"<one>": "Sync", "<two>": "Sync"}, "leaving": ["<one>"]});
                let placement =
                    json!({"root:compute+east+<one>": "Removing", "root:compute+east+<two>": "Bound"});
                has_results(
                    victim,
                    &json!({"placement": placement, "namespace": marks.clone(), "resource": marks}),
                )
            },
        },
        Phase {
            act: |victim| {
                let delete = "delete workloadcluster one --wait=false --ignore-not-found";
                victim.kubectl(delete, "").map(drop)
            },
            is_done: |victim| {
                let marks = json!({"states": {"<two>": "Sync"}, "leaving": []});
                has_results(
                    victim,
                    &json!({
                        "placement": {"root:compute+east+<two>": "Bound"}, "namespace": marks.clone(),
                        "resource": marks, "location": counted(1, 1),
                    }),
                )
            },
        },
        Phase {
            act: |victim| {
                let silent = r#"{"status":{"lastSyncerHeartbeatTime":"2021-10-28T08:00:00Z"}}"#;
                victim.patch("workloadcluster two --subresource=status", silent)
            },
            is_done: |victim| {
                let unhealthy = json!({"two": {"HeartbeatHealthy": "False", "Ready": "False"}});
                has_results(victim, &json!({"location": counted(1, 0), "clusters": unhealthy}))
            },
        },
    ],
    state: results,
};
