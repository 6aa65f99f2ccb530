//! Kinds without rules: Kubernetes' own, as far as scenarios need them, and those of the faulty
//! dialect.

use std::sync::{Arc, LazyLock};

use berth_apimachinery::{Kind, KindInfo, Schema, Scope};
use serde_json::json;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::from_value(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}))
});

/// A kind without rules.
pub(crate) struct Plain(pub(crate) KindInfo);

impl Kind for Plain {
    fn info(&self) -> &KindInfo {
        &self.0
    }

    fn schema(&self, _version: &str) -> &Schema {
        &SCHEMA
    }
}

const NAMESPACE: KindInfo = KindInfo {
    singular: "namespace",
    short_names: &["ns"],
    scope: Scope::Cluster,
    status_subresource: true,
    unconditional_update: true,
    strategic_merge_patch: true,
    ..KindInfo::new("", &["v1"], "Namespace", "namespaces")
};

const CONFIG_MAP: KindInfo = KindInfo {
    singular: "configmap",
    short_names: &["cm"],
    unconditional_update: true,
    strategic_merge_patch: true,
    ..KindInfo::new("", &["v1"], "ConfigMap", "configmaps")
};

/// Kubernetes' own kinds.
pub(crate) fn kinds() -> Vec<Arc<dyn Kind>> {
    vec![Arc::new(Plain(NAMESPACE)), Arc::new(Plain(CONFIG_MAP))]
}
