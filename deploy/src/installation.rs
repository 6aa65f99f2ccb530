//! An installation of Berth on a hub.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_aggregation::registration::Service;
use berth_apimachinery::GroupResource;
use berth_configuration::Mode;
use berth_dialect_contract::Dialect;
use clap::ValueEnum;

use crate::stores::Storage;

/// The image of this version.
pub const IMAGE: &str = concat!("berth:v", env!("CARGO_PKG_VERSION"));

/// Default number of servers of an installation without an embedded database: one server may be unavailable.
pub const REPLICAS: u16 = 2;

/// The system that the overlays leave out, and that `berth check` leaves out if the objects of the system are
/// on the hub: kcp. It reads and writes objects in namespaces, including Secrets, so that it has to be
/// requested by name.
pub const OFF_ON_A_HUB: &str = berth_syncer::DIALECT;

/// The default Service of an installation: `berth` in `berth-system`, port 443.
#[must_use]
pub fn default_service() -> Service {
    Service {
        name: "berth".to_owned(),
        namespace: "berth-system".to_owned(),
        port: 443,
    }
}

/// Issuer of the serving certificate. The issuer also makes a hub trust the certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Certificates {
    /// Berth itself
    #[default]
    Berth,
    /// cert-manager, which must be installed
    CertManager,
}

/// An installation on a hub.
#[derive(Clone)]
pub struct Installation {
    /// Service that receives requests for Berth.
    pub service: Service,
    /// The systems that Berth serves.
    pub dialects: Vec<Arc<dyn Dialect>>,
    /// The systems that are off.
    pub off: BTreeSet<&'static str>,
    /// The systems whose objects are on the hub; Berth stores the objects of the other systems.
    pub on_hub: BTreeSet<&'static str>,
    /// The container image.
    pub image: String,
    /// Number of servers, which is 1 with an embedded store.
    pub replicas: u16,
    /// Place where Berth stores objects. In memory is enough if Berth only has copies of the hub's objects.
    pub storage: Storage,
    /// The client URLs of etcd, if Berth stores objects in etcd.
    pub etcd_servers: Vec<String>,
    /// The mode: Berth decides, or only observes the hub.
    pub mode: Mode,
    /// Whether Berth creates its registration itself, unless it is an observer.
    pub self_register: bool,
    /// Issuer of the serving certificate.
    pub certificates: Certificates,
    /// Further arguments of `berth serve`.
    pub arguments: Vec<String>,
}

impl Default for Installation {
    /// The installation in which Berth stores the objects of every system, in the embedded database of
    /// one server.
    fn default() -> Self {
        Self {
            service: default_service(),
            dialects: berth_dialect_registry::all(),
            off: BTreeSet::new(),
            on_hub: BTreeSet::new(),
            image: IMAGE.to_owned(),
            replicas: 1,
            storage: Storage::Embedded,
            etcd_servers: Vec::new(),
            mode: Mode::Decide,
            self_register: false,
            certificates: Certificates::Berth,
            arguments: Vec::new(),
        }
    }
}

impl Installation {
    /// The installation with the objects of every system on the hub.
    #[must_use]
    pub fn on_hub() -> Self {
        let default = Self::default();
        Self {
            on_hub: default.dialects.iter().map(|dialect| dialect.name()).collect(),
            replicas: REPLICAS,
            storage: Storage::Memory,
            ..default
        }
    }

    /// Returns the installation as an observer.
    #[must_use]
    pub fn observing(self) -> Self {
        Self {
            mode: Mode::Observe,
            ..self
        }
    }

    /// Whether the installation only observes.
    #[must_use]
    pub fn is_observer(&self) -> bool {
        self.mode == Mode::Observe
    }

    /// Whether the server has the right to create its registration. An observer does not have it: the
    /// manifests register an observer.
    #[must_use]
    pub fn registers_itself(&self) -> bool {
        self.self_register && !self.is_observer()
    }

    /// Returns the installation without `system`.
    #[must_use]
    pub fn without(mut self, system: &'static str) -> Self {
        self.dialects.retain(|dialect| dialect.name() != system);
        self.on_hub.remove(system);
        self.off.insert(system);
        self
    }

    /// The systems whose objects are on the hub.
    pub fn hub_dialects(&self) -> impl Iterator<Item = &Arc<dyn Dialect>> {
        self.dialects
            .iter()
            .filter(|dialect| self.on_hub.contains(dialect.name()))
    }

    /// The systems whose objects Berth stores.
    pub fn owned_dialects(&self) -> impl Iterator<Item = &Arc<dyn Dialect>> {
        self.dialects
            .iter()
            .filter(|dialect| !self.on_hub.contains(dialect.name()))
    }

    /// Resources of the kinds that Berth stores itself.
    pub(crate) fn owned_resources(&self) -> Vec<GroupResource> {
        let kinds = self.owned_dialects().flat_map(|dialect| dialect.kinds());
        kinds.map(|kind| kind.info().resource()).collect()
    }
}
