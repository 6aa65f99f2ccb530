//! A shoot as scheduling sees it.

use std::sync::Arc;

use meta::Object;
use meta::field::aggregate;
use meta::selector::Selector;

use super::Seats;
use super::seed::reserved;
use crate::cidr::{Families, Range};
use crate::kind::shoot::spec::{Dns, Shoot, ShootSpec, TESTING, Toleration};
use crate::names::DEFAULT_SCHEDULER;

/// A shoot and what it was read from.
pub(crate) struct Record {
    pub(crate) object: Arc<Object>,
    /// What it asks for.
    pub(crate) wants: Wants,
    /// The seeds it sits on.
    pub(crate) seats: Seats,
    /// `spec.seedName`.
    pub(crate) seed: Option<Arc<str>>,
    /// It is being deleted.
    pub(crate) deleting: bool,
}

/// What a shoot asks of its seed. Two equal ones are decided alike.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wants {
    /// The namespace it is in.
    pub(crate) namespace: String,
    /// The scheduler it belongs to.
    pub(crate) scheduler: String,
    /// Whether its own machines run its control plane.
    pub(crate) self_hosted: bool,
    /// Whether it has no machines, so that there are no pods either.
    pub(crate) workerless: bool,
    /// The kind and name of its cloud profile.
    pub(crate) profile: (String, String),
    /// Its provider type.
    pub(crate) provider: String,
    /// Its region.
    pub(crate) region: String,
    /// Whether it may go to any region of its provider.
    pub(crate) testing: bool,
    /// Whether it gets DNS records.
    pub(crate) dns: bool,
    /// Nodes, pods, services, as written.
    pub(crate) ranges: [Option<String>; 3],
    /// The same, read.
    pub(crate) networks: [Range; 3],
    /// The families of its addresses.
    pub(crate) families: Families,
    /// Which of its ranges meet one that Gardener keeps for itself, as bits.
    pub(crate) reserved: u32,
    /// The taints it puts up with, as listed.
    pub(crate) tolerations: Vec<Toleration>,
    /// The labels its seed must have.
    pub(crate) selector: Selector,
    /// The provider types its seed may have; empty leaves it to the profile.
    pub(crate) provider_types: Vec<String>,
}

impl Record {
    /// Reads a Shoot.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn read(object: &Arc<Object>) -> Result<Self, String> {
        let shoot: Shoot = object.view().map_err(|error| error.to_string())?;
        Ok(Self {
            object: Arc::clone(object),
            wants: Wants::read(object.meta().namespace(), &shoot.spec)?,
            seats: Seats::of(shoot.spec.seed_name.as_deref(), shoot.status.seed_name.as_deref()),
            seed: shoot
                .spec
                .seed_name
                .as_deref()
                .filter(|name| !name.is_empty())
                .map(Arc::from),
            deleting: object.meta().deletion_timestamp().is_some(),
        })
    }

    /// Whether the scheduler is to find a seed for it.
    pub(crate) fn waits(&self) -> bool {
        self.seed.is_none() && !self.deleting && self.wants.is_ours()
    }
}

impl Wants {
    /// Reads what `spec`, of a shoot in `namespace`, asks for.
    ///
    /// # Errors
    /// What is wrong with its selector.
    pub(crate) fn read(namespace: &str, spec: &ShootSpec) -> Result<Self, String> {
        let selector = spec.seed_selector.clone().unwrap_or_default();
        let networking = spec.networking.clone().unwrap_or_default();
        let ranges = [networking.nodes, networking.pods, networking.services];
        let (kind, profile) = spec.profile().unwrap_or_default();
        let networks = [0, 1, 2].map(|index: usize| Range::of(ranges[index].as_deref()));
        Ok(Self {
            namespace: namespace.to_owned(),
            scheduler: spec.scheduler().to_owned(),
            self_hosted: spec.is_self_hosted(),
            workerless: spec.provider.workers.is_empty(),
            profile: (kind.to_owned(), profile.to_owned()),
            provider: spec.provider.r#type.clone(),
            region: spec.region.clone(),
            testing: spec.purpose.as_deref() == Some(TESTING),
            dns: spec.dns.as_ref().is_some_and(is_managed),
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

    /// Whether the default scheduler is to find a seed.
    pub(crate) fn is_ours(&self) -> bool {
        self.scheduler == DEFAULT_SCHEDULER && !self.self_hosted
    }
}

/// Whether somebody manages records: only the first provider is looked at (docs/systems/gardener.md, "DNS").
fn is_managed(dns: &Dns) -> bool {
    dns.providers
        .first()
        .and_then(|provider| provider.r#type.as_deref())
        != Some("unmanaged")
}
