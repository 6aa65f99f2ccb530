//! Rendering of a target as a ClusterProfile.

use std::collections::BTreeMap;

use berth_apimachinery::{Timestamp, time};
use berth_dialect_contract::{Facts, TargetView};
use serde_json::{Map, Value, json};

use crate::{API_VERSION, SYSTEM_LABEL, Settings, inherited, mark, name};

/// The label that repeats the cluster manager's name.
const MANAGER_LABEL: &str = "x-k8s.io/cluster-manager";
/// The label that names the ClusterSet.
const SET_LABEL: &str = "multicluster.x-k8s.io/clusterset";
/// The type of the condition that is True while the cluster can be used.
const HEALTHY: &str = "ControlPlaneHealthy";
/// Domain at the end of the names of Berth's own properties.
const OWN_DOMAIN: &str = "scheduling.berth.dev";
/// Highest number of characters of the value of a property.
const MAX_VALUE: usize = 1024;
/// Highest number of characters of the name of a property.
const MAX_NAME: usize = 253;

/// A target of a dialect, with the facts that do not concern scheduling.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The system of the target.
    pub system: &'a str,
    /// The name of the Target without the system.
    pub name: &'a str,
    /// State of the target.
    pub view: &'a TargetView,
    /// Facts that the cluster reports.
    pub facts: &'a Facts,
}

/// Renders the ClusterProfile of `target`. `old` is the stored object: the transition time of the condition
/// in it is kept while the status of the condition does not change.
#[must_use]
pub fn render(settings: &Settings, target: Target<'_>, old: Option<&Value>, now: Timestamp) -> Value {
    let created = target.view.object.meta().creation_timestamp();
    let metadata = json!({
        "name": name::profile(settings, target.system, target.name),
        "namespace": settings.namespace,
        "labels": labels(settings, target),
    });
    let mut status = Map::new();
    status.insert(
        "conditions".to_owned(),
        json!([healthy(target.view, created, old, now)]),
    );
    if !target.facts.version.is_empty() {
        status.insert("version".to_owned(), json!({"kubernetes": target.facts.version}));
    }
    let properties: Vec<Value> = properties(target)
        .into_iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    status.insert("properties".to_owned(), properties.into());
    if let Some(access) = &target.facts.access {
        let mut cluster = json!({"server": access.server});
        if !access.ca.is_empty() {
            cluster["certificate-authority-data"] = access.ca.as_str().into();
        }
        status.insert(
            "accessProviders".to_owned(),
            json!([{"name": access.provider, "cluster": cluster}]),
        );
    }
    let mut profile = json!({
        "apiVersion": API_VERSION,
        "kind": "ClusterProfile",
        "metadata": metadata,
        "spec": {
            "displayName": format!("{}.{}", target.name, target.system),
            "clusterManager": {"name": settings.manager},
        },
        "status": status,
    });
    mark::annotate(&mut profile, &settings.publication);
    profile
}

/// The status of the condition ControlPlaneHealthy in `profile`; empty without the condition.
#[must_use]
pub fn health(profile: &Value) -> &str {
    health_condition(profile).map_or("", |condition| condition["status"].as_str().unwrap_or_default())
}

fn health_condition(profile: &Value) -> Option<&Value> {
    let mut conditions = profile["status"]["conditions"].as_array()?.iter();
    conditions.find(|condition| condition["type"] == HEALTHY)
}

/// The labels of the profile. In ascending precedence: labels of the cluster, labels of the Publication, and
/// labels that Berth and the KEP require.
fn labels(settings: &Settings, target: Target<'_>) -> BTreeMap<String, String> {
    let mut labels = inherited(&target.view.labels);
    labels.extend(settings.labels.clone());
    labels.insert(SYSTEM_LABEL.to_owned(), target.system.to_owned());
    labels.insert(MANAGER_LABEL.to_owned(), settings.manager.clone());
    if settings.cluster_set.is_empty() {
        labels.remove(SET_LABEL);
    } else {
        labels.insert(SET_LABEL.to_owned(), settings.cluster_set.clone());
    }
    labels
}

/// The condition ControlPlaneHealthy, with the reason and message of the system.
fn healthy(view: &TargetView, created: Option<Timestamp>, old: Option<&Value>, now: Timestamp) -> Value {
    let before = old.and_then(health_condition);
    let since = match before {
        Some(before) if before["status"] == view.ready => before["lastTransitionTime"].clone(),
        Some(_) => time::rfc3339(now).into(),
        // The first time has to be equal on every replica and after every restart.
        None => time::rfc3339(created.unwrap_or(now)).into(),
    };
    let reason = if view.ready_reason.is_empty() {
        "Reported"
    } else {
        view.ready_reason
    };
    json!({
        "type": HEALTHY,
        "status": view.ready,
        "reason": reason,
        "message": view.ready_message,
        "lastTransitionTime": since,
    })
}

/// The properties: the system's properties of the cluster, under the system's names, and Berth's properties,
/// under qualified names. Properties that the schema refuses (an empty or too long name or value) are left
/// out.
fn properties(target: Target<'_>) -> BTreeMap<String, String> {
    let mut properties = target.facts.properties.clone();
    for (name, value) in [
        ("cluster-name", &*target.view.cluster_name),
        ("region", target.view.region.as_str()),
        ("zone", target.view.zone.as_str()),
        ("provider", target.view.provider.as_str()),
    ] {
        properties.insert(format!("{name}.{OWN_DOMAIN}"), value.to_owned());
    }
    properties.retain(|name, value| {
        (1..=MAX_VALUE).contains(&value.chars().count()) && (1..=MAX_NAME).contains(&name.chars().count())
    });
    properties
}

#[cfg(test)]
mod tests;
