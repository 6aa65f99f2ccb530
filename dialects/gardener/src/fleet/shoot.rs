//! A shoot as decisions use it.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::Object;
use berth_apimachinery::field::aggregate;
use berth_apimachinery::selector::Selector;

use super::OccupiedSeeds;
use super::seed::reserved;
use crate::cidr::{Families, Range};
use crate::kind::shoot::spec::{Dns, NetworkingStatus, Shoot, ShootSpec, TESTING, Toleration};
use crate::names::DEFAULT_SCHEDULER;

/// The data of a Shoot that decisions use.
pub(crate) struct ShootRecord {
    /// The Shoot itself.
    pub(crate) object: Arc<Object>,
    /// The requirements of the shoot on its seed.
    pub(crate) requirements: Requirements,
    /// The seeds on which the shoot counts.
    pub(crate) occupied: OccupiedSeeds,
    /// The name of the seed in `spec.seedName`; `None` for a shoot without a seed.
    pub(crate) seed: Option<Arc<str>>,
    /// Whether the shoot is being deleted.
    pub(crate) deleting: bool,
}

/// The requirements of a shoot on its seed. A shoot that waits for a seed is decided again when the
/// requirements change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Requirements {
    /// The namespace of the shoot.
    pub(crate) namespace: String,
    /// The name of the shoot, which is a part of its domain below a default domain.
    pub(crate) name: String,
    /// The name of the scheduler that decides the shoot.
    pub(crate) scheduler: String,
    /// Whether the shoot's own machines run its control plane.
    pub(crate) self_hosted: bool,
    /// Whether the shoot has no machines, and thus no pods.
    pub(crate) workerless: bool,
    /// The kind and the name of the cloud profile.
    pub(crate) profile: (String, String),
    /// The provider type of the shoot.
    pub(crate) provider: String,
    /// The region of the shoot.
    pub(crate) region: String,
    /// Whether the purpose of the shoot is testing, so that every region of its provider type fits.
    pub(crate) testing: bool,
    /// Whether the shoot needs DNS records.
    pub(crate) dns: bool,
    /// Whether the shoot has DNS settings with unmanaged records.
    pub(crate) unmanaged: bool,
    /// The domain of the shoot, if the shoot names one.
    pub(crate) domain: Option<String>,
    /// Whether the control plane must survive the loss of a zone.
    pub(crate) survives_zone_loss: bool,
    /// The zones of the control plane, if the shoot names any.
    pub(crate) control_plane_zones: Vec<String>,
    /// The zones of the workers, sorted and without duplicates.
    pub(crate) worker_zones: Vec<String>,
    /// The names of the access restrictions that the seed must offer.
    pub(crate) restrictions: Vec<String>,
    /// The IP ranges of nodes, pods and services in the spec, as text.
    pub(crate) ranges: [Option<String>; 3],
    /// The IP ranges of nodes, pods and services in the spec, parsed.
    pub(crate) networks: [Range; 3],
    /// The IP families of the shoot.
    pub(crate) families: Families,
    /// The ranges in the spec that overlap with a reserved range: bit 0 is nodes, 1 is pods, 2 is services.
    pub(crate) reserved: u32,
    /// The IP ranges in the status, if the shoot has networks already.
    pub(crate) status_networks: Option<StatusNetworks>,
    /// The tolerations in the spec, in the order of the spec.
    pub(crate) tolerations: Vec<Toleration>,
    /// The labels that the shoot requires of the seed.
    pub(crate) selector: Selector,
    /// The provider types in the seed selector of the shoot; empty if it names none.
    pub(crate) provider_types: Vec<String>,
}

/// The IP ranges in the status of a shoot: of nodes, pods and services.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatusNetworks {
    /// The ranges of nodes, pods and services, as text.
    pub(crate) texts: [Vec<String>; 3],
    /// The ranges of nodes, pods and services, parsed.
    pub(crate) networks: [Vec<Range>; 3],
}

impl StatusNetworks {
    fn read(status: &NetworkingStatus) -> Self {
        let lists = status.lists();
        let read = |list: &[String]| list.iter().map(|text| Range::of(Some(text))).collect();
        Self {
            texts: lists.map(<[String]>::to_vec),
            networks: lists.map(read),
        }
    }
}

impl ShootRecord {
    /// Parses a Shoot.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(object: &Arc<Object>) -> Result<Self, String> {
        let shoot: Shoot = object.view().map_err(|error| error.to_string())?;
        Ok(Self {
            object: Arc::clone(object),
            requirements: Requirements::read((object.meta().namespace(), object.meta().name()), &shoot)?,
            occupied: OccupiedSeeds::of(shoot.spec.seed_name.as_deref(), shoot.status.seed_name.as_deref()),
            seed: shoot
                .spec
                .seed_name
                .as_deref()
                .filter(|name| !name.is_empty())
                .map(Arc::from),
            deleting: object.meta().deletion_timestamp().is_some(),
        })
    }

    /// Whether this scheduler must find a seed for the shoot.
    pub(crate) fn needs_seed(&self) -> bool {
        self.seed.is_none() && !self.deleting && self.requirements.is_ours()
    }
}

impl Requirements {
    /// Reads the requirements of `shoot`, which has this namespace and name.
    ///
    /// # Errors
    /// The reason why the seed selector cannot be parsed.
    pub(crate) fn read((namespace, name): (&str, &str), shoot: &Shoot) -> Result<Self, String> {
        let spec = &shoot.spec;
        let selector = spec.seed_selector.clone().unwrap_or_default();
        let networking = spec.networking.clone().unwrap_or_default();
        let ranges = [networking.nodes, networking.pods, networking.services];
        let (kind, profile) = spec.profile().unwrap_or_default();
        let networks = [0, 1, 2].map(|index: usize| Range::of(ranges[index].as_deref()));
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            scheduler: spec.scheduler().to_owned(),
            self_hosted: spec.is_self_hosted(),
            workerless: spec.provider.workers.is_empty(),
            profile: (kind.to_owned(), profile.to_owned()),
            provider: spec.provider.r#type.clone(),
            region: spec.region.clone(),
            testing: spec.purpose.as_deref() == Some(TESTING),
            dns: spec.dns.as_ref().is_some_and(is_managed),
            unmanaged: spec.dns.as_ref().is_some_and(|dns| !is_managed(dns)),
            domain: spec.dns.as_ref().and_then(|dns| dns.domain.clone()),
            survives_zone_loss: spec.survives_zone_loss(),
            control_plane_zones: spec.control_plane_zones().to_vec(),
            worker_zones: worker_zones(spec),
            restrictions: spec
                .access_restrictions
                .iter()
                .map(|one| one.name.clone())
                .collect(),
            status_networks: shoot.status.networking.as_ref().map(StatusNetworks::read),
            families: Families::of(networking.ip_families.iter().map(String::as_str)),
            reserved: reserved(&networks),
            networks,
            ranges,
            tolerations: spec.tolerations.clone(),
            selector: selector
                .compile("spec.seedSelector")
                .map_err(|errors| aggregate(&errors))?,
            provider_types: selector.provider_types,
        })
    }

    /// Whether this scheduler is responsible for the shoot: the shoot names the default scheduler, and its
    /// own machines do not run its control plane.
    pub(crate) fn is_ours(&self) -> bool {
        self.scheduler == DEFAULT_SCHEDULER && !self.self_hosted
    }
}

/// The zones of the workers, sorted and without duplicates.
fn worker_zones(spec: &ShootSpec) -> Vec<String> {
    let workers = spec.provider.workers.iter();
    let zones: BTreeSet<&String> = workers.flat_map(|worker| &worker.zones).collect();
    zones.into_iter().cloned().collect()
}

/// Whether Gardener manages the DNS records of a shoot with these settings: only the type of the first
/// provider is considered (docs/systems/gardener.md, "DNS").
fn is_managed(dns: &Dns) -> bool {
    dns.providers
        .first()
        .and_then(|provider| provider.r#type.as_deref())
        != Some("unmanaged")
}
