//! Binding by hand.

use admission::Denied;
use serde_json::{Value, json};

use super::check_binding;
use crate::testing::{fleet, own_profile, profile, project, seed, shoot, with};

fn wide() -> Value {
    with(
        seed("s", "aws", "us-east-1"),
        "/metadata/labels",
        json!({"environment": "live"}),
    )
}

/// What speaks against binding `shoot` to the seed `s`.
fn problems(seed: Value, old: &Value, new: &Value) -> Vec<String> {
    let profile = with(
        profile("aws"),
        "/spec/seedSelector",
        json!({"matchLabels": {"environment": "live"}}),
    );
    match check_binding(&fleet(&[profile, seed]), old, &mut new.clone()) {
        Ok(_) => Vec::new(),
        Err(Denied::Invalid(errors)) => errors.iter().map(ToString::to_string).collect(),
        Err(other) => panic!("{other:?}"),
    }
}

fn to_s(seed: Value) -> Vec<String> {
    let old = shoot("foo", "eu-west-1");
    problems(seed, &old, &with(old.clone(), "/spec/seedName", json!("s")))
}

#[test]
fn an_operator_may_bind_to_a_far_hidden_unready_seed() {
    assert!(to_s(wide()).is_empty(), "region does not matter");
    assert!(to_s(with(wide(), "/spec/settings/scheduling/visible", json!(false))).is_empty());
    assert!(to_s(with(wide(), "/status/conditions", json!([]))).is_empty());
    assert!(to_s(with(wide(), "/spec/settings/shootDNS/enabled", json!(false))).is_empty());
}

#[test]
fn what_can_never_work_is_refused() {
    let cases = [
        (
            with(
                wide(),
                "/metadata/deletionTimestamp",
                json!("2021-10-28T08:00:00Z"),
            ),
            "is being deleted",
        ),
        (
            with(wide(), "/spec/taints", json!([{"key": "t"}])),
            "does not tolerate the taint t",
        ),
        (
            with(wide(), "/metadata/labels", json!({})),
            "seedSelector of cloud profile \"aws\"",
        ),
        (
            with(wide(), "/spec/networks/pods", json!("10.250.1.0/24")),
            "networks overlap",
        ),
        (
            with(wide(), "/status/allocatable", json!({"shoots": "0"})),
            "takes 0",
        ),
    ];
    for (seed, words) in cases {
        let problems = to_s(seed);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].starts_with("spec.seedName: ") && problems[0].contains(words),
            "{problems:?}"
        );
    }
    let old = shoot("foo", "eu-west-1");
    let unknown = with(old.clone(), "/spec/seedName", json!("nope"));
    assert_eq!(
        problems(wide(), &old, &unknown),
        ["spec.seedName: Not found: \"nope\""]
    );
    let other = with(
        with(old.clone(), "/spec/seedName", json!("s")),
        "/spec/cloudProfileName",
        json!("metal"),
    );
    assert_eq!(
        problems(wide(), &old, &other),
        ["spec.cloudProfileName: Not found: \"metal\""]
    );
}

#[test]
fn a_foreign_provider_is_for_the_profile_to_forbid() {
    let foreign = with(wide(), "/spec/provider/type", json!("gcp"));
    assert_eq!(to_s(foreign.clone()), [""; 0]);
    let strict = with(
        profile("aws"),
        "/spec/seedSelector",
        json!({"providerTypes": ["aws"]}),
    );
    let old = shoot("foo", "eu-west-1");
    let mut new = with(old.clone(), "/spec/seedName", json!("s"));
    let refused = check_binding(&fleet(&[strict, foreign]), &old, &mut new);
    let Err(Denied::Invalid(errors)) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        errors[0].to_string().contains("provider type \"gcp\""),
        "{errors:?}"
    );
}

#[test]
fn what_the_project_tolerates_comes_with_the_seed_and_what_the_shoot_tolerates_counts() {
    let guarded = |key: &str| with(wide(), "/spec/taints", json!([{"key": key}]));
    let team = json!([{"key": "team-a"}]);
    let bind = |seed: Value, old: &Value| {
        let mut new = with(old.clone(), "/spec/seedName", json!("s"));
        let fleet = fleet(&[seed, project(&team, &team)]);
        check_binding(&fleet, old, &mut new).map(|_| new["spec"]["tolerations"].clone())
    };
    let plain = shoot("foo", "eu-west-1");
    assert_eq!(bind(guarded("team-a"), &plain).unwrap(), team);
    let protected = json!([{"key": "seed.gardener.cloud/protected"}]);
    assert!(bind(guarded("seed.gardener.cloud/protected"), &plain).is_err());
    // It was let in when it was made, or an administrator put it there.
    let tolerating = with(plain, "/spec/tolerations", protected);
    assert!(bind(guarded("seed.gardener.cloud/protected"), &tolerating).is_ok());
}

#[test]
fn a_shoot_of_a_profile_in_its_namespace_is_bound_by_hand() {
    let own = with(
        shoot("foo", "eu-west-1"),
        "/spec/cloudProfile",
        json!({"kind": "NamespacedCloudProfile", "name": "mine"}),
    );
    let mut new = with(own.clone(), "/spec/seedName", json!("s"));
    let refused = check_binding(&fleet(&[wide()]), &own, &mut new);
    assert!(refused.is_err(), "it is not there");
    assert!(check_binding(&fleet(&[wide(), own_profile("mine", "aws")]), &own, &mut new).is_ok());
}

#[test]
fn a_first_binding_gets_the_seeds_ranges_and_passes_its_fence() {
    let old = shoot("foo", "eu-west-1");
    let mut new = with(old.clone(), "/spec/seedName", json!("s"));
    let fences = check_binding(&fleet(&[wide()]), &old, &mut new).unwrap();
    assert_eq!(fences, vec!["gardener/seeds/s".into()]);
    let expected = json!({"nodes": "10.250.0.0/16", "pods": "100.96.0.0/11", "services": "100.64.0.0/13"});
    assert_eq!(new["spec"]["networking"], expected);
}

#[test]
fn moving_needs_a_backup_on_both_seeds() {
    let old = with(shoot("foo", "eu-west-1"), "/spec/seedName", json!("r"));
    let mut new = with(old.clone(), "/spec/seedName", json!("s"));
    let backup = |seed: Value| with(seed, "/spec/backup", json!({"provider": "aws"}));
    let from = seed("r", "aws", "eu-west-1");
    let refused = check_binding(&fleet(&[from.clone(), wide()]), &old, &mut new).unwrap_err();
    let Denied::Invalid(errors) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(errors.len(), 2);
    assert!(
        errors[0].to_string().contains("cannot leave seed \"r\"")
            && errors[1].to_string().contains("seed \"s\"")
    );
    let before = new.clone();
    assert!(check_binding(&fleet(&[backup(from), backup(wide())]), &old, &mut new).is_ok());
    assert_eq!(new, before, "only the name changes when a shoot moves");
}

#[test]
fn what_the_kind_refuses_is_left_to_it() {
    let old = with(shoot("foo", "eu-west-1"), "/spec/seedName", json!("s"));
    for new in [old.clone(), shoot("foo", "eu-west-1"), json!({"spec": 5})] {
        assert!(problems(wide(), &old, &new).is_empty());
    }
}
