//! What a cluster must be told about Berth, rendered from the code that serves it.
//!
//! Seven files so far, in `manifests/`, pinned by `tests/manifests.rs`:
//!
//! - `apiservice.yaml`, from the virtual group ([`api_service`]): which Service answers for `scheduling.berth.dev`;
//! - `apiservices-owned.yaml`, from the systems' kinds: the same for the groups whose objects Berth stores itself;
//! - `rbac.yaml`, from the standalone server's own default roles: the cluster roles for Berth's users;
//! - `crds.yaml`, from the kind: how a hub serves `schedulerconfigurations.config.berth.dev` by itself;
//! - `crds-systems.yaml`, from the systems' kinds: how a hub without the systems serves their objects by itself;
//! - `hub-sources-rbac.yaml`, from the dialects: what Berth and the systems' scheduler may do with such objects;
//! - `server-rbac.yaml`, from what the program asks of a hub: Berth's own service account and its rights.
//!
//! They are not a whole installation yet: no Deployment and Service, no certificate and caBundle, no webhooks.
//! `README.md` says what each file is good for today.

mod api_service;
mod hub_sources;
mod server_rights;

use anyhow::{Context, Result};
use berth::configuration::SchedulerConfiguration;
use serde_json::Value;

pub use api_service::{Service, api_service, owned_api_services};
pub use hub_sources::{hub_sources, system_definitions};
pub use server_rights::server_rights;

/// The first lines of every file.
const HEADER: &str = "# Rendered from the code, do not edit. What it is for: deploy/README.md. To render it again:\n\
                      #   UPDATE_EXPECT=1 cargo test -p deploy --test manifests\n";

/// One file of manifests.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The file's name, `rbac.yaml`.
    pub file: &'static str,
    /// The objects in it, in order.
    pub objects: Vec<Value>,
}

impl Manifest {
    /// The file's text: a note on where it comes from, and the objects as YAML documents.
    ///
    /// # Errors
    /// When an object has no form in YAML.
    pub fn text(&self) -> Result<String> {
        let mut text = HEADER.to_owned();
        for object in &self.objects {
            let document = serde_saphyr::to_string(object).with_context(|| {
                format!("writing {} of {} as YAML", object["metadata"]["name"], self.file)
            })?;
            text.push_str("---\n");
            text.push_str(document.trim_end());
            text.push('\n');
        }
        Ok(text)
    }
}

/// Every file, in the order of names. `service` is what the aggregator sends requests for Berth's group to.
#[must_use]
pub fn manifests(service: &Service) -> Vec<Manifest> {
    vec![
        Manifest {
            file: "apiservice.yaml",
            objects: vec![api_service(service)],
        },
        Manifest {
            file: "apiservices-owned.yaml",
            objects: owned_api_services(service),
        },
        Manifest {
            file: "crds.yaml",
            objects: vec![scheduler_configurations()],
        },
        Manifest {
            file: "crds-systems.yaml",
            objects: system_definitions(),
        },
        Manifest {
            file: "hub-sources-rbac.yaml",
            objects: hub_sources(service),
        },
        Manifest {
            file: "rbac.yaml",
            objects: cluster_roles(),
        },
        Manifest {
            file: "server-rbac.yaml",
            objects: server_rights(service),
        },
    ]
}

/// The cluster roles for Berth's users, the same a standalone server makes at its start.
#[must_use]
pub fn cluster_roles() -> Vec<Value> {
    let reach = berth::serve::reach(&dialect_registry::all());
    berth::rbac::bootstrap::manifests(&reach)
}

/// The CustomResourceDefinition of SchedulerConfiguration, which behind an aggregator is always the hub's to serve
/// (CONTRACT.md section 4). What a schema cannot say (a name is that of a system, a system's configuration is valid)
/// is for the webhook.
#[must_use]
pub fn scheduler_configurations() -> Value {
    openapi::crd::definition(&SchedulerConfiguration::new(dialect_registry::all()))
}
