//! AccessRequest: a request for access to a Cluster, or to the Cluster of a ClusterRequest
//! (docs/systems/openmcp.md, "API objects"). Cluster providers grant access; decisions do not read
//! AccessRequests.

use berth_apimachinery::types::Condition;
use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, SelectableField, Write, described_by,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::cluster_profile::Reference;
use super::cluster_request::ClusterReference;
use super::permissions::{Oidc, Token};
use crate::names::{GROUP, VERSION};

/// A request for access to a Cluster. It names the Cluster, or the ClusterRequest that got the Cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AccessRequest {
    /// The requested access.
    pub spec: AccessRequestSpec,
    /// The granted access.
    pub status: Option<AccessRequestStatus>,
}

/// The requested access: exactly one of token and oidc.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AccessRequestSpec {
    /// The Cluster to access. If clusterRef is set, requestRef is ignored. Once set, it cannot change.
    pub cluster_ref: Option<ClusterReference>,
    /// The ClusterRequest whose Cluster is accessed. Once set, it cannot change.
    pub request_ref: Option<ClusterReference>,
    /// Access by the token of a service account.
    pub token: Option<Token>,
    /// Access by an OIDC provider.
    pub oidc: Option<Oidc>,
    /// Time after the creation of the request at which it is deleted, such as 24h. By default, the request
    /// stays.
    pub ttl: Option<String>,
}

/// The granted access.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["observedGeneration", "phase"]))]
pub struct AccessRequestStatus {
    /// The generation for which this status was written.
    pub observed_generation: i64,
    /// The phase of the request: Pending, Granted or Denied.
    pub phase: String,
    /// The reason why the request is in this phase.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The Secret with the credentials, in the namespace of the request.
    pub secret_ref: Option<Reference>,
}

/// Serves AccessRequest.
#[derive(Clone, Copy, Debug)]
pub struct AccessRequestKind;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Phase", "Whether access is granted").at(".status.phase"),
    ],
    selectable: &[SelectableField::at("status.phase")],
    ..Definition::new(
        KindInfo {
            singular: "accessrequest",
            short_names: &["ar", "areq"],
            status_subresource: true,
            ..KindInfo::new(GROUP, &[VERSION], "AccessRequest", "accessrequests")
        },
        Schema::of::<AccessRequest>,
    )
};

impl Kind for AccessRequestKind {
    described_by!(DEFINITION);

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let Some(spec) = new.get("spec") else {
            return Vec::new();
        };
        let is_set = |name: &str| non_null(spec, name).is_some();
        let mut errors = Vec::new();
        if is_set("token") == is_set("oidc") {
            let detail = "exactly one of spec.token or spec.oidc must be set";
            errors.push(FieldError::invalid("spec", spec.clone(), detail));
        }
        if spec["oidc"]["name"] == "system" {
            let detail = "\"system\" is reserved: choose another name for the OIDC provider";
            errors.push(FieldError::invalid("spec.oidc.name", "system", detail));
        }
        let old = write.old.and_then(|old| old.get("spec"));
        errors.extend(old.into_iter().flat_map(|old| reference_errors(old, spec)));
        errors
    }
}

/// The field `name` of `spec`, unless it is null.
fn non_null<'a>(spec: &'a Value, name: &str) -> Option<&'a Value> {
    spec.get(name).filter(|value| !value.is_null())
}

/// Errors about changed or removed references.
fn reference_errors(old: &Value, new: &Value) -> Vec<FieldError> {
    let changed = |name: &str| {
        let old = non_null(old, name)?;
        match non_null(new, name) {
            Some(new) if new == old => None,
            Some(new) => Some(FieldError::invalid(
                format!("spec.{name}"),
                new.clone(),
                format!("{name} is immutable"),
            )),
            None => Some(FieldError::invalid(
                "spec",
                new.clone(),
                format!("{name} may not be removed once set"),
            )),
        }
    };
    ["clusterRef", "requestRef"]
        .into_iter()
        .filter_map(changed)
        .collect()
}
