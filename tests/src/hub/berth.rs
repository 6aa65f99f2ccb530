//! A `berth serve` behind the hub: its identity there, its registration, its process.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Hub;
use crate::{Kubectl, berth, eventually};

/// Where the manifests put it.
pub const NAMESPACE: &str = "berth-system";
/// The Service the APIService names, and the service account.
const NAME: &str = "berth";
/// The name of the APIService.
pub const API_SERVICE: &str = "v1alpha1.scheduling.berth.dev";

/// A running Berth whose requests come through the hub's kube-apiserver.
pub struct Berth {
    child: Child,
    data: PathBuf,
    url: String,
}

impl Berth {
    /// Applies the manifests of `deploy/`, starts Berth as the service account they make, registers its API and waits
    /// until the hub says it is available.
    ///
    /// # Panics
    /// When any of that fails.
    #[must_use]
    pub fn install(hub: &Hub, arguments: &[&str]) -> Self {
        apply_rights(hub);
        let berth = Self::start(hub, "berth", arguments);
        berth.register(hub);
        eventually("the APIService to be available", || {
            (available(hub) == "all checks passed").then_some(())
        });
        berth
    }

    /// Starts Berth as its service account, registered or not, with `name` for its data folder.
    #[must_use]
    pub fn start(hub: &Hub, name: &str, arguments: &[&str]) -> Self {
        let data = hub.folder().join(name);
        let mut child = command(hub, &data, arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("berth starts");
        let mut lines = BufReader::new(child.stdout.take().expect("the output is piped")).lines();
        let url = loop {
            match lines.next() {
                Some(Ok(line)) => {
                    if let Some(url) = line.split_whitespace().find(|word| word.starts_with("https://")) {
                        break url.to_owned();
                    }
                }
                other => {
                    drop(child.kill());
                    panic!("berth ended before it served: {other:?}, {:?}", child.wait());
                }
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, data, url }
    }

    /// Creates the Service and the APIService, with the CA that Berth made for itself.
    fn register(&self, hub: &Hub) {
        let port = self.port();
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        });
        hub.kubectl("apply -f -").input(service.to_string()).ok();
        hub.kubectl_args(&["apply", "-f", &manifest("apiservice.yaml")])
            .ok();
        let ca = std::fs::read(self.data.join("ca.crt")).expect("berth wrote its CA");
        let patch = json!({"spec": {"caBundle": STANDARD.encode(ca), "service": {"port": port}}});
        hub.kubectl_args(&[
            "patch",
            "apiservice",
            API_SERVICE,
            "--type=merge",
            "-p",
            &patch.to_string(),
        ])
        .ok();
    }

    /// `https://127.0.0.1:<port>`, past the hub.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The port it serves on.
    ///
    /// # Panics
    /// When the URL has none.
    #[must_use]
    pub fn port(&self) -> u16 {
        let port = self.url.rsplit(':').next().and_then(|port| port.parse().ok());
        port.expect("the URL has a port")
    }

    /// The data folder.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    /// The kubeconfig of Berth's own administrator, past the hub.
    #[must_use]
    pub fn own_admin(&self) -> PathBuf {
        self.data.join("admin.kubeconfig")
    }

    /// `kubectl` past the hub, as Berth's own administrator.
    #[must_use]
    pub fn kubectl(&self, arguments: &str) -> Kubectl {
        let split: Vec<&str> = arguments.split_whitespace().collect();
        Kubectl::new(&self.own_admin(), &self.data, &split)
    }

    /// Ends it without warning.
    pub fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Berth {
    fn drop(&mut self) {
        self.kill();
    }
}

/// `berth serve` with the identity of Berth's service account on the hub.
#[must_use]
pub fn command(hub: &Hub, data: &Path, arguments: &[&str]) -> Command {
    let kubeconfig = hub.kubeconfig_for_service_account(NAMESPACE, NAME);
    let mut command = Command::new(berth());
    command
        .args(["serve", "--secure-port", "0", "--data-dir"])
        .arg(data)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--tls-san", &format!("{NAME}.{NAMESPACE}.svc")])
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// Applies everything in `deploy/manifests` but the registration.
pub fn apply_rights(hub: &Hub) {
    hub.ensure(&["create", "namespace", NAMESPACE]);
    for file in ["rbac.yaml", "server-rbac.yaml", "crds.yaml"] {
        hub.kubectl_args(&["apply", "-f", &manifest(file)]).ok();
    }
}

/// What the hub says about the APIService.
#[must_use]
pub fn available(hub: &Hub) -> String {
    let service: Value = hub
        .kubectl_args(&["get", "apiservice", API_SERVICE, "-o", "json"])
        .json();
    let conditions = service["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let condition = conditions
        .into_iter()
        .find(|condition| condition["type"] == "Available");
    condition.map_or_else(String::new, |condition| {
        condition["message"].as_str().unwrap_or_default().to_owned()
    })
}

fn manifest(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/manifests");
    folder.join(file).display().to_string()
}
