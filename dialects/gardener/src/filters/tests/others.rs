//! Refusals that depend on other objects: the seed's ranges for shoots, projects, profiles in namespaces.

use berth_dialect_contract::Words;
use serde_json::{Value, json};

use super::{aws, judge, plain};
use crate::testing::{decide, fleet, own_profile, profile, project, refusals, with};

#[test]
fn defaults_are_of_the_families_of_the_shoot_and_ipv6_needs_no_range() {
    let of = |families: Value| with(plain(), "/spec/networking", json!({"ipFamilies": families}));
    let bare = with(aws(), "/spec/networks/shootDefaults", json!(null));
    let six = with(
        aws(),
        "/spec/networks/shootDefaults",
        json!({"pods": "fd00:1::/64", "services": "fd00:2::/112"}),
    );
    let missing = &["Networks/RangeMissing"][..];
    for (families, seed, expected) in [
        (json!(["IPv6"]), &bare, &[][..]),
        (json!(["IPv6"]), &aws(), &[]),
        (json!(["IPv6"]), &six, &[]),
        (json!(["IPv4"]), &bare, missing),
        (json!(["IPv4"]), &six, missing),
        (json!([]), &six, missing),
        (json!(["IPv4", "IPv6"]), &six, &[]),
        (json!(["IPv4", "IPv6"]), &aws(), &[]),
        (json!(["IPv4", "IPv6"]), &bare, missing),
    ] {
        assert_eq!(judge(seed, &of(families.clone())), expected, "{families}");
    }
    let fleet = fleet(&[six.clone(), plain()]);
    let decision = decide(&fleet, &plain());
    let refusal = decision.solved.rejections_of(0)[0];
    let sentence = fleet.sentence(&decision, 0, refusal.plugin, refusal.reason);
    assert_eq!(
        sentence,
        "neither the shoot nor the seed's shootDefaults give a range for pods and services of the shoot's ipFamilies, IPv4: \
         the seed's is fd00:1::/64 and fd00:2::/112"
    );
}

#[test]
fn ranges_that_gardener_keeps_for_itself_are_refused() {
    let own = with(plain(), "/spec/networking/nodes", json!("242.1.0.0/16"));
    assert_eq!(judge(&aws(), &own), ["Networks/RangeReserved"]);
    // The ranges were stored before such ranges were refused.
    let given = with(aws(), "/spec/networks/shootDefaults/pods", json!("244.0.0.0/9"));
    assert_eq!(judge(&given, &plain()), ["Networks/RangeReserved"]);
    let named = with(plain(), "/spec/networking/pods", json!("10.9.0.0/16"));
    assert!(judge(&given, &named).is_empty());
}

#[test]
fn tolerations_count_where_the_project_allows_them_and_its_defaults_count_too() {
    const PROTECTED: &str = "seed.gardener.cloud/protected";
    let guarded = with(aws(), "/spec/taints", json!([{"key": PROTECTED}]));
    let tolerating = with(plain(), "/spec/tolerations", json!([{"key": PROTECTED}]));
    let (none, list) = (json!([]), json!([{"key": PROTECTED}]));
    let refused = |project: Option<Value>, shoot: &Value| {
        let objects: Vec<Value> = project
            .into_iter()
            .chain([guarded.clone(), shoot.clone()])
            .collect();
        let fleet = fleet(&objects);
        let decision = decide(&fleet, shoot);
        let refusals = decision.solved.rejections_of(0).iter();
        let sentences = refusals.map(|one| fleet.sentence(&decision, 0, one.plugin, one.reason));
        sentences.collect::<Vec<_>>()
    };
    assert_eq!(
        refused(Some(project(&none, &none)), &tolerating),
        [format!(
            "the shoot's toleration of the taint {PROTECTED} does not count, since Project \"dev\" does not allow it \
             (spec.tolerations.whitelist)"
        )]
    );
    assert!(
        refused(None, &tolerating).is_empty(),
        "without a Project whoever stored the shoot has judged it"
    );
    assert!(refused(Some(project(&none, &list)), &tolerating).is_empty());
    assert!(
        refused(Some(project(&list, &list)), &plain()).is_empty(),
        "by default"
    );
    assert_eq!(refused(Some(project(&none, &list)), &plain()).len(), 1);
    let other = with(project(&list, &list), "/spec/namespace", json!("garden-other"));
    assert_eq!(refused(Some(other), &plain()).len(), 1);
}

#[test]
fn of_two_projects_of_one_namespace_the_oldest_has_the_say_and_one_that_cannot_be_read_allows_nothing() {
    const PROTECTED: &str = "seed.gardener.cloud/protected";
    let (none, list) = (json!([]), json!([{"key": PROTECTED}]));
    let made = |name: &str, allowed: &Value, at: Option<&str>| {
        let named = with(project(&none, allowed), "/metadata/name", json!(name));
        match at {
            Some(at) => with(named, "/metadata/creationTimestamp", json!(at)),
            None => named,
        }
    };
    let tolerating = with(plain(), "/spec/tolerations", json!([{"key": PROTECTED}]));
    let guarded = with(aws(), "/spec/taints", json!([{"key": PROTECTED}]));
    let counts = |projects: &[Value]| {
        let more = [guarded.clone(), tolerating.clone()];
        let fleet = fleet(&[projects, &more].concat());
        decide(&fleet, &tolerating).solved.rejections_of(0).is_empty()
    };
    let (old, new) = (Some("2021-10-28T09:00:00Z"), Some("2022-10-28T09:00:00Z"));
    assert!(!counts(&[made("z", &none, old), made("a", &list, new)]));
    assert!(counts(&[made("z", &list, old), made("a", &none, new)]));
    assert!(
        !counts(&[made("z", &none, old), made("a", &list, None)]),
        "one that was never stored comes last"
    );
    assert!(
        counts(&[made("a", &list, None), made("b", &none, None)]),
        "then by name"
    );
    let broken = with(made("z", &list, old), "/spec/tolerations", json!("all"));
    assert!(!counts(std::slice::from_ref(&broken)));
    assert!(
        !counts(&[broken, made("a", &list, new)]),
        "it keeps its namespace"
    );
}

#[test]
fn a_selector_that_does_not_match_tells_what_the_seed_has_instead() {
    let seed = with(aws(), "/metadata/labels", json!({"area": "EU"}));
    let shoot = with(
        plain(),
        "/spec/seedSelector",
        json!({"matchLabels": {"area": "eu", "tier": "1", "seed.gardener.cloud/provider": "aws"}}),
    );
    let fleet = fleet(&[seed, shoot.clone()]);
    let decision = decide(&fleet, &shoot);
    let refusal = decision.solved.rejections_of(0)[0];
    let sentence = fleet.sentence(&decision, 0, refusal.plugin, refusal.reason);
    assert!(
        sentence.ends_with("): the seed has area=EU, no tier"),
        "{sentence}"
    );
}

#[test]
fn a_profile_in_a_namespace_is_its_parent_until_it_is_made() {
    let own = |status: Value| with(own_profile("mine", "aws"), "/status", status);
    let shoot = with(
        plain(),
        "/spec/cloudProfile",
        json!({"kind": "NamespacedCloudProfile", "name": "mine"}),
    );
    let live = with(
        profile("aws"),
        "/spec/seedSelector",
        json!({"matchLabels": {"environment": "live"}}),
    );
    let made = json!({"cloudProfileSpec": {"type": "aws"}});
    let refused = |objects: &[Value]| {
        let fleet = fleet(&[objects, &[live.clone(), aws(), shoot.clone()]].concat());
        refusals(&fleet, &decide(&fleet, &shoot), "s")
    };
    let mismatch = ["CloudProfileSelector/SelectorMismatch"];
    assert_eq!(refused(&[own(json!({}))]), mismatch);
    assert_eq!(
        refused(&[own(json!({"cloudProfileSpec": {"type": ""}}))]),
        mismatch
    );
    assert_eq!(
        refused(&[own(made)]),
        [""; 0],
        "what it is made of, though it changed since"
    );
    let elsewhere = with(own(json!({})), "/metadata/namespace", json!("garden-other"));
    let lost = fleet(&[elsewhere, shoot.clone()]);
    let message = lost.message(&decide(&lost, &shoot));
    assert_eq!(message, "NamespacedCloudProfile \"mine\" not found");
    let orphan = fleet(&[own_profile("mine", "gone"), shoot.clone()]);
    assert_eq!(
        orphan.message(&decide(&orphan, &shoot)),
        "CloudProfile \"gone\" not found, which NamespacedCloudProfile \"mine\" extends"
    );
}
