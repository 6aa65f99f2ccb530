//! Gardens of seeds and shoots. Features of only one original are only in its worlds: capacity, workerless
//! shoots, IPv6, zones, access restrictions, default domains and distances in current ones; DNS in those of
//! 2020.

use berth_tests::differential::Draw;
use serde_json::{Value, json};

use crate::world::World;

const API_VERSION: &str = "core.gardener.cloud/v1beta1";
/// The version of current seeds.
pub(super) const VERSION: &str = "1.150.0";
const ZONES: [&str; 4] = ["z1", "z2", "z3", "z4"];
const RESTRICTIONS: [&str; 2] = ["eu-access-only", "us-access-only"];
const DOMAINS: [&str; 3] = ["ex.org", "inner.ex.org", "other.org"];
const SEEDS: [&str; 8] = ["alpha", "beta", "delta", "eta", "gamma", "iota", "kappa", "zeta"];
const REGIONS: [&str; 12] = [
    "eu-west-1",
    "eu-west-1",
    "eu-west-1",
    "eu-west-1",
    "eu-west-1",
    "eu-central-1",
    "us-east-1",
    "eu-west-2",
    "europe",
    "ap-southeast-1",
    "eu-de-1",
    "northeurope",
];
const PROVIDERS: [&str; 4] = ["aws", "aws", "aws", "gcp"];

#[derive(Clone, Copy, PartialEq)]
enum Era {
    Today,
    Of2020,
}

pub(super) fn today(draw: &mut Draw) -> World {
    world(draw, Era::Today)
}

pub(super) fn of_2020(draw: &mut Draw) -> World {
    world(draw, Era::Of2020)
}

fn world(draw: &mut Draw, era: Era) -> World {
    let six = era == Era::Today && draw.below(2) == 0;
    let count = 2 + draw.below(SEEDS.len() - 1);
    let mut objects = profiles(draw);
    for name in &SEEDS[..count] {
        objects.push(seed(draw, name, era, six));
    }
    for number in 0..draw.below(10) {
        let mut bound = shoot(draw, &format!("bound-{number}"), era, six);
        bound["spec"]["seedName"] = json!(draw.one(&SEEDS[..count]));
        if era == Era::Today && draw.once_in(4) {
            bound["status"] = json!({"seedName": draw.one(&SEEDS)});
        }
        objects.push(bound);
    }
    for number in 0..1 + draw.below(3) {
        objects.push(shoot(draw, &format!("shoot-{number}"), era, six));
    }
    let strategy = draw.one(&["SameRegion", "MinimalDistance"]);
    if era == Era::Today && draw.below(2) == 0 {
        objects.push(distances(draw));
    }
    World {
        objects,
        configuration: json!({"schedulers": {"shoot": {"candidateDeterminationStrategy": strategy}}}),
    }
}

fn object(kind: &str, name: &str, spec: Value) -> Value {
    let mut value = json!({
        "apiVersion": API_VERSION, "kind": kind, "spec": spec,
        "metadata": {"name": name, "uid": format!("uid-{kind}-{name}"), "generation": 1, "creationTimestamp": "2021-10-01T00:00:00Z"},
    });
    if kind == "Shoot" {
        value["metadata"]["namespace"] = json!("garden-dev");
    }
    value
}

fn profiles(draw: &mut Draw) -> Vec<Value> {
    let mut list = Vec::new();
    for provider in ["aws", "gcp"] {
        let mut spec = json!({"type": provider});
        if draw.once_in(6) {
            spec["seedSelector"] = selector(draw);
        }
        if draw.once_in(3) {
            let types: &[&str] = [&["aws"][..], &["aws", "gcp"], &["*"], &["azure"]][draw.below(4)];
            spec["seedSelector"]["providerTypes"] = json!(types);
        }
        list.push(object("CloudProfile", provider, spec));
    }
    list
}

/// A ConfigMap with distances between some regions, some of which are negative.
fn distances(draw: &mut Draw) -> Value {
    let mut data = serde_json::Map::new();
    for region in ["eu-west-1", "eu-central-1", "us-east-1", "europe"] {
        if draw.once_in(3) {
            continue;
        }
        let mut map = String::new();
        for other in ["eu-west-1", "eu-central-1", "us-east-1", "northeurope", "mars"] {
            if draw.below(2) == 0 {
                let distance = i64::try_from(draw.below(6)).unwrap_or_default() - 2;
                map.push_str(&format!("{other}: {distance}\n"));
            }
        }
        data.insert(region.to_owned(), map.into());
    }
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "distances", "namespace": "garden", "uid": "uid-distances",
            "labels": {"scheduling.gardener.cloud/purpose": "region-config"},
            "annotations": {"scheduling.gardener.cloud/cloudprofiles": draw.one(&["aws", "aws, gcp", "azure"])},
        },
        "data": data,
    })
}

fn selector(draw: &mut Draw) -> Value {
    match draw.below(5) {
        4 => {
            json!({"matchExpressions": [{"key": "name.seed.gardener.cloud/beta", "operator": draw.one(&["Exists", "DoesNotExist"])}]})
        }
        0 => json!({"matchLabels": {"environment": draw.one(&["prod", "dev"])}}),
        1 => {
            json!({"matchExpressions": [{"key": "environment", "operator": draw.one(&["In", "NotIn"]), "values": ["prod"]}]})
        }
        2 => {
            json!({"matchExpressions": [{"key": "tier", "operator": draw.one(&["Exists", "DoesNotExist"])}]})
        }
        _ => json!({"matchLabels": {"seed.gardener.cloud/provider": draw.one(&["aws", "gcp"])}}),
    }
}

/// The network range with this number, which overlaps no other range.
fn range(six: bool, number: usize) -> String {
    if six {
        format!("fd00:{number:x}::/64")
    } else {
        format!("10.{number}.0.0/16")
    }
}

fn seed(draw: &mut Draw, name: &str, era: Era, six: bool) -> Value {
    let (provider, region) = (draw.one(&PROVIDERS), draw.one(&REGIONS));
    let mut networks = json!({"pods": range(six, 2), "services": range(six, 3)});
    if draw.often() {
        networks["nodes"] = json!(range(six, 1));
    }
    if six {
        networks["ipFamilies"] = json!(["IPv6"]);
    }
    if era == Era::Of2020 && draw.often() || era == Era::Today && draw.below(2) == 0 {
        // Sometimes the range of some shoots' nodes.
        let pods = if six || era == Era::Of2020 {
            4 + draw.below(4)
        } else {
            6
        };
        networks["shootDefaults"] = json!({"pods": range(six, pods), "services": range(six, 9)});
    }
    let mut value = object(
        "Seed",
        name,
        json!({"provider": {"type": provider, "region": region}, "networks": networks}),
    );
    // The API server sets these labels of seeds.
    value["metadata"]["labels"] = json!({
        "seed.gardener.cloud/provider": provider, "seed.gardener.cloud/region": region,
        format!("name.seed.gardener.cloud/{name}"): "true",
    });
    for (key, values) in [("environment", ["prod", "dev"]), ("tier", ["1", "2"])] {
        if draw.often() {
            value["metadata"]["labels"][key] = json!(draw.one(&values));
        }
    }
    if draw.once_in(16) {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:00:00Z");
        value["metadata"]["finalizers"] = json!(["gardener"]);
    }
    value["spec"]["taints"] = taints(draw, era);
    match draw.below(12) {
        0 => value["spec"]["settings"]["scheduling"] = json!({"visible": false}),
        1 => value["spec"]["settings"]["scheduling"] = json!({"visible": true}),
        2 => value["spec"]["settings"]["scheduling"] = json!({}),
        _ => {}
    }
    if era == Era::Of2020 {
        match draw.below(10) {
            0 => value["spec"]["settings"]["shootDNS"] = json!({"enabled": false}),
            1 => value["spec"]["settings"]["shootDNS"] = json!({"enabled": true}),
            2 => value["spec"]["settings"]["shootDNS"] = json!({}),
            _ => {}
        }
    }
    if era == Era::Today {
        of_today(draw, &mut value);
    }
    status(draw, &mut value, era);
    value
}

/// Sets fields of seeds that were added after 2020.
fn of_today(draw: &mut Draw, seed: &mut Value) {
    let zones = most_of(draw, &ZONES);
    if !zones.is_empty() {
        seed["spec"]["provider"]["zones"] = json!(zones);
        match draw.below(4) {
            0 | 1 => seed["spec"]["settings"]["zoneSelection"] = json!({"mode": "Prefer"}),
            2 => seed["spec"]["settings"]["zoneSelection"] = json!({"mode": "Enforce"}),
            _ => {}
        }
    }
    seed["spec"]["accessRestrictions"] = named(&most_of(draw, &RESTRICTIONS));
    if draw.below(2) == 0 {
        let defaults: Vec<Value> = some_of(draw, &DOMAINS)
            .iter()
            .map(|domain| json!({"type": "aws-route53", "domain": domain}))
            .collect();
        seed["spec"]["dns"] = json!({"defaults": defaults});
    }
    if draw.once_in(16) {
        let value = draw.one(&["true", "True"]);
        seed["metadata"]["annotations"] =
            json!({"shoot.gardener.cloud/emergency-stop-reconciliations": value});
    }
}

/// All of `all`, or a random subset: with too few offers of the seeds, hardly any shoot has a place, and the
/// steps that compare seeds have none to compare.
fn most_of(draw: &mut Draw, all: &[&'static str]) -> Vec<&'static str> {
    match draw.once_in(3) {
        true => some_of(draw, all),
        false => all.to_vec(),
    }
}

/// A random subset of `all`, in its order.
fn some_of(draw: &mut Draw, all: &[&'static str]) -> Vec<&'static str> {
    all.iter().filter(|_| draw.below(2) == 0).copied().collect()
}

fn named(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

fn taints(draw: &mut Draw, era: Era) -> Value {
    let mut list = Vec::new();
    for key in ["gpu", "dedicated", "seed.gardener.cloud/protected"] {
        if draw.once_in(8) {
            let mut taint = json!({"key": key});
            if draw.below(2) == 0 {
                taint["value"] = json!(draw.one(&["a", "b", ""]));
            }
            list.push(taint);
        }
    }
    // The current rules treat these seeds as any other.
    for key in ["disable-dns", "invisible", "disable-capacity-reservation"] {
        if draw.once_in(if era == Era::Of2020 { 12 } else { 30 }) {
            list.push(json!({"key": format!("seed.gardener.cloud/{key}")}));
        }
    }
    json!(list)
}

fn status(draw: &mut Draw, value: &mut Value, era: Era) {
    let ready = |draw: &mut Draw| {
        draw.one(&[
            "True", "True", "True", "True", "True", "True", "True", "False", "Unknown",
        ])
    };
    let condition = |r#type: &str, status: &str| {
        json!({"type": r#type, "status": status, "lastTransitionTime": "2021-10-01T00:00:00Z",
               "lastUpdateTime": "2021-10-01T00:00:00Z", "reason": "Said", "message": ""})
    };
    let mut conditions = vec![condition("GardenletReady", ready(draw))];
    if era == Era::Of2020 {
        conditions.push(condition("Bootstrapped", ready(draw)));
    } else {
        if draw.once_in(8) {
            conditions.push(condition("Bootstrapped", "False"));
        }
        if draw.below(2) == 0 {
            value["spec"]["backup"] = json!({"provider": "aws"});
        }
        if draw.often() {
            conditions.push(condition("BackupBucketsReady", ready(draw)));
        }
        value["status"]["gardener"] = json!({"version": VERSION});
    }
    if era == Era::Today && !draw.once_in(16) {
        value["status"]["lastOperation"] = json!({"type": "Reconcile", "state": "Succeeded", "progress": 100,
            "description": "", "lastUpdateTime": "2021-10-01T00:00:00Z"});
    }
    if era == Era::Today && draw.below(2) == 0 {
        value["status"]["allocatable"] = json!({"shoots": draw.below(4).to_string()});
    }
    value["status"]["conditions"] = json!(conditions);
}

fn shoot(draw: &mut Draw, name: &str, era: Era, six: bool) -> Value {
    let provider = draw.one(&PROVIDERS);
    let mut spec = json!({
        "cloudProfileName": if draw.once_in(40) { "missing" } else { provider },
        "region": draw.one(&REGIONS), "provider": {"type": provider},
        "purpose": draw.one(&["evaluation", "production", "testing"]),
    });
    let workerless = era == Era::Today && draw.once_in(8);
    if !workerless {
        spec["provider"]["workers"] = json!([{
            "name": "pool", "minimum": 1, "maximum": 1, "machine": {"type": "large"},
        }]);
        if era == Era::Today {
            spec["provider"]["workers"][0]["zones"] = json!(some_of(draw, &ZONES[..3]));
        }
    }
    if era == Era::Today {
        wants_of_today(draw, name, &mut spec);
    }
    spec["networking"] = networking(draw, era, six, workerless);
    if draw.once_in(6) {
        spec["seedSelector"] = selector(draw);
        if era == Era::Today && draw.below(2) == 0 {
            // This field is no longer used.
            spec["seedSelector"]["providerTypes"] = json!(["gcp"]);
        }
    }
    let mut tolerations = Vec::new();
    for key in ["gpu", "dedicated", "seed.gardener.cloud/protected"] {
        if draw.once_in(3) {
            let mut toleration = json!({"key": key});
            if draw.below(2) == 0 {
                toleration["value"] = json!(draw.one(&["a", "b"]));
            }
            tolerations.push(toleration);
        }
    }
    spec["tolerations"] = json!(tolerations);
    if era == Era::Of2020 && draw.once_in(3) {
        spec["dns"] = match draw.below(3) {
            0 => json!({"domain": "a.example.org", "providers": [{"type": "unmanaged"}]}),
            1 => {
                json!({"domain": "a.example.org", "providers": [{"type": "aws-route53", "primary": true, "secretName": "dns"}]})
            }
            _ => json!({"domain": "a.example.org"}),
        };
    }
    let mut value = object("Shoot", name, spec);
    if draw.once_in(12) {
        value["metadata"]["namespace"] = json!("garden");
    }
    if draw.once_in(25) {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:00:00Z");
        value["metadata"]["finalizers"] = json!(["gardener"]);
    }
    value
}

/// Sets fields of shoots that were added after 2020.
fn wants_of_today(draw: &mut Draw, name: &str, spec: &mut Value) {
    let tolerance = draw.one(&["", "", "node", "zone"]);
    if !tolerance.is_empty() {
        spec["controlPlane"]["highAvailability"] = json!({"failureTolerance": {"type": tolerance}});
    }
    if draw.once_in(6) {
        let zones = if tolerance == "zone" {
            &ZONES[..3]
        } else {
            &ZONES[..1]
        };
        spec["controlPlane"]["zones"] = json!(zones);
    }
    if draw.once_in(3) {
        spec["accessRestrictions"] = named(&some_of(draw, &RESTRICTIONS));
    }
    if draw.below(2) == 0 {
        let first = draw.one(&[name, name, name, "foo"]);
        let domain = draw.one(&["ex.org", "ex.org", "other.org", "nobody.org"]);
        spec["dns"] = json!({"domain": format!("{first}.dev.{domain}")});
    }
}

/// Ranges 1 to 3 are the seeds' nodes, pods and services, 4 to 7 their defaults for pods. In 2020, nodes were
/// compared only with nodes, and pods and services with each other: the other pairs, which Berth compares
/// according to the documentation, are not generated.
fn networking(draw: &mut Draw, era: Era, six: bool, workerless: bool) -> Value {
    let one_of = |draw: &mut Draw, theirs: &[usize], own: usize| {
        let theirs = if six { &[1, 2, 3][..] } else { theirs };
        let number = if draw.once_in(8) {
            theirs[draw.below(theirs.len())]
        } else {
            own
        };
        json!(range(six, number))
    };
    let mut networking = json!({"type": "calico"});
    if six {
        networking["ipFamilies"] = json!(["IPv6"]);
    } else if era == Era::Today && draw.once_in(6) {
        networking["ipFamilies"] = json!(["IPv4", "IPv6"]);
    }
    if !workerless && draw.often() {
        networking["nodes"] = one_of(draw, &[1], 10);
    }
    if !workerless && (era == Era::Today || draw.below(2) == 0) {
        networking["pods"] = one_of(draw, &[2, 3], 11);
    }
    if era == Era::Today || draw.below(2) == 0 {
        networking["services"] = one_of(draw, &[2, 3], 12);
    }
    networking
}
