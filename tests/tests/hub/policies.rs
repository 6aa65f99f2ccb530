//! The hub's webhooks about objects that Berth owns: kube-apiserver does not call them for aggregated kinds,
//! so Berth does. These tests build and run a real kube-apiserver, so they are part of `make e2e`, and
//! otherwise ignored.

#[allow(dead_code, reason = "the unit tests of the calling side use the rest of it")]
#[path = "../../../apiserver/aggregation/src/policies/tests/server.rs"]
mod server;

mod admission;
mod outcomes;
mod quota;

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::Berth;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use server::{Reply, Server};

/// OCM's group, which Berth owns here.
const GROUP: &str = "cluster.open-cluster-management.io";
/// Namespace of the Services of webhooks.
const POLICIES: &str = "policies";

/// Runtime of the webhooks during calls of kubectl.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("a runtime can be made"))
}

/// The shared hub of this module, with its Berth. The webhooks here do not match other modules'
/// objects.
fn shared() -> &'static Hub {
    static SHARED: OnceLock<(Hub, Berth)> = OnceLock::new();
    let (hub, _) = SHARED.get_or_init(|| {
        let hub = Hub::start();
        let berth = Berth::install_with_fleets(&hub);
        (hub, berth)
    });
    hub
}

/// The namespace of one test, a webhook behind a Service of the same name, and the hub.
struct Scene {
    hub: &'static Hub,
    name: &'static str,
    server: Server,
}

impl Scene {
    fn new(name: &'static str, say: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let hub = shared();
        hub.ensure(&["create", "namespace", name]);
        hub.ensure(&["create", "namespace", POLICIES]);
        // The certificate has no other name: neither an address nor `localhost` would be accepted.
        let host = format!("{name}.{POLICIES}.svc");
        let server = runtime().block_on(Server::start(&[&host], SystemClock.now(), say));
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": POLICIES},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        });
        hub.kubectl("apply -f -").input(service.to_string()).succeeds();
        Self { hub, name, server }
    }

    /// `clientConfig` of the webhook.
    fn client_config(&self) -> Value {
        let service =
            json!({"namespace": POLICIES, "name": self.name, "path": "/policy", "port": self.server.port});
        json!({"service": service, "caBundle": STANDARD.encode(&self.server.ca)})
    }

    /// Registers the webhook on the hub, for creates of placements in the test's namespace, with further
    /// `fields`.
    fn configure(&self, kind: &str, fields: &Value) {
        let mut hook = json!({
            "name": format!("{}.policies.example", self.name),
            "clientConfig": self.client_config(),
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 30,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.name}},
            "rules": [{"apiGroups": [GROUP], "apiVersions": ["*"], "resources": ["placements"],
                       "operations": ["CREATE"]}],
        });
        for (field, value) in fields.as_object().expect("fields") {
            hook[field] = value.clone();
        }
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": self.name}, "webhooks": [hook],
        });
        self.hub
            .kubectl("apply -f -")
            .input(configuration.to_string())
            .succeeds();
    }

    /// A placement in the test's namespace.
    fn placement(&self, name: &str) -> String {
        json!({
            "apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
            "metadata": {"name": name, "namespace": self.name}, "spec": {},
        })
        .to_string()
    }

    /// Tries to create placements, as dry runs, until the configuration is in force and one fails. Returns
    /// the error.
    fn refusal(&self, arguments: &str) -> String {
        eventually("the configuration to be in force", || {
            let command = format!("create -f - {arguments}");
            let output = self.hub.kubectl(&command).input(self.placement("tried")).run();
            if output.success && !arguments.contains("dry-run") {
                self.hub
                    .kubectl(&format!("delete placement tried -n {}", self.name))
                    .succeeds();
            }
            (!output.success).then_some(output.err)
        })
    }
}
