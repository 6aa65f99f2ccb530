//! PropagationPolicy and ClusterPropagationPolicy, which have the same schema: they assign templates to
//! clusters.

use berth_apimachinery::FieldError;
use berth_apimachinery::selector::{LabelSelector, Selector};
use schemars::JsonSchema;
use serde::Deserialize;

use super::placement::Placement;

/// A policy that propagates templates to clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct Policy {
    /// The selected templates, and their clusters.
    pub(crate) spec: PolicySpec,
}

/// Templates that a policy selects, and their clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resourceSelectors"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct PolicySpec {
    /// The templates that the policy selects.
    #[schemars(length(min = 1))]
    pub(crate) resource_selectors: Vec<ResourceSelector>,
    /// The clusters of the templates, and the division of replicas among the clusters.
    pub(crate) placement: Placement,
    /// The priority of the policy. If several policies of one kind select a template, the highest priority
    /// wins.
    #[schemars(extend("x-default" = 0))]
    pub(crate) priority: i32,
    /// Whether the policy takes over templates that policies of lower priority have claimed: Always or Never.
    /// Berth's own detector never takes over templates.
    #[schemars(extend("enum" = ["Always", "Never"], "default" = "Never"))]
    pub(crate) preemption: String,
    /// The names of the override policies that must exist before the policy claims templates.
    pub(crate) dependent_overrides: Vec<String>,
    /// Lazy: a change of the policy takes effect on a template only with the next change of the template.
    /// Empty: it takes effect at once.
    #[schemars(extend("enum" = ["Lazy"]))]
    pub(crate) activation_preference: String,
    /// The name of the scheduler that decides the bindings of the templates. Cannot be changed.
    #[schemars(extend("default" = "default-scheduler"))]
    pub(crate) scheduler_name: String,
}

impl PolicySpec {
    /// The label selector of each resource selector, compiled; `None` if labels have no effect: the resource
    /// selector has a name, or no label selector.
    pub(crate) fn label_selectors(&self) -> impl Iterator<Item = Option<Result<Selector, Vec<FieldError>>>> {
        let selectors = self.resource_selectors.iter().enumerate();
        selectors.map(|(index, selector)| {
            let labels = selector.label_selector.as_ref();
            let labels = labels.filter(|_| selector.name.is_empty())?;
            let path = format!("spec.resourceSelectors[{index}].labelSelector");
            Some(Selector::compile(labels, &path))
        })
    }
}

/// Selection of templates by kind, and by name or labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["apiVersion", "kind"]))]
pub(crate) struct ResourceSelector {
    /// The API version of the templates.
    pub(crate) api_version: String,
    /// The kind of the templates.
    pub(crate) kind: String,
    /// The namespace of the templates; empty means all namespaces in which the policy may select.
    pub(crate) namespace: String,
    /// The name of a single template. If it is set, labelSelector has no effect.
    pub(crate) name: String,
    /// A selector over the labels of the templates.
    pub(crate) label_selector: Option<LabelSelector>,
}
