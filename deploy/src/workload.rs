//! The workload of an installation: a Deployment with Service, disruption budget and network policy, the
//! objects for certificates, and the claim for an embedded database.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Certificates, Installation, Service, ca_secret_name, cert_manager, certificates};
use crate::stores::Storage;

/// The label that every Pod of Berth has, among others.
pub const LABEL: (&str, &str) = ("app.kubernetes.io/name", "berth");
/// The port on which the container listens.
const PORT: u16 = 7443;
/// The uid and gid of the container's process, which does not run as root.
const USER: u32 = 65532;
/// The folder with Berth's data, the only one that the container may write.
const DATA: &str = "/var/lib/berth";
/// The folder of the serving certificate from cert-manager.
const TLS: &str = "/etc/berth/tls";
/// The limits on processors and memory, for fleets of some thousand clusters and placements. The memory
/// includes the memory for requests (`--max-bytes-inflight`).
const LIMITS: (&str, &str) = ("2", "1Gi");
/// The usual ports of peers outside of Pods: of DNS, kube-apiservers and etcd.
const PEERS: [(u16, &str); 7] = [
    (53, "UDP"),
    (53, "TCP"),
    (443, "TCP"),
    (6443, "TCP"),
    (8443, "TCP"),
    (16443, "TCP"),
    (2379, "TCP"),
];
/// Time in seconds for which a terminating server still serves, unready, until the hub stops sending
/// requests.
const SHUTDOWN_DELAY: u32 = 15;
/// Time in seconds for requests and watches to end after [`SHUTDOWN_DELAY`].
const DRAIN_TIME: u32 = 75;

/// The namespace of Berth, which admits only Pods of the Pod Security level `restricted`.
#[must_use]
pub fn namespace(service: &Service) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": service.namespace,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    })
}

/// All objects in the namespace, without the service account and the rights.
#[must_use]
pub fn workload(installation: &Installation) -> Vec<Value> {
    let service = &installation.service;
    let mut all = match installation.certificates {
        Certificates::Berth => vec![ca_secret(service), ca_certificates(service)],
        Certificates::CertManager => certificates(service),
    };
    if installation.storage == Storage::Embedded {
        all.push(data_claim(service));
    }
    all.extend([
        service_object(service),
        network_policy(service),
        disruption_budget(service),
        deployment(installation),
    ]);
    all
}

/// The empty Secret into which Berth writes the CA. It is part of the manifests so that Berth needs no
/// right to create Secrets.
fn ca_secret(service: &Service) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(service, &ca_secret_name(service)),
        "type": "Opaque",
    })
}

/// The empty ConfigMap into which Berth writes the certificates of the CA, for clients that may not read the
/// key of the CA.
fn ca_certificates(service: &Service) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(service, &ca_secret_name(service)),
    })
}

/// The claim for the embedded database. `berth uninstall` does not delete the claim.
fn data_claim(service: &Service) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(service, &data_name(service)),
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    })
}

fn data_name(service: &Service) -> String {
    format!("{}-data", service.name)
}

fn service_object(service: &Service) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(service, &service.name),
        "spec": {
            "selector": selector(service),
            "ports": [{"name": "https", "port": service.port, "protocol": "TCP", "targetPort": "https"}],
        },
    })
}

/// The network policy. Every client may reach the port, since a kube-apiserver has no labels that a policy
/// could select. Berth connects to the hub, to the hub's webhooks (Pods, on any port), to etcd and to DNS.
/// The addresses of peers outside of Pods depend on the cluster, so that the policy names only the ports of
/// these peers.
fn network_policy(service: &Service) -> Value {
    let peers = PEERS.map(|(port, protocol)| json!({"port": port, "protocol": protocol}));
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(service, &service.name),
        "spec": {
            "podSelector": {"matchLabels": selector(service)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"ports": [{"port": "https", "protocol": "TCP"}]}],
            "egress": [{"to": [{"namespaceSelector": {}}]}, {"ports": peers}],
        },
    })
}

fn disruption_budget(service: &Service) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(service, &service.name),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector(service)}},
    })
}

/// ServiceMonitor for the Prometheus operator; the reader needs the role berth:metrics-reader.
#[must_use]
pub fn service_monitor(installation: &Installation) -> Value {
    let service = &installation.service;
    let ca = match installation.certificates {
        Certificates::Berth => json!({"configMap": {"name": ca_secret_name(service), "key": "ca.crt"}}),
        Certificates::CertManager => {
            json!({"secret": {"name": cert_manager::secret_name(service), "key": "ca.crt"}})
        }
    };
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata(service, &service.name),
        "spec": {
            "selector": {"matchLabels": labels(service)},
            "endpoints": [{
                "port": "https",
                "scheme": "https",
                "path": "/metrics",
                "authorization": {"credentials": {"name": format!("{}-metrics", service.name), "key": "token"}},
                "tlsConfig": {
                    "ca": ca,
                    "serverName": service.host(),
                },
            }],
        },
    })
}

/// Deployment of the servers.
#[must_use]
pub fn deployment(installation: &Installation) -> Value {
    let service = &installation.service;
    let strategy = match installation.storage {
        // Only one server can open the database: the old Pod ends before the new Pod starts.
        Storage::Embedded => json!({"type": "Recreate"}),
        // An unavailable aggregated API blocks the deletion of every namespace: a new Pod starts before an
        // old one ends.
        Storage::Memory | Storage::Etcd => {
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
        }
    };
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(service, &service.name),
        "spec": {
            "replicas": installation.replicas,
            "minReadySeconds": 10,
            "strategy": strategy,
            "selector": {"matchLabels": selector(service)},
            "template": {
                "metadata": {"labels": labels(service)},
                "spec": pod(installation),
            },
        },
    })
}

fn pod(installation: &Installation) -> Value {
    let service = &installation.service;
    let data = match installation.storage {
        Storage::Embedded => {
            json!({"name": "data", "persistentVolumeClaim": {"claimName": data_name(service)}})
        }
        Storage::Memory | Storage::Etcd => json!({"name": "data", "emptyDir": {}}),
    };
    let (mut mounts, mut volumes) = (vec![json!({"name": "data", "mountPath": DATA})], vec![data]);
    if installation.certificates == Certificates::CertManager {
        mounts.push(json!({"name": "tls", "mountPath": TLS, "readOnly": true}));
        volumes.push(json!({"name": "tls", "secret": {"secretName": cert_manager::secret_name(service)}}));
    }
    json!({
        "serviceAccountName": service.name,
        "terminationGracePeriodSeconds": SHUTDOWN_DELAY + DRAIN_TIME,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector(service)},
        }],
        "containers": [{
            "name": "berth",
            "image": installation.image,
            "args": arguments(installation),
            "env": [{
                "name": "BERTH_SERVICE_NAMESPACE",
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
            }],
            "ports": [{"name": "https", "containerPort": PORT, "protocol": "TCP"}],
            "startupProbe": probe("/livez", 2, 60),
            "livenessProbe": probe("/livez", 10, 3),
            "readinessProbe": probe("/readyz", 5, 2),
            "resources": {
                "requests": {"cpu": "100m", "memory": "128Mi"},
                "limits": {"cpu": LIMITS.0, "memory": LIMITS.1},
            },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": mounts,
        }],
        "volumes": volumes,
    })
}

fn arguments(installation: &Installation) -> Vec<String> {
    let service = &installation.service;
    let mut arguments = vec![
        "serve".to_owned(),
        "--aggregated".to_owned(),
        "--bind-address=0.0.0.0".to_owned(),
        format!("--secure-port={PORT}"),
        format!("--data-dir={DATA}"),
        format!("--service-name={}", service.name),
        format!("--service-port={}", service.port),
        format!("--shutdown-delay-duration={SHUTDOWN_DELAY}s"),
    ];
    match installation.certificates {
        Certificates::Berth => arguments.push(format!("--ca-secret={}", ca_secret_name(service))),
        Certificates::CertManager => arguments.extend([
            format!("--tls-cert-file={TLS}/tls.crt"),
            format!("--tls-private-key-file={TLS}/tls.key"),
        ]),
    }
    let mode = installation.mode.as_str().to_lowercase();
    arguments.push(format!("--mode={mode}"));
    if installation.registers_itself() {
        arguments.push("--self-register".to_owned());
    }
    match installation.storage {
        Storage::Embedded => arguments.push("--storage=embedded".to_owned()),
        // Copies of the hub's objects are read again at every start.
        Storage::Memory => arguments.push("--storage=memory".to_owned()),
        Storage::Etcd => {
            arguments.push("--storage=etcd".to_owned());
            arguments.push(format!("--etcd-servers={}", installation.etcd_servers.join(",")));
        }
    }
    // Systems that are off are named, too, so that the arguments list every system.
    let owned = installation
        .owned_dialects()
        .map(|dialect| (dialect.name(), "owned"));
    let on_hub = installation.on_hub.iter().map(|&name| (name, "hub"));
    let off = installation.off.iter().map(|&name| (name, "off"));
    let places: BTreeMap<_, _> = owned.chain(on_hub).chain(off).collect();
    arguments.extend(
        places
            .iter()
            .map(|(name, place)| format!("--source={name}={place}")),
    );
    arguments.extend(installation.arguments.iter().cloned());
    arguments
}

fn probe(path: &str, period: u32, failures: u32) -> Value {
    json!({
        "httpGet": {"path": path, "port": "https", "scheme": "HTTPS"},
        "periodSeconds": period,
        "failureThreshold": failures,
        "timeoutSeconds": 3,
    })
}

fn metadata(service: &Service, name: &str) -> Value {
    json!({"name": name, "namespace": service.namespace, "labels": labels(service)})
}

fn selector(service: &Service) -> Value {
    json!({LABEL.0: LABEL.1, "app.kubernetes.io/instance": service.name})
}

fn labels(service: &Service) -> Value {
    json!({
        LABEL.0: LABEL.1,
        "app.kubernetes.io/instance": service.name,
        "app.kubernetes.io/part-of": "berth",
    })
}
