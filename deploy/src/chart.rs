//! Parts of the Helm chart that are rendered from the code. The chart's templates are written by hand
//! and name no system: the needs of each system are in `files/systems/<system>/<place>.yaml`, where
//! the place is `hub`, `owned` or `observe`, and the definitions of its kinds in `files/definitions`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};

use crate::files::HEADER;
use crate::{
    Installation, Set, objects, publications, scheduler_configurations, system_definitions, webhooks, yaml,
};

/// The annotation of objects that stay when a release is deleted.
const KEEP: &str = "helm.sh/resource-policy";
/// The role with which Berth impersonates actors. Each actor has a role with the name of the actor.
const IMPERSONATOR: &str = "berth:impersonator";
/// The role for the registration, which concerns no particular system.
const REGISTRATION: &str = "berth:registration";

/// The name of the file with the needs of a system on a hub that Berth only observes.
const OBSERVE: &str = "observe";

/// Every rendered file of the chart, by its path below `deploy/helm/berth/`, with its text.
///
/// # Errors
/// When an object cannot be written as YAML.
pub fn chart() -> Result<Vec<(String, String)>> {
    let file =
        |name: String, object: &Value| Ok((name, format!("{HEADER}{}", yaml(std::slice::from_ref(object))?)));
    let mut files = vec![
        file(
            "crds/schedulerconfigurations.yaml".to_owned(),
            &scheduler_configurations(),
        ),
        file("crds/publications.yaml".to_owned(), &publications()),
    ];
    let all = Installation::default().dialects;
    for dialect in &all {
        let system = dialect.name();
        for mut definition in system_definitions([dialect]) {
            let name = definition["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            // An uninstallation of Berth keeps the definitions, and with them the systems' objects.
            definition["metadata"]["annotations"][KEEP] = json!("keep");
            files.push(file(
                format!("files/definitions/{system}/{name}.yaml"),
                &definition,
            ));
        }
        for place in ["hub", "owned", OBSERVE] {
            let mut installation = Installation {
                dialects: vec![Arc::clone(dialect)],
                ..Installation::default()
            };
            if place != "owned" {
                installation.on_hub = BTreeSet::from([system]);
            }
            if place == OBSERVE {
                installation = installation.observing();
            }
            files.push(file(
                format!("files/systems/{system}/{place}.yaml"),
                &needs(&installation),
            ));
        }
    }
    files.into_iter().collect()
}

/// The names of all systems.
#[must_use]
pub fn systems() -> Vec<&'static str> {
    let all = Installation::default().dialects;
    all.iter().map(|dialect| dialect.name()).collect()
}

/// Needs of an installation that come from its systems: lists of APIServices, webhooks and impersonated
/// users, and the rules of each ClusterRole by its name.
fn needs(installation: &Installation) -> Value {
    let without_systems = Installation {
        dialects: Vec::new(),
        ..Installation::default()
    };
    let mut needs: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut add = |sort: &str, value: Value| needs.entry(sort.to_owned()).or_default().push(value);
    let known = objects(&without_systems, Set::Apiservice);
    for service in objects(installation, Set::Apiservice) {
        if !known.contains(&service) {
            add("apiServices", parts(&service["spec"], &API_SERVICE));
        }
    }
    let [mutating, validating] = webhooks(installation);
    let known = webhooks(&without_systems);
    let configurations = [("mutatingWebhooks", mutating), ("validatingWebhooks", validating)].into_iter();
    for (sort, configuration) in configurations.filter(|_| !installation.is_observer()) {
        let is_known = |webhook: &Value| {
            known
                .iter()
                .any(|known| items(known, "webhooks").contains(webhook))
        };
        for webhook in items(&configuration, "webhooks") {
            if !is_known(&webhook) {
                add(sort, parts(&webhook, &WEBHOOK));
            }
        }
    }
    let known = objects(&without_systems, Set::Rbac);
    for role in objects(installation, Set::Rbac) {
        let name = role["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if role["kind"] != "ClusterRole" || name == REGISTRATION {
            continue;
        }
        if name == IMPERSONATOR {
            items(&role["rules"][0], "resourceNames")
                .into_iter()
                .for_each(|user| add("impersonates", user));
            continue;
        }
        let known = known
            .iter()
            .find(|known| known["metadata"] == role["metadata"] && known["kind"] == "ClusterRole");
        let known = known.map(|role| items(role, "rules")).unwrap_or_default();
        let rules = items(&role, "rules").into_iter();
        rules
            .filter(|rule| !known.contains(rule))
            .for_each(|rule| add(&name, rule));
    }
    json!(needs)
}

/// Fields that the template of an APIService reads.
const API_SERVICE: [&str; 4] = ["group", "groupPriorityMinimum", "version", "versionPriority"];
/// Fields that the template of a webhook reads; the other fields are equal in all webhooks of a configuration.
const WEBHOOK: [&str; 5] = [
    "failurePolicy",
    "matchConditions",
    "name",
    "objectSelector",
    "rules",
];

/// The part of `object` with these `fields`, as far as they exist.
fn parts(object: &Value, fields: &[&str]) -> Value {
    let present = fields.iter().filter(|field| !object[**field].is_null());
    present
        .map(|field| ((*field).to_owned(), object[*field].clone()))
        .collect()
}

/// The items of a list; empty where `object` does not have `field`.
fn items(object: &Value, field: &str) -> Vec<Value> {
    object[field].as_array().cloned().unwrap_or_default()
}
