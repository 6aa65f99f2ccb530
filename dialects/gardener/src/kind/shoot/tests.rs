//! Defaults, rules, immutability and columns of shoots.

mod forms;

use berth_apimachinery::{Cell, Kind, Object, Revision, Timestamp, Write, WriteOperation};
use serde_json::{Value, json};

use super::ShootKind;
use crate::testing::{shoot, with};

const BINDING: WriteOperation = WriteOperation::Subresource("binding");

fn prepared(operation: WriteOperation, old: Option<&Value>, mut new: Value) -> Value {
    let kind = ShootKind;
    kind.schema("v1beta1").default(&mut new);
    kind.prepare(
        &Write {
            operation,
            old,
            now: Timestamp::UNIX_EPOCH,
        },
        &mut new,
    );
    new
}

fn errors(operation: WriteOperation, old: Option<&Value>, new: &Value) -> Vec<String> {
    let kind = ShootKind;
    let mut errors = kind.schema("v1beta1").validate(new);
    errors.extend(kind.validate(
        &Write {
            operation,
            old,
            now: Timestamp::UNIX_EPOCH,
        },
        new,
    ));
    errors.iter().map(ToString::to_string).collect()
}

fn created(new: &Value) -> Vec<String> {
    errors(WriteOperation::Create, None, new)
}

fn foo() -> Value {
    shoot("foo", "eu-west-1")
}

fn bound() -> Value {
    with(foo(), "/spec/seedName", json!("a"))
}

#[test]
fn shoots_get_a_purpose_and_a_scheduler() {
    let plain = prepared(WriteOperation::Create, None, foo());
    assert_eq!(
        (&plain["spec"]["purpose"], &plain["spec"]["schedulerName"]),
        (&json!("evaluation"), &json!("default-scheduler"))
    );
    assert!(plain["spec"].get("tolerations").is_none());
    assert!(created(&plain).is_empty());
    let garden = prepared(
        WriteOperation::Create,
        None,
        with(foo(), "/metadata/namespace", json!("garden")),
    );
    assert_eq!(
        garden["spec"]["tolerations"],
        json!([{"key": "seed.gardener.cloud/protected"}])
    );
    let valued = with(
        with(foo(), "/metadata/namespace", json!("garden")),
        "/spec/tolerations",
        json!([{"key": "seed.gardener.cloud/protected", "value": "b"}]),
    );
    assert_eq!(
        prepared(WriteOperation::Create, None, valued)["spec"]["tolerations"],
        json!([
            {"key": "seed.gardener.cloud/protected", "value": "b"},
            {"key": "seed.gardener.cloud/protected"},
        ])
    );
    let again = prepared(WriteOperation::Update, Some(&garden), garden.clone());
    assert_eq!(again, garden);
    let reference = prepared(
        WriteOperation::Create,
        None,
        with(foo(), "/spec/cloudProfile", json!({"name": "aws"})),
    );
    assert_eq!(reference["spec"]["cloudProfile"]["kind"], "CloudProfile");
}

#[test]
fn shoots_are_labelled_with_their_seeds() {
    let moving = with(bound(), "/status/seedName", json!("b"));
    let moving = with(
        moving,
        "/metadata/labels",
        json!({"name.seed.gardener.cloud/old": "true", "mine": "x"}),
    );
    let expected =
        json!({"mine": "x", "name.seed.gardener.cloud/a": "true", "name.seed.gardener.cloud/b": "true"});
    for operation in [
        WriteOperation::Update,
        BINDING,
        WriteOperation::Subresource("status"),
    ] {
        let old = moving.clone();
        assert_eq!(
            prepared(operation, Some(&old), moving.clone())["metadata"]["labels"],
            expected,
            "{operation:?}"
        );
    }
    assert!(
        prepared(WriteOperation::Create, None, foo())["metadata"]
            .get("labels")
            .is_none()
    );
}

#[test]
fn every_rule_of_a_shoot_is_told() {
    let cases = [
        (
            "/spec/cloudProfileName",
            Value::Null,
            "spec.cloudProfileName: Required value",
        ),
        (
            "/spec/cloudProfile",
            json!({"kind": "Other", "name": "a"}),
            "spec.cloudProfile.kind: Unsupported value: \"Other\"",
        ),
        ("/spec/region", json!(""), "spec.region: Required value"),
        (
            "/spec/provider/type",
            json!(""),
            "spec.provider.type: Required value",
        ),
        (
            "/spec/purpose",
            json!("fun"),
            "spec.purpose: Unsupported value: \"fun\"",
        ),
        (
            "/spec/purpose",
            json!("infrastructure"),
            "spec.purpose: Unsupported value: \"infrastructure\"",
        ),
        (
            "/spec/networking/nodes",
            json!("10.0.0.0/33"),
            "spec.networking.nodes: Invalid value: \"10.0.0.0/33\": must be a valid CIDR",
        ),
        (
            "/spec/dns",
            json!({"domain": "A b"}),
            "spec.dns.domain: Invalid value: \"A b\"",
        ),
        (
            "/spec/dns",
            json!({"domain": "a.b", "providers": [{"primary": true}, {"primary": true}]}),
            "spec.dns.providers[1].primary: Forbidden",
        ),
        (
            "/spec/dns",
            json!({"providers": [{"type": "unmanaged", "secretName": "s"}]}),
            "spec.dns.providers[0].secretName: Forbidden",
        ),
        (
            "/spec/dns",
            json!({"providers": [{"type": "x", "primary": true}]}),
            "spec.dns.domain: Required value",
        ),
        (
            "/spec/dns",
            json!({"providers": [{"type": "unmanaged", "credentialsRef": {"name": "s"}}]}),
            "spec.dns.providers[0].credentialsRef: Forbidden",
        ),
        (
            "/spec/networking/ipFamilies",
            json!(["IPv6", "IPv5"]),
            "spec.networking.ipFamilies[1]: Unsupported value: \"IPv5\"",
        ),
        (
            "/spec/networking/ipFamilies",
            json!(["IPv4", "IPv4"]),
            "spec.networking.ipFamilies[1]: Duplicate value: \"IPv4\"",
        ),
        (
            "/spec/networking",
            json!({"nodes": "10.250.0.0/16", "pods": "10.250.128.0/17"}),
            "spec.networking.pods: Invalid value: \"10.250.128.0/17\": must not overlap with \"spec.networking.nodes\" \
             (\"10.250.0.0/16\")",
        ),
        (
            "/spec/controlPlane",
            json!({"highAvailability": {"failureTolerance": {"type": "region"}}}),
            "spec.controlPlane.highAvailability.failureTolerance.type: Unsupported value: \"region\"",
        ),
        (
            "/spec/controlPlane",
            json!({"zones": ["a", "b"]}),
            "spec.controlPlane.zones: Invalid value: [\"a\",\"b\"]: must be exactly 1 zone",
        ),
        (
            "/spec/controlPlane",
            json!({"highAvailability": {"failureTolerance": {"type": "zone"}}, "zones": ["a"]}),
            "spec.controlPlane.zones: Invalid value: [\"a\"]: must be exactly 3 zones",
        ),
        (
            "/spec/controlPlane",
            json!({"highAvailability": {"failureTolerance": {"type": "zone"}}, "zones": ["a", "b", "a"]}),
            "spec.controlPlane.zones[2]: Duplicate value: \"a\"",
        ),
        (
            "/spec/accessRestrictions",
            json!([{"name": "eu"}, {"name": "eu"}]),
            "spec.accessRestrictions[1]: Duplicate value: \"eu\"",
        ),
        ("/spec/seedName", json!(""), "spec.seedName: Invalid value: \"\""),
        (
            "/spec/schedulerName",
            json!("a.b"),
            "spec.schedulerName: Invalid value: \"a.b\"",
        ),
        (
            "/spec/seedSelector",
            json!({"matchExpressions": [{"key": "a", "operator": "Is"}]}),
            "spec.seedSelector.matchExpressions[0].operator: ",
        ),
        (
            "/spec/tolerations",
            json!([{"value": "x"}]),
            "spec.tolerations[0].key: Required value",
        ),
        (
            "/spec/tolerations",
            json!([{"key": "a b"}]),
            "spec.tolerations[0].key: Invalid value: \"a b\"",
        ),
        (
            "/spec/tolerations",
            json!([{"key": "a", "value": "x y"}]),
            "spec.tolerations[0].value: Invalid value: \"x y\"",
        ),
        (
            "/spec/tolerations",
            json!([{"key": "a", "value": "1"}, {"key": "a", "value": "1"}]),
            "spec.tolerations[1]: Duplicate value: \"a=1\"",
        ),
        (
            "/spec/tolerations",
            json!([{"key": "a"}, {"key": "a", "value": "1"}]),
            "spec.tolerations[1]: Duplicate value: \"a=1\"",
        ),
    ];
    for (pointer, value, words) in cases {
        let mut new = with(foo(), pointer, value.clone());
        if value.is_null() {
            new["spec"].as_object_mut().unwrap().remove("cloudProfileName");
        }
        let told = created(&new);
        assert!(
            told.len() == 1 && told[0].starts_with(words),
            "{pointer} {value}: {told:?}"
        );
    }
    let own = with(
        with(foo(), "/spec/purpose", json!("infrastructure")),
        "/metadata/namespace",
        json!("garden"),
    );
    assert!(created(&own).is_empty());
    let values = json!([{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]);
    assert!(created(&with(foo(), "/spec/tolerations", values)).is_empty());
    assert!(created(&bound()).is_empty(), "a seed may be named on create");
}

#[test]
fn what_is_immutable_is_told() {
    let old = prepared(
        WriteOperation::Create,
        None,
        with(
            with(foo(), "/spec/dns", json!({"domain": "a.b"})),
            "/spec/networking/services",
            json!("10.8.0.0/16"),
        ),
    );
    let cases = [
        (
            "/spec/region",
            json!("x"),
            "spec.region: Invalid value: \"x\": field is immutable",
        ),
        (
            "/spec/provider/type",
            json!("x"),
            "spec.provider.type: Invalid value",
        ),
        (
            "/spec/schedulerName",
            json!("x"),
            "spec.schedulerName: Invalid value",
        ),
        (
            "/spec/networking/services",
            json!("10.9.0.0/16"),
            "spec.networking.services: Invalid value",
        ),
        (
            "/spec/networking/ipFamilies",
            json!(["IPv6", "IPv4"]),
            "spec.networking.ipFamilies: Forbidden: cannot change from IPv4 to IPv6, IPv4",
        ),
        (
            "/spec/controlPlane/zones",
            json!(["a"]),
            "spec.controlPlane.zones: Forbidden: field is immutable",
        ),
        ("/spec/dns/domain", json!("c.d"), "spec.dns.domain: Invalid value"),
        (
            "/spec/seedName",
            json!("a"),
            "spec.seedName: Forbidden: may only be changed through the subresource shoots/binding",
        ),
    ];
    for (pointer, value, words) in cases {
        let told = errors(
            WriteOperation::Update,
            Some(&old),
            &with(old.clone(), pointer, value),
        );
        assert!(
            told.len() == 1 && told[0].starts_with(words),
            "{pointer}: {told:?}"
        );
    }
    let grown = with(
        old.clone(),
        "/spec/networking/ipFamilies",
        json!(["IPv4", "IPv6"]),
    );
    let grown = with(grown, "/spec/networking/nodes", json!("10.9.0.0/16"));
    assert_eq!(errors(WriteOperation::Update, Some(&old), &grown), [""; 0]);
    assert_eq!(errors(WriteOperation::Update, Some(&grown), &old), [""; 0]);
    let fine = with(
        with(old.clone(), "/spec/networking/pods", json!("172.16.0.0/16")),
        "/spec/purpose",
        json!("testing"),
    );
    assert!(errors(WriteOperation::Update, Some(&old), &fine).is_empty());
    let same = with(
        old.clone(),
        "/spec/cloudProfile",
        json!({"kind": "CloudProfile", "name": "aws"}),
    );
    assert!(
        errors(WriteOperation::Update, Some(&old), &same).is_empty(),
        "the same profile in the newer form"
    );
}

#[test]
fn seeds_names_move_through_the_binding_only() {
    let told = |operation, old: &Value, new: &Value| errors(operation, Some(old), new);
    assert!(told(BINDING, &foo(), &bound()).is_empty());
    assert!(told(WriteOperation::Update, &bound(), &foo())[0].starts_with("spec.seedName: Forbidden"));
    assert!(told(BINDING, &bound(), &foo())[0].starts_with("spec.seedName: Required value"));
    assert!(told(BINDING, &bound(), &bound())[0].contains("bound to this seed already"));
    let moved = with(bound(), "/spec/seedName", json!("b"));
    assert!(told(BINDING, &bound(), &moved).is_empty());
    let more = with(moved, "/spec/purpose", json!("testing"));
    assert!(told(BINDING, &bound(), &more)[0].starts_with("spec: Forbidden: only seedName may change"));
    let also = with(bound(), "/spec/purpose", json!("testing"));
    assert!(
        told(BINDING, &foo(), &also).is_empty(),
        "a first binding may change more"
    );
}

#[test]
fn the_spec_stands_still_while_deleting_and_while_moving() {
    let leaving = with(
        foo(),
        "/metadata/deletionTimestamp",
        json!("2021-10-28T08:00:00Z"),
    );
    let told = |old: &Value| {
        errors(
            WriteOperation::Update,
            Some(old),
            &with(old.clone(), "/spec/purpose", json!("testing")),
        )
    };
    assert!(told(&leaving)[0].starts_with("spec: Forbidden"));
    let bound_leaving = with(leaving.clone(), "/spec/seedName", json!("a"));
    assert!(errors(BINDING, Some(&leaving), &bound_leaving)[0].starts_with("spec: Forbidden"));
    assert!(
        errors(
            WriteOperation::Update,
            Some(&leaving),
            &with(leaving.clone(), "/metadata/labels", json!({}))
        )
        .is_empty()
    );
    assert!(told(&with(bound(), "/status/seedName", json!("b")))[0].contains("moves to another seed"));
    let operation = |kind: &str, state: &str| {
        with(
            bound(),
            "/status/lastOperation",
            json!({"type": kind, "state": state}),
        )
    };
    assert!(told(&operation("Migrate", "Processing"))[0].contains("moves to another seed"));
    assert!(told(&operation("Restore", "Processing"))[0].contains("moves to another seed"));
    assert!(told(&operation("Restore", "Succeeded")).is_empty());
    assert!(errors(WriteOperation::Subresource("status"), Some(&leaving), &leaving).is_empty());
}

#[test]
fn a_binding_leaves_the_status_alone_but_for_a_pending_create() {
    let pending = json!({"type": "Create", "state": "Pending", "description": "no seed"});
    let old = with(
        foo(),
        "/status",
        json!({"lastOperation": pending, "technicalID": "x"}),
    );
    let new = with(bound(), "/status", json!({"seedName": "forged"}));
    assert_eq!(
        prepared(BINDING, Some(&old), new.clone())["status"],
        json!({"technicalID": "x"})
    );
    let failed = with(old, "/status/lastOperation/state", json!("Failed"));
    assert_eq!(prepared(BINDING, Some(&failed), new)["status"], failed["status"]);
    assert!(
        prepared(BINDING, Some(&foo()), with(bound(), "/status", json!({"a": 1})))
            .get("status")
            .is_none()
    );
}

#[test]
fn rows_are_as_long_as_the_columns() {
    let kind = ShootKind;
    let texts = |value: &Value| -> Vec<String> {
        let row = kind.row(&Object::new(value, Revision(1)).unwrap());
        assert_eq!(row.len(), kind.columns().len());
        let text = |cell: &Cell| match cell {
            Cell::Value(value) => value.as_str().unwrap_or_default().to_owned(),
            Cell::Age(_) => "age".to_owned(),
        };
        row.iter().map(text).collect()
    };
    let expected = [
        "foo",
        "aws",
        "aws",
        "eu-west-1",
        "<none>",
        "<unknown>",
        "Awake",
        "<pending>",
        "<pending>",
        "<none>",
        "<unknown>",
        "<unknown>",
        "<unknown>",
        "<unknown>",
        "<unknown>",
        "<unknown>",
        "age",
    ];
    assert_eq!(texts(&foo()), expected);
    let full = with(bound(), "/spec/purpose", json!("testing"));
    let full = with(
        full,
        "/spec/cloudProfile",
        json!({"kind": "NamespacedCloudProfile", "name": "mine"}),
    );
    let full = with(full, "/spec/kubernetes", json!({"version": "1.34.1"}));
    let full = with(full, "/spec/hibernation", json!({"enabled": true}));
    let full = with(
        full,
        "/metadata/labels",
        json!({"shoot.gardener.cloud/status": "healthy"}),
    );
    let full = with(
        full,
        "/status/conditions",
        json!([{"type": "EveryNodeReady", "status": "True"}]),
    );
    let row = texts(&full);
    assert_eq!(row[1], "garden-dev/mine");
    assert_eq!(row[4..7], ["a", "1.34.1", "Hibernating"]);
    assert_eq!(
        (row[8].as_str(), row[9].as_str(), row[14].as_str()),
        ("healthy", "testing", "True")
    );
    assert_eq!(texts(&with(foo(), "/spec", json!({})))[1], "<unknown>");
}

#[test]
fn selectable_fields_read_the_object() {
    let kind = ShootKind;
    let object = with(bound(), "/status/seedName", json!("b"));
    let read = |path: &str| {
        let field = kind.selectable().iter().find(|field| field.path == path).unwrap();
        field.read(&object)
    };
    assert_eq!(
        (read("spec.seedName"), read("status.seedName")),
        ("a".to_owned(), "b".to_owned())
    );
    assert_eq!(
        (read("spec.cloudProfileName"), read("spec.cloudProfile.kind")),
        ("aws".to_owned(), String::new())
    );
}

#[test]
fn upstreams_other_fields_pass() {
    let full = with(
        foo(),
        "/spec/kubernetes",
        json!({"version": "1.34.1", "kubeAPIServer": {"enableAnonymousAuthentication": false}}),
    );
    let full = with(
        full,
        "/spec/provider/workers",
        json!([{"name": "w", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 3}]),
    );
    let full = with(
        full,
        "/spec/maintenance",
        json!({"autoUpdate": {"kubernetesVersion": true}}),
    );
    let mut full = with(full, "/spec/networking/type", json!("calico"));
    full["spec"]["cloudProfile"] = json!({"kind": "CloudProfile", "name": "aws"});
    full["spec"].as_object_mut().unwrap().remove("cloudProfileName");
    let kind = ShootKind;
    assert!(kind.schema("v1beta1").unknown_fields(&full).is_empty());
    assert!(created(&full).is_empty());
}
