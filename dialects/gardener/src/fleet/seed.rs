//! A seed as scheduling sees it: one row of the columns.

use std::sync::Arc;

use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::{Labels, Object};
use berth_dialect_contract::rules::Rules;

use super::Names;
use crate::cidr::Range;
use crate::kind::common::{condition, minor_version};
use crate::kind::seed::spec::{Seed, SeedTaint};
use crate::names::{EMERGENCY_STOP, PROVIDER_LABEL, REGION_LABEL, SEED_NAME_LABEL, is_special_taint};

/// Facts for every decision, in one stretch of memory.
#[derive(Clone)]
pub(crate) struct Row {
    /// The seed's name; rows are sorted by it.
    pub(crate) name: Arc<str>,
    /// Facts for words, views and writes only.
    pub(crate) record: Arc<SeedRecord>,
    /// The facts for the filters.
    pub(crate) facts: Facts,
    /// Number of shoots on it.
    pub(crate) used: i64,
}

/// A seed and the object it was read from.
pub(crate) struct SeedRecord {
    pub(crate) object: Arc<Object>,
    pub(crate) seed: Seed,
    /// The labels scheduling sees: name, provider type and region are labels too.
    pub(crate) labels: Labels,
}

/// Facts for the filters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    /// It is being deleted.
    pub(crate) deleting: bool,
    /// It can run control planes.
    pub(crate) ready: ByRules<bool>,
    /// Its gardenlet has taken care of it at least once.
    pub(crate) reconciled: bool,
    /// The scheduler may see it.
    pub(crate) visible: ByRules<bool>,
    /// Shoots get DNS records.
    pub(crate) dns: bool,
    /// The provider type.
    pub(crate) provider: u32,
    /// The region.
    pub(crate) region: u32,
    /// Number of shoots that it takes; `None` is unlimited.
    pub(crate) limit: Option<i64>,
    /// Nodes, pods, services.
    pub(crate) networks: [Range; 3],
    /// The ranges of shoots that name none: nodes (never), pods, services.
    pub(crate) defaults: [Range; 3],
    /// Ranges among those that meet one that Gardener keeps for itself, as bits.
    pub(crate) reserved: u32,
    /// The labels.
    pub(crate) labels: Arc<[(u32, u32)]>,
    /// The taints that ask for a toleration.
    pub(crate) taints: ByRules<Arc<[SeedTaint]>>,
    /// The availability zones.
    pub(crate) zones: Arc<[String]>,
    /// Meaning of the zones of workers.
    pub(crate) zone_mode: ZoneMode,
    /// The names of the access restrictions it offers.
    pub(crate) restrictions: Arc<[String]>,
    /// The domains of shoots; the first is for those that name none.
    pub(crate) domains: Arc<[String]>,
    /// No shoot on it is reconciled for now.
    pub(crate) stopped: bool,
    /// Its version is of a Gardener with the rules of today.
    pub(crate) modern: bool,
}

/// A fact that the rules of v1.8 and those of today make of one seed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByRules<T>([T; 2]);

impl<T> ByRules<T> {
    fn new(of: impl Fn(Rules) -> T) -> Self {
        Self([of(Rules::Documented), of(Rules::Current)])
    }

    /// The fact by `rules`.
    pub(crate) fn under(&self, rules: Rules) -> &T {
        match rules {
            Rules::Documented => &self.0[0],
            Rules::Current => &self.0[1],
        }
    }
}

/// Meaning of the zones of a shoot's workers to a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneMode {
    /// None.
    Free,
    /// Shoots with workers in its zones come first.
    Prefer,
    /// Shoots with workers in its zones alone.
    Enforce,
}

/// The first release whose scheduler has the rules of today, where they differ from those of v1.8.
const MODERN: (u32, u32) = (1, 49);

impl Row {
    /// Reads a Seed with `used` shoots on it. `below` is the seed that it runs on, where it is a shoot
    /// itself.
    ///
    /// # Errors
    /// Reason why it cannot be read.
    pub(crate) fn read(
        object: &Arc<Object>,
        used: i64,
        below: Option<&str>,
        names: &mut Names,
    ) -> Result<Self, String> {
        let seed: Seed = object.view().map_err(|error| error.to_string())?;
        let meta = object.meta();
        let mut labels = meta.labels().to_map();
        labels.insert(PROVIDER_LABEL.to_owned(), seed.spec.provider.r#type.clone());
        labels.insert(REGION_LABEL.to_owned(), seed.spec.provider.region.clone());
        for name in below.into_iter().chain([meta.name()]) {
            labels.insert(format!("{SEED_NAME_LABEL}{name}"), "true".to_owned());
        }
        let labels = Labels::from(labels);
        let facts = Facts {
            deleting: meta.deletion_timestamp().is_some(),
            ready: ByRules::new(|rules| unready(&seed, rules).is_none()),
            reconciled: seed.status.last_operation.is_some(),
            visible: ByRules::new(|rules| seed.spec.visible(rules)),
            dns: seed.spec.dns_enabled(),
            provider: names.providers.number(&seed.spec.provider.r#type),
            region: names.regions.number(&seed.spec.provider.region),
            limit: limit(&seed)?,
            networks: networks(&seed),
            defaults: defaults(&seed),
            reserved: reserved(&defaults(&seed)),
            labels: interned(&labels, names),
            taints: ByRules::new(|rules| taints(&seed, rules)),
            zones: seed.spec.provider.zones.as_slice().into(),
            zone_mode: zone_mode(&seed),
            restrictions: restrictions(&seed),
            domains: seed.spec.default_domains().map(str::to_owned).collect(),
            stopped: object.annotations().get(EMERGENCY_STOP).as_deref() == Some("true"),
            modern: is_modern(&seed),
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
pub(crate) fn unready(seed: &Seed, rules: Rules) -> Option<(&'static str, &str)> {
    let is_asked = |name: &str, is_there: bool| match name {
        "Bootstrapped" => is_there && rules == Rules::Documented,
        "BackupBucketsReady" => seed.spec.backup.is_some(),
        _ => true,
    };
    ["GardenletReady", "Bootstrapped", "BackupBucketsReady"]
        .into_iter()
        .find_map(|name| {
            let found = condition(&seed.status.conditions, name);
            let status = found.map_or("", |condition| condition.status.as_str());
            (is_asked(name, found.is_some()) && status != "True").then_some((name, status))
        })
}

/// The taints that ask for a toleration: those that act through a seed's settings did not in v1.8.
fn taints(seed: &Seed, rules: Rules) -> Arc<[SeedTaint]> {
    let asks = |taint: &&SeedTaint| rules == Rules::Current || !is_special_taint(&taint.key);
    seed.spec.taints.iter().filter(asks).cloned().collect()
}

fn zone_mode(seed: &Seed) -> ZoneMode {
    match seed.spec.zone_selection() {
        "Prefer" => ZoneMode::Prefer,
        "Enforce" => ZoneMode::Enforce,
        _ => ZoneMode::Free,
    }
}

fn restrictions(seed: &Seed) -> Arc<[String]> {
    let offered = seed.spec.access_restrictions.iter();
    offered.map(|restriction| restriction.name.clone()).collect()
}

fn is_modern(seed: &Seed) -> bool {
    let version = seed
        .status
        .gardener
        .as_ref()
        .map(|gardener| gardener.version.as_str());
    version.and_then(minor_version) >= Some(MODERN)
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

/// Ranges among `ranges` that meet one that Gardener keeps for itself, as bits.
pub(crate) fn reserved(ranges: &[Range; 3]) -> u32 {
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
