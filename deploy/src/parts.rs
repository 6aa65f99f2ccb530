//! The parts of an installation, and the objects of each part in the order of applying.

use clap::ValueEnum;
use serde_json::Value;

use crate::{
    Certificates, Installation, api_service, cluster_roles, hub_sources, namespace, owned_api_services,
    owned_roles, publications, registration_rights, scheduler_configurations, self_registration_rights,
    server_rights, webhooks, workload,
};

/// A set of objects that `berth manifests` prints: one part of an installation, or all parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Set {
    /// CustomResourceDefinitions: SchedulerConfiguration and Publication, with --systems the kinds of systems
    /// on the hub, with --inventory the kinds that Publications publish
    Crds,
    /// The service account, its rights, and the roles for users
    Rbac,
    /// The APIServices: of Berth's own group, and of the groups of systems whose objects Berth stores
    Apiservice,
    /// The admission webhooks
    Webhooks,
    /// Deployment, Service, disruption budget, network policy, the objects of the certificates, and the claim
    /// for an embedded database
    Workload,
    /// Everything, with the namespace, in the order of applying
    All,
    /// The manifest by which krew installs `kubectl berth` from a release
    Krew,
}

/// The objects of `set`, in the order of applying; none for [`Set::Krew`], since `berth manifests` renders
/// the manifest for krew itself.
#[must_use]
pub fn objects(installation: &Installation, set: Set) -> Vec<Value> {
    match set {
        Set::Crds => vec![scheduler_configurations(), publications()],
        Set::Rbac => rbac(installation),
        Set::Apiservice => {
            let service = &installation.service;
            let mut all = vec![api_service(service)];
            all.extend(owned_api_services(service, installation.owned_dialects()));
            with_ca_annotation(installation, all)
        }
        Set::Webhooks if installation.is_observer() => Vec::new(),
        Set::Webhooks => with_ca_annotation(installation, webhooks(installation).to_vec()),
        Set::Workload => workload(installation),
        Set::Krew => Vec::new(),
        Set::All => {
            let mut sets = vec![Set::Crds, Set::Rbac, Set::Workload];
            // With `--self-register` Berth creates these objects itself.
            if !installation.registers_itself() {
                sets.extend([Set::Apiservice, Set::Webhooks]);
            }
            let mut all = vec![namespace(&installation.service)];
            all.extend(sets.into_iter().flat_map(|set| objects(installation, set)));
            all
        }
    }
}

/// Adds to `objects` the annotation for cert-manager to set their caBundle, if it issues the certificates.
#[must_use]
pub fn with_ca_annotation(installation: &Installation, mut objects: Vec<Value>) -> Vec<Value> {
    if installation.certificates == Certificates::CertManager {
        for object in &mut objects {
            object["metadata"]["annotations"] = crate::cert_manager::annotation(&installation.service);
        }
    }
    objects
}

fn rbac(installation: &Installation) -> Vec<Value> {
    let mut all = server_rights(installation);
    all.extend(registration_rights(installation));
    if installation.registers_itself() {
        all.extend(self_registration_rights(installation));
    }
    all.extend(hub_sources(installation));
    all.extend(cluster_roles(installation));
    all.extend(owned_roles(installation.owned_dialects()));
    all
}
