//! Distances between regions in ConfigMaps of the garden, for the strategy MinimalDistance and for live
//! migrations (docs/systems/gardener.md, "Distance").

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use serde_json::Value;

use super::Fleet;
use crate::fleet::shoot::Requirements;
use crate::names::{DISTANCES_LABEL, DISTANCES_LIMIT, DISTANCES_PROFILES, GARDEN_NAMESPACE};

/// The distances from one region to other regions, or the reason why they cannot be parsed.
type Distances = Result<BTreeMap<String, i64>, String>;

/// A ConfigMap with distances between regions.
#[derive(Debug, PartialEq)]
pub(crate) struct RegionMap {
    /// The names of the cloud profiles to which the distances apply.
    profiles: Vec<String>,
    /// The distances from each region, by the name of the region.
    regions: BTreeMap<String, Distances>,
    /// The longest distance of a live migration, or the reason why it cannot be parsed.
    limit: Result<i64, String>,
}

/// The longest distance of a live migration, if a ConfigMap does not set one.
const DEFAULT_LIMIT: i64 = 180;

/// Whether the raw ConfigMap `config_map` has distances between regions.
pub(crate) fn has_distances(config_map: &Value) -> bool {
    let (label, purpose) = DISTANCES_LABEL;
    let metadata = &config_map["metadata"];
    metadata["namespace"] == GARDEN_NAMESPACE && metadata["labels"][label] == purpose
}

impl RegionMap {
    /// Parses the ConfigMap `object` at `key`; `None` if it is not a ConfigMap with distances.
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
                .map(|(region, text)| (region.clone(), distances(region, text)))
                .collect(),
            limit: annotations
                .get(DISTANCES_LIMIT)
                .as_deref()
                .map_or(Ok(DEFAULT_LIMIT), limit),
        })
    }
}

/// Parses the limit `text` in the annotation [`DISTANCES_LIMIT`].
fn limit(text: &str) -> Result<i64, String> {
    let read = text.parse::<i64>().ok().filter(|limit| *limit >= 0);
    read.ok_or_else(|| {
        format!("its annotation {DISTANCES_LIMIT} is \"{text}\", which is not an integer of 0 or more")
    })
}

/// Parses the entry `text` of the region `origin`: a map from regions to integers.
fn distances(origin: &str, text: &str) -> Distances {
    let problem = |problem: String| format!("its entry for region \"{origin}\" {problem}");
    let read: Value = berth_yaml::from_str(text).map_err(|error| problem(format!("is not YAML: {error}")))?;
    let entries = match &read {
        Value::Null => return Ok(BTreeMap::new()),
        Value::Object(entries) => entries,
        _ => return Err(problem("is not a map from regions to numbers".to_owned())),
    };
    let number = |(region, distance): (&String, &Value)| {
        let number = distance.as_i64();
        number.map(|number| (region.clone(), number)).ok_or_else(|| {
            problem(format!(
                "has {distance} for \"{region}\", which is not an integer"
            ))
        })
    };
    entries.iter().map(number).collect()
}

/// The distances from the region of one shoot.
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

/// The result of a comparison of the distance between two regions with the limit of a ConfigMap.
#[derive(Debug)]
pub(crate) enum RegionDistance<'a> {
    /// The distance is within the limit.
    Near,
    /// No ConfigMap has distances for the profile.
    NoMap,
    /// The ConfigMap with this name has distances for the profile, but not this distance.
    Unknown(&'a str),
    /// The limit or the distances in the ConfigMap with this name cannot be parsed, for this reason.
    Unreadable(&'a str, &'a str),
    /// The ConfigMap with this name has this distance, which is above this limit.
    Far(&'a str, i64, i64),
}

impl Fleet {
    /// Compares the distance between the regions `from` and `to` with the limit, for a live migration of a
    /// shoot with these `requirements`.
    pub(crate) fn region_distance<'a>(
        &'a self,
        requirements: &Requirements,
        from: &str,
        to: &str,
    ) -> RegionDistance<'a> {
        if from == to {
            return RegionDistance::Near;
        }
        let Some((name, map)) = self.region_map(requirements) else {
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

    /// The first ConfigMap, in the order of names, with distances for the profile of a shoot with these
    /// `requirements`; and the name of the ConfigMap.
    pub(crate) fn region_map(&self, requirements: &Requirements) -> Option<(&Arc<str>, &RegionMap)> {
        let (_, profile) = &requirements.profile;
        let mut maps = self.region_maps.iter();
        maps.find(|(_, map)| map.profiles.contains(profile))
            .map(|(name, map)| (name, &**map))
    }

    /// The distances from the region of a shoot by a ConfigMap; `None` if only the names of regions determine
    /// distances.
    pub(crate) fn distances_from<'a>(&'a self, requirements: &'a Requirements) -> Option<FromRegion<'a>> {
        let (_, map) = self.region_map(requirements)?;
        let distances = map.regions.get(&requirements.region)?.as_ref().ok()?;
        Some(FromRegion {
            region: &requirements.region,
            distances,
        })
    }

    /// The reason why the distances from the region of a shoot cannot be parsed; `None` if they can be
    /// parsed, or there are none.
    pub(crate) fn distances_problem(&self, requirements: &Requirements) -> Option<String> {
        let (name, map) = self.region_map(requirements)?;
        let problem = map.regions.get(&requirements.region)?.as_ref().err()?;
        Some(format!(
            "ConfigMap {GARDEN_NAMESPACE}/{name} has the distances of the profile, but {problem}"
        ))
    }
}
