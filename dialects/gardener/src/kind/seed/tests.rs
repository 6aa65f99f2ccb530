//! Defaults, rules and columns of seeds.

use berth_apimachinery::{Cell, Kind, Object, Revision, Timestamp, Write, WriteOperation};
use serde_json::{Value, json};

use super::SeedKind;
use crate::testing::{seed, with};

fn write<'a>(operation: WriteOperation, old: Option<&'a Value>) -> Write<'a> {
    Write {
        operation,
        old,
        now: Timestamp::UNIX_EPOCH,
    }
}

fn prepared(mut value: Value) -> Value {
    let kind = SeedKind;
    kind.schema("v1beta1").default(&mut value);
    kind.prepare(&write(WriteOperation::Create, None), &mut value);
    value
}

fn errors(new: &Value, old: Option<&Value>) -> Vec<String> {
    let kind = SeedKind;
    let operation = if old.is_some() {
        WriteOperation::Update
    } else {
        WriteOperation::Create
    };
    let mut errors = kind.schema("v1beta1").validate(new);
    errors.extend(kind.validate(&write(operation, old), new));
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn seeds_are_visible_and_labelled_by_default() {
    let plain = prepared(seed("s", "aws", "eu-west-1"));
    assert_eq!(
        plain["spec"]["settings"],
        json!({"scheduling": {"visible": true}})
    );
    let labels = json!({"seed.gardener.cloud/provider": "aws", "seed.gardener.cloud/region": "eu-west-1"});
    assert_eq!(plain["metadata"]["labels"], labels);
    let tainted = with(
        seed("s", "aws", "x"),
        "/spec/taints",
        json!([{"key": "seed.gardener.cloud/invisible"}]),
    );
    assert_eq!(
        prepared(tainted.clone())["spec"]["settings"]["scheduling"],
        Value::Null,
        "the rules in force say"
    );
    let explicit = with(tainted, "/spec/settings/scheduling", json!({}));
    assert_eq!(
        prepared(explicit)["spec"]["settings"]["scheduling"],
        json!({}),
        "a block that is there gets no default, and says no"
    );
    assert!(errors(&plain, None).is_empty());
}

#[test]
fn every_rule_of_a_seed_is_told() {
    let good = seed("s", "aws", "eu-west-1");
    let cases = [
        (
            "/spec/provider/type",
            json!(""),
            "spec.provider.type: Required value",
        ),
        (
            "/spec/provider/region",
            json!(""),
            "spec.provider.region: Required value",
        ),
        (
            "/spec/provider/zones",
            json!(["a", "a"]),
            "spec.provider.zones[1]: Duplicate value: \"a\"",
        ),
        (
            "/spec/networks/pods",
            json!("10.0.0"),
            "spec.networks.pods: Invalid value: \"10.0.0\": must be a valid CIDR",
        ),
        (
            "/spec/networks/pods",
            json!("10.1.0.0/24"),
            "spec.networks.pods: Invalid value: \"10.1.0.0/24\": must not overlap with \"spec.networks.nodes\" (\"10.1.0.0/16\")",
        ),
        (
            "/spec/networks/shootDefaults/pods",
            json!("100.64.0.0/16"),
            "spec.networks.shootDefaults.services: Invalid value: \"100.64.0.0/13\": must not overlap with",
        ),
        (
            "/spec/networks/shootDefaults/pods",
            json!("fd00::/64"),
            "spec.networks.shootDefaults.pods: Invalid value: \"fd00::/64\": must be a range of the ipFamilies, which are IPv4",
        ),
        (
            "/spec/networks/pods",
            json!("241.0.0.0/16"),
            "spec.networks.pods: Invalid value: \"241.0.0.0/16\": must not overlap with 241.0.0.0/8, which is reserved for",
        ),
        (
            "/spec/networks/ipFamilies",
            json!(["v4"]),
            "spec.networks.ipFamilies[0]: Unsupported value: \"v4\"",
        ),
        (
            "/spec/settings/zoneSelection",
            json!({"mode": "Prefer"}),
            "spec.settings.zoneSelection: Forbidden: may only be set for a seed with spec.provider.zones",
        ),
        (
            "/spec/taints",
            json!([{"key": ""}]),
            "spec.taints[0].key: Required value",
        ),
        (
            "/spec/taints",
            json!([{"key": "a", "value": "b"}, {"key": "a", "value": "b"}]),
            "spec.taints[1]: Duplicate value: \"a=b\"",
        ),
        (
            "/status/allocatable",
            json!({"shoots": "many"}),
            "status.allocatable[shoots]: Invalid value: \"many\"",
        ),
    ];
    for (pointer, value, words) in cases {
        let told = errors(&with(good.clone(), pointer, value), None);
        assert!(
            told.len() == 1 && told[0].starts_with(words),
            "{pointer}: {told:?}"
        );
    }
}

#[test]
fn ranges_for_shoots_may_meet_those_of_the_seed_where_they_are_of_ipv4() {
    let good = seed("s", "aws", "eu-west-1");
    let default = |seed: Value, text: &str| with(seed, "/spec/networks/shootDefaults/pods", json!(text));
    assert_eq!(errors(&default(good.clone(), "10.3.1.0/24"), None), [""; 0]);
    let both = with(good, "/spec/networks/ipFamilies", json!(["IPv4", "IPv6"]));
    let both = with(both, "/spec/networks/pods", json!("fd00:1::/64"));
    assert_eq!(errors(&default(both.clone(), "10.3.1.0/24"), None), [""; 0]);
    assert_eq!(
        errors(&default(both, "fd00:1::/96"), None),
        [
            "spec.networks.shootDefaults.pods: Invalid value: \"fd00:1::/96\": must not overlap with \
             \"spec.networks.pods\" (\"fd00:1::/64\")"
        ]
    );
}

#[test]
fn networks_and_backup_cannot_be_changed() {
    let old = with(
        seed("s", "aws", "eu-west-1"),
        "/spec/backup",
        json!({"provider": "aws", "region": "eu"}),
    );
    let old = with(old, "/spec/networks/ipFamilies", json!(["IPv4"]));
    let cases = [
        (
            "/spec/networks/nodes",
            json!("10.9.0.0/16"),
            "spec.networks.nodes: Invalid value: \"10.9.0.0/16\": field is immutable",
        ),
        (
            "/spec/networks/pods",
            json!("10.9.0.0/16"),
            "spec.networks.pods: Invalid value",
        ),
        (
            "/spec/networks/services",
            json!("10.9.0.0/16"),
            "spec.networks.services: Invalid value",
        ),
        (
            "/spec/networks/ipFamilies",
            json!(["IPv4", "IPv6"]),
            "spec.networks.ipFamilies: Invalid value: [\"IPv4\",\"IPv6\"]: field is immutable",
        ),
        (
            "/spec/backup/provider",
            json!("gcp"),
            "spec.backup.provider: Invalid value",
        ),
        (
            "/spec/backup/region",
            json!("us"),
            "spec.backup.region: Invalid value",
        ),
    ];
    for (pointer, value, words) in cases {
        let told = errors(&with(old.clone(), pointer, value), Some(&old));
        assert!(
            told.len() == 1 && told[0].starts_with(words),
            "{pointer}: {told:?}"
        );
    }
    let mut without = old.clone();
    without["spec"].as_object_mut().unwrap().remove("backup");
    assert!(errors(&without, Some(&old))[0].starts_with("spec.backup: Forbidden"));
    let moved = with(old.clone(), "/spec/provider/region", json!("eu-west-2"));
    assert!(
        errors(&moved, Some(&old)).is_empty(),
        "provider and region may change"
    );
}

#[test]
fn wrong_types_are_told_once() {
    let told = errors(
        &with(seed("s", "aws", "x"), "/spec/provider/type", json!(5)),
        None,
    );
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("spec.provider.type: "), "{told:?}");
}

#[test]
fn upstreams_other_fields_are_known_to_nobody_and_kept() {
    let full = with(
        seed("s", "aws", "x"),
        "/spec/ingress",
        json!({"domain": "ingress.example", "controller": {"kind": "nginx"}}),
    );
    let full = with(
        full,
        "/spec/settings/verticalPodAutoscaler",
        json!({"enabled": true}),
    );
    let full = with(full, "/spec/settings/scheduling/extra", json!(1));
    let schema = SeedKind;
    assert!(schema.schema("v1beta1").unknown_fields(&full).is_empty());
    assert!(errors(&full, None).is_empty());
}

#[test]
fn the_status_cell_is_stricter_than_scheduling() {
    let cell = |conditions: &[(&str, &str)]| {
        let list: Value = conditions
            .iter()
            .map(|(name, status)| json!({"type": name, "status": status}))
            .collect();
        let object = Object::new(
            &with(seed("s", "aws", "x"), "/status/conditions", list),
            Revision(1),
        )
        .unwrap();
        SeedKind.row(&object)[1].clone()
    };
    const READY: (&str, &str) = ("GardenletReady", "True");
    const EXTENSIONS: (&str, &str) = ("ExtensionsReady", "True");
    let cases: [(&[(&str, &str)], &str); 8] = [
        (&[], "NotReady"),
        (&[("GardenletReady", "Unknown")], "Unknown"),
        (&[("GardenletReady", "False"), EXTENSIONS], "NotReady"),
        (&[READY], "NotReady"),
        (&[READY, EXTENSIONS], "Ready"),
        (&[READY, ("ExtensionsReady", "Progressing")], "Ready"),
        (&[READY, EXTENSIONS, ("BackupBucketsReady", "False")], "NotReady"),
        (
            &[READY, EXTENSIONS, ("SeedSystemComponentsHealthy", "Unknown")],
            "NotReady",
        ),
    ];
    for (conditions, text) in cases {
        assert_eq!(cell(conditions), Cell::from(text), "{conditions:?}");
    }
}

#[test]
fn rows_are_as_long_as_the_columns() {
    let kind = SeedKind;
    let object = with(
        seed("s", "aws", "eu-west-1"),
        "/status/lastOperation",
        json!({"type": "Reconcile", "state": "Succeeded", "progress": 100}),
    );
    let row = kind.row(&Object::new(&object, Revision(1)).unwrap());
    assert_eq!(row.len(), kind.columns().len());
    assert_eq!(
        row[2..5],
        [
            Cell::from("Reconcile Succeeded (100%)"),
            "aws".into(),
            "eu-west-1".into()
        ]
    );
    assert_eq!(row[6..], [Cell::from("<unknown>"), "<unknown>".into()]);
}
