//! Kinds a dialect reads and does not serve: Kubernetes' own, as far as scenarios need them.

use std::sync::{Arc, LazyLock};

use meta::kind::{ALL_VERBS, KindInfo, name_and_age};
use meta::{Cell, Column, Kind, Object, Schema, Scope};
use serde_json::json;

/// Namespaces, taken as they are.
struct Namespace;

static INFO: KindInfo = KindInfo {
    group: "",
    versions: &["v1"],
    storage_version: "v1",
    kind: "Namespace",
    plural: "namespaces",
    singular: "namespace",
    short_names: &["ns"],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    status: true,
    unconditional_update: true,
    strategic: true,
};

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::from_value(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}))
});

impl Kind for Namespace {
    fn info(&self) -> &KindInfo {
        &INFO
    }

    fn schema(&self, _version: &str) -> &Schema {
        &SCHEMA
    }

    fn columns(&self) -> &[Column] {
        &[Column::NAME, Column::AGE]
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        name_and_age(object)
    }
}

/// All of them.
pub(crate) fn kinds() -> Vec<Arc<dyn Kind>> {
    vec![Arc::new(Namespace)]
}
