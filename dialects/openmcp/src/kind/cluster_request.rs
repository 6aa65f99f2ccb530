//! ClusterRequest: a request for a Cluster of a purpose (docs/systems/openmcp.md, "API objects").

use berth_apimachinery::types::Condition;
use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, SelectableField, Write, described_by,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::names::{GROUP, VERSION};

/// A request for a Cluster of a purpose. The scheduler grants an existing Cluster or creates one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub struct ClusterRequest {
    /// The request, which cannot change.
    pub spec: ClusterRequestSpec,
    /// The granted cluster.
    pub status: Option<ClusterRequestStatus>,
}

/// Requirements of a request.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["purpose"]))]
pub struct ClusterRequestSpec {
    /// Purpose of the cluster. The scheduler's configuration defines its meaning.
    #[schemars(length(min = 1))]
    pub purpose: String,
    /// Whether the deletion of the request waits for the deletion of the cluster, if the cluster is deleted
    /// with its last request. The default is true for an Exclusive cluster and false for a Shared one.
    pub wait_for_cluster_deletion: Option<bool>,
}

/// The cluster that was granted to a request.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["observedGeneration", "phase"]))]
pub struct ClusterRequestStatus {
    /// The generation for which this status was written.
    pub observed_generation: i64,
    /// The phase of the request: Pending or Granted.
    pub phase: String,
    /// The reason why the request is in this phase.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The granted cluster. Once set, it cannot change.
    pub cluster: Option<ClusterReference>,
}

/// A reference to a Cluster by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct ClusterReference {
    /// The name of the cluster.
    pub name: String,
    /// The namespace of the cluster.
    pub namespace: String,
}

/// Serves ClusterRequest.
#[derive(Clone, Copy, Debug)]
pub struct ClusterRequestKind;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Purpose", "The purpose of the cluster").at(".spec.purpose"),
        Column::text("Phase", "Whether a cluster is granted").at(".status.phase"),
        Column::text("Cluster", "The name of the granted cluster").at(".status.cluster.name"),
        Column::text("Cluster-NS", "The namespace of the granted cluster").at(".status.cluster.namespace"),
    ],
    selectable: &[
        SelectableField::at("spec.purpose"),
        SelectableField::at("status.phase"),
    ],
    ..Definition::new(
        KindInfo {
            singular: "clusterrequest",
            short_names: &["cr", "creq"],
            status_subresource: true,
            ..KindInfo::new(GROUP, &[VERSION], "ClusterRequest", "clusterrequests")
        },
        Schema::of::<ClusterRequest>,
    )
};

impl Kind for ClusterRequestKind {
    described_by!(DEFINITION);

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let Some(old) = write.old else {
            return Vec::new();
        };
        let mut errors = Vec::new();
        if let (Some(old), Some(new)) = (old.get("spec"), new.get("spec"))
            && old != new
        {
            errors.push(FieldError::invalid("spec", new.clone(), "spec is immutable"));
        }
        errors.extend(changed_grant(old, new));
        errors
    }
}

/// The error of a changed or removed `status.cluster`. The status as a whole may be removed.
fn changed_grant(old: &Value, new: &Value) -> Option<FieldError> {
    let status = |value: &Value| value.get("status").filter(|status| !status.is_null()).cloned();
    let (old, new) = (status(old)?, status(new)?);
    let granted = old.get("cluster").filter(|cluster| !cluster.is_null())?;
    match new.get("cluster").filter(|cluster| !cluster.is_null()) {
        Some(cluster) if cluster == granted => None,
        Some(cluster) => Some(FieldError::invalid(
            "status.cluster",
            cluster.clone(),
            "cluster is immutable",
        )),
        None => Some(FieldError::invalid(
            "status",
            new.clone(),
            "cluster may not be removed once set",
        )),
    }
}
