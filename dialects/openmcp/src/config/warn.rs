//! Warnings about configurations that are valid, but probably not intended (docs/systems/openmcp.md,
//! "Configuration").

use berth_dialect_contract::rules::RulesChoice;
use serde_json::Value;

use super::SCHEMA;
use super::form::Form;
use crate::naming::{Naming, NamingError};

/// Fields of ObjectMeta that are not copied to new Clusters.
pub(super) const IGNORED_METADATA: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Warnings about `spec`, the dialect's part of a SchedulerConfiguration: values that are valid under
/// `rules`, but probably not intended. Each warning is one sentence with the path of the field below `spec`.
/// Invalid values are not reported here.
#[must_use]
pub fn warnings(spec: &Value, rules: RulesChoice) -> Vec<String> {
    let (_, unknown) = SCHEMA.read_known::<Form>(spec, "");
    let mut list: Vec<String> = unknown
        .into_iter()
        .map(|error| format!("{}: {}: it is ignored, as by openMCP", error.path, error.detail))
        .collect();
    let mappings = spec
        .pointer("/scheduler/purposeMappings")
        .and_then(Value::as_object);
    let scope = spec.pointer("/scheduler/scope").and_then(Value::as_str);
    if mappings.is_some() && scope.unwrap_or_default().is_empty() {
        list.push(absent_scope(rules).to_owned());
    }
    for (purpose, mapping) in mappings.into_iter().flatten() {
        let path = format!("scheduler.purposeMappings.{purpose}.template.metadata");
        let metadata = mapping.pointer("/template/metadata").unwrap_or(&Value::Null);
        add_naming_warnings(purpose, mapping, metadata, &path, &mut list);
        for field in IGNORED_METADATA
            .iter()
            .filter(|field| !metadata[**field].is_null())
        {
            list.push(format!(
                "{path}.{field}: is ignored: it is not copied to new clusters"
            ));
        }
    }
    list
}

/// The warning about a missing scope: the default differs between releases of openMCP, and decides which
/// requests share clusters.
const fn absent_scope(rules: RulesChoice) -> &'static str {
    match rules {
        RulesChoice::Documented => {
            "scheduler.scope: is not set, and Namespaced is in force: each namespace has clusters of its own; in openMCP since \
             v0.14, the default is Cluster; set the scope that you want"
        }
        RulesChoice::Current => {
            "scheduler.scope: is not set, and Cluster is in force, as in openMCP since v0.14: requests of all namespaces share \
             clusters; before v0.14, the default was Namespaced; set the scope that you want"
        }
        RulesChoice::Auto => {
            "scheduler.scope: is not set, and Cluster is in force for the requests of a hub, as in openMCP since v0.14, and \
             Namespaced for requests in files or stored by Berth; set the scope that you want"
        }
    }
}

/// Adds the warnings about the names of new Clusters of `purpose`.
fn add_naming_warnings(purpose: &str, mapping: &Value, metadata: &Value, path: &str, list: &mut Vec<String>) {
    let text = |name: &str| metadata[name].as_str().filter(|text| !text.is_empty());
    let is_shared = mapping
        .pointer("/template/spec/tenancy")
        .is_some_and(|tenancy| tenancy == "Shared");
    let is_unlimited = is_shared && mapping["tenancyCount"].as_i64().unwrap_or_default() == 0;
    let (fixed_name, prefix) = (text("name"), text("generateName"));
    if fixed_name.is_some() {
        if prefix.is_some() {
            list.push(format!("{path}.name: is ignored: generateName takes precedence"));
        } else if !is_unlimited {
            list.push(format!(
                "{path}.name: is ignored: only a cluster for any number of requests gets this name; set generateName"
            ));
        }
    }
    let is_named_by_purpose = prefix.is_none() && (fixed_name.is_none() || !is_unlimited);
    let rule = Naming::of(purpose, is_unlimited, fixed_name, prefix);
    match rule.name("namespace", "name") {
        Err(NamingError::Invalid { error, .. }) if is_named_by_purpose => list.push(format!(
            "scheduler.purposeMappings.{purpose}: the purpose cannot be a name, but the names of new clusters begin \
             with it: {error}; set template.metadata.generateName"
        )),
        Err(problem) if matches!(rule, Naming::Prefix(_)) => {
            list.push(format!("{path}.generateName: {problem}"));
        }
        _ => {}
    }
}
