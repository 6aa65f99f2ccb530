//! Distances between regions from ConfigMaps of the garden, for the strategy MinimalDistance
//! (docs/systems/gardener.md, "Distance").

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use serde_json::Value;

use super::Fleet;
use crate::fleet::shoot::Requirements;
use crate::names::{DISTANCES_LABEL, DISTANCES_LIMIT, DISTANCES_PROFILES, GARDEN_NAMESPACE};

/// Distances from one region to others, or the reason why they cannot be parsed.
type Distances = Result<BTreeMap<String, i64>, String>;

/// A ConfigMap with distances.
#[derive(Debug, PartialEq)]
pub(crate) struct RegionMap {
    /// The names of the profiles to which the distances apply.
    profiles: Vec<String>,
    /// The distances, by the region from which they are measured.
    regions: BTreeMap<String, Distances>,
    /// Longest distance of a live migration, or the reason why it cannot be parsed.
    limit: Result<i64, String>,
}

/// Longest distance of a live migration, if a ConfigMap does not set one.
const LIMIT: i64 = 180;

/// Whether a ConfigMap has distances.
pub(crate) fn has_distances(config_map: &Value) -> bool {
    let (label, purpose) = DISTANCES_LABEL;
    let metadata = &config_map["metadata"];
    metadata["namespace"] == GARDEN_NAMESPACE && metadata["labels"][label] == purpose
}

impl RegionMap {
    /// Parses the ConfigMap at `key`; `None` where it has no distances.
    pub(crate) fn read(key: &Key, object: &Object) -> Option<Self> {
        let value = object.value();
        if *key.namespace != *GARDEN_NAMESPACE || !has_distances(value) {
            return None;
        }
        let annotations = object.annotations();
        let named = annotations.get(DISTANCES_PROFILES);
        let profiles = named.as_deref().unwrap_or_default().split(',');
        let data = value["data"].as_object().into_iter().flatten();
        Some(Self {
            profiles: profiles.map(|name| name.trim().to_owned()).collect(),
            regions: data
                .filter_map(|(region, text)| Some((region, text.as_str()?)))
                .filter(|(_, text)| !text.is_empty())
                .map(|(region, text)| (region.clone(), distances(text)))
                .collect(),
            limit: annotations
                .get(DISTANCES_LIMIT)
                .as_deref()
                .map_or(Ok(LIMIT), limit),
        })
    }
}

/// Parses a limit in an annotation.
fn limit(text: &str) -> Result<i64, String> {
    let read = text.parse::<i64>().ok().filter(|limit| *limit >= 0);
    read.ok_or_else(|| format!("\"{text}\", its annotation {DISTANCES_LIMIT}, is no number of 0 or more"))
}

/// Parses a map from regions to integers.
fn distances(text: &str) -> Distances {
    let read: Value = berth_yaml::from_str(text).map_err(|problem| format!("is not YAML: {problem}"))?;
    let entries = match &read {
        Value::Null => return Ok(BTreeMap::new()),
        Value::Object(entries) => entries,
        _ => return Err("is not a map from regions to numbers".to_owned()),
    };
    let number = |(region, distance): (&String, &Value)| {
        let number = distance.as_i64();
        number
            .map(|number| (region.clone(), number))
            .ok_or_else(|| format!("has {distance} for \"{region}\", which is no integer"))
    };
    entries.iter().map(number).collect()
}

/// Distances from the region of one shoot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FromRegion<'a> {
    region: &'a str,
    distances: &'a BTreeMap<String, i64>,
}

impl FromRegion<'_> {
    /// The distance to `region`, if it is known. The distance to the shoot's own region is 0 by default.
    pub(crate) fn to(self, region: &str) -> Option<i64> {
        let own = (region == self.region).then_some(0);
        self.distances.get(region).copied().or(own)
    }
}

/// The result of comparing the distance of two regions with the limit. The first field, in variants
/// with fields, is the name of the ConfigMap.
#[derive(Debug)]
pub(crate) enum RegionDistance<'a> {
    /// The distance is within the limit.
    Near,
    /// No ConfigMap has distances for the profile.
    NoMap,
    /// The ConfigMap lacks the distance.
    Unknown(&'a str),
    /// The limit or the distances in the ConfigMap cannot be parsed, for this reason.
    Unreadable(&'a str, &'a str),
    /// This distance is above this limit.
    Far(&'a str, i64, i64),
}

impl Fleet {
    /// Compares the distance of the regions `from` and `to` with the limit, for a live migration of a shoot
    /// with the requirements `wants`.
    pub(crate) fn apart<'a>(&'a self, wants: &Requirements, from: &str, to: &str) -> RegionDistance<'a> {
        if from == to {
            return RegionDistance::Near;
        }
        let Some((name, map)) = self.region_map(wants) else {
            return RegionDistance::NoMap;
        };
        let (limit, distances) = match (&map.limit, map.regions.get(from)) {
            (Err(problem), _) | (_, Some(Err(problem))) => return RegionDistance::Unreadable(name, problem),
            (_, None) => return RegionDistance::Unknown(name),
            (Ok(limit), Some(Ok(distances))) => (*limit, distances),
        };
        match distances.get(to) {
            None => RegionDistance::Unknown(name),
            Some(distance) if *distance > limit => RegionDistance::Far(name, *distance, limit),
            Some(_) => RegionDistance::Near,
        }
    }

    /// The first ConfigMap by name with distances for the profile of `wants`, with its name.
    pub(crate) fn region_map(&self, wants: &Requirements) -> Option<(&Arc<str>, &RegionMap)> {
        let (_, profile) = &wants.profile;
        let mut maps = self.region_maps.iter();
        maps.find(|(_, map)| map.profiles.contains(profile))
            .map(|(name, map)| (name, &**map))
    }

    /// The known distances from the region of `wants`; `None` where only the names of regions count.
    pub(crate) fn distances_from<'a>(&'a self, wants: &'a Requirements) -> Option<FromRegion<'a>> {
        let (_, map) = self.region_map(wants)?;
        let distances = map.regions.get(&wants.region)?.as_ref().ok()?;
        Some(FromRegion {
            region: &wants.region,
            distances,
        })
    }

    /// Reason why the distances from the region of `wants` cannot be parsed; `None` where they can, or there
    /// are none.
    pub(crate) fn distances_problem(&self, wants: &Requirements) -> Option<String> {
        let (name, map) = self.region_map(wants)?;
        let problem = map.regions.get(&wants.region)?.as_ref().err()?;
        Some(format!(
            "ConfigMap {GARDEN_NAMESPACE}/{name} has the distances of the profile, and what it says of region \"{}\" {problem}",
            wants.region
        ))
    }
}
