//! Helm's hook before a release goes.

use berth::manifests::Installation;
use serde_json::{Value, json};

/// The hook that takes Berth out of the hub's registrations before anything else of the release goes.
pub(super) fn uninstall(installation: &Installation) -> Vec<Value> {
    let service = &installation.service;
    let name = format!("{}-uninstall", service.name);
    let metadata = |namespaced: bool, weight: &str| {
        let mut metadata = json!({
            "name": if namespaced { name.clone() } else { "berth:uninstall".to_owned() },
            "annotations": {
                "helm.sh/hook": "pre-delete",
                "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
                "helm.sh/hook-weight": weight,
            },
        });
        if namespaced {
            metadata["namespace"] = json!(service.namespace);
        }
        metadata
    };
    let rbac = "rbac.authorization.k8s.io";
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(true, "-2")}),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "ClusterRole",
            "metadata": metadata(false, "-2"),
            "rules": [
                {
                    "apiGroups": [rbac],
                    "resources": ["clusterroles", "clusterrolebindings"],
                    "resourceNames": ["berth:self-registration"],
                    "verbs": ["delete"],
                },
                {
                    "apiGroups": ["admissionregistration.k8s.io"],
                    "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
                    "resourceNames": [service.name],
                    "verbs": ["get", "delete"],
                },
                {"apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"], "verbs": ["list", "delete"]},
            ],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": metadata(false, "-2"),
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "berth:uninstall"},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": service.namespace}],
        }),
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata(true, "-1"),
            "spec": {
                "backoffLimit": 3,
                "template": {"spec": {
                    // It must run wherever the server does, from where its image comes.
                    "placement": "MARK-POD",
                    "serviceAccountName": name,
                    "restartPolicy": "Never",
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": 65532,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [{
                        "name": "uninstall",
                        "image": "MARK-IMAGE",
                        "imagePullPolicy": "MARK-PULL-POLICY",
                        "args": ["uninstall", "--registration-only", format!("--namespace={}", service.namespace)],
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]},
                        },
                    }],
                }},
            },
        }),
    ]
}
