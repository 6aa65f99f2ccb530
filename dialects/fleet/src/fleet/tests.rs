//! Changes that make a placement due (docs/systems/fleet.md, "When it runs").

use berth_dialect_contract::{AffectedDemands, Inventory, Outcome, Words};
use serde_json::{Value, json};

use crate::testing::{TestHub, cluster, key, placement, placement_key, resource_placement};

fn pick(number: i32) -> Value {
    placement(&json!({"placementType": "PickN", "numberOfClusters": number}))
}

/// A settled hub with the clusters `a` and `b`, and with this placement.
fn settled(placement: &Value) -> TestHub {
    let mut world = TestHub::of([
        cluster("a", &json!({})),
        cluster("b", &json!({})),
        placement.clone(),
    ]);
    let due = world.apply_decision();
    assert!(
        due.iter().all(|due| due.decide == AffectedDemands::None),
        "{due:?}"
    );
    world
}

fn due(affected: &AffectedDemands) -> bool {
    match affected {
        AffectedDemands::None => false,
        AffectedDemands::Some(keys) => {
            assert_eq!(*keys, [key(&pick(0))]);
            true
        }
        AffectedDemands::All => true,
    }
}

#[test]
fn a_policy_change_is_due_and_a_change_of_metadata_is_not() {
    let mut world = settled(&pick(1));
    assert!(due(&world.put(&pick(2)).decide));
    let mut labelled = pick(2);
    labelled["metadata"]["labels"] = json!({"team": "blue"});
    let again = world.put(&labelled);
    assert!(!due(&again.decide) && due(&again.demands));
}

#[test]
fn a_new_generation_with_the_same_policy_is_due_once_and_recorded() {
    let mut world = settled(&pick(1));
    let before = world.bindings();
    let mut resources = pick(1);
    resources["spec"]["resourceSelectors"][0]["name"] = "other".into();
    resources["metadata"]["generation"] = 2.into();
    assert!(due(&world.put(&resources).decide));
    let of_own_writes = world.apply_decision();
    assert!(!of_own_writes.is_empty() && of_own_writes.iter().all(|own| !due(&own.decide)));
    let snapshot = world
        .fleet
        .newest_snapshot(&placement_key())
        .unwrap()
        .object
        .parse();
    assert_eq!(snapshot["status"]["observedCRPGeneration"], 2);
    assert_eq!(world.bindings(), before);
    assert!(world.apply_decision().is_empty(), "everything is recorded");
}

#[test]
fn a_change_that_may_make_a_cluster_fit_is_due_for_those_that_want_more() {
    let tainted = |taints: Value| {
        let mut value = cluster("c", &json!({}));
        value["spec"] = json!({"taints": taints});
        value
    };
    let gpu = json!({"key": "gpu", "effect": "NoSchedule"});
    let mut silent = cluster("c", &json!({}));
    silent["status"]["agentStatus"][0]["lastReceivedHeartbeat"] = "2021-10-28T08:00:00Z".into();
    let mut unjoined = cluster("c", &json!({}));
    unjoined["status"]["agentStatus"][0]["conditions"][0]["status"] = "False".into();
    let fit = cluster("c", &json!({}));
    let improvements = [
        (None, fit.clone()),
        (Some(cluster("c", &json!({"env": "dev"}))), fit.clone()),
        (Some(tainted(json!([gpu]))), fit.clone()),
        (Some(silent), fit.clone()),
        (Some(unjoined.clone()), fit.clone()),
    ];
    for (before, after) in &improvements {
        for (wants, placement) in [
            (true, pick(5)),
            (false, pick(2)),
            (true, placement(&json!({"placementType": "PickAll"}))),
        ] {
            let mut world = settled(&placement);
            if let Some(before) = before {
                world.put(before);
            }
            assert_eq!(due(&world.put(after).decide), wants, "{before:?} for {placement}");
        }
    }
    // A change that can only make the cluster worse makes nothing due, since placed resources do not move.
    for worse in [tainted(json!([gpu])), unjoined] {
        let mut world = settled(&pick(5));
        world.put(&fit);
        assert!(!due(&world.put(&worse).decide), "{worse}");
    }
}

#[test]
fn a_heartbeat_and_a_property_nobody_asks_for_are_not_due() {
    let mut world = settled(&pick(5));
    let mut beat = cluster("a", &json!({}));
    beat["status"]["agentStatus"][0]["lastReceivedHeartbeat"] = "2021-10-28T08:59:30Z".into();
    beat["status"]["resourceUsage"] = json!({"available": {"cpu": "3"}});
    let heard = world.put(&beat);
    assert!(!due(&heard.decide));
    assert_eq!(heard.targets, Some(vec!["a".into()]));
    let asks = json!({"placementType": "PickN", "numberOfClusters": 5, "affinity": {"clusterAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [{"propertySelector": {
            "matchExpressions": [{"name": "resources.kubernetes-fleet.io/available-cpu", "operator": "Ge", "values": ["4"]}]}}]}}}});
    world.put(&placement(&asks));
    beat["status"]["resourceUsage"]["available"]["cpu"] = "5".into();
    assert!(due(&world.put(&beat).decide));
}

#[test]
fn a_cluster_that_is_gone_is_due_for_what_it_held_and_one_that_leaves_is_not() {
    let mut world = settled(&pick(1));
    // The larger name was picked.
    let leaving = |name: &str| {
        let mut value = cluster(name, &json!({}));
        value["metadata"]["deletionTimestamp"] = "2021-10-28T08:59:59Z".into();
        value
    };
    assert!(!due(&world.put(&leaving("a")).decide));
    assert!(!due(&world.put(&leaving("b")).decide), "it is still there");
    assert!(due(&world.remove(&leaving("b")).decide));
    let mut world = settled(&pick(1));
    assert!(due(&world.remove(&cluster("b", &json!({}))).decide));
}

#[test]
fn a_cluster_that_is_gone_is_due_where_its_topology_domain_held_back_others() {
    let mut tainted = cluster("c", &json!({"zone": "2"}));
    tainted["spec"] = json!({"taints": [{"key": "gpu", "effect": "NoSchedule"}]});
    let zones = json!([{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]);
    for (constraints, bound_before, is_due) in [(zones, 1, true), (json!([]), 2, false)] {
        let policy = json!({
            "placementType": "PickN", "numberOfClusters": 3, "topologySpreadConstraints": constraints,
        });
        let mut world = TestHub::of([
            cluster("a", &json!({"zone": "1"})),
            cluster("b", &json!({"zone": "1"})),
            tainted.clone(),
            placement(&policy),
        ]);
        world.apply_decision();
        assert_eq!(world.bindings().len(), bound_before, "{policy}");
        assert_eq!(due(&world.remove(&tainted).decide), is_due, "{policy}");
        world.apply_decision();
        assert_eq!(world.bindings().len(), 2, "{policy}");
    }
}

#[test]
fn a_value_that_cannot_be_compared_is_due_for_those_that_compare_it_when_it_goes() {
    let sized = |name: &str, size: &Value| {
        let mut value = cluster(name, &json!({}));
        value["status"]["properties"] = json!({"size": {"value": size}});
        value
    };
    let at_least = json!({"matchExpressions": [{"name": "size", "operator": "Ge", "values": ["1"]}]});
    let terms = json!({"clusterSelectorTerms": [{"propertySelector": at_least}]});
    let required = json!({"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
    let comparing = placement(&json!({"placementType": "PickAll", "affinity": required}));
    let mut plain = cluster("a", &json!({}));
    plain["status"]["properties"] = json!({});
    for (after, placement, is_due) in [
        (Some(sized("a", &json!("4"))), &comparing, true),
        (Some(sized("a", &json!("few"))), &comparing, true),
        (Some(sized("a", &json!("many"))), &comparing, false),
        (Some(plain.clone()), &comparing, true),
        (None, &comparing, true),
        (
            Some(plain),
            &placement(&json!({"placementType": "PickAll"})),
            false,
        ),
    ] {
        // The cluster is bound already, so that the placement could not pick it.
        let mut world = TestHub::of([sized("a", &json!("4")), placement.clone()]);
        world.apply_decision();
        let many = sized("a", &json!("many"));
        world.put(&many);
        let change = match &after {
            Some(after) => world.put(after),
            None => world.remove(&many),
        };
        assert_eq!(due(&change.decide), is_due, "{after:?} for {placement}");
    }
    // A cluster that is not bound makes the placement invalid as well.
    let unbound = sized("z", &json!("many"));
    let mut world = TestHub::of([sized("a", &json!("4")), unbound.clone(), comparing]);
    assert_eq!(world.choose(&[]).unwrap().reason, "PropertyInvalid");
    assert!(due(&world.remove(&unbound).decide));
}

#[test]
fn a_binding_taken_away_is_due_and_the_rollouts_own_work_is_not() {
    let mut world = settled(&pick(1));
    let mut binding = world.bindings().remove(0);
    binding["spec"]["state"] = "Bound".into();
    assert!(!due(&world.put(&binding).decide));
    binding["metadata"]["deletionTimestamp"] = "2021-10-28T08:59:59Z".into();
    let going = world.put(&binding);
    assert!(due(&going.decide));
    assert_eq!(going.targets, Some(vec!["b".into()]));
    assert!(!due(&world.remove(&binding).decide), "it was told when it began");
}

#[test]
fn a_snapshot_that_others_change_or_remove_is_due() {
    let mut world = settled(&pick(1));
    let snapshot = world
        .fleet
        .newest_snapshot(&placement_key())
        .unwrap()
        .object
        .parse();
    let mut changed = snapshot.clone();
    changed["metadata"]["annotations"]["kubernetes-fleet.io/number-of-clusters"] = "7".into();
    assert!(due(&world.put(&changed).decide));
    assert!(!due(&world.put(&snapshot).decide));
    assert!(due(&world.remove(&snapshot).decide));
}

#[test]
fn a_snapshot_with_the_highest_number_leaves_numbers_for_others() {
    const HIGHEST: &str = "9223372036854775807";
    let mut world = settled(&pick(1));
    let mut snapshot = world
        .fleet
        .newest_snapshot(&placement_key())
        .unwrap()
        .object
        .parse();
    snapshot["metadata"]["name"] = format!("p-{HIGHEST}").into();
    snapshot["metadata"]["labels"]["kubernetes-fleet.io/policy-index"] = HIGHEST.into();
    world.put(&snapshot);
    let mut binding = world.bindings().remove(0);
    binding["spec"]["schedulingPolicySnapshotName"] = format!("p-{HIGHEST}").into();
    world.put(&binding);
    let changed = json!({"placementType": "PickN", "numberOfClusters": 1, "tolerations": [{"key": "a"}]});
    world.put(&placement(&changed));
    world.apply_decision();
    let newest = world.fleet.newest_snapshot(&placement_key()).unwrap();
    assert_eq!(&*newest.name, "p-1");
}

#[test]
fn a_bad_configuration_leaves_the_last_good_one_in_force() {
    let config = |spec: Value| {
        json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "fleet"},
            "spec": {"fleet": spec},
        })
    };
    let mut world = settled(&pick(1));
    assert_eq!(
        world
            .put(&config(json!({"clusterHealthCheckTimeout": "1h"})))
            .decide,
        AffectedDemands::All
    );
    let limits = world.fleet.limits;
    assert_eq!(
        world.put(&config(json!({"clusterHealthCheckTimeout": 1}))).decide,
        AffectedDemands::None
    );
    assert_eq!(world.fleet.limits, limits);
    let unusable = world.fleet.unusable();
    assert_eq!(unusable.len(), 1);
    assert!(
        unusable[0]
            .problem
            .contains("spec.fleet.clusterHealthCheckTimeout: Invalid value: \"integer\""),
        "{unusable:?}"
    );
    assert_eq!(world.remove(&config(json!({}))).decide, AffectedDemands::All);
    assert!(world.fleet.unusable().is_empty());
}

#[test]
fn a_cluster_that_cannot_be_read_keeps_its_binding_and_gets_no_other() {
    let mut world = settled(&pick(1));
    // The larger name was picked.
    let mut garbled = cluster("b", &json!({}));
    garbled["spec"] = json!({"taints": "gpu"});
    assert!(!due(&world.put(&garbled).decide));
    assert_eq!(world.fleet.unusable().len(), 1);
    let decision = world.choose(&[]).unwrap();
    assert_eq!(decision.outcome, Outcome::Unchanged);
    let refusal = decision.solved.rejections[0];
    assert_eq!(world.fleet.token(refusal.plugin, refusal.reason), "Unreadable");
    let sentence = world
        .fleet
        .sentence(&decision, refusal.candidate, refusal.plugin, refusal.reason);
    assert!(
        sentence.starts_with("the MemberCluster cannot be read: invalid type"),
        "{sentence}"
    );
    world.put(&pick(5));
    assert!(
        due(&world.put(&cluster("b", &json!({}))).decide),
        "it can be read again"
    );
    assert!(world.fleet.unusable().is_empty());
}

#[test]
fn objects_that_cannot_be_read_are_listed_and_left_out() {
    let mut world = settled(&pick(1));
    let orphan = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding",
        "metadata": {"name": "x"}, "spec": {"targetCluster": "a"},
    });
    world.put(&orphan);
    let unusable = world.fleet.unusable();
    assert!(
        unusable[0]
            .problem
            .contains("its label kubernetes-fleet.io/parent-CRP must name"),
        "{unusable:?}"
    );
    world.remove(&orphan);
    assert!(world.fleet.unusable().is_empty());
}

/// The cluster `c` with these namespaces; `Null` for an agent that does not collect namespaces.
fn with_namespaces(namespaces: &Value) -> Value {
    let mut value = cluster("c", &json!({}));
    if !namespaces.is_null() {
        value["status"]["conditions"] = json!([{"type": "NamespaceCollectionSucceeded", "status": "True"}]);
        value["status"]["namespaces"] = namespaces.clone();
    }
    value
}

#[test]
fn a_namespace_that_a_cluster_got_is_due_for_the_placements_of_that_namespace() {
    let own = resource_placement(&json!({"placementType": "PickAll"}));
    let hub = placement(&json!({"placementType": "PickAll"}));
    let mut other = own.clone();
    other["metadata"]["namespace"] = "other".into();
    let (without, with) = (json!({"x": "p"}), json!({"x": "p", "team": ""}));
    for (before, after, wanted) in [
        (&without, &with, vec![key(&own)]),
        (&with, &without, vec![]),
        (&with, &with, vec![]),
        (&without, &Value::Null, vec![key(&other), key(&own)]),
        (&Value::Null, &without, vec![]),
    ] {
        let mut world = TestHub::of([with_namespaces(before), own.clone(), other.clone(), hub.clone()]);
        let mut found = match world.put(&with_namespaces(after)).decide {
            AffectedDemands::Some(keys) => keys,
            AffectedDemands::None => Vec::new(),
            AffectedDemands::All => panic!("only those concerned"),
        };
        found.sort();
        assert_eq!(found, wanted, "from {before} to {after}");
    }
}
