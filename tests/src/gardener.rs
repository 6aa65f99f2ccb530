//! Gardener on a hub: its API server, and its scheduler with its own service account and rights, both from
//! its Go module. In the admission of the API server, only the plugins that call the hub's policies and
//! webhooks are on: the others need more parts of Gardener.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_certs::Authority;
use serde_json::{Value, json};

use crate::hub::berth::load_text;
use crate::hub::{Hub, Process};
use crate::{eventually, go, ports};

/// The Go module of both programs, below `tests`.
const MODULE: &str = "peers/gardener";
/// The namespace of both programs.
const NAMESPACE: &str = "garden";
/// The namespace of the Shoots, and its Project.
pub const SHOOTS: (&str, &str) = ("garden-dev", "dev");
/// The user of the scheduler.
pub const USER: &str = "system:serviceaccount:garden:gardener-scheduler";
/// The Lease of the scheduler.
const LEASE: &str = "gardener-scheduler-leader-election";
/// The groups of its API server, each with a version.
const GROUPS: [(&str, &str); 5] = [
    ("core.gardener.cloud", "v1"),
    ("core.gardener.cloud", "v1beta1"),
    ("seedmanagement.gardener.cloud", "v1alpha1"),
    ("operations.gardener.cloud", "v1alpha1"),
    ("security.gardener.cloud", "v1alpha1"),
];
const OFF: [&str; 24] = [
    "BackupBucketValidator",
    "Bastion",
    "ControllerRegistrationResources",
    "CustomVerbAuthorizer",
    "DeletionConfirmation",
    "ExtensionLabels",
    "ExtensionValidator",
    "FinalizerRemoval",
    "ManagedSeed",
    "ManagedSeedShoot",
    "NamespacedCloudProfileValidator",
    "ProjectMutator",
    "ResourceReferenceManager",
    "SeedMutator",
    "SeedValidator",
    "ShootDNS",
    "ShootExposureClass",
    "ShootManagedSeed",
    "ShootMutator",
    "ShootQuotaValidator",
    "ShootResourceReservation",
    "ShootTolerationRestriction",
    "ShootVPAEnabledByDefault",
    "ShootValidator",
];

/// Gardener's API server, which runs until this value is dropped.
pub struct ApiServer(#[expect(dead_code, reason = "it ends with the value")] Process);

impl ApiServer {
    /// Starts the API server on the hub's etcd, registers it, and waits until the hub serves its kinds.
    ///
    /// # Panics
    /// When the build fails, or the kinds are not served in time.
    #[must_use]
    pub fn start(hub: &Hub) -> Self {
        let program = go::build(MODULE, "./apiserver", "apiserver");
        let account = hub.kubeconfig_for_service_account(NAMESPACE, "gardener-apiserver");
        hub.kubectl(
            "create clusterrolebinding gardener-apiserver --clusterrole=cluster-admin \
             --serviceaccount=garden:gardener-apiserver",
        )
        .succeeds();
        let now = SystemClock.now();
        let ca = Authority::open(hub.folder(), "gardener-ca", "gardener-ca", now).expect("a CA can be made");
        let names = ["localhost", "127.0.0.1", "gardener-apiserver.garden.svc"].map(str::to_owned);
        let issued = ca.issue_server(&names, now).expect("a server certificate");
        let (certificate, key) = (
            hub.file("gardener.crt", &issued.certificate),
            hub.file("gardener.key", &issued.key),
        );
        let port = ports::free();
        let flags = [
            ("kubeconfig", account.display().to_string()),
            ("authentication-kubeconfig", account.display().to_string()),
            ("authorization-kubeconfig", account.display().to_string()),
            ("etcd-servers", hub.etcd().to_owned()),
            ("bind-address", "127.0.0.1".to_owned()),
            ("secure-port", port.to_string()),
            ("tls-cert-file", certificate.display().to_string()),
            ("tls-private-key-file", key.display().to_string()),
            ("cluster-identity", "test".to_owned()),
            ("disable-admission-plugins", OFF.join(",")),
            ("enable-priority-and-fairness", "false".to_owned()),
        ];
        let mut command = Command::new(program);
        command.args(flags.iter().map(|(flag, value)| format!("--{flag}={value}")));
        let process = hub.run(&mut command, "gardener-apiserver");
        register(hub, port, ca.certificate_pem());
        eventually(
            &format!("Gardener's API server to serve:\n{}", process.tail()),
            || hub.kubectl("get seeds,shoots -A").run().success.then_some(()),
        );
        Self(process)
    }
}

fn register(hub: &Hub, port: u16, ca: &str) {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "gardener-apiserver", "namespace": NAMESPACE},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    });
    let services = GROUPS.map(|(group, version)| {
        json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": format!("{version}.{group}")},
            "spec": {
                "group": group, "version": version, "groupPriorityMinimum": 10000, "versionPriority": 20,
                "caBundle": STANDARD.encode(ca),
                "service": {"name": "gardener-apiserver", "namespace": NAMESPACE, "port": port},
            },
        })
    });
    let mut items = vec![service];
    items.extend(services);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    hub.kubectl("apply -f -").input(list.to_string()).succeeds();
}

/// Gardener's scheduler, which runs until this value is dropped.
pub struct Scheduler(Process);

impl Scheduler {
    /// Starts the scheduler, and waits until it leads.
    ///
    /// # Panics
    /// When the build fails, or the scheduler does not lead in time.
    #[must_use]
    pub fn start(hub: &Hub) -> Self {
        let program = go::build(MODULE, "./scheduler", "scheduler");
        let account = hub.kubeconfig_for_service_account(NAMESPACE, "gardener-scheduler");
        hub.kubectl("apply -f -").input(rights().to_string()).succeeds();
        let address = |port: u16| json!({"bindAddress": "127.0.0.1", "port": port});
        let configuration = json!({
            "apiVersion": "scheduler.config.gardener.cloud/v1alpha1", "kind": "SchedulerConfiguration",
            "leaderElection": {"leaderElect": true, "resourceNamespace": NAMESPACE, "resourceName": LEASE},
            "server": {"healthProbes": address(ports::free()), "metrics": address(ports::free())},
            "schedulers": {"shoot": {"candidateDeterminationStrategy": "SameRegion"}},
        });
        let file = hub.file("gardener-scheduler.yaml", &configuration.to_string());
        let mut command = Command::new(program);
        command
            .arg(format!("--config={}", file.display()))
            .env("KUBECONFIG", account);
        // The scheduler may lead before kubectl has read the Lease once.
        let before = holder(hub);
        let process = hub.run(&mut command, "gardener-scheduler");
        eventually(
            &format!("Gardener's scheduler to work:\n{}", process.tail()),
            || Some(holder(hub)).filter(|holder| !holder.is_empty() && *holder != before),
        );
        Self(process)
    }

    /// Pauses or resumes the scheduler.
    ///
    /// # Panics
    /// When the scheduler has ended.
    pub fn pause(&self, pause: bool) {
        self.0.signal(if pause { "-STOP" } else { "-CONT" });
    }

    /// Ends the scheduler orderly, as scaling its Deployment to zero does: it releases its Lease.
    pub fn stop(mut self) {
        self.0.terminate();
    }
}

fn holder(hub: &Hub) -> String {
    let words = format!("get lease {LEASE} -n {NAMESPACE} -o jsonpath={{.spec.holderIdentity}}");
    hub.kubectl(&words).run().out
}

/// The rights that Gardener's operator grants the scheduler.
fn rights() -> Value {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let read = ["get", "list", "watch"];
    let core = "core.gardener.cloud";
    let mut renew = rule("coordination.k8s.io", &["leases"], &["get", "watch", "update"]);
    renew["resourceNames"] = json!([LEASE]);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "gardener-scheduler"},
        "rules": [
            rule("", &["events"], &["create", "patch", "update"]),
            rule("events.k8s.io", &["events"], &["create", "patch", "update"]),
            rule("", &["configmaps"], &["create", "delete", "get", "list", "watch", "patch", "update"]),
            rule(core, &["cloudprofiles", "namespacedcloudprofiles", "projects", "seeds"], &read),
            rule(core, &["shoots", "shoots/status"], &["get", "list", "watch", "patch", "update"]),
            rule(core, &["shoots/binding"], &["update"]),
            rule("coordination.k8s.io", &["leases"], &["create"]),
            renew,
        ],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "gardener-scheduler"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gardener-scheduler"},
        "subjects": [{"kind": "ServiceAccount", "name": "gardener-scheduler", "namespace": NAMESPACE}],
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [role, binding]})
}

/// Writes a Project, a CloudProfile and Seeds of two regions with room for some Shoots each, one of them
/// tainted and one hidden.
///
/// # Panics
/// When the hub refuses.
pub fn load(hub: &Hub) {
    let (namespace, project) = SHOOTS;
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": {
            "gardener.cloud/role": "project", "project.gardener.cloud/name": project}}}),
        json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Project", "metadata": {"name": project}, "spec": {
            "namespace": namespace, "owner": {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}}}),
        json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": "CloudProfile", "metadata": {"name": "aws"}, "spec": {
            "type": "aws", "kubernetes": {"versions": [{"version": "1.34.1"}]},
            "machineImages": [{"name": "linux", "versions": [{"version": "1.0.0"}]}],
            "machineTypes": [{"name": "m5.large", "cpu": "2", "gpu": "0", "memory": "8Gi"}],
            "regions": [{"name": "eu-west-1"}, {"name": "us-east-1"}],
        }}),
    ];
    objects.extend((0..8).map(seed));
    let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
    load_text(hub, "garden.yaml", &documents.join("\n---\n"));
}

/// The name of a Seed.
#[must_use]
pub fn seed_name(number: usize) -> String {
    format!("seed-{number}")
}

fn seed(number: usize) -> Value {
    let name = seed_name(number);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": NAMESPACE});
    let when = "2026-01-02T03:04:05Z";
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "Ready", "message": "ready",
               "lastTransitionTime": when, "lastUpdateTime": when})
    };
    let taints = match number {
        2 => json!([{"key": "seed.gardener.cloud/protected"}]),
        _ => json!([]),
    };
    let region = if (number / 2).is_multiple_of(2) {
        "eu-west-1"
    } else {
        "us-east-1"
    };
    let second = 16 * number;
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": {"name": name},
        "spec": {
            "provider": {"type": "aws", "region": region},
            "dns": {
                "provider": {"type": "aws-route53", "credentialsRef": secret},
                "internal": {"type": "aws-route53", "domain": format!("{name}.internal.example.com"), "credentialsRef": secret},
            },
            "ingress": {"domain": format!("{name}.ingress.example.com"), "controller": {"kind": "nginx"}},
            "networks": {
                "nodes": format!("10.{second}.0.0/16"), "pods": format!("10.{}.0.0/16", second + 1),
                "services": format!("10.{}.0.0/16", second + 2),
            },
            "settings": {"scheduling": {"visible": number != 5}},
            "taints": taints,
        },
        "status": {
            "gardener": {"id": "one", "name": "gardenlet", "version": "v1.150.0"},
            "conditions": [condition("GardenletReady"), condition("Bootstrapped")],
            "lastOperation": {"type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "done",
                              "lastUpdateTime": when},
            "allocatable": {"shoots": (6 + number).to_string()},
        },
    })
}

/// A Shoot that waits for a Seed; every third one in the second region.
#[must_use]
pub fn shoot(number: usize) -> Value {
    let region = if number % 3 == 2 { "us-east-1" } else { "eu-west-1" };
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"name": format!("shoot-{number:02}"), "namespace": SHOOTS.0},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"}, "purpose": "evaluation",
            "region": region,
            "credentialsBindingName": "account",
            "provider": {"type": "aws", "workers": [{
                "name": "worker", "machine": {"type": "m5.large", "image": {"name": "linux", "version": "1.0.0"}},
                "minimum": 1, "maximum": 3, "volume": {"type": "gp3", "size": "20Gi"},
            }]},
            "networking": {
                "type": "calico", "nodes": "10.250.0.0/16", "pods": "100.96.0.0/11", "services": "100.64.0.0/13",
            },
            "kubernetes": {"version": "1.34.1"},
        },
    })
}
