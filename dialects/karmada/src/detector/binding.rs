//! The binding of a template under a policy. The listed clusters, the status and the evictions of a binding
//! belong to other controllers and are kept.

use berth_apimachinery::{Key, Object};
use serde_json::{Map, Value, json};

use super::claim;
use crate::config::Settings;
use crate::fleet::policies::PolicyRecord;
use crate::kind::WORK_VERSION;
use crate::names::{BINDINGS, WORK_GROUP};
use crate::template::{self, TemplateKind};

/// Fields that a binding copies from its policy.
const POLICY_FIELDS: [&str; 6] = [
    "placement",
    "propagateDeps",
    "schedulerName",
    "failover",
    "conflictResolution",
    "preserveResourcesOnDeletion",
];

/// Fields of `suspension` that a binding copies from its policy. Only the binding itself can suspend
/// scheduling.
const SUSPENSION_FIELDS: [&str; 2] = ["dispatching", "dispatchingOnClusters"];

/// An empty binding at `key`.
pub(super) fn empty(key: &Key) -> Value {
    let mut metadata = json!({"name": &*key.name});
    let kind = match key.resource == BINDINGS {
        true => {
            metadata["namespace"] = (&*key.namespace).into();
            "ResourceBinding"
        }
        false => "ClusterResourceBinding",
    };
    json!({"apiVersion": format!("{WORK_GROUP}/{WORK_VERSION}"), "kind": kind, "metadata": metadata, "spec": {}})
}

/// Returns `binding` with the fields that follow from `template`, which is of `kind`, and from `policy`.
pub(super) fn for_template(
    binding: &Value,
    kind: &TemplateKind,
    template: &Object,
    policy: &PolicyRecord,
    settings: &Settings,
) -> Value {
    let mut new = with_policy(binding, policy);
    set_owner(&mut new, kind, template);
    let meta = template.meta();
    let mut resource = json!({"apiVersion": kind.api_version, "kind": kind.kind, "name": meta.name()});
    for (field, text) in [("namespace", meta.namespace()), ("uid", meta.uid())] {
        if !text.is_empty() {
            resource[field] = text.into();
        }
    }
    // The stored resourceVersion of the template stays, since decisions do not read it.
    let version = &new["spec"]["resource"]["resourceVersion"];
    if !version.is_null() {
        resource["resourceVersion"] = version.clone();
    }
    let wants = template::template_requirements(kind, template.value());
    if let Some(spec) = new["spec"].as_object_mut() {
        set(spec, "resource", Some(resource));
        set(
            spec,
            "replicas",
            (wants.replicas > 0).then(|| wants.replicas.into()),
        );
        set(spec, "replicaRequirements", wants.requirements);
        // As in Karmada, only a ResourceBinding has groups, and none has any while the gate is off.
        if kind.namespaced {
            let groups = settings
                .workload_affinity
                .then(|| affinity_groups(template, policy))
                .flatten();
            set(spec, "workloadAffinityGroups", groups);
        }
    }
    new
}

/// The groups of `template` under `policy`, each named by a label of the template and its value; `None` if the
/// template is in no group.
fn affinity_groups(template: &Object, policy: &PolicyRecord) -> Option<Value> {
    let affinity = policy.spec.placement.workload_affinity.as_ref()?;
    let labels = template.meta().labels();
    let mut groups = Map::new();
    for (field, term) in [
        ("affinityGroup", &affinity.affinity),
        ("antiAffinityGroup", &affinity.anti_affinity),
    ] {
        let Some(term) = term else { continue };
        let key = term.group_by_label_key.as_str();
        if let Some(value) = labels.get(key) {
            groups.insert(field.to_owned(), format!("{key}={value}").into());
        }
    }
    (!groups.is_empty()).then_some(Value::Object(groups))
}

/// Returns `binding` with the fields and the claim of `policy`. The fields that follow from the template
/// stay.
pub(super) fn with_policy(binding: &Value, policy: &PolicyRecord) -> Value {
    let mut new = claim::with_claim(binding, policy);
    let raw = &policy.object.value()["spec"];
    let Some(spec) = new["spec"].as_object_mut() else {
        return new;
    };
    for field in POLICY_FIELDS {
        set(spec, field, raw.get(field).cloned());
    }
    if spec.get("placement").is_none() {
        // A policy without a placement selects all clusters.
        set(spec, "placement", Some(json!({})));
    }
    let mut suspension = spec
        .get("suspension")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for field in SUSPENSION_FIELDS {
        set(&mut suspension, field, raw["suspension"].get(field).cloned());
    }
    set(
        spec,
        "suspension",
        (!suspension.is_empty()).then_some(Value::Object(suspension)),
    );
    new
}

/// Makes the template the owner of `binding`, so that the binding is deleted with the template.
fn set_owner(binding: &mut Value, kind: &TemplateKind, template: &Object) {
    let namespace = binding["metadata"]["namespace"].as_str().unwrap_or_default();
    let Some(mut owner) = template.as_owner(kind.kind, namespace) else {
        return;
    };
    owner["controller"] = true.into();
    owner["blockOwnerDeletion"] = true.into();
    let mut owners = binding["metadata"]["ownerReferences"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if owners.iter().any(|other| other["uid"] == owner["uid"]) {
        return;
    }
    // Any other controller reference is to an earlier template of this name.
    owners.retain(|other| other["controller"] != true);
    owners.push(owner);
    binding["metadata"]["ownerReferences"] = owners.into();
}

/// Sets the field `name` to `value`; `None` removes the field.
fn set(fields: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => fields.insert(name.to_owned(), value),
        None => fields.remove(name),
    };
}
