//! `v1` ServiceAccount. On a standalone server, RBAC can grant roles to a ServiceAccount, and controllers
//! (such as kcp's) can sync the ServiceAccount; Berth issues no tokens for ServiceAccounts.

use berth_apimachinery::{Definition, Kind, KindInfo, Schema, Write, described_by};
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::value;

/// The fields of a ServiceAccount.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccountFields {
    /// Secrets in the same namespace that workloads of this account may mount.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub secrets: Option<Vec<Reference>>,
    /// Secrets in the same namespace with the credentials for pulling images of this account's workloads.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub image_pull_secrets: Option<Vec<LocalReference>>,
    /// Whether the token of this account is mounted in its workloads; a workload may override it.
    pub automount_service_account_token: Option<bool>,
}

/// A reference to an object.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Reference {
    /// The object's apiVersion.
    pub api_version: Option<String>,
    /// The object's kind.
    pub kind: Option<String>,
    /// The object's namespace.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: Option<String>,
    /// The object's uid.
    pub uid: Option<String>,
    /// The object's resourceVersion at the time of the reference.
    pub resource_version: Option<String>,
    /// The path of a part of the object, such as `spec.containers{name}`.
    pub field_path: Option<String>,
}

/// A reference to an object of a known kind in the same namespace.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LocalReference {
    /// The object's name.
    pub name: Option<String>,
}

/// The kind ServiceAccount: an identity for workloads.
#[derive(Clone, Copy, Debug)]
pub struct ServiceAccount;

static DEFINITION: Definition = Definition::new(
    KindInfo {
        singular: "serviceaccount",
        short_names: &["sa"],
        unconditional_update: true,
        strategic_merge_patch: true,
        ..KindInfo::new("", &["v1"], "ServiceAccount", "serviceaccounts")
    },
    Schema::of::<ServiceAccountFields>,
);

impl Kind for ServiceAccount {
    described_by!(DEFINITION);

    fn normalize_body(&self, _: Option<&Value>, body: &mut Value) {
        value::drop_empty(body, &["secrets", "imagePullSecrets"]);
    }

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        self.normalize_body(write.old, new);
    }
}
