//! An installation as a user does it, without nodes: Pods do not run here, so the Service is an
//! ExternalName for loopback, and the test starts the Deployment's process there.

use std::process::Command;

use super::Hub;
use super::berth::{self, Berth};
use crate::{eventually, ports};
use serde_json::{Value, json};

/// The sources with every system's objects on the hub.
pub const ON_HUB: [&str; 6] = [
    "--source=fleet=hub",
    "--source=gardener=hub",
    "--source=karmada=hub",
    "--source=kcp=hub",
    "--source=ocm=hub",
    "--source=openmcp=hub",
];

/// An installation, with its sources.
pub struct Installation {
    /// The port at which the hub reaches Berth.
    pub port: u16,
    /// Sources for both `berth manifests` and `berth serve`.
    pub sources: Vec<&'static str>,
    /// The mode, also for both.
    mode: &'static str,
}

impl Installation {
    /// An installation with `sources`, on a free port.
    #[must_use]
    pub fn new(sources: &[&'static str]) -> Self {
        Self {
            port: ports::free(),
            sources: sources.to_vec(),
            mode: "--mode=decide",
        }
    }

    /// Changes the mode to observing.
    #[must_use]
    pub fn observing(self) -> Self {
        Self {
            mode: "--mode=observe",
            ..self
        }
    }

    /// Output of `berth manifests` for this installation.
    ///
    /// # Panics
    /// When the command fails.
    #[must_use]
    pub fn manifests_as_printed(&self, arguments: &[&str]) -> String {
        let output = Command::new(crate::berth())
            .arg("manifests")
            .args(arguments)
            .args(["--port", &self.port.to_string()])
            .args(&self.sources)
            .arg(self.mode)
            .output()
            .expect("berth runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("YAML is text")
    }

    /// Output of `berth manifests` with the Service of the tests.
    #[must_use]
    pub fn manifests(&self, arguments: &[&str]) -> String {
        let text = self.manifests_as_printed(arguments);
        let documents = text.split("---\n").filter(|document| !document.is_empty());
        let mended = documents.map(|document| {
            if document.contains("\nkind: Service\n") {
                "apiVersion: v1\nkind: Service\nmetadata: {name: berth, namespace: berth-system}\n\
                 spec: {type: ExternalName, externalName: localhost}\n"
            } else {
                document
            }
        });
        mended.map(|document| format!("---\n{document}")).collect()
    }

    /// Starts the Deployment's process.
    #[must_use]
    pub fn start(&self, hub: &Hub, name: &str, port: u16, further: &[&str]) -> Berth {
        let (port, service_port) = (port.to_string(), format!("--service-port={}", self.port));
        let workload = self.manifests_as_printed(&["workload"]);
        let as_deployed: Vec<&str> = workload
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- "))
            .filter(|word| {
                ["--source=", "--storage="]
                    .iter()
                    .any(|flag| word.starts_with(flag))
            })
            .collect();
        let mut arguments = vec!["--secure-port", &port, &service_port, "--ca-secret=berth-ca"];
        arguments.extend(as_deployed);
        arguments.push(self.mode);
        arguments.extend(further);
        Berth::start(hub, name, &arguments)
    }

    /// Applies all manifests, starts Berth and waits until it is available on the hub.
    #[must_use]
    pub fn install(&self, hub: &Hub, further: &[&str]) -> Berth {
        hub.kubectl("apply --server-side -f -")
            .input(self.manifests(&["all"]))
            .succeeds();
        let berth = self.start(hub, "berth", self.port, further);
        available(hub);
        berth
    }
}

/// Waits until at least one of Berth's APIServices exists, and all are available.
pub fn available(hub: &Hub) {
    eventually("every APIService to be available", || {
        let services = berth::availability(hub);
        let all = services.iter().all(|(_, message)| message == "all checks passed");
        (all && !services.is_empty()).then_some(())
    });
}

/// Waits until every webhook has a CA.
///
/// # Panics
/// When one has none in time.
pub fn trusted(hub: &Hub) {
    eventually("every webhook to have a caBundle", || {
        ["mutating", "validating"]
            .iter()
            .all(|kind| {
                let object = hub
                    .kubectl(&format!("get {kind}webhookconfiguration berth -o json"))
                    .json();
                // The configuration is empty where no system needs webhooks of this kind.
                let mut webhooks = object["webhooks"].as_array().into_iter().flatten();
                webhooks.all(|webhook| webhook["clientConfig"]["caBundle"].is_string())
            })
            .then_some(())
    });
}

/// Creates the definitions of all systems' kinds, and waits until they are served.
pub fn define_systems(hub: &Hub) {
    hub.kubectl_args(&["create", "-R", "-f", &berth::definitions()])
        .succeeds();
    let plurals =
        "shoots seeds cloudprofiles managedclusters placements clusterrequests locations memberclusters";
    for plural in plurals.split(' ') {
        eventually("the definitions to be served", || {
            hub.kubectl(&format!("get {plural} -A"))
                .run()
                .success
                .then_some(())
        });
    }
}

/// A Shoot for which aws-eu1 and aws-eu2 of the example fleet are feasible.
#[must_use]
pub fn shoot(name: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"namespace": "garden-dev", "name": name},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"}, "purpose": "evaluation", "region": "eu-west-1",
            "provider": {"type": "aws", "workers": [
                {"name": "worker", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 3}]},
            "networking": {"nodes": "10.250.0.0/16"},
            "kubernetes": {"version": "1.34.1"},
        },
    })
}
