//! A seed as scheduling uses it: one row of the columns.

use std::sync::Arc;

use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::{Labels, Object};
use berth_dialect_contract::rules::Rules;

use super::Names;
use crate::cidr::Range;
use crate::kind::common::{condition, minor_version};
use crate::kind::seed::spec::{Seed, SeedTaint};
use crate::names::{EMERGENCY_STOP, PROVIDER_LABEL, REGION_LABEL, SEED_NAME_LABEL, is_special_taint};

/// Facts that every decision reads, contiguous in memory.
#[derive(Clone)]
pub(crate) struct Row {
    /// The seed's name; rows are sorted by it.
    pub(crate) name: Arc<str>,
    /// Data for sentences, views and writes only.
    pub(crate) record: Arc<SeedRecord>,
    /// The facts for the filters.
    pub(crate) facts: Facts,
    /// Number of shoots on the seed.
    pub(crate) used: i64,
}

/// A seed with its object.
pub(crate) struct SeedRecord {
    pub(crate) object: Arc<Object>,
    pub(crate) seed: Seed,
    /// The labels that scheduling uses, which include provider type, region, and the names of this seed and
    /// of the seed that hosts it.
    pub(crate) labels: Labels,
}

/// Facts for the filters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    /// Whether the seed is being deleted.
    pub(crate) deleting: bool,
    /// Whether the seed can run control planes.
    pub(crate) ready: ByRules<bool>,
    /// Whether the gardenlet has reconciled the seed at least once.
    pub(crate) reconciled: bool,
    /// Whether the seed is visible to the scheduler.
    pub(crate) visible: ByRules<bool>,
    /// Whether shoots on the seed get DNS records.
    pub(crate) dns: bool,
    /// The provider type, as a number of [`Names::providers`].
    pub(crate) provider: u32,
    /// The region, as a number of [`Names::regions`].
    pub(crate) region: u32,
    /// Number of shoots that fit on the seed; `None` is unlimited.
    pub(crate) limit: Option<i64>,
    /// The ranges of nodes, pods and services.
    pub(crate) networks: [Range; 3],
    /// The default ranges of shoots for nodes (always none), pods and services.
    pub(crate) defaults: [Range; 3],
    /// The default ranges that overlap with a reserved range, as bits.
    pub(crate) reserved: u32,
    /// The labels, as pairs of numbers of [`Names::labels`].
    pub(crate) labels: Arc<[(u32, u32)]>,
    /// The taints that require a toleration.
    pub(crate) taints: ByRules<Arc<[SeedTaint]>>,
    /// The availability zones.
    pub(crate) zones: Arc<[String]>,
    /// The effect of the zones of workers.
    pub(crate) zone_mode: ZoneMode,
    /// The names of the access restrictions that the seed offers.
    pub(crate) restrictions: Arc<[String]>,
    /// The default domains of shoots. The first is for shoots without a domain.
    pub(crate) domains: Arc<[String]>,
    /// Whether the seed does not reconcile its shoots (emergency stop).
    pub(crate) stopped: bool,
    /// Whether the seed reports a version of Gardener with the current rules.
    pub(crate) modern: bool,
}

/// A fact about a seed that differs between the rules of v1.8 and the current rules.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByRules<T>([T; 2]);

impl<T> ByRules<T> {
    fn new(of: impl Fn(Rules) -> T) -> Self {
        Self([of(Rules::Documented), of(Rules::Current)])
    }

    /// The fact under `rules`.
    pub(crate) fn under(&self, rules: Rules) -> &T {
        match rules {
            Rules::Documented => &self.0[0],
            Rules::Current => &self.0[1],
        }
    }
}

/// The effect of the zones of a shoot's workers on a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneMode {
    /// The zones of workers have no effect.
    Free,
    /// The seed is preferred for shoots with workers in its zones.
    Prefer,
    /// The seed only accepts shoots with workers in its zones.
    Enforce,
}

/// The first release whose scheduler has the current rules, where these differ from the rules of v1.8.
const MODERN: (u32, u32) = (1, 49);

impl Row {
    /// Parses a Seed with `used` shoots on it. `below` is the seed that hosts this seed, if this seed is
    /// itself a shoot.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
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

    /// Whether the seed has room for a shoot whose `own` seats on the seed are not counted.
    pub(crate) fn has_room(&self, own: i64) -> bool {
        self.facts.limit.is_none_or(|limit| self.used - own < limit)
    }
}

/// The first condition that keeps the seed from being ready, and its status (empty when it is missing).
pub(crate) fn unready(seed: &Seed, rules: Rules) -> Option<(&'static str, &str)> {
    let is_required = |name: &str, is_there: bool| match name {
        "Bootstrapped" => is_there && rules == Rules::Documented,
        "BackupBucketsReady" => seed.spec.backup.is_some(),
        _ => true,
    };
    ["GardenletReady", "Bootstrapped", "BackupBucketsReady"]
        .into_iter()
        .find_map(|name| {
            let known = condition(&seed.status.conditions, name);
            let status = known.map_or("", |condition| condition.status.as_str());
            (is_required(name, known.is_some()) && status != "True").then_some((name, status))
        })
}

/// The taints that require a toleration. In v1.8, taints that also exist as settings of the seed required no
/// toleration.
fn taints(seed: &Seed, rules: Rules) -> Arc<[SeedTaint]> {
    let counts = |taint: &&SeedTaint| rules == Rules::Current || !is_special_taint(&taint.key);
    seed.spec.taints.iter().filter(counts).cloned().collect()
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
    let Some(ranges) = &seed.spec.networks.shoot_defaults else {
        return [Range::NONE; 3];
    };
    [
        Range::NONE,
        Range::of(ranges.pods.as_deref()),
        Range::of(ranges.services.as_deref()),
    ]
}

/// The `ranges` that overlap with a reserved range, as bits.
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
