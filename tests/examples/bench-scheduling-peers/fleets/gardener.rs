//! Seeds and shoots, as in a large Gardener.
//!
//! All reasons to refuse a seed occur, except for two in which the current scheduler differs from the old
//! documentation, which Berth follows: no IPv4 ranges overlap, and no shoot has DNS settings.

use serde_json::{Value, json};

use super::{Case, Fleet};

const GROUP: &str = "core.gardener.cloud/v1beta1";
/// Namespace of the shoots.
const NAMESPACE: &str = "garden-bench";
/// Number of compared shoots, besides the measured ones.
const COMPARED: usize = 40;

const REGIONS: usize = 40;
const PROVIDERS: [&str; 4] = ["aws", "aws", "gcp", "openstack"];
/// Regions without a seed.
const ELSEWHERE: [&str; 4] = ["eu-west-7", "westeurope", "southcentralus", "ap-1"];

pub(super) const SAME_REGION: &[Case] = &[Case {
    title: "Gardener, SameRegion",
    placement: "here",
}];
pub(super) const MINIMAL_DISTANCE: &[Case] = &[Case {
    title: "Gardener, MinimalDistance",
    placement: "elsewhere",
}];

/// One fleet for each strategy, with the same seeds and shoots.
pub(super) fn fleets(clusters: usize) -> [Fleet; 2] {
    let world = world(clusters);
    let fleet = |name, strategy: &str, cases| {
        let mut world = world.clone();
        world["configurations"] = json!([configuration(strategy)]);
        Fleet {
            dialect: "gardener",
            name,
            namespace: NAMESPACE,
            clusters,
            cases,
            compared: (0..COMPARED).map(compared).collect(),
            world,
        }
    };
    [
        fleet("gardener", "SameRegion", SAME_REGION),
        fleet("gardener-distance", "MinimalDistance", MINIMAL_DISTANCE),
    ]
}

fn seed_name(index: usize) -> String {
    format!("seed-{index:05}")
}

fn compared(number: usize) -> String {
    format!("compared-{number:02}")
}

/// Number of shoots on a seed: two on average, with different numbers in a region.
fn residents(index: usize) -> usize {
    (index + index / REGIONS) % 5
}

fn world(clusters: usize) -> Value {
    let mut shoots = vec![
        shoot("here", &region(0), "aws"),
        shoot("elsewhere", ELSEWHERE[0], "aws"),
    ];
    shoots.extend((0..COMPARED).map(asking));
    let sitting = (0..clusters).flat_map(|index| (0..residents(index)).map(move |place| (index, place)));
    shoots.extend(sitting.map(|(index, place)| resident(index, place, clusters)));
    json!({
        "clusters": (0..clusters).map(seed).collect::<Vec<_>>(),
        "shoots": shoots,
        "profiles": [{
            "apiVersion": GROUP, "kind": "CloudProfile", "metadata": {"name": "any"},
            "spec": {"type": "aws", "seedSelector": {"matchLabels": {"environment": "live"}, "providerTypes": ["*"]}},
        }],
    })
}

fn region(index: usize) -> String {
    const AREAS: [&str; 5] = ["eu", "us", "ap", "sa", "af"];
    const SIDES: [&str; 4] = ["west", "east", "central", "north"];
    let index = index % REGIONS;
    format!("{}-{}-{}", AREAS[index % 5], SIDES[index / 5 % 4], index / 20 + 1)
}

/// A seed, with taints at intervals that share no divisor with those of regions and providers.
fn seed(index: usize) -> Value {
    let every = |interval: usize| index % interval == interval / 2;
    let status = |wrong: bool| if wrong { "False" } else { "True" };
    let taints = if every(11) {
        json!([{"key": "seed.gardener.cloud/protected"}])
    } else {
        json!([])
    };
    let room = if every(19) { residents(index) } else { 200 };
    json!({
        "apiVersion": GROUP, "kind": "Seed",
        "metadata": {"name": seed_name(index), "labels": {
            "environment": if every(29) { "staging" } else { "live" }, "tier": format!("t{}", index % 3),
        }},
        "spec": {
            "provider": {"type": PROVIDERS[index / REGIONS % 4], "region": region(index)},
            "taints": taints,
            "settings": {"scheduling": {"visible": !every(17)}},
            "backup": {"provider": "aws", "region": "eu-west-1"},
            "networks": {
                "nodes": "10.1.0.0/16", "pods": "10.2.0.0/16", "services": "10.3.0.0/16", "ipFamilies": ["IPv4"],
                "shootDefaults": {"pods": "100.96.0.0/11", "services": "100.64.0.0/13"},
            },
        },
        "status": {
            "conditions": [
                {"type": "GardenletReady", "status": status(every(13))},
                {"type": "BackupBucketsReady", "status": status(every(23))},
            ],
            "lastOperation": {
                "type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "",
                "lastUpdateTime": "2021-10-28T08:59:00Z",
            },
            "allocatable": {"shoots": room.to_string()},
        },
    })
}

fn shoot(name: &str, region: &str, provider: &str) -> Value {
    json!({
        "apiVersion": GROUP, "kind": "Shoot", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "cloudProfileName": "any", "region": region, "purpose": "production",
            "provider": {"type": provider, "workers": [
                {"name": "pool", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 3},
            ]},
            "networking": {"nodes": "10.250.0.0/16", "ipFamilies": ["IPv4"]},
            "seedSelector": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["t0", "t1", "t2"]}]},
        },
    })
}

/// A compared shoot, of any region and provider, some with many requirements, some with tolerations.
fn asking(number: usize) -> Value {
    let place = if number % 5 == 4 {
        ELSEWHERE[number / 5 % 4].to_owned()
    } else {
        region(number * 7)
    };
    let mut shoot = shoot(&compared(number), &place, PROVIDERS[number % 4]);
    let spec = &mut shoot["spec"];
    if number % 3 == 1 {
        spec["tolerations"] = json!([{"key": "seed.gardener.cloud/protected"}]);
    }
    if number % 6 == 5 {
        spec["purpose"] = json!("testing");
    }
    if number % 2 == 1 {
        let tier = format!("t{}", number % 3);
        spec["seedSelector"] =
            json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": [tier]}]});
    }
    shoot
}

/// A shoot with a seed; one in 31 moves, and also counts on its old seed.
fn resident(index: usize, place: usize, clusters: usize) -> Value {
    let mut shoot = shoot(
        &format!("resident-{index:05}-{place}"),
        &region(index),
        PROVIDERS[index / REGIONS % 4],
    );
    shoot["spec"]["seedName"] = json!(seed_name(index));
    let from = if (index + place).is_multiple_of(31) {
        (index + REGIONS) % clusters
    } else {
        index
    };
    shoot["status"] = json!({"seedName": seed_name(from)});
    shoot
}

fn configuration(strategy: &str) -> Value {
    json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "gardener"},
        "spec": {"gardener": {"schedulers": {"shoot": {"candidateDeterminationStrategy": strategy}}}},
    })
}
