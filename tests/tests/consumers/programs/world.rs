//! Servers on which Berth publishes: standalone, or on a hub.

use std::path::PathBuf;

use berth_tests::example::example;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use berth_tests::{Kubectl, Server};

use super::upstream_definitions;

/// A Berth that publishes all decisions in the namespace `argocd`.
pub(super) enum World {
    /// By itself.
    Alone(Server),
    /// In the hub's own kinds, with OCM's objects on the hub.
    Behind {
        /// The hub.
        hub: Box<Hub>,
        /// Berth, which ends with this value.
        _running: Berth,
    },
}

impl World {
    /// A standalone server with the objects of `files`.
    pub(super) fn alone(files: &[&str]) -> Self {
        let server = Server::start();
        for file in files.iter().chain(&["consumers/publication.yaml"]) {
            server.load(&super::example(file));
        }
        Self::Alone(server).published()
    }

    /// A Berth on its own hub, with the objects of `files`.
    pub(super) fn behind(files: &[&str]) -> Self {
        let hub = Hub::start();
        berth::apply_definitions(&hub);
        hub.ensure(&["create", "namespace", berth::NAMESPACE]);
        berth::apply(&hub, "hub-sources-rbac.yaml");
        upstream_definitions(&hub);
        let running = Berth::install_hub(&hub, &["ocm"]);
        for file in files {
            berth::load_text(&hub, &file.replace('/', "-"), &example(file));
        }
        berth::load(&hub, "../examples/consumers/publication.yaml");
        Self::Behind {
            hub: Box::new(hub),
            _running: running,
        }
        .published()
    }

    fn published(self) -> Self {
        self.kubectl("wait publication/everything --for=condition=Published --timeout=60s")
            .succeeds();
        self
    }

    /// The administrator's kubeconfig.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        match self {
            Self::Alone(server) => server.kubeconfig(),
            Self::Behind { hub, .. } => hub.admin(),
        }
    }

    pub(super) fn kubectl(&self, arguments: &str) -> Kubectl {
        let split: Vec<&str> = arguments.split_whitespace().collect();
        self.kubectl_args(&split)
    }

    pub(super) fn kubectl_args(&self, arguments: &[&str]) -> Kubectl {
        match self {
            Self::Alone(server) => server.kubectl_args(arguments),
            Self::Behind { hub, .. } => hub.kubectl_args(arguments),
        }
    }
}
