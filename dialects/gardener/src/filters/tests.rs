//! Every rule of every filter.

mod others;
mod today;

use berth_dialect_contract::Inventory;
use serde_json::{Value, json};

use crate::testing::{configuration, decide, fleet, profile, refusals, seed, shoot, with};

/// The refusals of one seed for one shoot, with the profile `aws`.
fn judge(seed: &Value, shoot: &Value) -> Vec<String> {
    judge_with(seed, shoot, &profile("aws"))
}

fn judge_with(seed: &Value, shoot: &Value, profile: &Value) -> Vec<String> {
    let fleet = fleet(&[profile.clone(), seed.clone(), shoot.clone()]);
    assert_eq!(fleet.unusable(), []);
    refusals(
        &fleet,
        &decide(&fleet, shoot),
        seed["metadata"]["name"].as_str().unwrap(),
    )
}

fn aws() -> Value {
    seed("s", "aws", "eu-west-1")
}

fn plain() -> Value {
    shoot("foo", "eu-west-1")
}

fn conditions(list: &[(&str, &str)]) -> Value {
    list.iter()
        .map(|(name, status)| json!({"type": name, "status": status}))
        .collect()
}

#[test]
fn a_plain_seed_is_feasible() {
    assert!(judge(&aws(), &plain()).is_empty());
}

#[test]
fn usable_means_not_deleting_ready_and_visible() {
    let deleting = with(
        aws(),
        "/metadata/deletionTimestamp",
        json!("2021-10-28T08:00:00Z"),
    );
    assert_eq!(judge(&deleting, &plain()), ["Usable/Deleting"]);
    let hidden = with(aws(), "/spec/settings/scheduling/visible", json!(false));
    assert_eq!(judge(&hidden, &plain()), ["Usable/Invisible"]);
    let cases: [(&[(&str, &str)], bool); 6] = [
        (&[], false),
        (&[("Bootstrapped", "True")], false),
        (&[("GardenletReady", "True")], true),
        (&[("GardenletReady", "Unknown"), ("Bootstrapped", "True")], false),
        (&[("GardenletReady", "True"), ("Bootstrapped", "False")], false),
        (&[("GardenletReady", "True"), ("ExtensionsReady", "False")], true),
    ];
    for (list, ready) in cases {
        let refused = judge(&with(aws(), "/status/conditions", conditions(list)), &plain());
        assert_eq!(refused.is_empty(), ready, "{list:?}");
        assert!(ready || refused == ["Usable/NotReady"], "{list:?} {refused:?}");
    }
}

#[test]
fn the_invisible_taint_hides_only_without_scheduling_settings() {
    let tainted = with(
        aws(),
        "/spec/taints",
        json!([{"key": "seed.gardener.cloud/invisible"}]),
    );
    assert_eq!(judge(&tainted, &plain()), ["Usable/Invisible"]);
    assert!(
        judge(
            &with(tainted, "/spec/settings/scheduling/visible", json!(true)),
            &plain()
        )
        .is_empty()
    );
}

#[test]
fn provider_types_of_both_selectors_must_admit_the_seed() {
    // Provider types of the profile, those of the shoot, and whether the seed is admitted. The strategy does
    // not matter: the seed is in another region and of another provider type.
    let cases = [
        (json!([]), json!([]), false),
        (json!(["gcp"]), json!([]), true),
        (json!([]), json!(["gcp"]), true),
        (json!(["*"]), json!([]), true),
        (json!([]), json!(["aws", "*"]), true),
        (json!(["gcp"]), json!(["aws"]), false),
        (json!(["gcp", "aws"]), json!(["gcp"]), true),
        (json!(["aws"]), json!(["*"]), false),
        (json!(["openstack"]), json!([]), false),
    ];
    for (of_profile, of_shoot, admitted) in cases {
        let shoot = with(plain(), "/spec/seedSelector", json!({"providerTypes": of_shoot}));
        let profile = with(
            profile("aws"),
            "/spec/seedSelector",
            json!({"providerTypes": of_profile}),
        );
        let foreign = seed("s", "gcp", "eu-west-1");
        let fleet = fleet(&[profile, foreign, shoot.clone(), configuration("MinimalDistance")]);
        let refused = refusals(&fleet, &decide(&fleet, &shoot), "s");
        let expected: &[&str] = if admitted {
            &[]
        } else {
            &["Provider/ProviderMismatch"]
        };
        assert_eq!(refused, expected, "{of_profile} {of_shoot}");
    }
}

#[test]
fn provider_types_do_not_widen_same_region_or_testing() {
    let wide = with(plain(), "/spec/seedSelector", json!({"providerTypes": ["*"]}));
    let foreign = seed("s", "gcp", "eu-west-1");
    assert_eq!(judge(&foreign, &wide), ["Strategy/NotSameProvider"]);
    assert_eq!(
        judge(&foreign, &with(wide, "/spec/purpose", json!("testing"))),
        ["Strategy/NotSameProvider"]
    );
}

#[test]
fn label_selectors_of_profile_and_shoot_are_separate_filters() {
    let live = with(
        aws(),
        "/metadata/labels",
        json!({"environment": "live", "size": "big"}),
    );
    let cases = [
        (json!({"matchLabels": {"environment": "live"}}), true),
        (json!({"matchLabels": {"environment": "canary"}}), false),
        (json!({"matchLabels": {"elsewhere": "x"}}), false),
        (
            json!({"matchExpressions": [{"key": "environment", "operator": "In", "values": ["a", "live"]}]}),
            true,
        ),
        (
            json!({"matchExpressions": [{"key": "environment", "operator": "NotIn", "values": ["live"]}]}),
            false,
        ),
        (
            json!({"matchExpressions": [{"key": "elsewhere", "operator": "NotIn", "values": ["x"]}]}),
            true,
        ),
        (
            json!({"matchExpressions": [{"key": "size", "operator": "Exists"}]}),
            true,
        ),
        (
            json!({"matchExpressions": [{"key": "size", "operator": "DoesNotExist"}]}),
            false,
        ),
        (
            json!({"matchLabels": {"seed.gardener.cloud/provider": "aws", "seed.gardener.cloud/region": "eu-west-1"}}),
            true,
        ),
        (json!({}), true),
    ];
    for (selector, matches) in cases {
        let expected = |plugin: &str| {
            if matches {
                vec![]
            } else {
                vec![format!("{plugin}/SelectorMismatch")]
            }
        };
        let of_shoot = with(plain(), "/spec/seedSelector", selector.clone());
        assert_eq!(judge(&live, &of_shoot), expected("ShootSelector"), "{selector}");
        let of_profile = with(profile("aws"), "/spec/seedSelector", selector.clone());
        assert_eq!(
            judge_with(&live, &plain(), &of_profile),
            expected("CloudProfileSelector"),
            "{selector}"
        );
    }
}

#[test]
fn taints_are_tolerated_as_documented() {
    // Taints, tolerations, and whether the taints are tolerated (docs/systems/gardener.md, "Taints").
    let cases = [
        (json!([]), json!([]), true),
        (json!([{"key": "a"}]), json!([]), false),
        (json!([{"key": "a"}]), json!([{"key": "a"}]), true),
        (json!([{"key": "a"}]), json!([{"key": "a", "value": "1"}]), true),
        (json!([{"key": "a", "value": "1"}]), json!([{"key": "a"}]), false),
        (
            json!([{"key": "a", "value": "1"}]),
            json!([{"key": "a", "value": "1"}]),
            true,
        ),
        (
            json!([{"key": "a", "value": "1"}]),
            json!([{"key": "a", "value": "2"}]),
            false,
        ),
        (json!([{"key": "a", "value": ""}]), json!([{"key": "a"}]), true),
        (json!([{"key": "a"}, {"key": "b"}]), json!([{"key": "a"}]), false),
        (
            json!([{"key": "a"}, {"key": "b"}]),
            json!([{"key": "b"}, {"key": "a"}]),
            true,
        ),
        (json!([{"key": "a"}]), json!([{"key": "a"}, {"key": "b"}]), true),
        // The last toleration of a key counts.
        (
            json!([{"key": "a", "value": "1"}]),
            json!([{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]),
            false,
        ),
        (
            json!([{"key": "a", "value": "2"}]),
            json!([{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]),
            true,
        ),
        // A taint with an empty value requires exactly the empty value.
        (
            json!([{"key": "a", "value": ""}]),
            json!([{"key": "a", "value": "1"}]),
            false,
        ),
        (json!([{"key": "a", "value": ""}]), json!([{"key": "a"}]), true),
        // More taints than tolerations are never tolerated.
        (
            json!([{"key": "a"}, {"key": "a", "value": "1"}]),
            json!([{"key": "a", "value": "1"}]),
            false,
        ),
    ];
    for (taints, tolerations, tolerated) in cases {
        let seed = with(aws(), "/spec/taints", taints.clone());
        let shoot = with(plain(), "/spec/tolerations", tolerations.clone());
        let expected: &[&str] = if tolerated { &[] } else { &["Taints/Untolerated"] };
        assert_eq!(judge(&seed, &shoot), expected, "{taints} {tolerations}");
    }
}

#[test]
fn special_taints_need_no_toleration() {
    for key in [
        "seed.gardener.cloud/disable-dns",
        "seed.gardener.cloud/disable-capacity-reservation",
    ] {
        assert!(
            judge(&with(aws(), "/spec/taints", json!([{"key": key}])), &plain()).is_empty(),
            "{key}"
        );
    }
    let protected = with(
        aws(),
        "/spec/taints",
        json!([{"key": "seed.gardener.cloud/protected"}]),
    );
    assert_eq!(judge(&protected, &plain()), ["Taints/Untolerated"]);
}

#[test]
fn dns_is_judged_as_documented() {
    let disabled = with(
        aws(),
        "/spec/taints",
        json!([{"key": "seed.gardener.cloud/disable-dns"}]),
    );
    // The shoot's dns, and whether a seed without DNS is admitted (docs/systems/gardener.md, "DNS").
    let cases = [
        (
            json!({"domain": "a.example", "providers": [{"type": "aws-route53", "primary": true}]}),
            false,
        ),
        (json!({"providers": [{"type": "unmanaged"}]}), true),
        (json!({"providers": [{"type": "aws-route53"}]}), false),
        (
            json!({"domain": "a.example", "providers": [{"type": "unmanaged"}]}),
            true,
        ),
        (json!({"domain": "a.example"}), false),
        (
            json!({"providers": [{"type": "aws-route53"}, {"type": "unmanaged"}]}),
            false,
        ),
        (
            json!({"providers": [{"type": "unmanaged"}, {"type": "aws-route53"}]}),
            true,
        ),
        (Value::Null, true),
    ];
    for (dns, kept) in cases {
        let shoot = with(plain(), "/spec/dns", dns.clone());
        let expected: &[&str] = if kept { &[] } else { &["DNS/DNSDisabled"] };
        assert_eq!(judge(&disabled, &shoot), expected, "{dns}");
        assert!(judge(&aws(), &shoot).is_empty(), "{dns}: DNS is on");
        // The setting takes precedence over the taint, and a toleration does not help.
        let on = with(disabled.clone(), "/spec/settings/shootDNS/enabled", json!(true));
        assert!(judge(&on, &shoot).is_empty(), "{dns}: the setting says on");
        let silent = with(aws(), "/spec/settings/shootDNS", json!({}));
        assert_eq!(
            judge(&silent, &shoot),
            expected,
            "{dns}: a setting that says nothing says no"
        );
        let off = with(aws(), "/spec/settings/shootDNS/enabled", json!(false));
        let tolerant = with(
            shoot,
            "/spec/tolerations",
            json!([{"key": "seed.gardener.cloud/disable-dns"}]),
        );
        assert_eq!(judge(&off, &tolerant), expected, "{dns}: the setting says off");
    }
}

#[test]
fn all_nine_pairs_of_networks_must_be_disjoint() {
    const RANGES: [&str; 3] = ["nodes", "pods", "services"];
    const DISJOINT: [&str; 3] = ["172.16.0.0/16", "172.17.0.0/16", "172.18.0.0/16"];
    let own = |index: usize, range: &str| {
        let mut ranges = json!({"nodes": DISJOINT[0], "pods": DISJOINT[1], "services": DISJOINT[2]});
        ranges[RANGES[index]] = range.into();
        with(plain(), "/spec/networking", ranges)
    };
    assert!(judge(&aws(), &own(0, DISJOINT[0])).is_empty());
    for (shoot, name) in RANGES.iter().enumerate() {
        for (seed, range) in ["10.1.128.0/17", "10.2.0.0/16", "10.0.0.0/8"]
            .into_iter()
            .enumerate()
        {
            let refused = judge(&aws(), &own(shoot, range));
            assert_eq!(
                refused,
                ["Networks/NetworksOverlap"],
                "{name} and {}",
                RANGES[seed]
            );
        }
    }
    let odd = own(0, "10.1.2.3");
    assert_eq!(
        judge(&aws(), &odd),
        ["Networks/NetworksOverlap"],
        "what is no CIDR overlaps"
    );
}

#[test]
fn a_workerless_shoot_needs_no_range_for_pods_and_gets_none() {
    let bare = with(aws(), "/spec/networks/shootDefaults", Value::Null);
    let services = with(plain(), "/spec/networking/services", json!("172.18.0.0/16"));
    assert_eq!(judge(&bare, &services), ["Networks/RangeMissing"]);
    let workerless = with(services, "/spec/provider/workers", json!([]));
    assert!(judge(&bare, &workerless).is_empty());
    let clash = with(aws(), "/spec/networks/shootDefaults/pods", json!("10.2.0.0/24"));
    assert_eq!(judge(&clash, &plain()), ["Networks/NetworksOverlap"]);
    assert!(judge(&clash, &workerless).is_empty(), "the default is not for it");
    let nothing = with(plain(), "/spec/provider/workers", json!([]));
    assert_eq!(
        judge(&bare, &nothing),
        ["Networks/RangeMissing"],
        "services are there without machines"
    );
}

#[test]
fn pods_and_services_need_a_range_from_somewhere() {
    let bare = with(aws(), "/spec/networks/shootDefaults", Value::Null);
    assert_eq!(judge(&bare, &plain()), ["Networks/RangeMissing"]);
    let pods = with(plain(), "/spec/networking/pods", json!("172.17.0.0/16"));
    assert_eq!(judge(&bare, &pods), ["Networks/RangeMissing"]);
    let both = with(pods, "/spec/networking/services", json!("172.18.0.0/16"));
    assert!(judge(&bare, &both).is_empty());
    let half = with(
        aws(),
        "/spec/networks/shootDefaults",
        json!({"pods": "100.96.0.0/11"}),
    );
    assert_eq!(judge(&half, &plain()), ["Networks/RangeMissing"]);
    assert!(
        judge(&aws(), &with(plain(), "/spec/networking", Value::Null)).is_empty(),
        "nodes may be missing"
    );
}

#[test]
fn a_seeds_defaults_count_as_the_shoots_ranges() {
    let clash = with(aws(), "/spec/networks/nodes", json!("100.96.0.0/16"));
    assert_eq!(judge(&clash, &plain()), ["Networks/NetworksOverlap"]);
    assert!(
        judge(
            &clash,
            &with(plain(), "/spec/networking/pods", json!("172.17.0.0/16"))
        )
        .is_empty()
    );
}

#[test]
fn a_full_seed_takes_no_more() {
    let seat = |name: &str| with(shoot(name, "eu-west-1"), "/spec/seedName", json!("s"));
    for (limit, full) in [
        (json!("2"), true),
        (json!(2), true),
        (json!("3"), false),
        (json!("0"), true),
        (Value::Null, false),
    ] {
        let seed = match &limit {
            Value::Null => aws(),
            limit => with(aws(), "/status/allocatable", json!({"shoots": limit})),
        };
        let fleet = fleet(&[seed, plain(), seat("a"), seat("b")]);
        let expected: &[&str] = if full { &["Capacity/Full"] } else { &[] };
        assert_eq!(
            refusals(&fleet, &decide(&fleet, &plain()), "s"),
            expected,
            "{limit}"
        );
    }
}

#[test]
fn every_filter_that_refuses_is_named() {
    let worst = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": {"name": "s"},
        "spec": {
            "provider": {"type": "gcp", "region": "far"}, "taints": [{"key": "t"}],
            "networks": {"pods": "10.2.0.0/16", "services": "10.3.0.0/16"},
            "settings": {"scheduling": {"visible": false}, "shootDNS": {"enabled": false}},
        },
        "status": {"allocatable": {"shoots": "0"}},
    });
    let shoot = with(plain(), "/spec/seedSelector", json!({"matchLabels": {"a": "b"}}));
    let shoot = with(shoot, "/spec/dns", json!({"domain": "a.example"}));
    let profile = with(
        profile("aws"),
        "/spec/seedSelector",
        json!({"matchLabels": {"c": "d"}}),
    );
    let expected = [
        "Usable/NotReady",
        "Provider/ProviderMismatch",
        "CloudProfileSelector/SelectorMismatch",
        "ShootSelector/SelectorMismatch",
        "Taints/Untolerated",
        "DNS/DNSDisabled",
        "Networks/RangeMissing",
        "Capacity/Full",
        "Strategy/NotSameProvider",
    ];
    assert_eq!(judge_with(&worst, &shoot, &profile), expected);
}
