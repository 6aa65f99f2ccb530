//! Policy that limits Berth's service account to the changes of its registration that Berth needs. RBAC can
//! name the objects that the account may patch, but not the fields: a compromised server could patch its
//! webhook configuration and intercept every write on the hub. A ValidatingAdmissionPolicy allows only
//! changes of `caBundle` and of metadata.

use serde_json::{Value, json};

use super::Service;

const NAME: &str = "berth-registration";
const API: &str = "admissionregistration.k8s.io/v1";

/// The policy and its binding. It also holds with `--self-register`, where Berth creates the whole objects.
#[must_use]
pub fn own_changes(service: &Service) -> Vec<Value> {
    let account = format!("system:serviceaccount:{}:{}", service.namespace, service.name);
    let message = "Berth may change only caBundle and metadata of its registration";
    let validation = |expression: String| json!({"expression": expression, "message": message});
    // The fields of a webhook that must not change, beside `service` and `url` of its clientConfig. The names
    // of webhooks are unique.
    let fields = [
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
    let same = |field: &str, prefix: &str| {
        format!(
            "(has(w.{prefix}{field}) ? has(o.{prefix}{field}) && w.{prefix}{field} == o.{prefix}{field} : !has(o.{prefix}{field}))"
        )
    };
    let unchanged: Vec<String> = fields
        .iter()
        .map(|field| same(field, ""))
        .chain([same("service", "clientConfig."), same("url", "clientConfig.")])
        .collect();
    let webhooks = format!(
        "!has(object.webhooks) && !has(oldObject.webhooks) || size(object.webhooks) == size(oldObject.webhooks) && \
         object.webhooks.all(w, oldObject.webhooks.exists_one(o, o.name == w.name && {}))",
        unchanged.join(" && ")
    );
    let service_fields = [
        "group",
        "version",
        "groupPriorityMinimum",
        "versionPriority",
        "service",
        "insecureSkipTLSVerify",
    ];
    let spec = service_fields.map(|field| {
        format!(
            "(has(object.spec.{field}) ? has(oldObject.spec.{field}) && object.spec.{field} == oldObject.spec.{field} : \
             !has(oldObject.spec.{field}))"
        )
    });
    let is_service = "request.resource.resource == 'apiservices'";
    let rule = |group: &str, resources: &[&str]| {
        json!({
            "apiGroups": [group], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": resources,
        })
    };
    let of_webhooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    vec![
        json!({
            "apiVersion": API,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": NAME},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [
                    rule("admissionregistration.k8s.io", &of_webhooks),
                    rule("apiregistration.k8s.io", &["apiservices"]),
                ]},
                "matchConditions": [{
                    "name": "by-berth",
                    "expression": format!("request.userInfo.username == '{account}'"),
                }],
                "validations": [
                    validation(format!("{is_service} || ({webhooks})")),
                    validation(format!("!({is_service}) || {}", spec.join(" && "))),
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
