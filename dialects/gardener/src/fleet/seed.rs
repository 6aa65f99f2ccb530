//! A seed as decisions use it.

use std::sync::Arc;

use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::{Labels, Object};
use berth_dialect_contract::rules::Rules;

use super::Interners;
use crate::cidr::Range;
use crate::kind::common::{condition, minor_version};
use crate::kind::seed::spec::{Seed, SeedTaint};
use crate::names::{EMERGENCY_STOP, PROVIDER_LABEL, REGION_LABEL, SEED_NAME_LABEL, needs_no_toleration};

/// A seed as decisions use it. Facts that every decision reads are in the row itself, and not behind a
/// pointer.
#[derive(Clone)]
pub(crate) struct Row {
    /// The name of the seed.
    pub(crate) name: Arc<str>,
    /// The object, for sentences, views and writes.
    pub(crate) record: Arc<SeedRecord>,
    /// The facts that filters use.
    pub(crate) facts: SeedFacts,
    /// The number of shoots on the seed.
    pub(crate) used: i64,
}

/// The object of a seed.
pub(crate) struct SeedRecord {
    /// The Seed itself.
    pub(crate) object: Arc<Object>,
    /// The parsed Seed.
    pub(crate) seed: Seed,
    /// The labels for selectors: those of the object, and labels with the provider type, the region, the name
    /// of the seed, and, if the seed is itself a shoot, the name of the seed that hosts it.
    pub(crate) labels: Labels,
}

/// The facts about a seed that filters use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeedFacts {
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
    /// The provider type, as a number in [`Interners::providers`].
    pub(crate) provider: u32,
    /// The region, as a number in [`Interners::regions`].
    pub(crate) region: u32,
    /// The highest number of shoots on the seed; `None` without a limit.
    pub(crate) limit: Option<i64>,
    /// The IP ranges of nodes, pods and services of the seed.
    pub(crate) networks: [Range; 3],
    /// The default IP ranges for nodes (always none), pods and services of shoots on the seed.
    pub(crate) defaults: [Range; 3],
    /// The default ranges that overlap with a reserved range: bit 0 is nodes, 1 is pods, 2 is services.
    pub(crate) reserved: u32,
    /// The labels for selectors, as pairs of numbers in [`Interners::labels`].
    pub(crate) labels: Arc<[(u32, u32)]>,
    /// The taints that require a toleration.
    pub(crate) taints: ByRules<Arc<[SeedTaint]>>,
    /// The availability zones of the seed.
    pub(crate) zones: Arc<[String]>,
    /// The effect of the zones of a shoot's workers.
    pub(crate) zone_mode: ZoneMode,
    /// The names of the access restrictions that the seed offers.
    pub(crate) restrictions: Arc<[String]>,
    /// The default domains for shoots on the seed. The first is used for shoots without a domain.
    pub(crate) domains: Arc<[String]>,
    /// Whether the seed does not reconcile its shoots (emergency stop).
    pub(crate) stopped: bool,
    /// Whether the seed reports a version of Gardener with the current rules.
    pub(crate) has_current_rules: bool,
}

/// A fact about a seed by the rules of v1.8 and by the current rules, which differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByRules<T>([T; 2]);

impl<T> ByRules<T> {
    fn new(fact: impl Fn(Rules) -> T) -> Self {
        Self([fact(Rules::Documented), fact(Rules::Current)])
    }

    /// The fact by `rules`.
    pub(crate) fn under(&self, rules: Rules) -> &T {
        match rules {
            Rules::Documented => &self.0[0],
            Rules::Current => &self.0[1],
        }
    }
}

/// The effect of the zones of a shoot's workers on the choice of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneMode {
    /// The zones of workers have no effect.
    Free,
    /// The seed is preferred for shoots with workers in its zones.
    Prefer,
    /// The seed only accepts shoots with workers in its zones.
    Enforce,
}

/// The first release of Gardener whose scheduler has the current rules instead of the rules of v1.8.
const FIRST_WITH_CURRENT_RULES: (u32, u32) = (1, 49);

impl Row {
    /// Parses the Seed `object`, which has `used` shoots. `host` is the name of the seed that hosts it, if
    /// the Seed is itself a shoot.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(
        object: &Arc<Object>,
        used: i64,
        host: Option<&str>,
        interners: &mut Interners,
    ) -> Result<Self, String> {
        let seed: Seed = object.view().map_err(|error| error.to_string())?;
        let meta = object.meta();
        let mut labels = meta.labels().to_map();
        labels.insert(PROVIDER_LABEL.to_owned(), seed.spec.provider.r#type.clone());
        labels.insert(REGION_LABEL.to_owned(), seed.spec.provider.region.clone());
        for name in host.into_iter().chain([meta.name()]) {
            labels.insert(format!("{SEED_NAME_LABEL}{name}"), "true".to_owned());
        }
        let labels = Labels::from(labels);
        let facts = SeedFacts {
            deleting: meta.deletion_timestamp().is_some(),
            ready: ByRules::new(|rules| unready(&seed, rules).is_none()),
            reconciled: seed.status.last_operation.is_some(),
            visible: ByRules::new(|rules| seed.spec.is_visible(rules)),
            dns: seed.spec.is_dns_enabled(),
            provider: interners.providers.number(&seed.spec.provider.r#type),
            region: interners.regions.number(&seed.spec.provider.region),
            limit: limit(&seed)?,
            networks: networks(&seed),
            defaults: defaults(&seed),
            reserved: reserved(&defaults(&seed)),
            labels: interned(&labels, interners),
            taints: ByRules::new(|rules| taints(&seed, rules)),
            zones: seed.spec.provider.zones.as_slice().into(),
            zone_mode: zone_mode(&seed),
            restrictions: restrictions(&seed),
            domains: seed.spec.default_domains().map(str::to_owned).collect(),
            stopped: object.annotations().get(EMERGENCY_STOP).as_deref() == Some("true"),
            has_current_rules: has_current_rules(&seed),
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

    /// Whether the seed has room for a shoot. `own` is 1 if the shoot is already counted on the seed,
    /// otherwise 0.
    pub(crate) fn has_room(&self, own: i64) -> bool {
        self.facts.limit.is_none_or(|limit| self.used - own < limit)
    }
}

/// The type and the status of the first condition because of which the seed is not ready; the status of a
/// missing condition is empty. `None` for a ready seed.
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

/// The taints that require a toleration. By the rules of v1.8, taints that also exist as settings of the seed
/// require none.
fn taints(seed: &Seed, rules: Rules) -> Arc<[SeedTaint]> {
    let counts = |taint: &&SeedTaint| rules == Rules::Current || !needs_no_toleration(&taint.key);
    seed.spec.taints.iter().filter(counts).cloned().collect()
}

fn zone_mode(seed: &Seed) -> ZoneMode {
    match seed.spec.zone_selection() {
        "Prefer" => ZoneMode::Prefer,
        "Enforce" => ZoneMode::Enforce,
        _ => ZoneMode::Free,
    }
}

/// The names of the access restrictions that the seed offers.
fn restrictions(seed: &Seed) -> Arc<[String]> {
    let offered = seed.spec.access_restrictions.iter();
    offered.map(|restriction| restriction.name.clone()).collect()
}

/// Whether the seed reports a version of Gardener with the current rules.
fn has_current_rules(seed: &Seed) -> bool {
    let version = seed
        .status
        .gardener
        .as_ref()
        .map(|gardener| gardener.version.as_str());
    version.and_then(minor_version) >= Some(FIRST_WITH_CURRENT_RULES)
}

/// The highest number of shoots on the seed; `None` without a limit.
///
/// # Errors
/// The error of a number that is not a quantity.
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

/// The ranges of nodes, pods and services that overlap with a reserved range: bit 0 is nodes, 1 is pods, 2 is
/// services.
pub(crate) fn reserved(ranges: &[Range; 3]) -> u32 {
    let bits = ranges.iter().enumerate();
    bits.map(|(bit, range)| u32::from(range.reserved_for().is_some()) << bit)
        .sum()
}

/// The labels as pairs of numbers in [`Interners::labels`].
fn interned(labels: &Labels, interners: &mut Interners) -> Arc<[(u32, u32)]> {
    labels
        .iter()
        .map(|(key, value)| (interners.labels.number(key), interners.labels.number(value)))
        .collect()
}
