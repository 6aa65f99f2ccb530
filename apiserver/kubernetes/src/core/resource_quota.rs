//! `v1` ResourceQuota, for counts of objects: this server runs no Pods whose CPU and memory a quota could
//! limit.

use std::collections::BTreeMap;

use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::types::QuantityText;
use berth_apimachinery::{
    Cell, Column, Definition, FieldError, GroupResource, Kind, KindInfo, Object, Schema, StatusMetadata,
    Write, described_by,
};
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::event::rules::check_qualified_name;
use crate::core::value;

/// Resource of ResourceQuotas.
pub const RESOURCE: GroupResource = GroupResource::new("", "resourcequotas");

/// The fields of a ResourceQuota.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceQuotaFields {
    /// Limits of the namespace.
    pub spec: Option<Spec>,
    /// Limits and usage of the namespace.
    pub status: Option<Status>,
}

/// Limits of a namespace.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// Maximum of each resource: `count/<resource>.<group>`, `count/<resource>` in the core group, or
    /// configmaps, resourcequotas, secrets, services, services.loadbalancers or services.nodeports. Other names
    /// of Kubernetes, such as cpu, are stored but limit nothing.
    pub hard: Option<BTreeMap<String, QuantityText>>,
    /// Must not be set: scopes select Pods, which this server does not have.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub scopes: Option<Vec<String>>,
}

/// Limits and usage of a namespace.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The limits for which `used` was counted.
    pub hard: Option<BTreeMap<String, QuantityText>>,
    /// Usage of each resource.
    pub used: Option<BTreeMap<String, QuantityText>>,
}

/// The kind ResourceQuota: limits for the content of a namespace.
#[derive(Clone, Copy, Debug)]
pub struct ResourceQuota;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Request", "The usage of each limit").computed(used),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            singular: "resourcequota",
            short_names: &["quota"],
            status_subresource: true,
            unconditional_update: true,
            strategic_merge_patch: true,
            ..KindInfo::new("", &["v1"], "ResourceQuota", "resourcequotas")
        },
        Schema::of::<ResourceQuotaFields>,
    )
};

impl Kind for ResourceQuota {
    described_by!(DEFINITION);

    fn status_metadata(&self) -> StatusMetadata {
        StatusMetadata::Written
    }

    fn validate(&self, _: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (name, limit) in value::object(new, &["spec", "hard"]).into_iter().flatten() {
            let path = format!("spec.hard[{name}]");
            errors.extend(check_name(name, &path));
            errors.extend(check_limit(name, limit, &path));
        }
        if !value::list(new, &["spec", "scopes"]).is_empty() {
            let detail = "must not be set: scopes select Pods, which this server does not have";
            errors.push(FieldError::forbidden("spec.scopes", detail));
        }
        errors
    }
}

fn used(quota: &Object) -> Cell {
    let value = quota.value();
    let text = |part: &str, name: &str| match value::object(value, &["status", part])
        .and_then(|map| map.get(name))
    {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "0".to_owned(),
    };
    let hard = value::object(value, &["status", "hard"]);
    let each = hard.into_iter().flat_map(|map| map.keys());
    let all: Vec<String> = each
        .map(|name| format!("{name}: {}/{}", text("used", name), text("hard", name)))
        .collect();
    all.join(", ").into()
}

/// Valid names of limits without a prefix, as in Kubernetes.
const STANDARD_RESOURCES: [&str; 19] = [
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

fn check_name(name: &str, path: &str) -> Option<FieldError> {
    if let Err(detail) = check_qualified_name(name) {
        return Some(FieldError::invalid(path, name, detail));
    }
    let known = name.contains('/') || STANDARD_RESOURCES.contains(&name);
    (!known).then(|| {
        FieldError::invalid(
            path,
            name,
            "must be a standard resource for quota, or count/<resource>.<group>",
        )
    })
}

/// Whether the limit `name` is a number of objects, which must be a whole number.
fn is_count(name: &str) -> bool {
    if name.contains('/') {
        return !name.contains("kubernetes.io/") && !name.starts_with("requests.");
    }
    let measures = ["cpu", "memory", "storage"];
    !measures.into_iter().any(|measure| name.ends_with(measure))
}

fn check_limit(name: &str, limit: &Value, path: &str) -> Option<FieldError> {
    let text = match limit {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    // The schema rejects a value that is not a quantity.
    let quantity = Quantity::parse(&text).ok()?;
    if quantity < Quantity(0) {
        return Some(FieldError::invalid(
            path,
            text,
            "must be greater than or equal to 0",
        ));
    }
    (is_count(name) && quantity.0 % 1_000_000_000 != 0)
        .then(|| FieldError::invalid(path, text, "must be an integer"))
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Timestamp, WriteOperation};
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_have_names_of_kubernetes_and_counts_are_whole() {
        let write = Write {
            operation: WriteOperation::Create,
            old: None,
            now: Timestamp::UNIX_EPOCH,
        };
        let new = json!({"spec": {"hard": {
            "count/shoots.core.gardener.cloud": "3", "configmaps": 2, "cpu": "500m", "requests.memory": "1.5Gi",
            "requests.example.com/dongle": "3", "gold.storageclass.storage.k8s.io/requests.storage": "3Gi",
            "count/a": "1500m", "count/b": "-1", "pods": "0.5", "count/-C": "1", "shoots": "1",
        }, "scopes": ["BestEffort"]}});
        let errors = ResourceQuota.validate(&write, &new);
        let mut paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(
            paths,
            [
                "spec.hard[count/-C]",
                "spec.hard[count/a]",
                "spec.hard[count/b]",
                "spec.hard[pods]",
                "spec.hard[shoots]",
                "spec.scopes"
            ]
        );
    }
}
