//! Manual bindings.

use berth_admission::Denial;
use serde_json::{Value, json};

use super::check_binding;
use crate::testing::{configured, fleet, own_profile, profile, project, seed, shoot, with};

fn wide() -> Value {
    with(
        seed("s", "aws", "us-east-1"),
        "/metadata/labels",
        json!({"environment": "live"}),
    )
}

/// Errors of the binding of a shoot to the seed `s`.
fn problems(seed: Value, old: &Value, new: &Value) -> Vec<String> {
    let profile = with(
        profile("aws"),
        "/spec/seedSelector",
        json!({"matchLabels": {"environment": "live"}}),
    );
    match check_binding(&fleet(&[profile, seed]), old, &mut new.clone()) {
        Ok(_) => Vec::new(),
        Err(Denial::Invalid(errors)) => errors.iter().map(ToString::to_string).collect(),
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
fn a_seed_or_profile_that_cannot_be_read_is_refused_with_the_reason() {
    let odd = with(wide(), "/status/allocatable", json!({"shoots": "many"}));
    let told = to_s(odd);
    let start = "spec.seedName: Invalid value: \"s\": cannot be read: status.allocatable[shoots]: ";
    assert!(told.len() == 1 && told[0].starts_with(start), "{told:?}");
    let old = shoot("foo", "eu-west-1");
    let mut new = with(old.clone(), "/spec/seedName", json!("s"));
    let odd = with(profile("aws"), "/spec/type", json!(5));
    let refused = check_binding(&fleet(&[odd, wide()]), &old, &mut new);
    let Err(Denial::Invalid(errors)) = refused else {
        panic!("{refused:?}")
    };
    let start = "spec.cloudProfileName: Invalid value: \"aws\": cannot be read: invalid type";
    assert!(errors[0].to_string().starts_with(start), "{errors:?}");
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
    let Err(Denial::Invalid(errors)) = refused else {
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
    // The toleration was allowed when the shoot was created, or an administrator added it.
    let tolerating = with(plain, "/spec/tolerations", protected);
    assert!(bind(guarded("seed.gardener.cloud/protected"), &tolerating).is_ok());
}

#[test]
fn of_default_tolerations_with_one_key_the_last_is_added_alone() {
    let old = shoot("foo", "eu-west-1");
    let bound = |of_configuration: Value, of_project: Value| {
        let restriction = json!({"defaults": of_configuration, "whitelist": of_configuration});
        let configuration = configured(&json!({"shootTolerationRestriction": restriction}));
        let fleet = fleet(&[wide(), project(&of_project, &of_project), configuration]);
        let mut new = with(old.clone(), "/spec/seedName", json!("s"));
        check_binding(&fleet, &old, &mut new).unwrap();
        new["spec"]["tolerations"].clone()
    };
    let gpu = json!([{"key": "gpu"}]);
    assert_eq!(bound(gpu.clone(), gpu.clone()), gpu);
    let several = json!([{"key": "gpu", "value": "a"}, {"key": "other"}]);
    assert_eq!(
        bound(several, json!([{"key": "gpu", "value": "b"}])),
        json!([{"key": "other"}, {"key": "gpu", "value": "b"}])
    );
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
    let Denial::Invalid(errors) = refused else {
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

#[test]
fn a_control_plane_takes_zones_and_borders_that_the_seed_has() {
    let bind = |seed: &Value, pointer: &str, value: Value| {
        let old = with(shoot("foo", "eu-west-1"), pointer, value);
        problems(
            seed.clone(),
            &old,
            &with(old.clone(), "/spec/seedName", json!("s")),
        )
    };
    let zoned = with(wide(), "/spec/provider/zones", json!(["a", "b"]));
    let survives = "/spec/controlPlane/highAvailability/failureTolerance/type";
    assert!(bind(&zoned, survives, json!("zone"))[0].contains("has 2 zones"));
    assert!(bind(&zoned, survives, json!("node")).is_empty());
    let pinned = bind(&zoned, "/spec/controlPlane/zones", json!(["c"]));
    assert!(pinned[0].contains("has no zone c"), "{pinned:?}");
    let restricted = bind(&zoned, "/spec/accessRestrictions", json!([{"name": "eu"}]));
    assert!(
        restricted[0].contains("does not offer the access restrictions eu"),
        "{restricted:?}"
    );
    // An operator overrules the zone selection of a seed.
    let strict = with(zoned, "/spec/settings/zoneSelection/mode", json!("Enforce"));
    let workers = json!([{"name": "pool", "zones": ["c"]}]);
    assert!(bind(&strict, "/spec/provider/workers", workers).is_empty());
}

#[test]
fn a_control_plane_moves_with_the_domains_that_it_has() {
    let backed = |name: &str, dns: Value| {
        let seed = with(
            seed(name, "aws", "eu-west-1"),
            "/spec/backup",
            json!({"provider": "aws"}),
        );
        with(seed, "/spec/dns", dns)
    };
    let moves = |from: Value, to: Value| -> Vec<String> {
        let old = with(shoot("foo", "eu-west-1"), "/spec/seedName", json!("from"));
        let old = with(old, "/spec/dns/domain", json!("foo.dev.ex.org"));
        let new = with(old.clone(), "/spec/seedName", json!("to"));
        let seeds = [backed("from", from), backed("to", to)];
        match check_binding(&fleet(&seeds), &old, &mut new.clone()) {
            Ok(_) => Vec::new(),
            Err(Denial::Invalid(errors)) => errors.iter().map(ToString::to_string).collect(),
            Err(other) => panic!("{other:?}"),
        }
    };
    let with_default =
        |internal: &str| json!({"internal": {"domain": internal}, "defaults": [{"domain": "ex.org"}]});
    assert!(moves(with_default("in.org"), with_default("in.org")).is_empty());
    assert!(moves(json!({}), json!({})).is_empty());
    let other = moves(with_default("in.org"), with_default("out.org"));
    assert!(
        other.len() == 1 && other[0].contains("spec.dns.internal.domain"),
        "{other:?}"
    );
    let without = moves(with_default("in.org"), json!({"internal": {"domain": "in.org"}}));
    assert!(
        without.len() == 1 && without[0].contains("default domain \"ex.org\""),
        "{without:?}"
    );
}

#[test]
fn a_shoot_gets_the_default_domain_of_its_seed_unless_nobody_manages_it() {
    let seed = with(
        wide(),
        "/spec/dns/defaults",
        json!([{"domain": "ex.org"}, {"domain": "other.org"}]),
    );
    let domain = |dns: Value| {
        let old = with(shoot("foo", "eu-west-1"), "/spec/dns", dns);
        let mut new = with(old.clone(), "/spec/seedName", json!("s"));
        let own = project(&json!([]), &json!([]));
        check_binding(&fleet(&[seed.clone(), own]), &old, &mut new).unwrap();
        new["spec"]["dns"]["domain"].clone()
    };
    assert_eq!(domain(json!(null)), "foo.dev.ex.org");
    assert_eq!(
        domain(json!({"providers": [{"type": "aws-route53"}]})),
        "foo.dev.ex.org"
    );
    assert_eq!(domain(json!({"domain": "a.b"})), "a.b");
    assert_eq!(domain(json!({"providers": [{"type": "unmanaged"}]})), Value::Null);
}

#[test]
fn a_workerless_shoot_of_ipv6_gets_services_of_its_own() {
    let services = |uid: &str, networking: Value| {
        let old = with(shoot("foo", "eu-west-1"), "/spec/networking", networking);
        let old = with(
            with(old, "/metadata/uid", json!(uid)),
            "/spec/provider/workers",
            json!([]),
        );
        let mut new = with(old.clone(), "/spec/seedName", json!("s"));
        check_binding(&fleet(&[wide()]), &old, &mut new).unwrap();
        new["spec"]["networking"]["services"].clone()
    };
    let six = json!({"ipFamilies": ["IPv6"]});
    let one = services("1", six.clone());
    assert!(crate::cidr::Range::parse(one.as_str().unwrap()).is_ok(), "{one}");
    assert!(one.as_str().unwrap().starts_with("fd") && one.as_str().unwrap().ends_with("::/112"));
    assert_eq!(services("1", six.clone()), one, "deciding again gives the same");
    assert_ne!(services("2", six), one);
    assert_eq!(
        services("1", json!({})),
        "100.64.0.0/13",
        "the seed's, where it fits"
    );
}
