//! A seed as scheduling sees it: one row of the columns.

use std::sync::Arc;

use meta::quantity::Quantity;
use meta::{Labels, Object};

use super::Names;
use crate::cidr::Range;
use crate::kind::common::condition;
use crate::kind::seed::spec::{Seed, SeedTaint};
use crate::names::{PROVIDER_LABEL, REGION_LABEL, is_special_taint};

/// What every decision looks at, in one stretch of memory.
#[derive(Clone)]
pub(crate) struct Row {
    /// The seed's name; rows are sorted by it.
    pub(crate) name: Arc<str>,
    /// What of it is needed for words, views and writes only.
    pub(crate) record: Arc<SeedRecord>,
    /// The facts the filters go by.
    pub(crate) facts: Facts,
    /// How many shoots sit on it.
    pub(crate) used: i64,
}

/// A seed and the object it was read from.
pub(crate) struct SeedRecord {
    pub(crate) object: Arc<Object>,
    pub(crate) seed: Seed,
    /// The labels scheduling sees: provider type and region are labels too.
    pub(crate) labels: Labels,
}

/// What the filters go by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    /// It is being deleted.
    pub(crate) deleting: bool,
    /// It can run control planes.
    pub(crate) ready: bool,
    /// The scheduler may see it.
    pub(crate) visible: bool,
    /// Shoots get DNS records.
    pub(crate) dns: bool,
    /// The provider type.
    pub(crate) provider: u32,
    /// The region.
    pub(crate) region: u32,
    /// How many shoots it takes; `None` is unlimited.
    pub(crate) limit: Option<i64>,
    /// Nodes, pods, services.
    pub(crate) networks: [Range; 3],
    /// The ranges of shoots that name none: nodes (never), pods, services.
    pub(crate) defaults: [Range; 3],
    /// Which of those meet one that Gardener keeps for itself, as bits.
    pub(crate) reserved: u32,
    /// The labels.
    pub(crate) labels: Arc<[(u32, u32)]>,
    /// The taints that ask for a toleration.
    pub(crate) taints: Arc<[SeedTaint]>,
}

/// The conditions that must be True: the first always, the others where they are present (docs/systems/gardener.md,
/// "Seed").
pub(crate) const CONDITIONS: [&str; 3] = ["GardenletReady", "Bootstrapped", "BackupBucketsReady"];

impl Row {
    /// Reads a Seed on which `used` shoots sit.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn read(object: &Arc<Object>, used: i64, names: &mut Names) -> Result<Self, String> {
        let seed: Seed = object.view().map_err(|error| error.to_string())?;
        let meta = object.meta();
        let mut labels = meta.labels().to_map();
        labels.insert(PROVIDER_LABEL.to_owned(), seed.spec.provider.r#type.clone());
        labels.insert(REGION_LABEL.to_owned(), seed.spec.provider.region.clone());
        let labels = Labels::from(labels);
        let facts = Facts {
            deleting: meta.deletion_timestamp().is_some(),
            ready: unready(&seed).is_none(),
            visible: seed.spec.visible(),
            dns: seed.spec.dns_enabled(),
            provider: names.providers.number(&seed.spec.provider.r#type),
            region: names.regions.number(&seed.spec.provider.region),
            limit: limit(&seed)?,
            networks: networks(&seed),
            defaults: defaults(&seed),
            reserved: reserved(&defaults(&seed)),
            labels: interned(&labels, names),
            taints: seed
                .spec
                .taints
                .iter()
                .filter(|taint| !is_special_taint(&taint.key))
                .cloned()
                .collect(),
        };
        let record = Arc::new(SeedRecord {
            object: Arc::clone(object),
            seed,
            labels,
        });
        Ok(Self {
            name: meta.name().into(),
            record,
            facts,
            used,
        })
    }

    /// Whether one more shoot fits, `own` seats of the shoot itself not counted.
    pub(crate) fn has_room(&self, own: i64) -> bool {
        self.facts.limit.is_none_or(|limit| self.used - own < limit)
    }
}

/// The first condition that keeps the seed from being ready, and its status (empty when it is missing).
pub(crate) fn unready(seed: &Seed) -> Option<(&'static str, &str)> {
    CONDITIONS.iter().enumerate().find_map(|(index, &name)| {
        let status = condition(&seed.status.conditions, name).map(|condition| condition.status.as_str());
        match status {
            Some("True") => None,
            None if index > 0 => None,
            other => Some((name, other.unwrap_or_default())),
        }
    })
}

fn limit(seed: &Seed) -> Result<Option<i64>, String> {
    let Some(amount) = seed.status.allocatable.get("shoots") else {
        return Ok(None);
    };
    match Quantity::parse(&amount.0) {
        Ok(quantity) => Ok(Some(quantity.units())),
        Err(problem) => Err(format!(
            "status.allocatable[shoots]: Invalid value: \"{}\": {problem}",
            amount.0
        )),
    }
}

fn networks(seed: &Seed) -> [Range; 3] {
    let networks = &seed.spec.networks;
    [
        Range::of(networks.nodes.as_deref()),
        Range::of(Some(&networks.pods)),
        Range::of(Some(&networks.services)),
    ]
}

fn defaults(seed: &Seed) -> [Range; 3] {
    let Some(given) = &seed.spec.networks.shoot_defaults else {
        return [Range::NONE; 3];
    };
    [
        Range::NONE,
        Range::of(given.pods.as_deref()),
        Range::of(given.services.as_deref()),
    ]
}

/// Which of `ranges` meet one that Gardener keeps for itself, as bits.
pub(super) fn reserved(ranges: &[Range; 3]) -> u32 {
    let bits = ranges.iter().enumerate();
    bits.map(|(bit, range)| u32::from(range.reserved_for().is_some()) << bit)
        .sum()
}

fn interned(labels: &Labels, names: &mut Names) -> Arc<[(u32, u32)]> {
    labels
        .iter()
        .map(|(key, value)| (names.labels.number(key), names.labels.number(value)))
        .collect()
}
