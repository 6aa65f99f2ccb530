//! Bindings to chosen clusters, and corner cases that scenarios do not cover.

use berth_dialect_contract::{Action, Advisor, Inventory, Outcome, Phase, Targets, Words};
use serde_json::{Value, json};

use crate::testing::{NOW, TestHub, cluster, key, placement, placement_key, resource_placement};

fn world(policy: &Value) -> TestHub {
    let mut sick = cluster("sick", &json!({}));
    sick["status"] = json!({});
    TestHub::of([
        cluster("a", &json!({"zone": "1"})),
        cluster("b", &json!({"zone": "1"})),
        cluster("c", &json!({"zone": "2"})),
        sick,
        placement(policy),
    ])
}

fn picked(world: &TestHub, chosen: &[&str]) -> Vec<String> {
    let decision = world.choose(chosen).unwrap();
    let picked = decision.solved.picked.iter();
    picked
        .map(|&candidate| world.fleet.cluster_name(candidate).to_string())
        .collect()
}

fn refused(world: &TestHub, chosen: &[&str]) -> Vec<String> {
    world
        .choose(chosen)
        .unwrap_err()
        .errors
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn exactly_the_chosen_clusters_are_bound() {
    let mut world = world(&json!({"placementType": "PickN", "numberOfClusters": 2}));
    assert_eq!(picked(&world, &["a", "b"]), ["b", "a"]);
    world.apply_decision();
    let decision = world.choose(&["a"]).unwrap();
    assert_eq!(
        (decision.outcome, decision.reason),
        (Outcome::Partial, "SchedulingPolicyUnfulfilled")
    );
    let changes: Vec<_> = decision
        .changes
        .iter()
        .map(|change| (change.action, &*change.cluster_name))
        .collect();
    assert_eq!(
        changes,
        [(Action::Bind, "a"), (Action::Unbind, "b"), (Action::Unbind, "c")]
    );
}

#[test]
fn what_cannot_be_bound_is_refused_target_by_target() {
    let world = world(&json!({"placementType": "PickN", "numberOfClusters": 2}));
    assert_eq!(
        refused(&world, &["gone", "sick", "a", "a"]),
        [
            "spec.targets[0]: Invalid value: \"gone\": there is no MemberCluster \"gone\"",
            "spec.targets[1]: Invalid value: \"sick\": ClusterEligibility/AgentNotOnline: the member agent has not reported \
             yet",
            "spec.targets[3]: Duplicate value: \"a\"",
            "spec.targets: Too many: 4: must have at most 2 items",
        ]
    );
}

#[test]
fn chosen_clusters_must_keep_the_topology_even() {
    let world = world(
        &json!({"placementType": "PickN", "numberOfClusters": 2, "topologySpreadConstraints": [
        {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}),
    );
    assert_eq!(picked(&world, &["a", "c"]).len(), 2);
    assert_eq!(
        refused(&world, &["a", "b"]),
        [
            "spec.targets[0]: Invalid value: \"a\": TopologySpreadConstraints/SkewExceeded: one more cluster would exceed maxSkew 1 \
             over zone: its domain 1 has 1, the emptiest domain 2 has 0"
        ]
    );
}

#[test]
fn only_named_clusters_can_be_chosen_for_pick_fixed() {
    let world = world(&json!({"placementType": "PickFixed", "clusterNames": ["c", "a", "sick"]}));
    assert_eq!(picked(&world, &[]), ["c", "a"]);
    assert_eq!(picked(&world, &["a"]), ["a"]);
    assert_eq!(
        refused(&world, &["b", "sick"]),
        [
            "spec.targets[0]: Invalid value: \"b\": PickFixed/NotEligible: spec.policy.clusterNames does not name the \
             cluster",
            "spec.targets[1]: Invalid value: \"sick\": PickFixed/NotEligible: the member agent has not reported yet",
        ]
    );
}

#[test]
fn a_cluster_held_already_may_be_chosen_whatever_it_became() {
    let mut world = world(&json!({"placementType": "PickN", "numberOfClusters": 2}));
    world.apply_decision();
    let mut ill = cluster("c", &json!({}));
    ill["status"] = json!({});
    world.put(&ill);
    assert_eq!(picked(&world, &["c"]), ["c"]);
}

#[test]
fn a_policy_that_got_past_validation_is_invalid_and_nothing_moves() {
    let mut world = world(&json!({"placementType": "PickN", "numberOfClusters": 1}));
    world.apply_decision();
    world.put(&placement(&json!({"placementType": "PickN"})));
    let decision = world.choose(&[]).unwrap();
    assert_eq!(
        (decision.outcome, decision.reason),
        (Outcome::Invalid, "PlacementInvalid")
    );
    assert!(world.fleet.writes(&decision).is_empty());
    assert_eq!(
        world.fleet.message(&decision),
        "the policy cannot be understood: spec.policy.numberOfClusters: Required value: must be specified when \
         placementType is PickN"
    );
}

#[test]
fn a_property_that_is_no_quantity_fails_the_placements_that_compare_it_and_no_others() {
    let policy = |property: &str| {
        let expression = json!({"name": property, "operator": "Gt", "values": ["1"]});
        let term = json!({
            "labelSelector": {"matchLabels": {"zone": "1"}}, "propertySelector": {"matchExpressions": [expression]},
        });
        let required = json!({"clusterSelectorTerms": [term]});
        json!({"placementType": "PickN", "numberOfClusters": 1, "affinity": {
            "clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}})
    };
    let with = |name: &str, zone: &str, properties: Value| {
        let mut cluster = cluster(name, &json!({"zone": zone}));
        cluster["status"]["properties"] = properties;
        cluster
    };
    let mut world = TestHub::of([
        with(
            "a",
            "1",
            json!({"size": {"value": "many"}, "nodes": {"value": "4"}}),
        ),
        with("b", "2", json!({"nodes": {"value": "few"}})),
        placement(&policy("size")),
    ]);
    let decision = world.choose(&[]).unwrap();
    assert_eq!(
        (decision.outcome, decision.reason),
        (Outcome::Invalid, "PropertyInvalid")
    );
    assert_eq!(
        world.fleet.message(&decision),
        "the property size of the cluster \"a\" is not a quantity: \"many\""
    );
    world.put(&placement(&policy("nodes")));
    assert_eq!(picked(&world, &[]), ["a"], "b does not match the labels");
    let sorted = json!({"placementType": "PickN", "numberOfClusters": 1, "affinity": {"clusterAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"propertySorter": {"name": "nodes", "sortOrder": "Ascending"}}}]}}});
    world.put(&placement(&sorted));
    assert_eq!(world.choose(&[]).unwrap().reason, "PropertyInvalid");
    world.put(&with("b", "2", json!({"nodes": {"value": "2"}})));
    assert_eq!(picked(&world, &[]), ["b"]);
}

#[test]
fn what_is_let_go_is_told_until_it_is_cleaned_and_counts_for_nothing() {
    let mut world = world(&json!({"placementType": "PickN", "numberOfClusters": 2}));
    let demand = key(&placement(&json!({})));
    let view = |world: &TestHub| world.fleet.demand(&demand, NOW.parse().unwrap()).unwrap();
    assert_eq!(view(&world).phase, Phase::Pending);
    world.apply_decision();
    assert_eq!(
        (view(&world).phase, view(&world).placed.len(), view(&world).wanted),
        (Phase::Bound, 2, Some(2))
    );
    let mut binding = world.bindings().remove(0);
    binding["spec"]["state"] = "Unscheduled".into();
    world.put(&binding);
    let places = |world: &TestHub| -> Vec<(String, String, bool)> {
        let placed = view(world).placed.into_iter();
        placed
            .map(|at| (at.cluster_name.to_string(), at.state, at.leaving))
            .collect()
    };
    let entry = |name: &str, state: &str, leaving| (name.to_owned(), state.to_owned(), leaving);
    let unscheduled = [entry("b", "Unscheduled", true), entry("c", "Scheduled", false)];
    assert_eq!(
        (view(&world).phase, places(&world)),
        (Phase::Partial, unscheduled.to_vec())
    );
    let decision = world.choose(&[]).unwrap();
    let current: Vec<(&str, &str)> = decision
        .current
        .iter()
        .map(|at| (&*at.cluster_name, at.state))
        .collect();
    assert_eq!(current, [("b", "Unscheduled"), ("c", "Scheduled")]);
    // The rollout deletes the binding, and meanwhile the work on the cluster is cleaned up.
    binding["metadata"]["deletionTimestamp"] = NOW.into();
    binding["metadata"]["finalizers"] = json!(["kubernetes-fleet.io/work-cleanup"]);
    world.put(&binding);
    assert_eq!(places(&world), unscheduled);
    world.remove(&binding);
    assert_eq!(places(&world), [entry("c", "Scheduled", false)]);
}

#[test]
fn a_number_that_is_reached_is_the_reason_and_not_a_rank() {
    let mut world = world(&json!({"placementType": "PickN", "numberOfClusters": 1}));
    let first = world.choose(&[]).unwrap();
    let reason = |world: &TestHub, decision: &berth_dialect_contract::Decision| {
        let candidate = world.fleet.candidate("a").unwrap();
        let rank = decision
            .solved
            .ranked
            .iter()
            .position(|&ranked| ranked == candidate);
        let (token, text) = world
            .fleet
            .not_picked(decision, candidate, rank.map(|rank| rank + 1));
        format!("{token}: {text}")
    };
    assert_eq!(
        reason(&world, &first),
        "NotPickedByScore: ranks 3 of 3, and 1 is selected"
    );
    world.apply_decision();
    let decision = world.choose(&[]).unwrap();
    assert_eq!(
        reason(&world, &decision),
        "NumberReached: the 1 cluster asked for is placed already"
    );
    let mut tainted = cluster("c", &json!({}));
    tainted["spec"]["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
    world.put(&tainted);
    let decision = world.choose(&[]).unwrap();
    assert_eq!(
        reason(&world, &decision),
        "NumberReached: the 1 cluster asked for is placed already; c stays although it would not be picked today"
    );
}

#[test]
fn properties_are_told_in_the_unit_they_were_written_in() {
    let mut small = cluster("small", &json!({}));
    small["status"]["resourceUsage"] = json!({"available": {"memory": "16Gi"}});
    let policy = json!({"placementType": "PickAll", "affinity": {"clusterAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [{"propertySelector": {
            "matchExpressions": [
                {"name": "resources.kubernetes-fleet.io/available-memory", "operator": "Ge", "values": ["20Gi"]}]}}]}}}});
    let world = TestHub::of([small, placement(&policy)]);
    let decision = world.choose(&[]).unwrap();
    let refusal = decision.solved.rejections[0];
    assert_eq!(
        world.fleet.sentence(&decision, 0, refusal.plugin, refusal.reason),
        "clusterSelectorTerms[0] asks for the property resources.kubernetes-fleet.io/available-memory Ge 20Gi, which is 16Gi"
    );
}

#[test]
fn a_value_that_is_no_quantity_is_not_told_as_missing() {
    let expression = json!({"name": "size", "operator": "Gt", "values": ["1"]});
    let terms = json!([{"propertySelector": {"matchExpressions": [expression]}}]);
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms}});
    let policy =
        json!({"placementType": "PickN", "numberOfClusters": 1, "affinity": {"clusterAffinity": required}});
    let sized = |name: &str, size: &str| {
        let mut cluster = cluster(name, &json!({}));
        cluster["status"]["properties"] = json!({"size": {"value": size}});
        cluster
    };
    let mut world = TestHub::of([sized("a", "4"), sized("b", "4"), placement(&policy)]);
    world.apply_decision();
    // The number is reached, so that nothing is compared, and the placement is valid.
    world.put(&sized("a", "many"));
    let decision = world.choose(&[]).unwrap();
    let refusal = decision.solved.rejections[0];
    assert_eq!(
        world.fleet.sentence(&decision, 0, refusal.plugin, refusal.reason),
        "clusterSelectorTerms[0] asks for the property size Gt 1, which is \"many\" and not a quantity"
    );
}

#[test]
fn a_number_is_advised_that_also_counts_kept_clusters_that_no_longer_fit() {
    let policy = |number: u32| json!({"placementType": "PickN", "numberOfClusters": number});
    let mut world = world(&policy(1));
    world.apply_decision();
    let mut tainted = cluster("c", &json!({}));
    tainted["spec"]["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
    world.put(&tainted);
    let decision = world.choose(&[]).unwrap();
    let candidate = world.fleet.candidate("a").unwrap();
    let remedies = world.fleet.remedies(&decision, candidate, None);
    let texts: Vec<&str> = remedies.iter().map(|remedy| remedy.text.as_str()).collect();
    assert_eq!(texts, ["raise spec.policy.numberOfClusters to 3"]);
    world.put(&placement(&policy(3)));
    assert!(picked(&world, &[]).contains(&"a".to_owned()));
}

#[test]
fn the_skew_that_is_advised_is_that_of_all_domains() {
    let policy = |number: u32| {
        let constraint = json!({"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"});
        placement(&json!({
            "placementType": "PickN", "numberOfClusters": number, "topologySpreadConstraints": [constraint],
        }))
    };
    let mut world = TestHub::of(["a1", "a2", "a3", "b1"].map(|name| cluster(name, &json!({"zone": name}))));
    world.put(&policy(4));
    world.apply_decision();
    // The bound clusters get other labels, so that zone a has three of them, zone b one and zone c none.
    for (name, zone) in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("b2", "b")] {
        world.put(&cluster(name, &json!({"zone": zone})));
    }
    let mut tainted = cluster("c", &json!({"zone": "c"}));
    tainted["spec"]["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
    world.put(&tainted);
    world.put(&policy(5));
    let decision = world.choose(&[]).unwrap();
    let candidate = world.fleet.candidate("b2").unwrap();
    let refusal = decision.solved.rejections_of(candidate)[0];
    let remedies = world.fleet.remedies(&decision, candidate, Some(&refusal));
    assert_eq!(
        remedies[0].text,
        "raise maxSkew of spec.policy.topologySpreadConstraints[0] (over zone) to 3"
    );
}

#[test]
fn a_second_binding_to_one_cluster_goes() {
    let mut world = world(&json!({"placementType": "PickN", "numberOfClusters": 1}));
    world.apply_decision();
    let mut second = world.bindings().remove(0);
    second["metadata"]["name"] = "p-zz".into();
    world.put(&second);
    world.apply_decision();
    let states: Vec<String> = world
        .bindings()
        .iter()
        .map(|binding| binding["spec"]["state"].to_string())
        .collect();
    assert_eq!(states, ["\"Scheduled\"", "\"Unscheduled\""]);
    assert_eq!(world.choose(&[]).unwrap().outcome, Outcome::Unchanged);
}

#[test]
fn the_message_of_the_condition_follows_the_count_from_one_to_two() {
    let mut world = TestHub::of([
        cluster("a", &json!({})),
        placement(&json!({"placementType": "PickAll"})),
    ]);
    let told = |world: &TestHub| -> Vec<String> {
        let writes = world.fleet.writes(&world.choose(&[]).unwrap());
        let conditions = writes.iter().flat_map(|write| {
            let list = write.object["status"]["conditions"].as_array();
            list.cloned().unwrap_or_default()
        });
        conditions
            .map(|condition| condition["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    world.apply_decision();
    world.put(&cluster("b", &json!({})));
    let two = "found 2 clusters, every one that fits";
    assert_eq!(told(&world), [two; 2], "the snapshot's and the placement's");
    world.apply_decision();
    assert!(told(&world).is_empty());
}

#[test]
fn unknown_fields_survive_every_write() {
    let mut world = world(&json!({"placementType": "PickN", "numberOfClusters": 1}));
    world.apply_decision();
    let mut binding = world.bindings().remove(0);
    binding["spec"]["applyStrategy"] = json!({"type": "ServerSideApply"});
    binding["metadata"]["annotations"] = json!({"mine": "stays"});
    world.put(&binding);
    world.put(&placement(
        &json!({"placementType": "PickN", "numberOfClusters": 0}),
    ));
    world.apply_decision();
    let binding = world.bindings().remove(0);
    assert_eq!(binding["spec"]["applyStrategy"]["type"], "ServerSideApply");
    assert_eq!(
        binding["metadata"]["annotations"],
        json!({"mine": "stays", "kubernetes-fleet.io/previous-binding-state": "Scheduled"})
    );
}

#[test]
fn that_kubefleet_does_nothing_about_pick_fixed_without_names_is_known() {
    for (names, is_known) in [(json!([]), true), (json!(["a"]), false)] {
        let world = world(&json!({"placementType": "PickFixed", "clusterNames": names}));
        let decision = world.choose(&[]).unwrap();
        assert_eq!(
            world.fleet.known_difference(&decision).is_some(),
            is_known,
            "{names}"
        );
    }
}

/// The cluster `name`, whose agent reports these namespaces. With `Null`, the agent collects namespaces but
/// reports none.
fn collecting(name: &str, namespaces: Value) -> Value {
    let mut value = cluster(name, &json!({}));
    value["status"]["conditions"] = json!([{"type": "NamespaceCollectionSucceeded", "status": "False"}]);
    value["status"]["namespaces"] = namespaces;
    value
}

#[test]
fn a_resource_placement_goes_where_its_namespace_is() {
    let clusters = || {
        [
            cluster("quiet", &json!({})),
            collecting("has", json!({"team": "some-placement"})),
            collecting("lacks", json!({"other": ""})),
            collecting("nil", Value::Null),
        ]
    };
    let own = resource_placement(&json!({"placementType": "PickAll"}));
    let world = TestHub::of(clusters().into_iter().chain([own.clone()]));
    let decision = world.choose_for(&key(&own), &[]).unwrap();
    let refused: Vec<(String, &str)> = decision
        .solved
        .rejections
        .iter()
        .map(|rejection| {
            let name = world.fleet.cluster_name(rejection.candidate).to_string();
            (name, world.fleet.token(rejection.plugin, rejection.reason))
        })
        .collect();
    let wanted = [("lacks", "NamespaceMissing"), ("nil", "NamespacesUnknown")];
    assert_eq!(refused, wanted.map(|(name, token)| (name.to_owned(), token)));
    // The filter does not apply to named clusters, nor to a cluster-scoped placement.
    let named = resource_placement(&json!({"placementType": "PickFixed", "clusterNames": ["lacks", "nil"]}));
    let world = TestHub::of(clusters().into_iter().chain([named.clone()]));
    assert_eq!(
        world.choose_for(&key(&named), &[]).unwrap().outcome,
        Outcome::Scheduled
    );
    let hub = placement(&json!({"placementType": "PickAll"}));
    let world = TestHub::of(clusters().into_iter().chain([hub]));
    assert_eq!(world.choose(&[]).unwrap().solved.picked.len(), 4);
}

#[test]
fn placements_of_one_name_in_the_hub_and_in_namespaces_do_not_touch_each_other() {
    let one = json!({"placementType": "PickN", "numberOfClusters": 1});
    let own = resource_placement(&one);
    let mut elsewhere = own.clone();
    elsewhere["metadata"]["namespace"] = "other".into();
    let mut world = TestHub::of([
        cluster("a", &json!({})),
        placement(&one),
        own.clone(),
        elsewhere.clone(),
    ]);
    for demand in [placement_key(), key(&own), key(&elsewhere)] {
        world.apply_decision_for(&demand);
    }
    for (demand, kind, namespace) in [
        (placement_key(), "ClusterResourceBinding", Value::Null),
        (key(&own), "ResourceBinding", json!("team")),
        (key(&elsewhere), "ResourceBinding", json!("other")),
    ] {
        let bindings = world.bindings_for(&demand);
        let [binding] = bindings.as_slice() else {
            panic!("{demand} has {bindings:?}");
        };
        assert_eq!(
            (&binding["kind"], &binding["metadata"]["namespace"]),
            (&json!(kind), &namespace)
        );
        let snapshot = world.fleet.newest_snapshot(&demand).unwrap();
        assert_eq!(snapshot.object.parse()["metadata"]["namespace"], namespace);
        let view = world.fleet.demand(&demand, NOW.parse().unwrap()).unwrap();
        assert_eq!((view.phase, view.placed.len()), (Phase::Bound, 1));
    }
    let written = world.fleet.object(&key(&own)).unwrap().parse();
    let conditions = written["status"]["conditions"].as_array().unwrap();
    assert_eq!(conditions[0]["type"], "ResourcePlacementScheduled");
}

#[test]
fn a_resource_placement_of_what_is_in_no_namespace_is_warned_of() {
    let mut own = resource_placement(&json!({"placementType": "PickAll"}));
    own["spec"]["resourceSelectors"] = json!([
        {"group": "apps", "version": "v1", "kind": "Deployment"},
        {"group": "", "version": "v1", "kind": "Namespace", "name": "team"},
    ]);
    let world = TestHub::of([cluster("a", &json!({})), own.clone()]);
    let decision = world.choose_for(&key(&own), &[]).unwrap();
    let warnings = world.fleet.warnings(&decision);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("spec.resourceSelectors[1] selects the cluster-scoped kind Namespace"));
}
