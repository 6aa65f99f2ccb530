//! The request of one shoot: the seeds as candidates, and the requirements of the shoot. The fleet's numbers
//! stand for the names of provider types and regions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use berth_dialect_columns::LabelTest;
use berth_dialect_contract::rules::Rules;
use berth_scheduling::Ix;

use crate::config::Strategy;
use crate::distance::{PROVIDER_PENALTY, Region};
use crate::fleet::Fleet;
use crate::fleet::profile::Profile;
use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;

/// The strategy that determines the candidates for one shoot (docs/systems/gardener.md, "Strategies").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectiveStrategy {
    /// Only seeds of the shoot's own provider type and region.
    SameRegion,
    /// Only the seeds at the smallest distance from the shoot, among the seeds that pass the other filters.
    MinimalDistance,
    /// Only seeds of the shoot's own provider type, in any region; for the purpose testing.
    SameProvider,
}

impl EffectiveStrategy {
    /// The strategy for a shoot with these `requirements`. The purpose testing takes precedence over the
    /// configured `strategy`.
    pub(crate) fn of(strategy: Strategy, requirements: &Requirements) -> Self {
        match (requirements.testing, strategy) {
            (true, _) => Self::SameProvider,
            (false, Strategy::SameRegion) => Self::SameRegion,
            (false, Strategy::MinimalDistance) => Self::MinimalDistance,
        }
    }
}

/// The provider types that one seed selector admits.
#[derive(Clone, Debug)]
enum Providers {
    /// All provider types.
    Any,
    /// The provider types with these numbers.
    Only(Vec<u32>),
}

impl Providers {
    /// The provider types in the list `types` of a seed selector. An empty list and `*` mean all types.
    fn of(fleet: &Fleet, types: &[String]) -> Self {
        if types.is_empty() || types.iter().any(|name| name == "*") {
            return Self::Any;
        }
        Self::Only(
            types
                .iter()
                .filter_map(|name| fleet.interners.providers.find(name))
                .collect(),
        )
    }

    fn admit(&self, provider: u32) -> bool {
        match self {
            Self::Any => true,
            Self::Only(list) => list.contains(&provider),
        }
    }
}

/// The request of one shoot: the candidates and the requirements. Numbers of the fleet stand for provider
/// types and regions.
pub(crate) struct Request<'a> {
    fleet: &'a Fleet,
    /// The rows of the candidates, by the number of the candidate.
    pub(crate) rows: Vec<&'a Row>,
    /// The requirements of the shoot.
    pub(crate) requirements: &'a Requirements,
    /// The strategy that determines the candidates.
    pub(crate) strategy: EffectiveStrategy,
    /// The rules in force.
    pub(crate) rules: Rules,
    /// The name of the project of the shoot.
    pub(crate) project: &'a str,
    /// The label selector of the cloud profile.
    pub(crate) profile_labels: LabelTest,
    /// The label selector of the shoot.
    pub(crate) shoot_labels: LabelTest,
    /// The values of the tolerations that count, by key. If a key has several tolerations, the last counts.
    pub(crate) tolerations: BTreeMap<&'a str, &'a str>,
    /// Number of tolerations that count, including tolerations with equal keys.
    pub(crate) toleration_count: usize,
    /// The provider types of seeds that the profile admits, and those that the shoot admits.
    providers: [Providers; 2],
    /// The provider types of seeds that the profile alone admits.
    profile_providers: Providers,
    /// The shoot's own provider type; `None` if no seed has this type.
    provider: Option<u32>,
    /// The shoot's own region; `None` if no seed is in this region.
    region: Option<u32>,
    /// The seeds on which the shoot itself is counted: the seed in the spec, and another seed in the status.
    own_seeds: [Option<Ix>; 2],
}

impl<'a> Request<'a> {
    /// Creates the request of a shoot with these `requirements` and this `profile`. `own_seeds` are the seeds on
    /// which the shoot itself is counted.
    pub(crate) fn new(
        fleet: &'a Fleet,
        requirements: &'a Requirements,
        profile: &Profile,
        own_seeds: &[Option<Arc<str>>; 2],
    ) -> Self {
        let provider = fleet.interners.providers.find(&requirements.provider);
        let rules = fleet.rules();
        let shoot_types = provider_types(requirements, rules);
        let providers = if profile.provider_types.is_empty() && shoot_types.is_empty() {
            [Providers::Only(provider.into_iter().collect()), Providers::Any]
        } else {
            [&profile.provider_types, shoot_types].map(|types| Providers::of(fleet, types))
        };
        // All tolerations of a bound shoot count, even if the project no longer allows them.
        let all_count = own_seeds[0].is_some();
        let candidate_of = |name: &Option<Arc<str>>| fleet.seed(name.as_deref()?).map(|(place, _)| place);
        Self {
            fleet,
            rows: fleet.rows.iter().collect(),
            requirements,
            strategy: EffectiveStrategy::of(fleet.config.strategy, requirements),
            rules,
            project: fleet.project_name(&requirements.namespace),
            profile_labels: LabelTest::new(&profile.selector, &fleet.interners.labels),
            shoot_labels: LabelTest::new(&requirements.selector, &fleet.interners.labels),
            tolerations: BTreeMap::new(),
            toleration_count: 0,
            providers,
            profile_providers: Providers::of(fleet, &profile.provider_types),
            provider,
            region: fleet.interners.regions.find(&requirements.region),
            own_seeds: [candidate_of(&own_seeds[0]), candidate_of(&own_seeds[1])],
        }
        .with_tolerations(all_count)
    }

    /// The request for a manual binding by an operator, in which all tolerations of the shoot count.
    pub(crate) fn for_manual_binding(self) -> Self {
        self.with_tolerations(true)
    }

    /// Sets the tolerations that count: all tolerations of the shoot if `all_count`, else the tolerations
    /// that the project or the configuration allows. Default tolerations always count.
    fn with_tolerations(mut self, all_count: bool) -> Self {
        let all = self.fleet.tolerations_of(self.requirements, all_count);
        self.toleration_count = all.len();
        let pairs = all.into_iter();
        self.tolerations = pairs
            .map(|toleration| {
                (
                    toleration.key.as_str(),
                    toleration.value.as_deref().unwrap_or_default(),
                )
            })
            .collect();
        self
    }

    /// The row of a candidate.
    pub(crate) fn row(&self, candidate: Ix) -> &'a Row {
        self.rows[candidate as usize]
    }

    /// Returns 1 if the shoot itself is counted on `candidate`, else 0.
    pub(crate) fn own_count(&self, candidate: Ix) -> i64 {
        i64::from(self.own_seeds.contains(&Some(candidate)))
    }

    /// Number of other shoots on `candidate`.
    pub(crate) fn other_shoots(&self, candidate: Ix) -> i64 {
        self.row(candidate).used - self.own_count(candidate)
    }

    /// Whether the selectors of the shoot and of its profile admit the provider type of the seed.
    pub(crate) fn admits_provider(&self, row: &Row) -> bool {
        self.providers
            .iter()
            .all(|providers| providers.admit(row.facts.provider))
    }

    /// Whether the selector of the profile alone admits the provider type of the seed.
    pub(crate) fn profile_admits_provider(&self, row: &Row) -> bool {
        self.profile_providers.admit(row.facts.provider)
    }

    /// Whether the seed has the shoot's own provider type.
    pub(crate) fn same_provider(&self, row: &Row) -> bool {
        Some(row.facts.provider) == self.provider
    }

    /// Whether the seed is in the shoot's own region.
    pub(crate) fn same_region(&self, row: &Row) -> bool {
        Some(row.facts.region) == self.region
    }

    /// The distances of `candidates` in the ConfigMap for the shoot's profile. `None` if there is no such
    /// ConfigMap, or it has no distance for the region of the candidate.
    pub(crate) fn known_distances(&self, candidates: &[Ix]) -> Vec<Option<i64>> {
        let distances = self.fleet.distances_from(self.requirements);
        let distance_of =
            |candidate: &Ix| distances?.to(&self.row(*candidate).record.seed.spec.provider.region);
        candidates.iter().map(distance_of).collect()
    }

    /// The distances of `candidates`, computed from the names of regions, with a penalty for another provider
    /// type. The distance of each region is computed only once.
    pub(crate) fn distances(&self, candidates: &[Ix]) -> Vec<u32> {
        let shoot_region = Region::of(&self.requirements.region);
        let mut computed = vec![u32::MAX; self.fleet.interners.regions.count() as usize];
        let scratch = RefCell::new(Vec::new());
        let measure = |candidate: &Ix| {
            let row = self.row(*candidate);
            let computed = &mut computed[row.facts.region as usize];
            if *computed == u32::MAX {
                let name = &row.record.seed.spec.provider.region;
                *computed = Region::of(name).distance(&shoot_region, true, &mut scratch.borrow_mut());
            }
            *computed
                + if self.same_provider(row) {
                    0
                } else {
                    PROVIDER_PENALTY
                }
        };
        candidates.iter().map(measure).collect()
    }
}

/// The provider types in the seed selector of a shoot that count under `rules`. By the current rules, only
/// the provider types of the profile count, so the result is empty.
pub(crate) fn provider_types(requirements: &Requirements, rules: Rules) -> &[String] {
    match rules {
        Rules::Documented => &requirements.provider_types,
        Rules::Current => &[],
    }
}
