//! One request to the fleet: the rows in one list, and the shoot's requirements. Provider types and regions
//! are the fleet's numbers for their names.

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

/// The rule that determines the candidates (docs/systems/gardener.md, "Strategies").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Seeds of the shoot's own provider type and region.
    SameRegion,
    /// Seeds with the smallest distance among the seeds that the other filters admit.
    MinimalDistance,
    /// Seeds of the shoot's own provider type in any region, for the purpose testing.
    SameProvider,
}

impl Rule {
    /// The rule for a shoot: its purpose takes precedence over the configured strategy.
    pub(crate) fn of(strategy: Strategy, wants: &Requirements) -> Self {
        match (wants.testing, strategy) {
            (true, _) => Self::SameProvider,
            (false, Strategy::SameRegion) => Self::SameRegion,
            (false, Strategy::MinimalDistance) => Self::MinimalDistance,
        }
    }
}

/// The provider types that one selector admits.
#[derive(Clone, Debug)]
enum Providers {
    Any,
    Only(Vec<u32>),
}

impl Providers {
    fn admit(&self, provider: u32) -> bool {
        match self {
            Self::Any => true,
            Self::Only(list) => list.contains(&provider),
        }
    }
}

/// The requirements of one shoot, with the fleet's numbers for provider types and regions.
pub(crate) struct Request<'a> {
    fleet: &'a Fleet,
    /// The candidates, by index.
    pub(crate) rows: Vec<&'a Row>,
    pub(crate) wants: &'a Requirements,
    pub(crate) rule: Rule,
    pub(crate) rules: Rules,
    /// The name of the project of the shoot.
    pub(crate) project: &'a str,
    pub(crate) profile_labels: LabelTest,
    pub(crate) shoot_labels: LabelTest,
    /// The values of the tolerations that count, by key. If a key has several tolerations, the last counts.
    pub(crate) tolerations: BTreeMap<&'a str, &'a str>,
    /// Number of tolerations, including tolerations with the same key.
    pub(crate) toleration_count: usize,
    /// The provider types of seeds that the profile and the shoot admit.
    providers: [Providers; 2],
    /// The provider types of seeds that the profile alone admits.
    profile_providers: Providers,
    /// The shoot's own provider type, if any seed has it.
    provider: Option<u32>,
    /// The shoot's own region, if any seed has it.
    region: Option<u32>,
    /// The shoot's own seeds, on which its own seats are not counted as used.
    own: [Option<Ix>; 2],
}

impl<'a> Request<'a> {
    /// Creates the request of a shoot on the seeds `own`, with the requirements `wants` and the profile
    /// `profile`.
    pub(crate) fn new(
        fleet: &'a Fleet,
        wants: &'a Requirements,
        profile: &Profile,
        own: &[Option<Arc<str>>; 2],
    ) -> Self {
        let provider = fleet.names.providers.find(&wants.provider);
        let rules = fleet.rules();
        let shoot_types = provider_types(wants, rules);
        let providers = if profile.provider_types.is_empty() && shoot_types.is_empty() {
            [Providers::Only(provider.into_iter().collect()), Providers::Any]
        } else {
            [&profile.provider_types, shoot_types].map(|types| admitted(fleet, types))
        };
        let is_judged = own[0].is_some();
        let seat = |name: &Option<Arc<str>>| fleet.seed(name.as_deref()?).map(|(place, _)| place);
        Self {
            fleet,
            rows: fleet.rows.iter().collect(),
            wants,
            rule: Rule::of(fleet.config.strategy, wants),
            rules,
            project: fleet.project_name(&wants.namespace),
            profile_labels: LabelTest::new(&profile.selector, &fleet.names.labels),
            shoot_labels: LabelTest::new(&wants.selector, &fleet.names.labels),
            tolerations: BTreeMap::new(),
            toleration_count: 0,
            providers,
            profile_providers: admitted(fleet, &profile.provider_types),
            provider,
            region: fleet.names.regions.find(&wants.region),
            own: [seat(&own[0]), seat(&own[1])],
        }
        .tolerating(is_judged)
    }

    /// The request for a manual binding by an operator, in which all tolerations of the shoot count.
    pub(crate) fn for_manual_binding(self) -> Self {
        self.tolerating(true)
    }

    fn tolerating(mut self, is_judged: bool) -> Self {
        let all = self.fleet.tolerations_of(self.wants, is_judged);
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

    /// Number of seats of `candidate` that the shoot itself takes.
    pub(crate) fn own_seats(&self, candidate: Ix) -> i64 {
        i64::from(self.own.contains(&Some(candidate)))
    }

    /// Number of other shoots on `candidate`.
    pub(crate) fn used(&self, candidate: Ix) -> i64 {
        self.row(candidate).used - self.own_seats(candidate)
    }

    /// Whether the selectors of the shoot and of its profile admit the seed's provider type.
    pub(crate) fn admits_provider(&self, row: &Row) -> bool {
        self.providers
            .iter()
            .all(|providers| providers.admit(row.facts.provider))
    }

    /// Whether the profile alone admits the seed's provider type.
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

    /// The distances of `candidates` by the ConfigMap for the shoot's profile; `None` if there is no such
    /// ConfigMap, or it has no distance.
    pub(crate) fn known_distances(&self, candidates: &[Ix]) -> Vec<Option<i64>> {
        let distances = self.fleet.distances_from(self.wants);
        let distance_of =
            |candidate: &Ix| distances?.to(&self.row(*candidate).record.seed.spec.provider.region);
        candidates.iter().map(distance_of).collect()
    }

    /// The distances of `candidates` by the names of regions, with a penalty for another provider type. The
    /// distance of each region is computed once.
    pub(crate) fn distances(&self, candidates: &[Ix]) -> Vec<u32> {
        let shoot_region = Region::of(&self.wants.region);
        let mut computed = vec![u32::MAX; self.fleet.names.regions.count() as usize];
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

/// The provider types in the shoot's selector; empty by the current rules, under which only the provider
/// types of the profile count.
pub(crate) fn provider_types(wants: &Requirements, rules: Rules) -> &[String] {
    match rules {
        Rules::Documented => &wants.provider_types,
        Rules::Current => &[],
    }
}

fn admitted(fleet: &Fleet, types: &[String]) -> Providers {
    if types.is_empty() || types.iter().any(|name| name == "*") {
        return Providers::Any;
    }
    Providers::Only(
        types
            .iter()
            .filter_map(|name| fleet.names.providers.find(name))
            .collect(),
    )
}
