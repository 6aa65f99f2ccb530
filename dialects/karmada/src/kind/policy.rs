//! PropagationPolicy and ClusterPropagationPolicy, which have the same schema: they assign templates to
//! clusters.

use berth_apimachinery::selector::LabelSelector;
use schemars::JsonSchema;
use serde::Deserialize;

use super::placement::Placement;

/// Policy that sends templates to clusters.
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
    /// Clusters that they go to, and the division of replicas among them.
    pub(crate) placement: Placement,
    /// Priority among policies of one kind that select a template: the highest.
    #[schemars(extend("x-default" = 0))]
    pub(crate) priority: i32,
    /// Whether it takes templates from policies of lower priority.
    #[schemars(extend("enum" = ["Always", "Never"], "default" = "Never"))]
    pub(crate) preemption: String,
    /// Override policies that must be there before it claims anything.
    pub(crate) dependent_overrides: Vec<String>,
    /// Lazy has a change of it wait for the next change of each template.
    #[schemars(extend("enum" = ["Lazy"]))]
    pub(crate) activation_preference: String,
    /// The scheduler that decides. It cannot be changed.
    #[schemars(extend("default" = "default-scheduler"))]
    pub(crate) scheduler_name: String,
}

/// Templates, by what they are and by name or labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["apiVersion", "kind"]))]
pub(crate) struct ResourceSelector {
    /// The version of their API.
    pub(crate) api_version: String,
    /// Their kind.
    pub(crate) kind: String,
    /// Their namespace; every one where it is empty.
    pub(crate) namespace: String,
    /// The name of the one that is meant; then labels do not count.
    pub(crate) name: String,
    /// A selector over their labels.
    pub(crate) label_selector: Option<LabelSelector>,
}
