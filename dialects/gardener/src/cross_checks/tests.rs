//! Every change of a Shoot whose validity depends on other objects.

use berth_dialect_contract::{Dialect, Guards};
use serde_json::{Value, json};

use super::seed_errors;
use crate::Gardener;
use crate::fleet::Fleet;
use crate::names::{PROJECTS, SEEDS, SHOOTS};
use crate::testing::{configured, fleet, own_profile, profile, project, seed, shoot, with};

/// A fleet with the seed `s`: provider type `aws`, region `eu-1`, and one more label.
fn world() -> Fleet {
    let labelled = with(
        seed("s", "aws", "eu-1"),
        "/metadata/labels",
        json!({"environment": "live"}),
    );
    fleet(&[labelled, profile("gcp"), own_profile("mine", "gcp")])
}

fn told(old: Option<&Value>, new: &Value) -> Vec<String> {
    assert_eq!(Gardener.guarded().judges, [SHOOTS, PROJECTS, SEEDS]);
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
        // The profile does not exist, which scheduling reports.
        (newer("NamespacedCloudProfile", "gcp"), &[]),
        (
            newer("NamespacedCloudProfile", "mine"),
            &[
                "spec.provider.type: Invalid value: \"aws\": must be the type of NamespacedCloudProfile \"mine\", which is \"gcp\"",
            ],
        ),
        (of("/spec/cloudProfileName", json!("mars")), &[]),
        // The kind refuses this object.
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
    let types = "spec.seedSelector.providerTypes: Forbidden: must admit seed \"s\", which the shoot is on: its provider \
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
            &["spec.seedSelector: Forbidden: cannot be removed while the shoot has a seed".to_owned()],
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
    // The seed's labels changed after the shoot was bound: other fields of the spec can still be changed.
    let changed = with(on("s", odd.clone()), "/spec/purpose", json!("testing"));
    assert!(told(Some(&on("s", odd.clone())), &changed).is_empty());
    // The shoot has no seed yet: the scheduler will use its selector.
    assert!(told(Some(&on("", odd.clone())), &on("", other.clone())).is_empty());
    assert!(
        told(None, &on("s", odd.clone())).is_empty(),
        "judged as a place given on create"
    );
    let gone = told(Some(&on("lost", odd)), &on("lost", other));
    assert_eq!(
        gone,
        [
            "spec.seedSelector: Forbidden: cannot be changed while the shoot is on seed \"lost\", which does not exist, so \
             that the selector cannot be checked"
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

/// The errors of `new` in a fleet of `objects`.
fn told_in(objects: &[Value], old: Option<&Value>, new: &Value) -> Vec<String> {
    let errors = fleet(objects).judge(SHOOTS, old, new);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn the_region_is_one_that_the_profile_lists() {
    let listed = with(
        profile("aws"),
        "/spec/regions",
        json!([{"name": "eu-west-1"}, {"name": "us-east-1"}]),
    );
    let worlds = [vec![listed.clone()], vec![listed, own_profile("mine", "aws")]];
    let odd = shoot("foo", "eu-wset-1");
    let expected =
        "spec.region: Unsupported value: \"eu-wset-1\": supported values: \"eu-west-1\", \"us-east-1\"";
    assert_eq!(told_in(&worlds[0], None, &odd), [expected]);
    assert_eq!(told_in(&worlds[0], None, &shoot("foo", "us-east-1")), [""; 0]);
    assert_eq!(
        told_in(
            &worlds[0],
            Some(&odd),
            &with(odd.clone(), "/spec/purpose", json!("testing"))
        ),
        [""; 0],
        "one that was there before stays"
    );
    let own = json!({"kind": "NamespacedCloudProfile", "name": "mine"});
    assert_eq!(
        told_in(&worlds[1], None, &with(odd.clone(), "/spec/cloudProfile", own)),
        [expected]
    );
    for silent in [json!([]), Value::Null] {
        let silent = with(profile("aws"), "/spec/regions", silent);
        assert_eq!(told_in(&[silent], None, &odd), [""; 0], "it does not say");
    }
}

#[test]
fn a_profile_changes_among_those_made_of_one() {
    let world = [
        own_profile("mine", "aws"),
        own_profile("other", "aws"),
        own_profile("far", "gcp"),
    ];
    let of = |kind: &str, name: &str| {
        with(
            shoot("foo", "eu-1"),
            "/spec/cloudProfile",
            json!({"kind": kind, "name": name}),
        )
    };
    let (plain, own) = ("CloudProfile", "NamespacedCloudProfile");
    for (from, to) in [
        (of(plain, "aws"), of(own, "mine")),
        (of(own, "mine"), of(plain, "aws")),
        (of(own, "mine"), of(own, "other")),
        (of(own, "lost"), of(own, "lost")),
    ] {
        assert_eq!(told_in(&world, Some(&from), &to), [""; 0], "{to}");
    }
    let told = told_in(&world, Some(&of(own, "mine")), &of(own, "far"));
    assert_eq!(
        told,
        [
            "spec.cloudProfile.name: Invalid value: \"far\": cannot change from NamespacedCloudProfile \"mine\" (derived from \
             CloudProfile \"aws\") to NamespacedCloudProfile \"far\" (derived from CloudProfile \"gcp\"): the profile can only \
             change among a CloudProfile and the NamespacedCloudProfiles derived from it"
        ]
    );
    for (from, to) in [
        (of(plain, "aws"), of(plain, "gcp")),
        (of(plain, "aws"), of(own, "lost")),
        (of(own, "lost"), of(plain, "aws")),
    ] {
        assert_eq!(told_in(&world, Some(&from), &to).len(), 1, "{to}");
    }
}

#[test]
fn a_new_toleration_is_one_that_the_project_or_the_configuration_allows() {
    const PROTECTED: &str = "seed.gardener.cloud/protected";
    let tolerating = |key: &str| with(shoot("foo", "eu-1"), "/spec/tolerations", json!([{"key": key}]));
    let dev = project(
        &json!([]),
        &json!([{"key": "gpu", "value": "a"}, {"key": "team"}]),
    );
    let valued = |value: &str| {
        with(
            shoot("foo", "eu-1"),
            "/spec/tolerations",
            json!([{"key": "gpu", "value": value}]),
        )
    };
    assert_eq!(
        told_in(std::slice::from_ref(&dev), None, &tolerating("team")),
        [""; 0]
    );
    assert_eq!(told_in(std::slice::from_ref(&dev), None, &valued("a")), [""; 0]);
    assert_eq!(
        told_in(std::slice::from_ref(&dev), None, &valued("b")),
        [
            "spec.tolerations[0]: Forbidden: gpu=b is not allowed: Project \"dev\" (spec.tolerations.whitelist) and the \
             configuration allow only: gpu=a, team"
        ]
    );
    assert_eq!(
        told_in(std::slice::from_ref(&dev), None, &tolerating("gpu")).len(),
        1,
        "every value"
    );
    // Tolerations that the shoot had already stay.
    assert_eq!(
        told_in(std::slice::from_ref(&dev), Some(&valued("b")), &valued("b")),
        [""; 0]
    );
    let everywhere = configured(&json!({"shootTolerationRestriction": {"whitelist": [{"key": PROTECTED}]}}));
    for (world, protected, other) in [
        (vec![dev.clone()], 1, 1),
        (vec![], 1, 0),
        (vec![everywhere.clone()], 0, 0),
        (vec![everywhere, dev], 0, 1),
    ] {
        assert_eq!(
            told_in(&world, None, &tolerating(PROTECTED)).len(),
            protected,
            "{world:?}"
        );
        assert_eq!(
            told_in(&world, None, &tolerating("other")).len(),
            other,
            "{world:?}"
        );
    }
    let own = with(tolerating(PROTECTED), "/metadata/namespace", json!("garden"));
    assert_eq!(told_in(&[], None, &own), [""; 0]);
}

#[test]
fn zones_of_a_control_plane_take_a_profile_that_allows_them() {
    let pinned = with(shoot("foo", "eu-1"), "/spec/controlPlane/zones", json!(["a"]));
    assert_eq!(
        told(None, &pinned),
        [
            "spec.controlPlane.zones: Forbidden: CloudProfile \"aws\" does not allow zone pinning (spec.controlPlane.allowZonePinning)"
        ]
    );
    let before = with(pinned.clone(), "/spec/purpose", json!("testing"));
    assert!(told(Some(&before), &pinned).is_empty(), "they were there before");
    let allows = with(profile("aws"), "/spec/controlPlane/allowZonePinning", json!(true));
    assert!(fleet(&[allows]).judge(SHOOTS, None, &pinned).is_empty());
}

#[test]
fn a_project_takes_no_namespace_that_another_one_has() {
    let (first, none) = (project(&json!([]), &json!([])), json!([]));
    let second = |namespace: &str| {
        let named = with(project(&none, &none), "/metadata/name", json!("takeover"));
        with(named, "/spec/namespace", json!(namespace))
    };
    let told = |world: &[Value], old: Option<&Value>, new: &Value| -> Vec<String> {
        let errors = fleet(world).judge(PROJECTS, old, new);
        errors.iter().map(ToString::to_string).collect()
    };
    let world = [first.clone()];
    let taken = "spec.namespace: Invalid value: \"garden-dev\": the namespace belongs to Project \"dev\": choose another namespace";
    assert_eq!(told(&world, None, &second("garden-dev")), [taken]);
    assert_eq!(told(&world, None, &second("garden-own")), [""; 0]);
    let unnamed = with(second(""), "/spec", json!({}));
    assert_eq!(told(&world, Some(&unnamed), &second("garden-dev")), [taken]);
    assert_eq!(told(&world, Some(&first), &first), [""; 0]);
    // A namespace that follows from the name is owned like one in the spec.
    let by_name = with(second("garden-takeover"), "/metadata/name", json!("other"));
    assert_eq!(told(&[by_name], None, &unnamed).len(), 1);
    // Two conflicting Projects from another server can be corrected one after the other.
    let both = [first, second("garden-dev")];
    assert_eq!(told(&both, Some(&both[1]), &both[1]), [""; 0]);
}

#[test]
fn what_shoots_on_a_seed_go_by_stays() {
    let own = |zones: Value, internal: &str, defaults: Value| {
        let object = with(seed("a", "aws", "eu-west-1"), "/spec/provider/zones", zones);
        let object = with(object, "/spec/dns/internal/domain", json!(internal));
        with(object, "/spec/dns/defaults", defaults)
    };
    let old = own(
        json!(["1", "2"]),
        "in.example",
        json!([{"domain": "a.example"}, {"domain": "b.example"}]),
    );
    let on_it = with(shoot("web", "eu-west-1"), "/spec/seedName", json!("a"));
    let on_it = with(on_it, "/spec/dns", json!({"domain": "web.dev.a.example"}));
    let judged = |objects: &[Value], new: &Value| -> Vec<String> {
        let errors = seed_errors(&fleet(objects), Some(&old), new);
        errors.iter().map(|error| error.path.clone()).collect()
    };
    let used = [old.clone(), on_it];
    let changed = own(json!(["2", "3"]), "out.example", json!([{"domain": "b.example"}]));
    assert_eq!(
        judged(&used, &changed),
        [
            "spec.provider.zones",
            "spec.dns.internal.domain",
            "spec.dns.defaults"
        ]
    );
    let more = own(
        json!(["2", "1", "3"]),
        "in.example",
        json!([{"domain": "a.example"}]),
    );
    assert!(judged(&used, &more).is_empty(), "nobody is below the other one");
    assert!(
        judged(std::slice::from_ref(&old), &changed).is_empty(),
        "nobody uses it"
    );
}
