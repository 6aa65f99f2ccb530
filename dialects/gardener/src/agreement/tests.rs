//! Every change of a Shoot that other objects have a say in.

use dialect_contract::{Dialect, Guarding};
use serde_json::{Value, json};

use crate::Gardener;
use crate::fleet::Fleet;
use crate::names::{SEEDS, SHOOTS};
use crate::testing::{fleet, profile, seed, shoot, with};

/// The seed `s`: provider type `aws`, region `eu-1`, one label of its own.
fn world() -> Fleet {
    let labelled = with(
        seed("s", "aws", "eu-1"),
        "/metadata/labels",
        json!({"environment": "live"}),
    );
    fleet(&[labelled, profile("gcp")])
}

fn told(old: Option<&Value>, new: &Value) -> Vec<String> {
    assert_eq!(Gardener.guarded().judges, [SHOOTS]);
    let errors = world().judge(SHOOTS, old, new);
    errors.iter().map(ToString::to_string).collect()
}

fn on(seed: &str, selector: Value) -> Value {
    let shoot = with(shoot("foo", "eu-1"), "/spec/seedName", json!(seed));
    with(shoot, "/spec/seedSelector", selector)
}

#[test]
fn the_provider_type_is_the_cloud_profiles() {
    let differs = "spec.provider.type: Invalid value: \"aws\": must be the type of CloudProfile \"gcp\", which is \"gcp\"";
    let of = |pointer: &str, value: Value| with(shoot("foo", "eu-1"), pointer, value);
    let newer = |kind: &str, name: &str| of("/spec/cloudProfile", json!({"kind": kind, "name": name}));
    for (new, expected) in [
        (shoot("foo", "eu-1"), &[][..]),
        (of("/spec/cloudProfileName", json!("gcp")), &[differs]),
        (newer("CloudProfile", "gcp"), &[differs]),
        (newer("", "gcp"), &[differs]),
        (newer("CloudProfile", "aws"), &[]),
        // Not read, or not there: scheduling says so.
        (newer("NamespacedCloudProfile", "gcp"), &[]),
        (of("/spec/cloudProfileName", json!("mars")), &[]),
        // For the kind to refuse.
        (of("/spec/provider", json!(7)), &[]),
    ] {
        assert_eq!(told(None, &new), expected, "made: {new}");
        let before = with(new.clone(), "/spec/purpose", json!("testing"));
        assert_eq!(told(Some(&before), &new), expected, "changed: {new}");
    }
}

#[test]
fn a_selector_keeps_matching_the_seed_the_shoot_is_on() {
    let live = json!({"matchLabels": {"environment": "live"}});
    let labels = "spec.seedSelector: Forbidden: must match seed \"s\", which the shoot is on: its labels do not match ";
    let types = "spec.seedSelector.providerTypes: Forbidden: must let in seed \"s\", which the shoot is on: its provider \
                 type is \"aws\"";
    let table: &[(Value, &[String])] = &[
        (live.clone(), &[]),
        (json!({}), &[]),
        (
            json!({"matchLabels": {"seed.gardener.cloud/provider": "aws"}}),
            &[],
        ),
        (
            json!({"matchLabels": {"seed.gardener.cloud/region": "eu-1"}}),
            &[],
        ),
        (
            json!({"matchExpressions": [{"key": "environment", "operator": "Exists"}]}),
            &[],
        ),
        (
            json!({"matchLabels": {"environment": "test"}}),
            &[format!("{labels}environment=test")],
        ),
        (
            json!({"matchExpressions": [{"key": "environment", "operator": "DoesNotExist"}]}),
            &[format!("{labels}!environment")],
        ),
        (json!({"providerTypes": ["aws", "gcp"]}), &[]),
        (json!({"providerTypes": ["*"]}), &[]),
        (json!({"providerTypes": ["gcp"]}), &[types.to_owned()]),
        (
            json!({"matchLabels": {"environment": "test"}, "providerTypes": ["gcp"]}),
            &[format!("{labels}environment=test"), types.to_owned()],
        ),
        (
            Value::Null,
            &[
                "spec.seedSelector: Forbidden: the seed selector cannot be taken away while the shoot has a seed"
                    .to_owned(),
            ],
        ),
    ];
    for (after, expected) in table {
        let old = on(
            "s",
            json!({"matchLabels": {"environment": "live", "gone": "since"}}),
        );
        let told = told(Some(&old), &on("s", after.clone()));
        assert_eq!(&told, expected, "{after}");
    }
    let bad = json!({"matchExpressions": [{"key": "a", "operator": "Is"}]});
    let told = told(Some(&on("s", live)), &on("s", bad));
    assert!(
        told[0].starts_with("spec.seedSelector.matchExpressions[0].operator"),
        "{told:?}"
    );
}

#[test]
fn only_a_changed_selector_of_a_shoot_with_a_seed_is_judged() {
    let (odd, other) = (
        json!({"matchLabels": {"environment": "test"}}),
        json!({"matchLabels": {"environment": "dev"}}),
    );
    // The seed's labels changed after the shoot came: the rest of the spec is still the user's.
    let changed = with(on("s", odd.clone()), "/spec/purpose", json!("testing"));
    assert!(told(Some(&on("s", odd.clone())), &changed).is_empty());
    // Nowhere yet: the scheduler goes by what it says then.
    assert!(told(Some(&on("", odd.clone())), &on("", other.clone())).is_empty());
    assert!(
        told(None, &on("s", odd.clone())).is_empty(),
        "judged as a place given on create"
    );
    let gone = told(Some(&on("lost", odd)), &on("lost", other));
    assert_eq!(
        gone,
        [
            "spec.seedSelector: Forbidden: cannot be changed while the shoot is on seed \"lost\", which does not exist: \
             whether it matches cannot be told"
        ]
    );
    assert!(world().judge(SEEDS, None, &json!({})).is_empty());
}

#[test]
fn a_shoot_on_a_seed_that_is_being_deleted_only_leaves() {
    let leaving = with(
        seed("s", "aws", "eu-1"),
        "/metadata/deletionTimestamp",
        json!("2021-10-28T09:00:00Z"),
    );
    let world = fleet(&[leaving, seed("t", "aws", "eu-1")]);
    let judge = |old: &Value, new: &Value| -> Vec<String> {
        let errors = world.judge(SHOOTS, Some(old), new);
        errors.iter().map(ToString::to_string).collect()
    };
    let old = on("s", json!({}));
    let changed = with(old.clone(), "/spec/purpose", json!("testing"));
    assert_eq!(
        judge(&old, &changed),
        ["spec: Forbidden: cannot be changed while seed \"s\", which the shoot is on, is being deleted"]
    );
    let moved = with(old.clone(), "/spec/seedName", json!("t"));
    assert!(judge(&old, &moved).is_empty());
    assert!(
        judge(
            &on("t", json!({})),
            &with(moved, "/spec/purpose", json!("testing"))
        )
        .is_empty()
    );
}
