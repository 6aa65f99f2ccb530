//! The admission webhooks: a hub calls Berth about writes of objects that the hub stores
//! (docs/admission.md, "Admission").
//!
//! While no server of Berth answers, all writes pass, so that an outage of Berth does not stop a hub. The
//! webhooks exclude Berth's own namespace and kube-system, so that Berth can always be repaired.

mod rules;

use berth_admission::{Operation, Phase};
use berth_dialect_contract::HubRule;
use berth_placement_admission::{MUTATE_PATH, VALIDATE_PATH};
use serde_json::{Value, json};

use super::{Installation, Service};
use rules::Webhook;

/// Time limit of an answer to the hub, in seconds. An answer takes milliseconds; the limit is short because
/// the writer waits.
const TIMEOUT: u8 = 5;
/// The label with the name of a namespace, which the API server sets and no user can change.
const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// The name of both webhook configurations.
#[must_use]
pub fn configuration_name(service: &Service) -> &str {
    &service.name
}

/// The mutating and the validating webhook configuration, without a caBundle, which Berth or cert-manager
/// sets.
#[must_use]
pub fn webhooks(installation: &Installation) -> [Value; 2] {
    let all = rules::webhooks(installation);
    [Phase::Mutate, Phase::Validate].map(|phase| {
        let (kind, path) = match phase {
            Phase::Mutate => ("MutatingWebhookConfiguration", MUTATE_PATH),
            Phase::Validate => ("ValidatingWebhookConfiguration", VALIDATE_PATH),
        };
        let of_phase = all.iter().filter(|webhook| webhook.rule.phase == phase);
        let webhooks: Vec<Value> = of_phase
            .map(|webhook| webhook_value(&installation.service, webhook, path))
            .collect();
        let mut configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": configuration_name(&installation.service)},
        });
        // An API server leaves an empty list out, so that a comparison with the stored object would
        // always find a difference.
        if !webhooks.is_empty() {
            configuration["webhooks"] = json!(webhooks);
        }
        configuration
    })
}

fn webhook_value(service: &Service, webhook: &Webhook, path: &str) -> Value {
    let rule = &webhook.rule;
    let mut value = json!({
        "name": format!("{}.{}.berth.dev", rule.name, webhook.dialect),
        "clientConfig": {"service": {
            "namespace": service.namespace, "name": service.name, "port": service.port, "path": path,
        }},
        "rules": rules_by_group(rule),
        "namespaceSelector": {"matchExpressions": [{
            "key": NAMESPACE_LABEL, "operator": "NotIn", "values": ["kube-system", service.namespace],
        }]},
        // An unavailable Berth must not block a workload of the hub.
        "failurePolicy": "Ignore",
        // Reviews are answered from Berth's copies; nothing is stored or reserved.
        "sideEffects": "None",
        "matchPolicy": "Equivalent",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": TIMEOUT,
    });
    if !rule.conditions.is_empty() {
        let conditions = rule.conditions.iter();
        value["matchConditions"] = conditions
            .map(|condition| json!({"name": condition.name, "expression": condition.expression}))
            .collect();
    }
    if let Some(label) = webhook.label {
        value["objectSelector"] = json!({"matchExpressions": [{"key": label, "operator": "Exists"}]});
    }
    value
}

/// The rules of a webhook, one for each API group.
fn rules_by_group(rule: &HubRule) -> Vec<Value> {
    let mut groups: Vec<&str> = rule.resources.iter().map(|resource| resource.group).collect();
    groups.sort_unstable();
    groups.dedup();
    let of_group = |group: &str| {
        let resources = rule.resources.iter().filter(|resource| resource.group == group);
        let names: Vec<String> = resources
            .flat_map(|resource| {
                rule.subresources.iter().map(|subresource| match *subresource {
                    "" => resource.resource.to_owned(),
                    subresource => format!("{}/{subresource}", resource.resource),
                })
            })
            .collect();
        json!({
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": rule.operations.iter().map(|&operation| operation_name(operation)).collect::<Vec<_>>(),
            "resources": names,
            "scope": "*",
        })
    };
    groups.into_iter().map(of_group).collect()
}

fn operation_name(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    }
}
