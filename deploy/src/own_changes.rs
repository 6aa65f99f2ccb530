//! Policy that limits the changes that Berth's service account may make to Berth's own registration
//! (APIServices and webhook configurations). RBAC can name the objects that the account may patch, but not
//! the fields: a compromised server could patch its webhook configuration and intercept every write on the
//! hub. The ValidatingAdmissionPolicy allows only changes of `caBundle` and of metadata.

use serde_json::{Value, json};

use super::Service;

/// The name of the policy and of the binding.
const NAME: &str = "berth-registration";
const API: &str = "admissionregistration.k8s.io/v1";

/// The resources of webhook configurations.
const WEBHOOK_CONFIGURATIONS: [&str; 2] =
    ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
/// Fields of a webhook that must not change, in addition to `service` and `url` in `clientConfig`.
const WEBHOOK_FIELDS: [&str; 10] = [
    "rules",
    "failurePolicy",
    "matchPolicy",
    "namespaceSelector",
    "objectSelector",
    "sideEffects",
    "timeoutSeconds",
    "admissionReviewVersions",
    "matchConditions",
    "reinvocationPolicy",
];
/// Fields of the spec of an APIService that must not change.
const API_SERVICE_FIELDS: [&str; 6] = [
    "group",
    "version",
    "groupPriorityMinimum",
    "versionPriority",
    "service",
    "insecureSkipTLSVerify",
];

/// The policy and its binding. With `--self-register`, where Berth creates the registration itself, the
/// policy limits updates, too.
#[must_use]
pub fn own_changes(service: &Service) -> Vec<Value> {
    let account = format!("system:serviceaccount:{}:{}", service.namespace, service.name);
    let message = "Berth may change only caBundle and metadata of its registration";
    let validation = |expression: String| json!({"expression": expression, "message": message});
    let is_api_service = "request.resource.resource == 'apiservices'";
    let (webhooks, api_service) = (unchanged_webhooks(), unchanged_api_service());
    let rule = |group: &str, resources: &[&str]| {
        json!({
            "apiGroups": [group], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": resources,
        })
    };
    vec![
        json!({
            "apiVersion": API,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": NAME},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [
                    rule("admissionregistration.k8s.io", &WEBHOOK_CONFIGURATIONS),
                    rule("apiregistration.k8s.io", &["apiservices"]),
                ]},
                "matchConditions": [{
                    "name": "by-berth",
                    "expression": format!("request.userInfo.username == '{account}'"),
                }],
                "validations": [
                    validation(format!("{is_api_service} || ({webhooks})")),
                    validation(format!("!({is_api_service}) || {api_service}")),
                ],
            },
        }),
        json!({
            "apiVersion": API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": NAME},
            "spec": {"policyName": NAME, "validationActions": ["Deny"]},
        }),
    ]
}

/// A CEL expression: whether an update leaves the webhooks of a configuration unchanged, apart from
/// `caBundle`. Webhooks are compared by name, since names are unique.
fn unchanged_webhooks() -> String {
    let unchanged: Vec<String> = WEBHOOK_FIELDS
        .iter()
        .map(|field| unchanged_field("w", "o", field))
        .chain(["clientConfig.service", "clientConfig.url"].map(|field| unchanged_field("w", "o", field)))
        .collect();
    format!(
        "!has(object.webhooks) && !has(oldObject.webhooks) || size(object.webhooks) == size(oldObject.webhooks) && \
         object.webhooks.all(w, oldObject.webhooks.exists_one(o, o.name == w.name && {}))",
        unchanged.join(" && ")
    )
}

/// A CEL expression: whether an update leaves the spec of an APIService unchanged, apart from `caBundle`.
fn unchanged_api_service() -> String {
    let spec = API_SERVICE_FIELDS.map(|field| unchanged_field("object.spec", "oldObject.spec", field));
    spec.join(" && ")
}

/// A CEL expression: whether `field` is absent from both `new` and `old`, or equal.
fn unchanged_field(new: &str, old: &str, field: &str) -> String {
    format!(
        "(has({new}.{field}) ? has({old}.{field}) && {new}.{field} == {old}.{field} : !has({old}.{field}))"
    )
}
