//! Gardener: its scheduler of v1.8.0 and its current one. Current worlds have Seeds with the current version,
//! so that Berth uses the current rules; worlds of 2020 have no later features.

mod generate;
mod known_differences;

use serde_json::{Value, json};

use crate::ours::Decided;
use crate::system::{Planted, System};

/// The current scheduler.
pub(crate) static TODAY: System = System {
    name: "gardener",
    dialect: "gardener",
    program: "gardener",
    linked: &["-ldflags=-checklinkname=0"],
    filters: 12,
    cluster: "Seed",
    generate: generate::today,
    fits: |world| {
        let mut seeds = world.objects.iter().filter(|object| object["kind"] == "Seed");
        // At least one seed has the current version.
        seeds.any(|seed| seed["status"]["gardener"]["version"] == generate::VERSION)
    },
    report,
    known: known_differences::TODAY,
    planted: PLANTED,
};

/// The documented scheduler.
pub(crate) static OF_2020: System = System {
    name: "gardener-2020",
    program: "gardener-2020",
    filters: 8,
    generate: generate::of_2020,
    fits: |world| {
        let mut shoots = world.objects.iter().filter(|object| object["kind"] == "Shoot");
        // It does not know workerless shoots.
        shoots.all(|shoot| {
            shoot["spec"]["provider"]["workers"]
                .as_array()
                .is_some_and(|workers| !workers.is_empty())
        })
    },
    known: known_differences::OF_2020,
    planted: &[],
    ..TODAY
};

fn report(decided: &Decided<'_>) -> Value {
    let decision = decided.decision;
    let shoot = decided.stored.objects[&decision.demand].parse();
    if !shoot["spec"]["seedName"].is_null() || !shoot["metadata"]["deletionTimestamp"].is_null() {
        return Value::Null;
    }
    if decision.outcome.as_str() == "Invalid" {
        return json!({"problem": "Invalid", "picked": [], "refused": {}});
    }
    let written = decided.after()[&decision.demand]["spec"]["seedName"].clone();
    let picked = decided.picked();
    assert_eq!(
        written.as_str(),
        picked.first().map(String::as_str),
        "what is picked is written"
    );
    json!({"picked": picked, "refused": decided.refused(|filter, _| filter)})
}

const PLANTED: &[Planted] = &[
    Planted {
        name: "no taints",
        change: |object| {
            if object["kind"] == "Seed" {
                object["spec"]["taints"] = json!([]);
            }
        },
    },
    Planted {
        name: "no zones that seeds prefer or enforce",
        change: |object| {
            if let Some(Value::Object(settings)) = object.pointer_mut("/spec/settings") {
                settings.remove("zoneSelection");
            }
        },
    },
    Planted {
        name: "no default domains",
        change: |object| {
            if object["kind"] == "Seed"
                && let Some(spec) = object["spec"].as_object_mut()
            {
                spec.remove("dns");
            }
        },
    },
    Planted {
        name: "no access restrictions",
        change: |object| {
            if object["kind"] == "Shoot"
                && let Some(spec) = object["spec"].as_object_mut()
            {
                spec.remove("accessRestrictions");
            }
        },
    },
    Planted {
        name: "one region",
        change: |object| {
            if object["kind"] == "Seed" {
                object["spec"]["provider"]["region"] = json!("eu-west-1");
            }
        },
    },
    Planted {
        name: "room for one more",
        change: |object| {
            if let Some(shoots) = object.pointer_mut("/status/allocatable/shoots") {
                let number: u32 = shoots
                    .as_str()
                    .and_then(|text| text.parse().ok())
                    .unwrap_or_default();
                *shoots = json!((number + 1).to_string());
            }
        },
    },
    Planted {
        name: "profiles that select nothing",
        change: |object| {
            if object["kind"] == "CloudProfile"
                && let Some(spec) = object["spec"].as_object_mut()
            {
                spec.remove("seedSelector");
            }
        },
    },
];
