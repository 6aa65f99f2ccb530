//! Selection (docs/systems/kcp.md, "Selection"): the next state of each entry, the Location for a new
//! cluster, and the chosen cluster. These are pure functions.
//!
//! A namespace keeps its location. While an entry in a location is active, no new cluster is chosen in this
//! location. A namespace that must leave a cluster gets another cluster of the same location, in the same
//! write. A namespace may get a cluster of any location only if it has no active entry and is not leaving a
//! location that still exists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_scheduling::{Ix, Random, Rejections, filter};

use crate::code::{Code, Plugin};
use crate::fleet::{Fleet, NamespaceRecord};
use crate::location_string::LocationString;
use crate::machine::placement_step;
use crate::names::DEFAULT_LOCATION;
use crate::placement::{Placement, State};
use crate::request::Request;

/// The scope of the search for a new cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every cluster, since there are no locations: all clusters are in the virtual location `default`.
    Default,
    /// The clusters of every location.
    Any,
    /// The clusters of the locations with these numbers.
    Only(Vec<u32>),
}

/// The entries of a namespace that are kept, and the new clusters that the namespace needs.
#[derive(Debug)]
pub(crate) struct KeptEntries {
    /// The entries that stay, each in its new state.
    pub(crate) placement: Placement,
    /// Whether any entry is active.
    pub(crate) active: bool,
    /// The locations that need a new cluster, by name.
    pub(crate) reschedule: Vec<Arc<str>>,
    /// Whether the namespace needs one cluster of any location, since no entry is active and the namespace
    /// does not leave a location that still exists.
    pub(crate) anywhere: bool,
    /// The scope of the search; if no new cluster is needed, the locations of the active entries.
    pub(crate) scope: Scope,
    /// The first time at which an eviction starts on the cluster of an active entry.
    pub(crate) evicted_at: Option<Timestamp>,
}

impl KeptEntries {
    /// Number of new clusters that the namespace needs.
    pub(crate) fn wanted(&self) -> usize {
        if self.anywhere { 1 } else { self.reschedule.len() }
    }
}

impl Scope {
    /// The refusal of clusters in exactly the locations with the numbers in `set`; `None` if the scope has
    /// them.
    fn refusal(&self, set: &[u32]) -> Option<Code> {
        match self {
            Self::Default => None,
            _ if set.is_empty() => Some(Code::NotInLocation),
            Self::Any => None,
            Self::Only(numbers) if set.iter().any(|number| numbers.contains(number)) => None,
            Self::Only(_) => Some(Code::OtherLocation),
        }
    }
}

impl Fleet {
    /// Whether the location of `place` exists. If there are no Locations, the virtual location exists.
    fn has_location(&self, place: &LocationString) -> bool {
        place.location_cluster == self.config.location_cluster
            && (self.locations.contains_key(&place.location)
                || self.locations.is_empty() && *place.location == *DEFAULT_LOCATION)
    }

    /// Whether the entry `place` may stay: the cluster is in the location and does not evict namespaces. It
    /// does not matter whether the cluster is ready or cordoned. Every cluster may be in a location that
    /// cannot be parsed.
    fn is_admissible(&self, place: &LocationString, now: Timestamp) -> bool {
        let Some((_, row)) = self.find_row(&place.identifier) else {
            return false;
        };
        let is_member = match self.locations.get(&place.location) {
            Some(location) => {
                location.selector.is_none() || self.locations_of(row).contains(&location.number)
            }
            None => true,
        };
        self.has_location(place) && is_member && !row.facts.is_evicting(now)
    }

    /// The entries of `record` after [`placement_step`], and the new clusters that the namespace needs. If
    /// `is_selected` is false, no entry is admissible and no new cluster is needed.
    pub(crate) fn keep(&self, record: &NamespaceRecord, is_selected: bool, now: Timestamp) -> KeptEntries {
        let mut placement = Placement::default();
        for (place, &state) in &record.reading.placement.0 {
            let admissible = is_selected && self.is_admissible(place, now);
            if let Some(next) = placement_step(state, admissible) {
                placement.0.insert(place.clone(), next);
            }
        }
        let mut active = BTreeSet::new();
        let mut leaving = BTreeSet::new();
        let mut evicted_at = None;
        for (place, state) in &placement.0 {
            if state.is_active() {
                active.insert(&place.location);
                let evict_after = self
                    .find_row(&place.identifier)
                    .map(|(_, row)| row.facts.evict_after);
                evicted_at = [
                    evicted_at,
                    evict_after.filter(|&evict_after| evict_after < Timestamp::MAX),
                ]
                .into_iter()
                .flatten()
                .min();
            } else if self.has_location(place) {
                leaving.insert(&place.location);
            }
        }
        let reschedule: Vec<Arc<str>> = if is_selected {
            leaving.difference(&active).map(|name| Arc::clone(name)).collect()
        } else {
            Vec::new()
        };
        let anywhere = is_selected && reschedule.is_empty() && active.is_empty();
        let scope_locations = if reschedule.is_empty() {
            active.iter().map(|name| Arc::clone(name)).collect()
        } else {
            reschedule.clone()
        };
        let is_active = !active.is_empty();
        KeptEntries {
            scope: self.scope(anywhere, &scope_locations),
            active: is_active,
            placement,
            reschedule,
            anywhere,
            evicted_at,
        }
    }

    /// The scope of a search: `anywhere`, or only the locations `names`.
    fn scope(&self, anywhere: bool, names: &[Arc<str>]) -> Scope {
        if self.locations.is_empty() {
            return Scope::Default;
        }
        if anywhere {
            return Scope::Any;
        }
        let numbers = names.iter().filter_map(|name| self.locations.get(name));
        Scope::Only(numbers.map(|location| location.number).collect())
    }
}

/// The verdicts on all clusters.
#[derive(Debug)]
pub(crate) struct ClusterVerdicts {
    /// The clusters that no filter refuses, in name order.
    pub(crate) feasible: Vec<Ix>,
    /// The number of the set of locations of each cluster in `feasible`.
    sets: Vec<u32>,
    /// Every refusal of every filter.
    pub(crate) rejections: Rejections,
    /// The clusters of active entries, in name order.
    pub(crate) held: Vec<Ix>,
}

/// Runs the filters over all clusters, for a namespace with the entries in `kept`.
pub(crate) fn judge(fleet: &Fleet, kept: &KeptEntries, now: Timestamp) -> ClusterVerdicts {
    let (mut held, mut leaving) = (Vec::new(), Vec::new());
    for (place, state) in &kept.placement.0 {
        if let Some((candidate, _)) = fleet.find_row(&place.identifier) {
            if state.is_active() {
                &mut held
            } else {
                &mut leaving
            }
            .push(candidate);
        }
    }
    held.sort_unstable();
    leaving.sort_unstable();
    let request = Request {
        rows: fleet.rows.iter().collect(),
        sets: fleet.sets.map(|set| kept.scope.refusal(set)),
        leaving,
        now,
    };
    let (feasible, rejections) = filter(&request, fleet.cluster_count(), &Plugin::ALL.each_ref());
    let sets = feasible
        .iter()
        .map(|&candidate| request.rows[candidate as usize].facts.locations);
    ClusterVerdicts {
        sets: sets.collect(),
        feasible,
        rejections,
        held,
    }
}

/// A location and the cluster that is chosen for it.
pub(crate) type Choice = (Arc<str>, Ix);

/// The clusters that may be chosen, each with the number of its set of locations.
type FreeClusters = Vec<(Ix, u32)>;

/// Chooses at random the new clusters that the namespace of `kept` needs. Returns the choices, and the
/// locations for which there is no cluster.
pub(crate) fn choose(
    fleet: &Fleet,
    kept: &KeptEntries,
    verdicts: &ClusterVerdicts,
    seed: u64,
) -> (Vec<Choice>, Vec<Arc<str>>) {
    let mut random = Random::new(seed);
    if kept.wanted() == 0 {
        return (Vec::new(), Vec::new());
    }
    let mut free: FreeClusters = verdicts
        .feasible
        .iter()
        .zip(&verdicts.sets)
        .filter(|(candidate, _)| verdicts.held.binary_search(candidate).is_err())
        .map(|(&candidate, &set)| (candidate, set))
        .collect();
    if kept.anywhere {
        let choice = choose_anywhere(fleet, &free, &mut random);
        return (choice.into_iter().collect(), Vec::new());
    }
    let (mut choices, mut unmet) = (Vec::new(), Vec::new());
    for location in &kept.reschedule {
        match draw(&members(fleet, &free, location), &mut random) {
            Some(candidate) => {
                free.retain(|&(other, _)| other != candidate);
                choices.push((Arc::clone(location), candidate));
            }
            None => unmet.push(Arc::clone(location)),
        }
    }
    (choices, unmet)
}

/// Chooses at random first a location with free clusters, then one of these clusters.
fn choose_anywhere(fleet: &Fleet, free: &FreeClusters, random: &mut Random) -> Option<Choice> {
    if fleet.locations.is_empty() {
        let location = Arc::from(DEFAULT_LOCATION);
        let candidate = draw(&members(fleet, free, &location), random)?;
        return Some((location, candidate));
    }
    let mut seen = fleet.sets.map(|_| false);
    for &(_, set) in free {
        seen[set as usize] = true;
    }
    let sets = (0..).zip(seen).filter(|(_, seen)| *seen);
    let numbers: BTreeSet<u32> = sets
        .flat_map(|(set, _)| fleet.sets.get(set).iter().copied())
        .collect();
    let mut names: Vec<&Arc<str>> = numbers
        .into_iter()
        .map(|number| fleet.numbers.name(number))
        .collect();
    names.sort_unstable();
    let location = draw(&names, random)?;
    let candidate = draw(&members(fleet, free, location), random)?;
    Some((Arc::clone(location), candidate))
}

/// A random element of `list`; `None` if the list is empty.
fn draw<T: Copy>(list: &[T], random: &mut Random) -> Option<T> {
    let place = random.below(list.len() as u64);
    list.get(usize::try_from(place).ok()?).copied()
}

/// The `free` clusters in `location`; the virtual location contains every cluster.
fn members(fleet: &Fleet, free: &FreeClusters, location: &Arc<str>) -> Vec<Ix> {
    let number = fleet.locations.get(location).map(|record| record.number);
    let sets_inside = fleet
        .sets
        .map(|set| number.is_none_or(|number| set.contains(&number)));
    let members = free.iter().filter(|(_, set)| sets_inside[*set as usize]);
    members.map(|&(candidate, _)| candidate).collect()
}

/// Assigns a location to each cluster in `chosen`; `None` if this is impossible. The clusters are feasible,
/// and not more than the namespace needs.
pub(crate) fn assign(fleet: &Fleet, kept: &KeptEntries, chosen: &[Ix], seed: u64) -> Option<Vec<Choice>> {
    let alone = |candidate: Ix| vec![(candidate, fleet.row(candidate).facts.locations)];
    if kept.anywhere {
        let choices = chosen
            .iter()
            .map(|&candidate| choose_anywhere(fleet, &alone(candidate), &mut Random::new(seed)));
        return choices.collect();
    }
    let fits = |candidate: Ix, location: usize| {
        !members(fleet, &alone(candidate), &kept.reschedule[location]).is_empty()
    };
    let mut assignment: BTreeMap<usize, Ix> = BTreeMap::new();
    for &candidate in chosen {
        if !assign_candidate(
            candidate,
            kept.reschedule.len(),
            &fits,
            &mut assignment,
            &mut BTreeSet::new(),
        ) {
            return None;
        }
    }
    let choice = |(location, candidate): (usize, Ix)| (Arc::clone(&kept.reschedule[location]), candidate);
    Some(assignment.into_iter().map(choice).collect())
}

/// Assigns `candidate` to one of `count` locations, and reassigns other candidates if necessary. Returns
/// whether this succeeded. `tried` are the locations that were tried already.
fn assign_candidate(
    candidate: Ix,
    count: usize,
    fits: &dyn Fn(Ix, usize) -> bool,
    assignment: &mut BTreeMap<usize, Ix>,
    tried: &mut BTreeSet<usize>,
) -> bool {
    for location in 0..count {
        if !fits(candidate, location) || !tried.insert(location) {
            continue;
        }
        let is_free = match assignment.get(&location).copied() {
            None => true,
            Some(other) => assign_candidate(other, count, fits, assignment, tried),
        };
        if is_free {
            assignment.insert(location, candidate);
            return true;
        }
    }
    false
}

/// The placement in `kept`, with an entry for each of the `choices`.
pub(crate) fn with_choices(fleet: &Fleet, kept: &KeptEntries, choices: &[Choice]) -> Placement {
    let mut placement = kept.placement.clone();
    for (location, candidate) in choices {
        let identifier = &fleet.row(*candidate).identifier;
        let place = LocationString::new(&fleet.config.location_cluster, location, identifier);
        placement.0.insert(place, State::Pending);
    }
    placement
}
