//! Kinds to render: a placement in two versions, a computed decision with subresources, a core kind.

use std::sync::Arc;

use berth_apimachinery::{Kind, KindInfo, Schema, Scope};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{ResourceDoc, SubresourceDoc};

/// Selects clusters.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Placement {
    /// Wanted state.
    spec: Option<PlacementSpec>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PlacementSpec {
    /// Most clusters.
    #[schemars(range(min = 0))]
    number_of_clusters: Option<i32>,
    /// Ranking of clusters.
    prioritizer_policy: Option<PrioritizerPolicy>,
    /// Free-form extras.
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    extras: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PrioritizerPolicy {
    /// Whether the defaults apply beside the configurations.
    #[schemars(extend("enum" = ["Additive", "Exact"], "default" = "Additive"))]
    mode: Option<String>,
    /// The weights.
    configurations: Option<Vec<PrioritizerConfig>>,
}

#[derive(Serialize, JsonSchema)]
struct PrioritizerConfig {
    /// The name of the score.
    name: String,
    /// The weight of the score.
    #[schemars(range(min = -10, max = 10))]
    weight: Option<i32>,
}

struct Sample {
    info: KindInfo,
    schema: Schema,
}

impl Kind for Sample {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        &self.schema
    }
}

fn info(group: &'static str, kind: &'static str, plural: &'static str) -> KindInfo {
    KindInfo::new(group, &["v1"], kind, plural)
}

pub(super) const GROUP: &str = "cluster.open-cluster-management.io";

/// Resources of a server with these kinds.
pub(super) fn resources() -> Vec<ResourceDoc> {
    let placement = KindInfo {
        versions: &["v1beta1", "v1alpha1"],
        storage_version: "v1beta1",
        singular: "placement",
        short_names: &["pl"],
        categories: &["all"],
        status_subresource: true,
        ..info(GROUP, "Placement", "placements")
    };
    let decision = KindInfo {
        versions: &["v1alpha1"],
        singular: "decision",
        verbs: &["get", "list", "watch"],
        ..info("scheduling.berth.dev", "Decision", "decisions")
    };
    let target = KindInfo {
        versions: &["v1alpha1"],
        singular: "target",
        scope: Scope::Cluster,
        verbs: &["list", "get"],
        ..info("scheduling.berth.dev", "Target", "targets")
    };
    let config_map = KindInfo {
        singular: "configmap",
        strategic_merge_patch: true,
        ..info("", "ConfigMap", "configmaps")
    };
    let open = Schema::from_value(json!({"properties": {"data": {
        "type": "object", "additionalProperties": {"type": "string"}, "description": "The entries.",
    }}}));
    let scheduling = SubresourceDoc {
        name: "scheduling",
        group: "",
        version: "",
        kind: "Scheduling",
        verbs: &["get"],
        apply: false,
        schema: Some(Arc::new(open.clone())),
    };
    let foreign = SubresourceDoc {
        name: "binding",
        group: "scheduling.berth.dev",
        version: "v1alpha1",
        kind: "Binding",
        verbs: &["get", "create"],
        apply: false,
        schema: None,
    };
    let doc = |info, schema: &Schema, status, subresources| ResourceDoc {
        kind: Arc::new(Sample {
            info,
            schema: schema.clone(),
        }),
        status,
        apply: true,
        subresources,
    };
    vec![
        doc(config_map, &open, false, vec![]),
        doc(placement, &Schema::of::<Placement>(), true, vec![foreign]),
        doc(decision, &open, false, vec![scheduling]),
        doc(target, &open, false, vec![]),
    ]
}
