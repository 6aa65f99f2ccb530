//! PropagationPolicy and ClusterPropagationPolicy, which have the same schema: they assign templates to
//! clusters.

use berth_apimachinery::selector::LabelSelector;
use schemars::JsonSchema;
use serde::Deserialize;

use super::placement::Placement;

/// Policy that propagates templates to clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct Policy {
    /// Templates and clusters.
    pub(crate) spec: PolicySpec,
}

/// Templates and clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resourceSelectors"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct PolicySpec {
    /// The templates.
    #[schemars(length(min = 1))]
    pub(crate) resource_selectors: Vec<ResourceSelector>,
    /// Clusters of the templates, and the division of replicas among them.
    pub(crate) placement: Placement,
    /// Priority among policies of one kind that select the same template: the highest wins.
    #[schemars(extend("x-default" = 0))]
    pub(crate) priority: i32,
    /// Whether the policy preempts templates of policies with a lower priority.
    #[schemars(extend("enum" = ["Always", "Never"], "default" = "Never"))]
    pub(crate) preemption: String,
    /// Override policies that must exist before the policy claims templates.
    pub(crate) dependent_overrides: Vec<String>,
    /// Lazy delays a change of the policy until the next change of each template.
    #[schemars(extend("enum" = ["Lazy"]))]
    pub(crate) activation_preference: String,
    /// The scheduler that decides. This cannot be changed.
    #[schemars(extend("default" = "default-scheduler"))]
    pub(crate) scheduler_name: String,
}

/// Templates, by kind, and by name or labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["apiVersion", "kind"]))]
pub(crate) struct ResourceSelector {
    /// The version of their API.
    pub(crate) api_version: String,
    /// Their kind.
    pub(crate) kind: String,
    /// Their namespace; empty means all namespaces.
    pub(crate) namespace: String,
    /// The name of a single template. If it is set, labels do not count.
    pub(crate) name: String,
    /// A selector over their labels.
    pub(crate) label_selector: Option<LabelSelector>,
}
