//! Seeds in forty regions, and Shoots in them.

use serde_json::{Value, json};

use super::{DRAINED, Documents, NAMESPACE, World, decision, label, shown};

const GROUP: &str = "core.gardener.cloud/v1beta1";
const REGIONS: usize = 40;

pub(crate) fn world(seeds: usize, shoots: usize) -> World {
    let mut file = Documents::default();
    file.namespace(NAMESPACE);
    file.add(&json!({
        "apiVersion": GROUP, "kind": "CloudProfile", "metadata": {"name": "any"},
        "spec": {"type": "aws", "seedSelector": {"matchLabels": {"environment": "live"}}},
    }));
    (0..seeds).for_each(|number| file.add(&seed(number)));
    (0..shoots).for_each(|number| file.add(&shoot(&format!("shoot-{number}"), number)));
    let drained = (0..seeds).filter(|number| number % DRAINED == 3);
    World {
        title: format!("Gardener, {} Seeds, {} Shoots", shown(seeds), shown(shoots)),
        about: "Gardener: forty regions, the strategy SameRegion; each Shoot goes to the Seed of its region with the fewest.",
        file: file.0,
        objects: seeds + shoots,
        decision: decision("shoot-7.gardener"),
        create: |number| {
            let path = format!("/apis/{GROUP}/namespaces/{NAMESPACE}/shoots");
            (path, shoot(&format!("new-{number}"), number))
        },
        idle: |number| (path(number), label("changed", number.to_string())),
        some: None,
        drained: drained.map(|number| format!("seed-{number}.gardener")).collect(),
    }
}

fn path(number: usize) -> String {
    format!("/apis/{GROUP}/seeds/seed-{}", number % 10)
}

fn region(number: usize) -> String {
    format!("region-{}", number % REGIONS)
}

fn seed(number: usize) -> Value {
    json!({
        "apiVersion": GROUP, "kind": "Seed",
        "metadata": {"name": format!("seed-{number}"), "labels": {"environment": "live", "tier": format!("t{}", number % 3)}},
        "spec": {
            "provider": {"type": "aws", "region": region(number)},
            "settings": {"scheduling": {"visible": true}},
            "backup": {"provider": "aws", "region": "eu-west-1"},
            "networks": {
                "nodes": "10.1.0.0/16", "pods": "10.2.0.0/16", "services": "10.3.0.0/16", "ipFamilies": ["IPv4"],
                "shootDefaults": {"pods": "100.96.0.0/11", "services": "100.64.0.0/13"},
            },
        },
        "status": {
            "conditions": [
                {"type": "GardenletReady", "status": "True"}, {"type": "BackupBucketsReady", "status": "True"},
            ],
            "lastOperation": {
                "type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "",
                "lastUpdateTime": "2021-10-28T08:59:00Z",
            },
            "allocatable": {"shoots": "250"},
        },
    })
}

fn shoot(name: &str, number: usize) -> Value {
    json!({
        "apiVersion": GROUP, "kind": "Shoot", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "cloudProfileName": "any", "region": region(number), "purpose": "production",
            "provider": {"type": "aws", "workers": [
                {"name": "pool", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 3},
            ]},
            "networking": {"nodes": "10.250.0.0/16", "ipFamilies": ["IPv4"]},
            "seedSelector": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["t0", "t1", "t2"]}]},
        },
    })
}
