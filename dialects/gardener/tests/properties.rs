//! Properties of every fleet of seeds and every shoot.

use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::Dialect;
use berth_dialect_testing::{Case, Generator, Later};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

const API_VERSION: &str = "core.gardener.cloud/v1beta1";
const REGIONS: [&str; 5] = ["eu-west-1", "eu-west-2", "eu-central-1", "us-east-1", "nowhere"];

struct Gardens;

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    let mut value =
        json!({"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec});
    if kind == "Shoot" {
        value["metadata"]["namespace"] = json!("garden-dev");
        value["metadata"]["uid"] = json!(format!("uid-{name}"));
        value["metadata"]["generation"] = json!(1);
    }
    value
}

/// The name of a seed. There are few names, so that fleets have seeds in common.
fn seed_name() -> impl Strategy<Value = String> {
    (0..7u8).prop_map(|number| format!("seed-{number}"))
}

fn status() -> impl Strategy<Value = Value> {
    let condition = prop_oneof![8 => Just("True"), 1 => Just("False"), 1 => Just("Unknown")];
    let modern = prop::option::weighted(0.3, prop::bool::weighted(0.8));
    (
        condition,
        any::<bool>(),
        prop::option::weighted(0.4, 0..4i64),
        modern,
    )
        .prop_map(|(ready, bootstrapped, limit, modern)| {
            let bootstrapped = if bootstrapped { "True" } else { ready };
            let mut status = json!({"conditions": [
                {"type": "GardenletReady", "status": ready}, {"type": "Bootstrapped", "status": bootstrapped},
            ]});
            if let Some(reconciled) = modern {
                status["gardener"] = json!({"version": "1.150.0"});
                if reconciled {
                    status["lastOperation"] = json!({"type": "Reconcile", "state": "Succeeded"});
                }
            }
            if let Some(limit) = limit {
                status["allocatable"] = json!({"shoots": limit.to_string()});
            }
            status
        })
}

/// Taints that keep shoots away from a seed, or none.
fn taints() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => Just(json!([])),
        1 => Just(json!([{"key": "seed.gardener.cloud/protected"}])),
        1 => Just(json!([{"key": "gpu", "value": "yes"}])),
        1 => Just(json!([{"key": "gpu"}, {"key": "seed.gardener.cloud/disable-dns"}])),
        1 => Just(json!([{"key": "seed.gardener.cloud/invisible"}])),
    ]
}

/// Fields of seeds that are newer than v1.8, as parts of their spec.
fn novelties() -> impl Strategy<Value = Value> {
    let zones = |mode: &str| json!({"provider": {"zones": ["z1", "z2"]}, "settings": {"zoneSelection": {"mode": mode}}});
    prop_oneof![
        4 => Just(json!({})),
        1 => Just(zones("Prefer")),
        1 => Just(zones("Enforce")),
        1 => Just(json!({"provider": {"zones": ["z3"]}, "settings": {"zoneSelection": {"mode": "Prefer"}}})),
        1 => Just(json!({"provider": {"zones": ["z1", "z2", "z3"]}})),
        1 => Just(json!({"accessRestrictions": [{"name": "eu"}]})),
        1 => Just(json!({"dns": {"defaults": [{"domain": "example.org"}]}})),
    ]
}

/// Sets the fields of `part` in `value`.
fn merge(value: &mut Value, part: &Value) {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            for (field, part) in part {
                merge(value.entry(field).or_insert(Value::Null), part);
            }
        }
        (value, part) => *value = part.clone(),
    }
}

fn seed() -> impl Strategy<Value = Value> {
    let place = (select(vec!["aws", "aws", "aws", "gcp"]), select(&REGIONS[..]));
    let networks = (prop::bool::weighted(0.9), prop::bool::weighted(0.85));
    let labels = select(vec!["prod", "dev"]);
    (place, taints(), status(), networks, labels, novelties()).prop_map(
        |((provider, region), taints, status, (apart, defaults), environment, novelties)| {
            let second = if apart { 1 } else { 250 };
            let mut networks = json!({
                "nodes": format!("10.{second}.0.0/16"), "pods": "10.2.0.0/16", "services": "10.3.0.0/16",
            });
            if defaults {
                networks["shootDefaults"] = json!({"pods": "100.96.0.0/11", "services": "100.64.0.0/13"});
            }
            let mut spec = json!({
                "provider": {"type": provider, "region": region}, "networks": networks, "taints": taints,
            });
            merge(&mut spec, &novelties);
            let mut seed = object("Seed", "", &spec);
            seed["metadata"]["labels"] = json!({"environment": environment});
            seed["status"] = status;
            seed
        },
    )
}

fn seeds() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::btree_map(seed_name(), seed(), 0..7).prop_map(|seeds| {
        let named = |(name, mut seed): (String, Value)| {
            seed["metadata"]["name"] = json!(name);
            seed
        };
        seeds.into_iter().map(named).collect()
    })
}

/// The fields of a shoot's spec other than its seed.
fn wishes() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => Just(json!({})),
        1 => Just(json!({"seedSelector": {"providerTypes": ["*"]}})),
        1 => Just(json!({"seedSelector": {"matchLabels": {"environment": "prod"}}})),
        1 => Just(json!({"tolerations": [{"key": "gpu"}, {"key": "seed.gardener.cloud/protected"}]})),
        1 => Just(json!({"dns": {"domain": "shoot.example.org"}})),
        1 => Just(json!({"dns": {"domain": "shoot-1.dev.example.org"}})),
        1 => Just(json!({"accessRestrictions": [{"name": "eu"}]})),
        2 => Just(json!({"provider": {"type": "aws", "workers": [{"name": "pool", "zones": ["z1"]}]}})),
        1 => Just(json!({"controlPlane": {"highAvailability": {"failureTolerance": {"type": "zone"}}}})),
        1 => Just(json!({"controlPlane": {"zones": ["z2"]}})),
        1 => Just(json!({"schedulerName": "another"})),
        1 => Just(json!({"cloudProfileName": "missing"})),
        1 => Just(json!({"networking": {"nodes": "10.1.128.0/17"}})),
        1 => Just(json!({"networking": {"pods": "10.251.0.0/16", "services": "10.252.0.0/16"}})),
    ]
}

fn shoot() -> impl Strategy<Value = Value> {
    let bound = prop::option::weighted(0.4, seed_name());
    let purpose = select(vec!["evaluation", "production", "testing"]);
    let running = prop::option::weighted(0.2, seed_name());
    (
        select(&REGIONS[..]),
        purpose,
        wishes(),
        bound,
        running,
        any::<bool>(),
    )
        .prop_map(|(region, purpose, wishes, bound, running, held)| {
            let mut spec = json!({
                "cloudProfileName": "aws", "region": region, "purpose": purpose, "provider": {"type": "aws"},
                "networking": {"nodes": "10.250.0.0/16"},
            });
            for (field, value) in wishes.as_object().into_iter().flatten() {
                spec[field] = value.clone();
            }
            let mut shoot = object("Shoot", "", &spec);
            if held {
                shoot["metadata"]["finalizers"] = json!(["gardener"]);
            }
            if let Some(seed) = bound {
                shoot["spec"]["seedName"] = json!(seed);
                // A shoot that moves is counted on both seeds.
                if let Some(running) = running {
                    shoot["status"] = json!({"seedName": running});
                }
            }
            shoot
        })
}

fn shoots() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::btree_map(0..9u8, shoot(), 1..8).prop_map(|shoots| {
        let named = |(number, mut shoot): (u8, Value)| {
            shoot["metadata"]["name"] = json!(format!("shoot-{number}"));
            shoot["metadata"]["uid"] = json!(format!("uid-{number}"));
            shoot
        };
        shoots.into_iter().map(named).collect()
    })
}

fn profiles() -> impl Strategy<Value = Vec<Value>> {
    prop_oneof![
        3 => Just(json!({"type": "aws"})),
        1 => Just(json!({"type": "aws", "seedSelector": {"matchLabels": {"environment": "prod"}}})),
        1 => Just(json!({"type": "aws", "seedSelector": {"providerTypes": ["aws", "gcp"]}})),
    ]
    .prop_map(|spec| {
        vec![
            object("CloudProfile", "aws", &spec),
            object("CloudProfile", "gcp", &json!({"type": "gcp"})),
        ]
    })
}

fn config() -> impl Strategy<Value = Option<Value>> {
    let strategy = select(vec!["SameRegion", "MinimalDistance", "MinimalDistance"]);
    prop::option::weighted(
        0.8,
        strategy.prop_map(
            |strategy| json!({"schedulers": {"shoot": {"candidateDeterminationStrategy": strategy}}}),
        ),
    )
}

fn later() -> impl Strategy<Value = Later> {
    let named = |kind: &'static str, name: String| object(kind, &name, &json!({}));
    let shoot_name = || (0..9u8).prop_map(|number| format!("shoot-{number}"));
    prop_oneof![
        2 => (seed_name(), status()).prop_map(|(name, status)| {
            // Only the status of a seed. If the seed does not exist, the merge has no effect.
            Later::Merge(json!({
                "apiVersion": API_VERSION, "kind": "Seed", "metadata": {"name": name}, "status": status,
                "spec": {"provider": {"type": "aws", "region": "eu-west-1"},
                    "networks": {"pods": "10.2.0.0/16", "services": "10.3.0.0/16"}},
            }))
        }),
        2 => (seed_name(), taints()).prop_map(|(name, taints)| Later::Merge(json!({
            "apiVersion": API_VERSION, "kind": "Seed", "metadata": {"name": name},
            "spec": {"taints": taints, "provider": {"type": "aws", "region": "us-east-1"},
                "networks": {"pods": "10.2.0.0/16", "services": "10.3.0.0/16"}},
        }))),
        2 => seed_name().prop_map(move |name| Later::Delete(named("Seed", name))),
        1 => shoot_name().prop_map(move |name| Later::Delete(named("Shoot", name))),
        1 => (shoot_name(), shoot()).prop_map(|(name, mut shoot)| {
            shoot["metadata"]["name"] = json!(name);
            Later::Merge(shoot)
        }),
        1 => Just(Later::Merge(object("CloudProfile", "aws", &json!({"seedSelector": {"matchLabels": {"environment": "dev"}}, "type": "aws"})))),
        1 => Just(Later::Wait(600)),
    ]
}

impl Generator for Gardens {
    fn dialect(&self) -> Arc<dyn Dialect> {
        berth_dialect_gardener::dialect()
    }

    fn case(&self) -> BoxedStrategy<Case> {
        let later = prop::collection::vec(later(), 0..5);
        (seeds(), shoots(), profiles(), config(), later, "[a-z]{1,3}")
            .prop_map(|(seeds, shoots, profiles, config, later, name)| {
                // The nearest and emptiest possible seed, which is not visible.
                let hidden = json!({
                    "provider": {"type": "aws", "region": "eu-west-1"},
                    "networks": {"pods": "10.2.0.0/16", "services": "10.3.0.0/16"},
                    "settings": {"scheduling": {"visible": false}},
                });
                Case {
                    config,
                    infeasible: Some(object("Seed", &name, &hidden)),
                    later,
                    ..Case::new(
                        Timestamp::UNIX_EPOCH,
                        seeds.into_iter().chain(shoots).chain(profiles).collect(),
                    )
                }
            })
            .boxed()
    }
}

berth_dialect_testing::properties!(Gardens);
