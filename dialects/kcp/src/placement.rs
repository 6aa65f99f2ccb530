//! The annotation `scheduling.kcp.dev/placement`: a JSON object from location strings to states
//! (docs/systems/kcp.md, "Location strings" and "The placement annotation").
//!
//! There are two parsers. [`Placement::parse`] is strict and returns every error, for the validation of
//! writes. [`StoredPlacement::of`] keeps the valid entries of a stored value, one for each cluster, for the
//! controllers.

mod pairs;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::location_string::LocationString;
use pairs::Pairs;

/// The state of one entry of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The cluster is chosen, and the namespace controller has not adopted the entry yet.
    Pending,
    /// The entry is adopted: the cluster's syncer syncs the namespace.
    Bound,
    /// The namespace has to leave the cluster.
    Removing,
    /// The cluster has released the namespace; the entry will be removed.
    Unbound,
}

impl State {
    /// Every state, in the order of an entry's life.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Bound, Self::Removing, Self::Unbound];

    /// The name of the state, as in the annotation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Bound => "Bound",
            Self::Removing => "Removing",
            Self::Unbound => "Unbound",
        }
    }

    /// The state with this exact name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// Whether the namespace is on the cluster, or on its way there.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Pending | Self::Bound)
    }

    /// The weight for a choice between two entries with one identifier: the entry with the larger weight is
    /// kept.
    const fn weight(self) -> u8 {
        match self {
            Self::Unbound => 0,
            Self::Pending => 1,
            Self::Removing => 2,
            Self::Bound => 3,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A problem of one entry, or of the whole annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key of the entry in the annotation; `None` for a problem of the whole annotation.
    pub entry: Option<String>,
    /// The problem in words.
    pub problem: String,
}

impl Problem {
    fn whole(problem: String) -> Self {
        Self { entry: None, problem }
    }

    fn of(entry: &str, problem: String) -> Self {
        Self {
            entry: Some(entry.to_owned()),
            problem,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entry {
            Some(entry) => write!(f, "entry \"{entry}\": {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

/// The entries of a placement, by location string. There is at most one entry per identifier, since the
/// labels for syncing only contain identifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement(pub BTreeMap<LocationString, State>);

impl Placement {
    /// Parses the value of the annotation strictly.
    ///
    /// # Errors
    /// All errors in the value.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let pairs = Pairs::parse(text).map_err(|problem| vec![Problem::whole(problem)])?;
        let Some(pairs) = pairs else {
            return Err(vec![Problem::whole(pairs::not_an_object("null"))]);
        };
        let mut problems: Vec<Problem> = pairs
            .duplicates()
            .map(|key| Problem::of(key, "is repeated".to_owned()))
            .collect();
        let mut seen: BTreeMap<Arc<str>, String> = BTreeMap::new();
        let mut map = BTreeMap::new();
        for (key, word) in pairs.0 {
            match entry(&key, &word) {
                Ok((place, state)) => {
                    let first = seen
                        .entry(Arc::clone(&place.identifier))
                        .or_insert_with(|| key.clone());
                    if *first != key {
                        let problem = format!(
                            "workload cluster \"{}\" already has the entry \"{first}\", and may only have one entry",
                            place.identifier
                        );
                        problems.push(Problem::of(&key, problem));
                    }
                    map.insert(place, state);
                }
                Err(problem) => problems.push(Problem::of(&key, problem)),
            }
        }
        if problems.is_empty() {
            Ok(Self(map))
        } else {
            Err(problems)
        }
    }

    /// The value of the annotation: compact JSON, sorted by location string, and `{}` without entries.
    #[must_use]
    pub fn to_text(&self) -> String {
        let entries = self.0.iter();
        let map: Map<String, Value> = entries
            .map(|(place, state)| (place.to_string(), state.as_str().into()))
            .collect();
        Value::Object(map).to_string()
    }

    /// The entry of the workload cluster with this identifier.
    #[must_use]
    pub fn of(&self, identifier: &str) -> Option<(&LocationString, State)> {
        let found = self.0.iter().find(|(place, _)| *place.identifier == *identifier);
        found.map(|(place, &state)| (place, state))
    }
}

fn entry(key: &str, word: &str) -> Result<(LocationString, State), String> {
    let place = LocationString::parse(key).map_err(|error| error.to_string())?;
    let state = State::named(word).ok_or_else(|| {
        let states = State::ALL.map(State::as_str).join(", ");
        format!("has the unknown state \"{word}\"; states are {states}")
    })?;
    Ok((place, state))
}

/// The form of a stored placement annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// The annotation is absent or empty.
    Absent,
    /// The annotation is `null`, which counts as no entries.
    Null,
    /// The annotation is a JSON object of strings.
    Map,
    /// The annotation is invalid for this reason, and counts as no placement.
    Malformed(String),
}

/// A stored placement annotation: its form, and its valid entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPlacement {
    /// The form of the annotation.
    pub form: Form,
    /// The entries that can be parsed, one for each cluster.
    pub placement: Placement,
    /// The entries that cannot be parsed, or whose cluster has another entry. The placement controller
    /// removes these entries.
    pub dropped: Vec<Problem>,
}

impl StoredPlacement {
    /// Parses the value of the annotation; `text` is `None` if the annotation is absent.
    #[must_use]
    pub fn of(text: Option<&str>) -> Self {
        let mut stored = Self {
            form: Form::Absent,
            placement: Placement::default(),
            dropped: Vec::new(),
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return stored;
        };
        match Pairs::parse(text) {
            Ok(Some(pairs)) => {
                stored.form = Form::Map;
                stored.add_entries(pairs);
            }
            Ok(None) => stored.form = Form::Null,
            Err(problem) => stored.form = Form::Malformed(problem),
        }
        stored
    }

    /// Adds the entries. If a key is repeated, the last entry with this key counts, as in JSON parsers.
    fn add_entries(&mut self, pairs: Pairs) {
        let last: BTreeMap<String, String> = pairs.0.into_iter().collect();
        let mut by_identifier: BTreeMap<Arc<str>, (LocationString, State)> = BTreeMap::new();
        for (key, word) in last {
            let (place, state) = match entry(&key, &word) {
                Ok(entry) => entry,
                Err(problem) => {
                    self.dropped.push(Problem::of(&key, problem));
                    continue;
                }
            };
            match by_identifier.entry(Arc::clone(&place.identifier)) {
                Entry::Vacant(slot) => {
                    slot.insert((place, state));
                }
                Entry::Occupied(mut slot) => {
                    let stronger = state.weight() > slot.get().1.weight();
                    let dropped_entry = if stronger {
                        slot.insert((place, state))
                    } else {
                        (place, state)
                    };
                    let problem = format!(
                        "workload cluster \"{}\" has another entry",
                        dropped_entry.0.identifier
                    );
                    self.dropped
                        .push(Problem::of(&dropped_entry.0.to_string(), problem));
                }
            }
        }
        self.placement = Placement(by_identifier.into_values().collect());
    }
}

#[cfg(test)]
mod tests;
