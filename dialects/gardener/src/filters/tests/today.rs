//! Rules of Gardener after v1.8, with the test vectors that were run through Gardener's own scheduler. Their
//! names are `h…`.

use berth_dialect_contract::{Inventory, report};
use serde_json::{Value, json};

use crate::testing::{configured_with, decide, fleet, picked, profile, project, refusals, seed, shoot, with};

const EU: &str = "eu-west-1";

/// A seed of a current release, which has been reconciled and reports its version of Gardener.
fn of_today(name: &str) -> Value {
    let seed = with(
        seed(name, "aws", EU),
        "/status/gardener",
        json!({"version": "1.149.0"}),
    );
    with(
        seed,
        "/status/lastOperation",
        json!({"type": "Reconcile", "state": "Succeeded"}),
    )
}

fn preferring(name: &str, zones: &[&str]) -> Value {
    zoned(&of_today(name), "Prefer", zones)
}

fn zoned(seed: &Value, mode: &str, zones: &[&str]) -> Value {
    let seed = with(seed.clone(), "/spec/provider/zones", json!(zones));
    if mode.is_empty() {
        return seed;
    }
    with(seed, "/spec/settings/zoneSelection/mode", json!(mode))
}

fn plain() -> Value {
    let shoot = shoot("s", EU);
    let workers = json!([{"name": "pool", "zones": ["z1"]}]);
    with(shoot, "/spec/provider/workers", workers)
}

/// The picked seed, and the refusals of every seed.
fn judged(seeds: &[Value], shoot: &Value) -> (Option<String>, Vec<Vec<String>>) {
    let own = project(&json!([]), &json!([]));
    let objects: Vec<Value> = seeds.iter().chain([shoot, &own]).cloned().collect();
    let fleet = fleet(&objects);
    assert_eq!(berth_dialect_contract::Inventory::unusable(&fleet), []);
    let decision = decide(&fleet, shoot);
    let name = |seed: &Value| seed["metadata"]["name"].as_str().unwrap().to_owned();
    let refused = seeds.iter().map(|seed| refusals(&fleet, &decision, &name(seed)));
    (picked(&fleet, shoot), refused.collect())
}

fn chosen(seeds: &[Value], shoot: &Value) -> Option<String> {
    judged(seeds, shoot).0
}

fn some(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[test]
fn a_control_plane_that_survives_a_zone_takes_three() {
    let ha = with(
        plain(),
        "/spec/controlPlane/highAvailability/failureTolerance/type",
        json!("zone"),
    );
    let two = zoned(&of_today("a"), "", &["z1", "z2"]);
    let three = zoned(&of_today("b"), "", &["z1", "z2", "z3"]);
    let (picked, refused) = judged(&[two, three], &ha);
    assert_eq!(
        (picked, &refused[0][..]),
        (some("b"), &["Zones/TooFewZones".to_owned()][..])
    );
    // h07: zones of the control plane that the shoot names are not compared with those of the seed.
    let explicit = with(ha, "/spec/controlPlane/zones", json!(["z1", "z2", "z3"]));
    let others = zoned(&of_today("a"), "", &["x1", "x2", "x3"]);
    assert_eq!(chosen(&[others], &explicit), some("a"));
}

#[test]
fn zones_of_the_control_plane_are_all_there_whatever_the_seed_prefers() {
    let explicit = with(plain(), "/spec/controlPlane/zones", json!(["z2"]));
    let (picked, refused) = judged(
        &[
            preferring("a", &["z1"]),
            zoned(&of_today("b"), "Enforce", &["z2"]),
        ],
        &explicit,
    );
    assert_eq!(
        (picked, &refused[0][..]),
        (some("b"), &["Zones/ZonesMissing".to_owned()][..])
    );
}

#[test]
fn a_seed_that_enforces_its_zones_takes_only_workers_in_them() {
    let strict = zoned(&of_today("a"), "Enforce", &["z9"]);
    let (picked, refused) = judged(std::slice::from_ref(&strict), &plain());
    assert_eq!(
        (picked, &refused[0][..]),
        (None, &["Zones/ZoneMismatch".to_owned()][..])
    );
    let workerless = with(plain(), "/spec/provider/workers", json!([]));
    assert_eq!(
        chosen(&[strict], &workerless),
        some("a"),
        "there are none to compare"
    );
    assert_eq!(
        chosen(&[zoned(&of_today("a"), "Enforce", &["z1"])], &plain()),
        some("a")
    );
}

#[test]
fn seeds_that_prefer_other_zones_come_last() {
    let one = [preferring("a", &["z9"]), preferring("b", &["z1"])];
    let (picked, refused) = judged(&one, &plain());
    assert_eq!(
        (picked, &refused[0][..]),
        (some("b"), &["Zones/ZoneNotPreferred".to_owned()][..])
    );
    // h03: all seeds prefer other shoots, so that none is refused.
    assert_eq!(chosen(&[preferring("a", &["z9"])], &plain()), some("a"));
    // h04: a seed without a preference comes first.
    let indifferent = zoned(&of_today("b"), "", &["z8"]);
    assert_eq!(
        chosen(&[preferring("a", &["z9"]), indifferent], &plain()),
        some("b")
    );
    // The zones of a seed that is refused before do not matter.
    let hidden = with(
        preferring("b", &["z1"]),
        "/spec/settings/scheduling/visible",
        json!(false),
    );
    assert_eq!(chosen(&[preferring("a", &["z9"]), hidden], &plain()), some("a"));
}

#[test]
fn h38_a_preferred_seed_without_room_leaves_none_and_the_report_says_so() {
    let full = with(
        preferring("a", &["z1"]),
        "/status/allocatable",
        json!({"shoots": "0"}),
    );
    let objects = [full.clone(), preferring("b", &["z9"]), plain()];
    let (picked, refused) = judged(&objects[..2], &plain());
    assert_eq!(picked, None);
    assert_eq!(refused, [["Capacity/Full"], ["Zones/ZoneNotPreferred"]]);
    let fleet = fleet(&objects);
    let decision = decide(&fleet, &plain());
    let warnings = berth_dialect_contract::Words::warnings(&fleet, &decision);
    assert!(
        warnings[0].starts_with("\"b\" would fit, but for other seeds"),
        "{warnings:?}"
    );
    // h39: the same applies to a tainted seed.
    let tainted = with(preferring("a", &["z1"]), "/spec/taints", json!([{"key": "t"}]));
    assert_eq!(chosen(&[tainted, preferring("b", &["z9"])], &plain()), None);
}

#[test]
fn access_restrictions_are_offered() {
    let eu = with(
        plain(),
        "/spec/accessRestrictions",
        json!([{"name": "eu-access-only"}]),
    );
    let offers = with(
        of_today("b"),
        "/spec/accessRestrictions",
        json!([{"name": "other"}, {"name": "eu-access-only", "options": {"a": "b"}}]),
    );
    let (picked, refused) = judged(&[of_today("a"), offers], &eu);
    assert_eq!(
        (picked, &refused[0][..]),
        (some("b"), &["AccessRestrictions/AccessRestricted".to_owned()][..])
    );
}

fn with_default(seed: Value, domain: &str) -> Value {
    with(
        seed,
        "/spec/dns/defaults",
        json!([{"type": "aws-route53", "domain": domain}]),
    )
}

fn called(domain: &str) -> Value {
    with(plain(), "/spec/dns/domain", json!(domain))
}

#[test]
fn a_shoot_below_a_default_domain_goes_where_that_is() {
    let seeds = [of_today("a"), with_default(of_today("b"), "ex.org")];
    let (picked, refused) = judged(&seeds, &called("s.dev.ex.org"));
    assert_eq!(
        (picked, &refused[0][..]),
        (some("b"), &["DefaultDomain/DomainUnsupported".to_owned()][..])
    );
    // h10: the domain is below the default domain, but is not the one that follows from the shoot's name.
    assert_eq!(chosen(&seeds, &called("foo.dev.ex.org")), None);
    // h11: the domain is below no default domain.
    assert_eq!(chosen(&seeds, &called("s.dev.other.org")), some("a"));
    // h13: no seed has to manage the domain.
    let unmanaged = with(
        called("foo.dev.ex.org"),
        "/spec/dns/providers",
        json!([{"type": "unmanaged"}]),
    );
    assert_eq!(chosen(&seeds, &unmanaged), None);
    // h40: a seed that is refused by a later filter still binds the shoot to its domain.
    let full = with(seeds[1].clone(), "/status/allocatable", json!({"shoots": "0"}));
    assert_eq!(chosen(&[of_today("a"), full], &called("s.dev.ex.org")), None);
    // h41: a seed that is refused by an earlier filter does not.
    let mut fresh = seeds[1].clone();
    fresh["status"].as_object_mut().unwrap().remove("lastOperation");
    assert_eq!(
        chosen(&[of_today("a"), fresh], &called("s.dev.ex.org")),
        some("a")
    );
}

#[test]
fn only_seeds_that_another_order_would_pick_are_warned_about() {
    let warned = |seeds: &[Value], shoot: &Value| {
        let own = project(&json!([]), &json!([]));
        let objects: Vec<Value> = seeds.iter().chain([shoot, &own]).cloned().collect();
        let fleet = fleet(&objects);
        let warnings = berth_dialect_contract::Words::warnings(&fleet, &decide(&fleet, shoot));
        let before = |warning: &String| warning.split(" would fit").next().unwrap_or_default().to_owned();
        warnings.iter().map(before).collect::<Vec<_>>()
    };
    let default = with_default(of_today("b"), "ex.org");
    let full = with(default.clone(), "/status/allocatable", json!({"shoots": "0"}));
    // h10: no seed manages the domain, in whatever order seeds are judged.
    let seeds = [of_today("a"), default.clone()];
    assert_eq!(warned(&seeds, &called("foo.dev.ex.org")), [""; 0]);
    // h40: the seed that manages the domain is full, and would not be compared.
    let seeds = [of_today("a"), full.clone()];
    assert_eq!(warned(&seeds, &called("s.dev.ex.org")), ["\"a\""]);
    // Of two seeds that the zones refuse, one does not manage the domain.
    let zoned_full = zoned(&full, "Prefer", &["z1"]);
    let seeds = [
        preferring("a", &["z9"]),
        zoned(&default, "Prefer", &["z9"]),
        with(zoned_full, "/metadata/name", json!("c")),
    ];
    assert_eq!(warned(&seeds, &called("s.dev.ex.org")), ["\"b\""]);
}

#[test]
fn h22_only_true_stops_reconciliations() {
    let stopped = |value: &str| {
        with(
            of_today("a"),
            "/metadata/annotations",
            json!({"shoot.gardener.cloud/emergency-stop-reconciliations": value}),
        )
    };
    assert_eq!(chosen(&[stopped("True")], &plain()), some("a"));
    let (picked, refused) = judged(&[stopped("true")], &plain());
    assert_eq!(
        (picked, refused),
        (
            None,
            vec![vec!["EmergencyStop/ReconciliationsStopped".to_owned()]]
        )
    );
}

#[test]
fn seeds_can_be_selected_by_their_names() {
    let named = with(
        plain(),
        "/spec/seedSelector",
        json!({"matchLabels": {"name.seed.gardener.cloud/b": "true"}}),
    );
    assert_eq!(chosen(&[of_today("a"), of_today("b")], &named), some("b"));
}

#[test]
fn networks_that_a_shoot_has_are_judged_too() {
    let six = json!({"ipFamilies": ["IPv6"], "pods": "fd00:98::/64", "services": "fd00:99::/112"});
    let seed = with(
        of_today("a"),
        "/spec/networks",
        json!({"ipFamilies": ["IPv6"], "pods": "fd00:1::/64", "services": "fd00:2::/112"}),
    );
    let has = |networking: Value| {
        let shoot = with(plain(), "/spec/networking", six.clone());
        judged(
            std::slice::from_ref(&seed),
            &with(shoot, "/status", json!({"networking": networking})),
        )
        .1
        .remove(0)
    };
    assert!(has(json!({"pods": ["fd00:98::/64"], "services": ["fd00:99::/112"]})).is_empty());
    // h21
    assert_eq!(has(json!({"pods": ["fd00:98::/64"]})), ["Networks/RangeMissing"]);
    let meets = json!({"pods": ["fd00:98::/64", "fd00:2::/64"], "services": ["fd00:99::/112"]});
    assert_eq!(has(meets), ["Networks/NetworksOverlap"]);
    let reserved = json!({"pods": ["fd8f:6d53:b97a:1::/100"], "services": ["fd00:99::/112"]});
    assert_eq!(has(reserved), ["Networks/RangeReserved"]);
}

#[test]
fn a_range_that_the_status_repeats_is_told_once() {
    let networks = json!({"ipFamilies": ["IPv6"], "pods": "fd00:98::/48", "services": "fd00:2::/112"});
    let seed = with(of_today("a"), "/spec/networks", networks);
    let asked = json!({"ipFamilies": ["IPv6"], "pods": "fd00:98::/64", "services": "fd00:99::/112"});
    let meets = |pods: &str| {
        let status = json!({"networking": {"pods": [pods], "services": ["fd00:99::/112"]}});
        let shoot = with(
            with(plain(), "/spec/networking", asked.clone()),
            "/status",
            status,
        );
        let fleet = fleet(&[seed.clone(), shoot.clone()]);
        let report = report::report("gardener", &fleet, 7, &decide(&fleet, &shoot));
        let report = serde_json::to_value(report).unwrap();
        report["candidates"][0]["rejections"][0]["message"].clone()
    };
    let once = "networks overlap: shoot's pods fd00:98::/64 and seed's pods fd00:98::/48";
    assert_eq!(meets("fd00:98::/64"), once);
    let both = format!("{once}, pods fd00:98:0:1::/64 in the shoot's status and seed's pods fd00:98::/48");
    assert_eq!(meets("fd00:98:0:1::/64"), both);
}

#[test]
fn a_distance_above_1000_is_none() {
    let far = "x".repeat(501);
    let seed = with(of_today("a"), "/spec/provider/region", json!(far));
    let shoot = with(plain(), "/spec/region", json!("1"));
    let strategy = crate::testing::configuration("MinimalDistance");
    let fleet = fleet(&[seed, shoot.clone(), strategy]);
    let decision = decide(&fleet, &shoot);
    assert_eq!(refusals(&fleet, &decision, "a"), ["Strategy/NotMinimalDistance"]);
}

/// A case with its seed and its shoot, and the refusals by the rules of v1.8 and by the current rules.
type ByBoth<'a> = (&'a str, &'a Value, &'a Value, &'a [&'a str], &'a [&'a str]);

/// The refusals of a seed `a` by the rules of v1.8 and by the current rules.
fn by_rules(objects: &[Value], shoot: &Value) -> [Vec<String>; 2] {
    ["Documented", "Current"].map(|rules| {
        let mut objects = objects.to_vec();
        objects.extend([shoot.clone(), configured_with(&json!({"rules": rules}))]);
        let fleet = fleet(&objects);
        refusals(&fleet, &decide(&fleet, shoot), "a")
    })
}

#[test]
fn what_today_contradicts_the_documentation_goes_by_the_rules_in_force() {
    let old = seed("a", "aws", EU);
    let tainted = |key: &str| {
        with(
            of_today("a"),
            "/spec/taints",
            json!([{"key": format!("seed.gardener.cloud/{key}")}]),
        )
    };
    let no_dns = with(of_today("a"), "/spec/settings/shootDNS/enabled", json!(false));
    let unprepared = with(
        of_today("a"),
        "/status/conditions",
        json!([{"type": "GardenletReady", "status": "True"}, {"type": "Bootstrapped", "status": "False"}]),
    );
    let meets = with(
        plain(),
        "/spec/networking",
        json!({"nodes": "10.2.0.0/16", "pods": "10.20.0.0/16", "services": "10.21.0.0/16"}),
    );
    let foreign = with(
        seed("a", "gcp", EU),
        "/status/lastOperation",
        json!({"type": "Reconcile"}),
    );
    let wide = with(plain(), "/spec/seedSelector", json!({"providerTypes": ["gcp"]}));
    let narrow = with(plain(), "/spec/seedSelector", json!({"providerTypes": ["gcp"]}));
    let shoot = plain();
    let cases: [ByBoth<'_>; 8] = [
        ("never reconciled", &old, &shoot, &[], &["Usable/NeverReconciled"]),
        ("not bootstrapped", &unprepared, &shoot, &["Usable/NotReady"], &[]),
        (
            "invisible",
            &tainted("invisible"),
            &shoot,
            &["Usable/Invisible"],
            &["Taints/Untolerated"],
        ),
        (
            "disable-dns",
            &tainted("disable-dns"),
            &called("a.b"),
            &["DNS/DNSDisabled"],
            &["Taints/Untolerated"],
        ),
        ("DNS", &no_dns, &called("a.b"), &["DNS/DNSDisabled"], &[]),
        ("IPv4", &of_today("a"), &meets, &["Networks/NetworksOverlap"], &[]),
        (
            "wide",
            &foreign,
            &wide,
            &["Strategy/NotSameProvider"],
            &["Provider/ProviderMismatch", "Strategy/NotSameProvider"],
        ),
        (
            "narrow",
            &of_today("a"),
            &narrow,
            &["Provider/ProviderMismatch"],
            &[],
        ),
    ];
    for (what, seed, shoot, documented, current) in cases {
        let [by_old, by_new] = by_rules(&[seed.clone(), profile("aws")], shoot);
        assert_eq!(by_old, documented, "{what}");
        assert_eq!(by_new, current, "{what}");
    }
}

#[test]
fn backup_buckets_matter_to_a_seed_with_a_backup_alone() {
    let said = |status: Option<&str>| {
        let mut list = vec![json!({"type": "GardenletReady", "status": "True"})];
        list.extend(status.map(|status| json!({"type": "BackupBucketsReady", "status": status})));
        with(of_today("a"), "/status/conditions", json!(list))
    };
    let backed = |seed: Value| with(seed, "/spec/backup", json!({"provider": "aws"}));
    for (seed, ready) in [
        (said(None), true),
        (said(Some("False")), true),
        (backed(said(None)), false),
        (backed(said(Some("False"))), false),
        (backed(said(Some("True"))), true),
    ] {
        assert_eq!(
            chosen(std::slice::from_ref(&seed), &plain()).is_some(),
            ready,
            "{seed}"
        );
    }
}

#[test]
fn without_a_choice_the_seeds_say_which_rules_hold() {
    let rules = |objects: &[Value]| {
        let in_force = fleet(objects).in_force();
        format!("{}: {}", in_force.rules.as_str(), in_force.because)
    };
    let old = seed("b", "aws", EU);
    assert_eq!(
        rules(std::slice::from_ref(&old)),
        "Documented: no Seed is known to be of Gardener 1.49 or newer"
    );
    assert_eq!(
        rules(&[old.clone(), of_today("a")]),
        "Current: 1 of 2 Seeds is of Gardener 1.49 or newer"
    );
    let mut on_hub = fleet(std::slice::from_ref(&old));
    on_hub.set_on_hub();
    let in_force = on_hub.in_force();
    assert_eq!(
        (
            in_force.rules.as_str(),
            in_force.because.as_str(),
            in_force.is_at_odds
        ),
        ("Current", "the objects are those of a hub", false)
    );
    let chosen = configured_with(&json!({"rules": "Documented"}));
    assert!(fleet(&[of_today("a"), chosen.clone()]).in_force().is_at_odds);
    assert_eq!(
        rules(&[old.clone(), chosen.clone()]),
        "Documented: spec.rules is Documented"
    );
    assert_eq!(
        rules(&[of_today("a"), chosen]),
        "Documented: spec.rules is Documented, although 1 of 1 Seeds is of Gardener 1.49 or newer"
    );
    let v48 = with(old, "/status/gardener/version", json!("v1.48.3"));
    assert!(rules(&[v48]).starts_with("Documented"));
}

#[test]
fn networks_are_judged_as_gardener_judges_them() {
    let seed = |networks: Value| with(of_today("a"), "/spec/networks", networks);
    let four = json!({"nodes": "10.3.0.0/16", "pods": "10.1.0.0/16", "services": "10.2.0.0/16"});
    let given = |pods: &str, services: &str| {
        let mut networks = four.clone();
        networks["shootDefaults"] = json!({"pods": pods, "services": services});
        seed(networks)
    };
    let six = seed(json!({"ipFamilies": ["IPv6"], "pods": "fd00:1::/64", "services": "fd00:2::/112"}));
    let cases = [
        (
            "h14",
            &six,
            json!({"ipFamilies": ["IPv6"], "nodes": "fd00:1::/64"}),
            false,
        ),
        (
            "h15",
            &seed(four.clone()),
            json!({"ipFamilies": ["IPv4", "IPv6"], "nodes": "10.3.0.0/16", "pods": "10.1.0.0/16", "services": "10.2.0.0/16"}),
            true,
        ),
        (
            "h17",
            &seed(four.clone()),
            json!({"pods": "10.21.0.0/16", "services": "244.1.0.0/16"}),
            false,
        ),
        (
            "h18",
            &six,
            json!({"ipFamilies": ["IPv6"], "pods": "fd8f:6d53:b97a:1::/100", "services": "fd00:99::/112"}),
            false,
        ),
        ("h20", &given("241.0.0.0/11", "10.30.0.0/16"), json!({}), false),
        ("h44", &given("10.1.0.0/16", "10.2.0.0/16"), json!({}), true),
    ];
    for (name, seed, networking, fits) in cases {
        let shoot = with(plain(), "/spec/networking", networking);
        assert_eq!(
            chosen(std::slice::from_ref(seed), &shoot).is_some(),
            fits,
            "{name}"
        );
    }
}

#[test]
fn h43_the_last_toleration_of_a_key_counts() {
    let tainted = with(of_today("a"), "/spec/taints", json!([{"key": "k", "value": "1"}]));
    let tolerates = |values: [&str; 2]| {
        let list: Value = values
            .iter()
            .map(|value| json!({"key": "k", "value": value}))
            .collect();
        let own = project(&json!([]), &json!([{"key": "k"}]));
        let shoot = with(plain(), "/spec/tolerations", list);
        let fleet = fleet(&[tainted.clone(), shoot.clone(), own]);
        picked(&fleet, &shoot)
    };
    assert_eq!(tolerates(["1", "2"]), None);
    assert_eq!(tolerates(["2", "1"]), some("a"));
}
