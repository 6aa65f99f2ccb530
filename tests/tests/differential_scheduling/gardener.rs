//! Gardener: its scheduler of v1.8.0, whose documentation our dialect follows, and that of today, which has what v1.8.0
//! lacks (capacity, workerless Shoots, IPv6). Each is asked about what it knows.

mod generate;
mod meant;

use serde_json::{Value, json};

use crate::ours::Decided;
use crate::system::{Planted, System};

/// The scheduler of today.
pub(crate) static TODAY: System = System {
    name: "gardener",
    dialect: "gardener",
    program: "gardener",
    linked: &["-ldflags=-checklinkname=0"],
    filters: 8,
    cluster: "Seed",
    generate: generate::today,
    fits: |_| true,
    told,
    meant: meant::TODAY,
    planted: PLANTED,
};

/// The scheduler that is documented.
pub(crate) static OF_2020: System = System {
    name: "gardener-2020",
    program: "gardener-2020",
    generate: generate::of_2020,
    fits: |world| {
        let mut shoots = world.objects.iter().filter(|object| object["kind"] == "Shoot");
        // It knows none without workers.
        shoots.all(|shoot| {
            shoot["spec"]["provider"]["workers"]
                .as_array()
                .is_some_and(|workers| !workers.is_empty())
        })
    },
    meant: meant::OF_2020,
    planted: &[],
    ..TODAY
};

fn told(decided: &Decided<'_>) -> Value {
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
