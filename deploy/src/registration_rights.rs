//! Rights of Berth to its own registration on the hub, which consists of APIServices and webhook
//! configurations: to read, watch and patch these objects, by name, in order to set the caBundle; to read,
//! watch and write the Secret and the ConfigMap of the CA that the servers share; and, for `--self-register`,
//! to create the registration.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::webhooks::configuration_name;
use super::{Certificates, Installation, Service, api_service, own_changes, owned_api_services};

const RBAC: &str = "rbac.authorization.k8s.io";
const REGISTRATION: &str = "berth:registration";
const SELF_REGISTRATION: &str = "berth:self-registration";
/// The role for the Secret and the ConfigMap of the CA.
const CA: &str = "berth:ca";

/// The name of the Secret with the CA that the servers share, and of the ConfigMap with only the certificates
/// of the CA.
#[must_use]
pub fn ca_secret_name(service: &Service) -> String {
    format!("{}-ca", service.name)
}

/// Rights that Berth needs to set caBundles, with the policy that limits them.
#[must_use]
pub fn registration_rights(installation: &Installation) -> Vec<Value> {
    let service = &installation.service;
    let owned = owned_api_services(service, installation.owned_dialects());
    let services: BTreeSet<String> = std::iter::once(api_service(service))
        .chain(owned)
        .filter_map(|object| object["metadata"]["name"].as_str().map(str::to_owned))
        .collect();
    let mut rules = vec![json!({
        "apiGroups": ["apiregistration.k8s.io"],
        "resources": ["apiservices"],
        "resourceNames": services,
        "verbs": ["get", "list", "watch", "patch"],
    })];
    if !installation.is_observer() {
        rules.extend([
            // For the check whether another server has a group that Berth is to serve, and to learn when the
            // hub begins to serve a group.
            json!({"apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"], "verbs": ["list", "watch"]}),
            json!({
                "apiGroups": ["admissionregistration.k8s.io"],
                "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
                "resourceNames": [configuration_name(service)],
                "verbs": ["get", "list", "watch", "patch"],
            }),
        ]);
    }
    let mut all = role_and_binding(service, REGISTRATION, &json!(rules)).to_vec();
    if installation.certificates == Certificates::Berth {
        all.extend(ca_rights(service));
    }
    all.extend(own_changes(service));
    all
}

/// Additional rights for `--self-register`. A user who may create webhook configurations can intercept
/// every write on the hub. Therefore this is a separate role, and off by default.
#[must_use]
pub fn self_registration_rights(installation: &Installation) -> Vec<Value> {
    let rules = json!([
        {"apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"], "verbs": ["create"]},
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            "verbs": ["create"],
        },
    ]);
    role_and_binding(&installation.service, SELF_REGISTRATION, &rules).to_vec()
}

/// A cluster role named `name` with `rules`, and its binding to Berth's service account.
fn role_and_binding(service: &Service, name: &str, rules: &Value) -> [Value; 2] {
    [
        json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules,
        }),
        json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": service.name, "namespace": service.namespace}],
        }),
    ]
}

/// Rights to the Secret and the ConfigMap of the CA. The manifests have both as empty objects, so that
/// Berth needs no right to create Secrets.
fn ca_rights(service: &Service) -> [Value; 2] {
    let namespace = &service.namespace;
    [
        json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "Role",
            "metadata": {"name": CA, "namespace": namespace},
            "rules": [{
                "apiGroups": [""],
                "resources": ["secrets"],
                "resourceNames": [ca_secret_name(service)],
                "verbs": ["get", "list", "watch", "update"],
            }, {
                "apiGroups": [""],
                "resources": ["configmaps"],
                "resourceNames": [ca_secret_name(service)],
                "verbs": ["get", "list", "watch", "patch"],
            }],
        }),
        json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "RoleBinding",
            "metadata": {"name": CA, "namespace": namespace},
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": CA},
            "subjects": [{"kind": "ServiceAccount", "name": service.name, "namespace": namespace}],
        }),
    ]
}
