//! Role and ClusterRole.

use berth_apimachinery::name::NameError;
use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{
    Cell, Column, Definition, FieldError, Kind, Object, Schema, Scope, Write, described_by, name, time,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The fields of a Role.
#[derive(JsonSchema)]
pub struct RoleFields {
    /// Permissions of the role, in its own namespace.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub rules: Option<Vec<PolicyRule>>,
}

/// The fields of a ClusterRole.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRoleFields {
    /// Permissions of the role: in the whole cluster if a ClusterRoleBinding grants it, in one namespace if a
    /// RoleBinding does.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub rules: Option<Vec<PolicyRule>>,
    /// Rule by which the permissions are aggregated from other cluster roles, in place of the role's own.
    pub aggregation_rule: Option<AggregationRule>,
}

/// A rule of a role: verbs, and the resources or paths for which they are allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    /// The allowed verbs: get, list, watch, create, update, patch, delete, deletecollection and special ones;
    /// '*' allows all verbs.
    #[serde(default)]
    pub verbs: Vec<String>,
    /// The API groups; '' is the core group, '*' allows all groups.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub api_groups: Vec<String>,
    /// The resources, with a subresource if the rule is about one ('shoots/binding'); '*' allows all
    /// resources, '*/scale' the subresource scale of all resources.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resources: Vec<String>,
    /// The names of the objects that the rule allows; an empty list allows all names.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resource_names: Vec<String>,
    /// Paths that are not resources, such as '/healthz'; a '*' at the end matches any suffix. Only in a
    /// ClusterRole that a ClusterRoleBinding grants.
    #[serde(
        rename = "nonResourceURLs",
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub non_resource_urls: Vec<String>,
}

fn null_as_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Selectors of the cluster roles that are aggregated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AggregationRule {
    /// Selectors by labels: a cluster role that matches any of them is aggregated.
    #[serde(default)]
    pub cluster_role_selectors: Vec<LabelSelector>,
}

/// The kind Role: permissions in one namespace.
#[derive(Clone, Copy, Debug)]
pub struct Role;

/// The kind ClusterRole: permissions in any namespace.
#[derive(Clone, Copy, Debug)]
pub struct ClusterRole;

static ROLE: Definition = Definition {
    columns: COLUMNS,
    ..Definition::new(
        super::info("Role", "roles", "role", Scope::Namespaced),
        Schema::of::<RoleFields>,
    )
};

static CLUSTER_ROLE: Definition = Definition {
    columns: COLUMNS,
    ..Definition::new(
        super::info("ClusterRole", "clusterroles", "clusterrole", Scope::Cluster),
        Schema::of::<ClusterRoleFields>,
    )
};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Created At", "When the role was created")
        .date()
        .computed(created),
];

fn created(role: &Object) -> Cell {
    let created = role.meta().creation_timestamp();
    created.map(time::rfc3339).unwrap_or_default().into()
}

impl Kind for Role {
    described_by!(ROLE);

    fn validate(&self, _: &Write<'_>, new: &Value) -> Vec<FieldError> {
        rule_errors(new, true)
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        name::path_segment(name)
    }
}

impl Kind for ClusterRole {
    described_by!(CLUSTER_ROLE);

    fn validate(&self, _: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = rule_errors(new, false);
        errors.extend(aggregation_errors(new));
        errors
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        name::path_segment(name)
    }
}

fn rule_errors(new: &Value, namespaced: bool) -> Vec<FieldError> {
    let rules = crate::core::value::list(new, &["rules"]);
    let parsed = rules.iter().map(|rule| PolicyRule::deserialize(rule).ok());
    // The schema rejects a rule that does not parse.
    parsed
        .enumerate()
        .filter_map(|(index, rule)| Some(errors_of_rule(&rule?, &format!("rules[{index}]"), namespaced)))
        .flatten()
        .collect()
}

fn errors_of_rule(rule: &PolicyRule, path: &str, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if rule.verbs.is_empty() {
        errors.push(FieldError::required(
            format!("{path}.verbs"),
            "verbs must contain at least one value",
        ));
    }
    if rule.non_resource_urls.is_empty() {
        if rule.api_groups.is_empty() {
            let detail = "resource rules must supply at least one api group";
            errors.push(FieldError::required(format!("{path}.apiGroups"), detail));
        }
        if rule.resources.is_empty() {
            let detail = "resource rules must supply at least one resource";
            errors.push(FieldError::required(format!("{path}.resources"), detail));
        }
        return errors;
    }
    let mut refuse = |detail: &str| {
        let path = format!("{path}.nonResourceURLs");
        errors.push(FieldError::invalid(path, rule.non_resource_urls.clone(), detail));
    };
    if namespaced {
        refuse("namespaced rules cannot apply to non-resource URLs");
    }
    if !(rule.api_groups.is_empty() && rule.resources.is_empty() && rule.resource_names.is_empty()) {
        refuse("rules cannot apply to both regular resources and non-resource URLs");
    }
    errors
}

fn aggregation_errors(new: &Value) -> Vec<FieldError> {
    if !new["aggregationRule"].is_object() {
        return Vec::new();
    }
    let path = "aggregationRule.clusterRoleSelectors";
    let Ok(rule) = AggregationRule::deserialize(&new["aggregationRule"]) else {
        return Vec::new();
    };
    if rule.cluster_role_selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        return vec![FieldError::required(path, detail)];
    }
    let selectors = rule.cluster_role_selectors.iter().enumerate();
    selectors
        .filter_map(|(index, selector)| Selector::compile(selector, &format!("{path}[{index}]")).err())
        .flatten()
        .collect()
}
