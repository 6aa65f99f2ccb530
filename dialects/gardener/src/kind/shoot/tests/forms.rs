//! Fields of a shoot that depend on the version of Kubernetes, on the IP families, and on the place of the
//! control plane.

use berth_apimachinery::WriteOperation;
use serde_json::{Value, json};

use super::{created, errors, foo, prepared};
use crate::kind::shoot::binding;
use crate::testing::with;

#[test]
fn the_zones_of_a_control_plane_stay_but_may_become_more() {
    let plane = |zones: Value, tolerance: &str| {
        let plane = json!({"zones": zones, "highAvailability": {"failureTolerance": {"type": tolerance}}});
        with(foo(), "/spec/controlPlane", plane)
    };
    let one = plane(json!(["a"]), "node");
    for (new, fine) in [
        (one.clone(), true),
        (foo(), true),
        (plane(json!(["b"]), "node"), false),
        (plane(json!(["a", "b", "c"]), "zone"), true),
        (plane(json!(["b", "c", "d"]), "zone"), false),
    ] {
        assert_eq!(
            errors(WriteOperation::Update, Some(&one), &new).is_empty(),
            fine,
            "{new}"
        );
    }
    let three = plane(json!(["a", "b", "c"]), "zone");
    let other = plane(json!(["a", "b", "d"]), "zone");
    assert!(!errors(WriteOperation::Update, Some(&three), &other).is_empty());
}

#[test]
fn a_profile_has_the_forms_that_the_version_of_kubernetes_has() {
    let shoot = |version: Option<&str>, old: Option<&str>, new: Option<(&str, &str)>| {
        let mut shoot = foo();
        let spec = shoot["spec"].as_object_mut().unwrap();
        spec.remove("cloudProfileName");
        if let Some(version) = version {
            spec.insert("kubernetes".to_owned(), json!({"version": version}));
        }
        if let Some(name) = old {
            spec.insert("cloudProfileName".to_owned(), json!(name));
        }
        if let Some((kind, name)) = new {
            spec.insert("cloudProfile".to_owned(), json!({"kind": kind, "name": name}));
        }
        shoot
    };
    let forms = |shoot: &Value| {
        let text = |path: &str| {
            shoot
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or("-")
                .to_owned()
        };
        [
            text("/spec/cloudProfileName"),
            text("/spec/cloudProfile/kind"),
            text("/spec/cloudProfile/name"),
        ]
    };
    let (plain, own) = ("CloudProfile", "NamespacedCloudProfile");
    for (version, old, new, expected) in [
        (Some("1.32.4"), Some("aws"), None, ["aws", plain, "aws"]),
        (None, Some("aws"), None, ["aws", plain, "aws"]),
        (Some("1.32.4"), None, Some((plain, "aws")), ["aws", plain, "aws"]),
        (Some("1.33.0"), None, Some((plain, "aws")), ["-", plain, "aws"]),
        (
            Some("1.33.0"),
            Some("gcp"),
            Some((plain, "aws")),
            ["aws", plain, "aws"],
        ),
        (
            Some("1.32.4"),
            Some("aws"),
            Some((own, "mine")),
            ["-", own, "mine"],
        ),
        (Some("1.34.0"), None, Some((plain, "aws")), ["-", plain, "aws"]),
    ] {
        let new = shoot(version, old, new);
        let made = prepared(WriteOperation::Create, None, new.clone());
        assert_eq!(forms(&made), expected, "{new}");
        assert_eq!(errors(WriteOperation::Create, None, &made), [""; 0], "{new}");
    }
    // An upgrade to 1.34 removes the older field.
    let before = prepared(
        WriteOperation::Create,
        None,
        shoot(Some("1.33.0"), Some("aws"), None),
    );
    let after = with(before.clone(), "/spec/kubernetes/version", json!("1.34.0"));
    assert_eq!(
        forms(&prepared(WriteOperation::Update, Some(&before), after)),
        ["-", plain, "aws"]
    );
    let gone = shoot(Some("1.34.0"), Some("aws"), None);
    let told = "spec.cloudProfileName: Forbidden: cannot be set for Kubernetes 1.34 and newer: name the profile in \
                spec.cloudProfile.name";
    assert_eq!(created(&gone), [told]);
    for (version, told) in [
        (
            Some("1.33.0"),
            "spec.cloudProfileName: Required value: must name the shoot's cloud profile, here or in spec.cloudProfile.name",
        ),
        (
            Some("1.34.0"),
            "spec.cloudProfile.name: Required value: must name the shoot's cloud profile",
        ),
    ] {
        assert_eq!(created(&shoot(version, None, None)), [told], "{version:?}");
    }
    let labelled = with(gone.clone(), "/metadata/labels", json!({"a": "b"}));
    assert_eq!(
        errors(WriteOperation::Update, Some(&gone), &labelled),
        [""; 0],
        "what is stored so stays"
    );
}

#[test]
fn a_shoot_without_networks_is_of_ipv4_and_stays_so() {
    let mut bare = foo();
    bare["spec"].as_object_mut().unwrap().remove("networking");
    let of = |families: Value| with(bare.clone(), "/spec/networking", json!({"ipFamilies": families}));
    let changed = |new: &Value| errors(WriteOperation::Update, Some(&bare), new);
    assert_eq!(
        changed(&of(json!(["IPv6"]))),
        ["spec.networking.ipFamilies: Forbidden: cannot change from IPv4 to IPv6"]
    );
    assert_eq!(changed(&of(json!(["IPv4", "IPv6"]))), [""; 0]);
    let ranged = with(bare.clone(), "/spec/networking", json!({"pods": "100.96.0.0/11"}));
    assert_eq!(changed(&ranged), [""; 0]);
}

#[test]
fn ranges_are_of_the_families_of_the_shoot() {
    let six = with(foo(), "/spec/networking", json!({"ipFamilies": ["IPv6"]}));
    assert_eq!(created(&six), [""; 0]);
    let four = with(six.clone(), "/spec/networking/pods", json!("100.96.0.0/11"));
    assert_eq!(
        created(&four),
        [
            "spec.networking.pods: Invalid value: \"100.96.0.0/11\": must be a range of the ipFamilies, which are IPv6"
        ]
    );
    let both = with(four, "/spec/networking/ipFamilies", json!(["IPv6", "IPv4"]));
    assert_eq!(created(&both), [""; 0]);
}

#[test]
fn what_comes_with_a_seed_is_of_the_families_of_the_shoot() {
    let given = binding::SeedDefaults {
        pods: Some("100.96.0.0/11"),
        services: Some("fd00:2::/112"),
        ..binding::SeedDefaults::default()
    };
    let bound = |families: Value| {
        let mut shoot = with(foo(), "/spec/networking", json!({}));
        shoot["spec"]["provider"]["workers"] = json!([{"name": "w"}]);
        shoot["spec"]["networking"]["ipFamilies"] = families;
        binding::bind(&mut shoot, "s", &given);
        let text = |name: &str| shoot["spec"]["networking"][name].as_str().map(str::to_owned);
        (text("pods").is_some(), text("services").is_some())
    };
    assert_eq!(bound(json!([])), (true, false));
    assert_eq!(bound(json!(["IPv4"])), (true, false));
    assert_eq!(bound(json!(["IPv6"])), (false, true));
    assert_eq!(bound(json!(["IPv4", "IPv6"])), (true, true));
}

#[test]
fn the_loss_that_a_control_plane_survives_stays_once_it_has_a_seed() {
    let survives = |tolerance: &str, seed: Value| {
        let plane = json!({"highAvailability": {"failureTolerance": {"type": tolerance}}});
        with(with(foo(), "/spec/controlPlane", plane), "/spec/seedName", seed)
    };
    let told = |seed: &Value| {
        let (old, new) = (survives("node", seed.clone()), survives("zone", seed.clone()));
        errors(WriteOperation::Update, Some(&old), &new)
    };
    assert_eq!(
        told(&json!("a")),
        [
            "spec.controlPlane.highAvailability.failureTolerance.type: Invalid value: \"zone\": field is immutable"
        ]
    );
    assert_eq!(told(&Value::Null), [""; 0]);
    let plain = with(foo(), "/spec/seedName", json!("a"));
    assert_eq!(
        errors(
            WriteOperation::Update,
            Some(&plain),
            &survives("zone", json!("a"))
        ),
        [""; 0],
        "it may be said later"
    );
}
