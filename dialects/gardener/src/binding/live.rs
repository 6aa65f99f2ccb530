//! The checks of a live migration, in which a control plane moves while it runs, in addition to the checks of
//! every move (docs/systems/gardener.md, "Binding").

use serde_json::Value;

use crate::fleet::Fleet;
use crate::fleet::region::RegionDistance;
use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;
use crate::kind::common::GardenerVersion;
use crate::kind::shoot::spec::Shoot;
use crate::names::{ALLOW_DISTANT_REGIONS, DISTANCES_LIMIT, LIVE_MIGRATE};

/// The problems of a live migration of `shoot` between two seeds. Empty if no annotation of the shoot
/// requests a live migration. `raw` is the JSON of `shoot`.
pub(super) fn problems(
    fleet: &Fleet,
    [from, to]: [&Row; 2],
    raw: &Value,
    shoot: &Shoot,
    requirements: &Requirements,
) -> Vec<String> {
    if !is_true(raw, LIVE_MIGRATE) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    if shoot.spec.failure_tolerance().is_none() {
        problems.push(
            "a control plane moves while it runs only if it is highly available (spec.controlPlane.highAvailability)".to_owned(),
        );
    }
    let is_hibernating = shoot
        .spec
        .hibernation
        .as_ref()
        .and_then(|hibernation| hibernation.enabled);
    if [is_hibernating, shoot.status.hibernated].contains(&Some(true)) {
        problems.push(
            "a hibernated control plane, or one that wakes up, cannot move while it runs (spec.hibernation)"
                .to_owned(),
        );
    }
    let [from_type, to_type] = [from, to].map(|row| row.record.seed.spec.provider.r#type.as_str());
    if from_type != to_type {
        problems.push(format!(
            "a control plane moves while it runs only between seeds of one provider type: seed \"{}\" is of type \"{from_type}\", seed \
             \"{}\" of type \"{to_type}\"",
            from.name, to.name
        ));
    }
    problems.extend(version_problem(from, to));
    if !is_true(raw, ALLOW_DISTANT_REGIONS) {
        problems.extend(distance_problem(fleet, from, to, requirements));
    }
    problems
}

/// Whether the annotation `name` is true, as Go parses it.
fn is_true(raw: &Value, name: &str) -> bool {
    let value = raw["metadata"]["annotations"][name].as_str();
    value.is_some_and(|value| ["1", "t", "T", "true", "TRUE", "True"].contains(&value))
}

/// The problem if the two seeds do not report one common version of Gardener.
fn version_problem(from: &Row, to: &Row) -> Option<String> {
    let [from_version, to_version] = [from, to].map(|row| version(row.record.seed.status.gardener.as_ref()));
    if !from_version.is_empty() && from_version == to_version {
        return None;
    }
    let statement = |version: &str| match version {
        "" => "reports none".to_owned(),
        version => format!("has {version}"),
    };
    Some(format!(
        "a control plane moves while it runs only between seeds of one version of Gardener (status.gardener.version): seed \
         \"{}\" {}, seed \"{}\" {}",
        from.name,
        statement(from_version),
        to.name,
        statement(to_version)
    ))
}

fn version(gardener: Option<&GardenerVersion>) -> &str {
    gardener.map_or("", |gardener| gardener.version.as_str())
}

/// The problem if the distance of the two seeds' regions is unknown, or above the limit of the ConfigMap with
/// the distances.
fn distance_problem(fleet: &Fleet, from: &Row, to: &Row, requirements: &Requirements) -> Option<String> {
    let [from_region, to_region] = [from, to].map(|row| row.record.seed.spec.provider.region.as_str());
    let reason = match fleet.region_distance(requirements, from_region, to_region) {
        RegionDistance::Near => return None,
        // On a hub Berth reads no ConfigMaps: Gardener's own API server checks the distance there.
        RegionDistance::NoMap if fleet.on_hub => return None,
        RegionDistance::NoMap => "no ConfigMap has distances for the cloud profile".to_owned(),
        RegionDistance::Unknown(map) => format!("ConfigMap garden/{map} does not have that distance"),
        RegionDistance::Unreadable(map, problem) => {
            format!("ConfigMap garden/{map} cannot be read: {problem}")
        }
        RegionDistance::Far(map, distance, limit) => format!(
            "ConfigMap garden/{map} has {distance}, and allows {limit} (annotation {DISTANCES_LIMIT})"
        ),
    };
    Some(format!(
        "a control plane moves while it runs only between near regions; for the distance from \"{from_region}\" to \"{to_region}\", \
         {reason}; the annotation {ALLOW_DISTANT_REGIONS}=true allows any distance"
    ))
}

#[cfg(test)]
mod tests {
    use berth_admission::Denial;
    use serde_json::json;

    use super::*;
    use crate::binding::check_binding;
    use crate::testing::{fleet, seed, shoot, with};

    /// A seed of Gardener 1.150 with a backup, so that shoots can move from and to it.
    fn backed(name: &str, region: &str) -> Value {
        let seed = with(
            seed(name, "aws", region),
            "/spec/backup",
            json!({"provider": "aws"}),
        );
        with(seed, "/status/gardener", json!({"version": "v1.150.0"}))
    }

    /// A highly available shoot that requests a live migration.
    fn live() -> Value {
        let shoot = with(shoot("foo", "eu-west-1"), "/spec/seedName", json!("from"));
        let failures = json!({"failureTolerance": {"type": "node"}});
        let shoot = with(shoot, "/spec/controlPlane/highAvailability", failures);
        with(shoot, "/metadata/annotations", json!({LIVE_MIGRATE: "true"}))
    }

    fn distances(from: &str, data: &str, limit: Option<&str>) -> Value {
        let mut annotations = json!({"scheduling.gardener.cloud/cloudprofiles": "aws"});
        if let Some(limit) = limit {
            annotations[DISTANCES_LIMIT] = json!(limit);
        }
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "distances", "namespace": "garden", "annotations": annotations,
                "labels": {"scheduling.gardener.cloud/purpose": "region-config"},
            },
            "data": {from: data},
        })
    }

    fn moved(old: &Value, objects: &[Value]) -> Vec<String> {
        let mut new = with(old.clone(), "/spec/seedName", json!("to"));
        match check_binding(&fleet(objects), old, &mut new) {
            Ok(_) => Vec::new(),
            Err(Denial::Invalid(errors)) => errors.iter().map(ToString::to_string).collect(),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_control_plane_moves_while_it_runs_between_seeds_alike() {
        let here = [backed("from", "eu-west-1"), backed("to", "eu-west-1")];
        assert_eq!(
            moved(&live(), &here),
            [""; 0],
            "there is no distance within a region"
        );
        let fragile = with(live(), "/spec/controlPlane", json!({}));
        let problems = moved(&fragile, &here);
        assert!(
            problems.len() == 1 && problems[0].contains("highAvailability"),
            "{problems:?}"
        );
        let asleep = with(live(), "/spec/hibernation/enabled", json!(true));
        let waking = with(live(), "/status/hibernated", json!(true));
        for asleep in [asleep, waking] {
            let problems = moved(&asleep, &here);
            assert!(
                problems.len() == 1 && problems[0].contains("spec.hibernation"),
                "{problems:?}"
            );
        }
        for version in [json!(null), json!({"version": "v1.149.0"})] {
            let other = with(backed("to", "eu-west-1"), "/status/gardener", version);
            let problems = moved(&live(), &[backed("from", "eu-west-1"), other]);
            assert!(
                problems.len() == 1 && problems[0].contains("status.gardener.version"),
                "{problems:?}"
            );
        }
        let foreign = with(backed("to", "eu-west-1"), "/spec/provider/type", json!("gcp"));
        let problems = moved(&live(), &[backed("from", "eu-west-1"), foreign.clone()]);
        assert!(
            problems.len() == 1 && problems[0].contains("of one provider type"),
            "{problems:?}"
        );
        let at_rest = with(live(), "/metadata/annotations", json!({LIVE_MIGRATE: "no"}));
        assert_eq!(moved(&at_rest, &[backed("from", "eu-west-1"), foreign]), [""; 0]);
    }

    #[test]
    fn a_control_plane_moves_while_it_runs_as_far_as_the_config_map_allows() {
        let seeds = [backed("from", "eu-west-1"), backed("to", "eu-west-2")];
        let by = |map: Option<Value>| {
            let all: Vec<Value> = seeds.iter().cloned().chain(map).collect();
            let problems = moved(&live(), &all);
            let near = with(
                live(),
                "/metadata/annotations",
                json!({LIVE_MIGRATE: "1", ALLOW_DISTANT_REGIONS: "true"}),
            );
            assert_eq!(moved(&near, &all), [""; 0], "the annotation allows any distance");
            problems
        };
        let cases = [
            (None, "no ConfigMap has distances"),
            (Some(distances("eu-west-1", "eu-west-2: 180", None)), ""),
            (
                Some(distances("eu-west-1", "eu-west-2: 181", None)),
                "has 181, and allows 180",
            ),
            (Some(distances("eu-west-1", "eu-west-2: 181", Some("200"))), ""),
            (
                Some(distances("eu-west-1", "eu-west-2: 21", Some("20"))),
                "has 21, and allows 20",
            ),
            (
                Some(distances("eu-west-1", "eu-west-2: 1", Some("-1"))),
                "which is not an integer of 0 or more",
            ),
            (
                Some(distances("eu-west-1", "eu-west-3: 1", None)),
                "does not have that distance",
            ),
            (
                Some(distances("us-east-1", "eu-west-2: 1", None)),
                "does not have that distance",
            ),
            (Some(distances("eu-west-1", "near", None)), "cannot be read"),
        ];
        for (map, words) in cases {
            let problems = by(map);
            match words {
                "" => assert_eq!(problems, [""; 0]),
                words => assert!(
                    problems.len() == 1 && problems[0].contains(words),
                    "{words}: {problems:?}"
                ),
            }
        }
    }
}
