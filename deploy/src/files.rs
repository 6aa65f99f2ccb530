//! The rendered files of the folder `deploy/`: parts of an installation, overlays and components.

use anyhow::Result;
use serde_json::Value;

use crate::installation::OFF_ON_A_HUB;
use crate::stores::Storage;
use crate::{
    Certificates, Installation, Set, api_service, cluster_roles, deployment, hub_sources, namespace, objects,
    owned_api_services, owned_roles, published_definitions, registration_rights, self_registration_rights,
    server_rights, service_monitor, webhooks, workload, yaml,
};

/// The first lines of every file.
pub(crate) const HEADER: &str = "# Rendered from the code, do not edit. What it is for: deploy/README.md. To render it again:\n\
                      #   UPDATE_EXPECT=1 cargo test -p berth-deploy --test manifests\n";

/// Address of etcd in the overlay `owned-etcd`; to be replaced for an installation.
const ETCD: &str = "https://etcd.berth-system.svc:2379";
/// Folder of the certificates for etcd in the overlay `owned-etcd`.
const ETCD_TLS: &str = "/etc/berth/etcd";

/// One file of manifests.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Path below `deploy/`, such as `manifests/rbac.yaml`.
    pub file: String,
    /// The objects in the file, in order.
    pub objects: Vec<Value>,
}

impl Manifest {
    fn new(folder: &str, name: &str, objects: Vec<Value>) -> Self {
        Self {
            file: format!("{folder}/{name}.yaml"),
            objects,
        }
    }

    /// The text of the file: a comment about the source, and the objects as YAML documents.
    ///
    /// # Errors
    /// When an object cannot be written as YAML.
    pub fn text(&self) -> Result<String> {
        Ok(format!("{HEADER}{}", yaml(&self.objects)?))
    }
}

/// The installation of the overlay `hub`: the systems' objects are on the hub, and kcp is off.
#[must_use]
pub fn hub() -> Installation {
    Installation::on_hub().without(OFF_ON_A_HUB)
}

/// The installation of the overlay `observe`: like `hub`, but Berth only observes.
#[must_use]
pub fn observe() -> Installation {
    hub().observing()
}

/// The installation of the overlay `owned-etcd`: Berth stores everything, on etcd, and kcp is off.
#[must_use]
pub fn owned_etcd() -> Installation {
    let all = Installation {
        replicas: hub().replicas,
        storage: Storage::Etcd,
        etcd_servers: vec![ETCD.to_owned()],
        arguments: [
            ("cafile", "ca.crt"),
            ("certfile", "tls.crt"),
            ("keyfile", "tls.key"),
        ]
        .map(|(flag, file)| format!("--etcd-{flag}={ETCD_TLS}/{file}"))
        .to_vec(),
        ..Installation::default()
    };
    all.without(OFF_ON_A_HUB)
}

/// The installation of the overlay `cert-manager`: like `hub`, with certificates by cert-manager.
#[must_use]
pub fn cert_manager() -> Installation {
    Installation {
        certificates: Certificates::CertManager,
        ..hub()
    }
}

/// All rendered files, except the files of the Helm chart ([`crate::chart()`]).
#[must_use]
pub fn manifests() -> Vec<Manifest> {
    let mut all = parts();
    all.extend(overlays());
    all.extend(components());
    all
}

fn parts() -> Vec<Manifest> {
    let (base, hub, everything) = (Installation::default(), hub(), Installation::on_hub());
    let service = &base.service;
    [
        ("apiservice", vec![api_service(service)]),
        (
            "apiservices-owned",
            owned_api_services(service, base.owned_dialects()),
        ),
        ("crds-inventory", published_definitions()),
        ("hub-sources-rbac", hub_sources(&everything)),
        ("namespace", vec![namespace(service)]),
        ("owned-sources-rbac", hub_sources(&base)),
        ("rbac", cluster_roles(&base)),
        ("server-rbac", server_rights(&base)),
        ("workload", workload(&hub)),
    ]
    .map(|(name, objects)| Manifest::new("manifests", name, objects))
    .into()
}

fn overlays() -> Vec<Manifest> {
    let (hub, owned, cert_manager) = (hub(), owned_etcd(), cert_manager());
    let overlay =
        |folder: &str, name: &str, objects| Manifest::new(&format!("overlays/{folder}"), name, objects);
    vec![
        overlay("hub", "deployment", vec![deployment(&hub)]),
        overlay("hub", "hub-sources-rbac", hub_sources(&hub)),
        overlay("hub", "registration-rbac", registration_rights(&hub)),
        overlay("hub", "webhooks", webhooks(&hub).to_vec()),
        overlay(
            "observe",
            "installation",
            without_definitions(all_objects(&observe())),
        ),
        overlay(
            "owned-etcd",
            "apiservices",
            owned_api_services(&owned.service, owned.owned_dialects()),
        ),
        overlay("owned-etcd", "deployment", vec![deployment(&owned)]),
        overlay("owned-etcd", "owned-rbac", owned_roles(owned.owned_dialects())),
        overlay("owned-etcd", "registration-rbac", registration_rights(&owned)),
        overlay("owned-etcd", "webhooks", webhooks(&owned).to_vec()),
        overlay(
            "cert-manager",
            "certificates",
            crate::certificates(&cert_manager.service),
        ),
        overlay("cert-manager", "deployment", vec![deployment(&cert_manager)]),
    ]
}

fn components() -> Vec<Manifest> {
    let hub = hub();
    vec![
        Manifest::new(
            "components/monitoring",
            "prometheus-rule",
            vec![prometheus_rule(&hub)],
        ),
        Manifest::new(
            "components/monitoring",
            "service-monitor",
            vec![service_monitor(&hub)],
        ),
        Manifest::new("components/self-register", "rbac", self_registration_rights(&hub)),
    ]
}

/// The alerts of `observability/berth.rules.yaml`, for the Prometheus operator.
fn prometheus_rule(installation: &Installation) -> Value {
    let monitor = service_monitor(installation);
    let rules: Value = serde_saphyr::from_str(include_str!("../observability/berth.rules.yaml"))
        .expect("the file of the alerts is YAML");
    serde_json::json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": monitor["metadata"],
        "spec": rules,
    })
}

/// Removes the CustomResourceDefinitions from `objects`: overlays have them from the folder `crds/` of the
/// chart.
fn without_definitions(mut objects: Vec<Value>) -> Vec<Value> {
    objects.retain(|object| object["kind"] != "CustomResourceDefinition");
    objects
}

/// Every object of an installation, as `berth manifests all` prints it. An overlay has to result in
/// exactly these objects.
#[must_use]
pub fn all_objects(installation: &Installation) -> Vec<Value> {
    objects(installation, Set::All)
}
