//! Cases that scenarios cannot cover: chosen targets, and the requests that a change makes due.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object, Revision, Timestamp};
use berth_dialect_contract::{
    Advisor, AffectedDemands, Ask, ChoiceRefusal, Consequences, Decision, Edit, Inventory, Outcome, Targets,
    Words, config,
};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::names::{API_VERSION, CLUSTERS, REQUESTS};

#[derive(Default)]
struct World {
    fleet: Fleet,
    objects: BTreeMap<Key, Arc<Object>>,
    revision: u64,
}

fn key_of(value: &Value) -> Key {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let resource = match text("/kind") {
        "Cluster" => CLUSTERS,
        "ClusterRequest" => REQUESTS,
        _ => config::RESOURCE,
    };
    Key::new(resource, text("/metadata/namespace"), text("/metadata/name"))
}

impl World {
    fn new(objects: &[Value]) -> Self {
        let mut world = Self::default();
        for object in objects {
            world.put(object);
        }
        world
    }

    fn change(&mut self, key: Key, new: Option<Arc<Object>>) -> Consequences {
        let old = match &new {
            Some(new) => self.objects.insert(key.clone(), Arc::clone(new)),
            None => self.objects.remove(&key),
        };
        self.fleet.fold(&Change {
            revision: Revision(self.revision),
            key,
            old,
            new,
        })
    }

    fn put(&mut self, value: &Value) -> Consequences {
        self.revision += 1;
        let object = Object::new(value, Revision(self.revision)).unwrap();
        self.change(key_of(value), Some(Arc::new(object)))
    }

    fn delete(&mut self, key: &Key) -> Consequences {
        self.change(key.clone(), None)
    }

    fn edit(&mut self, key: &Key, edit: impl FnOnce(&mut Value)) -> Consequences {
        let mut value = self.objects[key].parse();
        edit(&mut value);
        self.put(&value)
    }

    fn ask(&self, request: &str, chosen: Option<&[&str]>) -> Result<Decision, ChoiceRefusal> {
        let chosen: Option<Vec<String>> =
            chosen.map(|names| names.iter().map(|&name| name.to_owned()).collect());
        let ask = Ask {
            demand: &demand(request),
            now: Timestamp::UNIX_EPOCH,
            seed: 0,
            chosen: chosen.as_deref(),
        };
        self.fleet.decide(&ask).unwrap()
    }

    fn refused(&self, request: &str, chosen: &[&str]) -> Vec<String> {
        let refused = self.ask(request, Some(chosen)).unwrap_err();
        refused.errors.iter().map(ToString::to_string).collect()
    }
}

fn demand(name: &str) -> Key {
    Key::new(REQUESTS, "ns", name)
}

fn at(name: &str) -> Key {
    Key::new(CLUSTERS, "ns", name)
}

fn cluster(name: &str, users: &[&str]) -> Value {
    let finalizers: Vec<String> = users
        .iter()
        .map(|user| format!("request.clusters.openmcp.cloud/ns.{user}"))
        .collect();
    json!({
        "apiVersion": API_VERSION, "kind": "Cluster",
        "metadata": {"name": name, "namespace": "ns", "finalizers": finalizers},
        "spec": {"profile": "p", "tenancy": "Shared", "purposes": ["few"]},
    })
}

fn request(name: &str, purpose: &str) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "ClusterRequest", "metadata": {"name": name, "namespace": "ns"},
        "spec": {"purpose": purpose},
    })
}

fn granted(name: &str, cluster: &str) -> Value {
    let mut value = request(name, "few");
    value["metadata"]["finalizers"] = json!(["clusters.openmcp.cloud/request"]);
    value["status"] =
        json!({"phase": "Granted", "observedGeneration": 0, "cluster": {"name": cluster, "namespace": "ns"}});
    value
}

fn configuration() -> Value {
    let template = json!({"spec": {"profile": "p", "tenancy": "Shared"}});
    json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "openmcp"},
        "spec": {"openmcp": {"scheduler": {"purposeMappings": {
            "few": {"tenancyCount": 1, "template": template}, "one": {"template": template},
        }}}},
    })
}

fn only(name: &str) -> AffectedDemands {
    AffectedDemands::Some(vec![demand(name)])
}

#[test]
fn a_cluster_that_is_being_deleted_says_which_requests_hold_it() {
    let mut held = cluster("a", &["r1", "gone"]);
    let mut world = World::new(&[configuration(), granted("r1", "a"), held.clone()]);
    let warnings = |world: &World| world.fleet.target(0, Timestamp::UNIX_EPOCH).warnings;
    assert!(warnings(&world).is_empty());
    held["metadata"]["deletionTimestamp"] = "2021-10-28T09:00:00Z".into();
    world.put(&held);
    let told = warnings(&world);
    assert!(
        told[0].contains("ClusterRequest ns/r1") && told[0].contains("ns.gone that no longer exists"),
        "{told:?}"
    );
    held["metadata"]["finalizers"] = json!(["other/finalizer"]);
    world.put(&held);
    assert!(warnings(&world).is_empty(), "nothing of ours holds it");
}

#[test]
fn a_request_that_cannot_be_read_still_exists() {
    let mut held = cluster("a", &["r"]);
    held["metadata"]["deletionTimestamp"] = "2021-10-28T09:00:00Z".into();
    let mut world = World::new(&[configuration(), held]);
    let told = |world: &World| world.fleet.target(0, Timestamp::UNIX_EPOCH).warnings.join("; ");
    let absent = "a ClusterRequest with the uid ns.r that no longer exists: ";
    assert!(told(&world).contains(absent), "{}", told(&world));
    let broken = json!({
        "apiVersion": API_VERSION, "kind": "ClusterRequest", "metadata": {"name": "r", "namespace": "ns"},
        "spec": {"purpose": ["few"]},
    });
    let unreadable = "finalizers of ClusterRequest ns/r (which cannot be read: correct it): the deletion";
    let readable = "finalizers of ClusterRequest ns/r: the deletion";
    for (request, expected) in [
        (Some(&broken), unreadable),
        (Some(&granted("r", "a")), readable),
        (Some(&broken), unreadable),
        (None, absent),
        (Some(&granted("r", "a")), readable),
        (None, absent),
    ] {
        let change = match request {
            Some(request) => world.put(request),
            None => world.delete(&demand("r")),
        };
        assert!(told(&world).contains(expected), "{}", told(&world));
        assert_eq!(change.targets, Some(vec!["ns/a".into()]), "{expected}");
    }
    // A change that leaves the request as readable as it was does not change the view of the Cluster.
    world.put(&request("r", "few"));
    assert_eq!(world.put(&granted("r", "a")).targets, Some(Vec::new()));
}

#[test]
fn a_chosen_cluster_is_bound_when_it_is_feasible() {
    let world = World::new(&[
        configuration(),
        cluster("a", &[]),
        cluster("b", &[]),
        request("r", "few"),
    ]);
    let decision = world.ask("r", Some(&["ns/b"])).unwrap();
    assert_eq!(decision.outcome, Outcome::Scheduled);
    assert_eq!(&*decision.changes[0].cluster_name, "ns/b");
    assert_eq!(
        world.fleet.not_picked(&decision, 0, None).1,
        "cluster ns/b was asked for"
    );
}

#[test]
fn whoever_makes_a_cluster_for_several_passes_a_fence() {
    let mut world = World::new(&[configuration(), request("r", "few"), request("s", "one")]);
    for name in ["r", "s"] {
        let decision = world.ask(name, None).unwrap();
        let fences: Vec<&str> = decision.fences.iter().map(|fence| &**fence).collect();
        assert_eq!(fences, ["openmcp/new-clusters"]);
    }
    // A decision for an existing Cluster is guarded by its finalizers, and a decision for an exclusive
    // Cluster needs no fence.
    world.put(&cluster("a", &[]));
    assert!(world.ask("r", None).unwrap().fences.is_empty());
    let mut exclusive = configuration();
    let purpose = &mut exclusive["spec"]["openmcp"]["scheduler"]["purposeMappings"]["few"];
    *purpose = json!({"template": {"spec": {"profile": "p", "tenancy": "Exclusive"}}});
    world.put(&exclusive);
    let decision = world.ask("r", None).unwrap();
    assert_eq!(decision.outcome, Outcome::Provision);
    assert!(decision.fences.is_empty());
}

#[test]
fn a_choice_that_cannot_be_bound_is_refused_target_by_target() {
    let world = World::new(&[
        configuration(),
        cluster("a", &["x"]),
        cluster("b", &[]),
        request("r", "few"),
    ]);
    assert_eq!(
        world.refused("r", &["ns/a", "none", "ns/b"]),
        [
            "spec.targets: Too many: 3: must have at most 1 items",
            "spec.targets[0]: Invalid value: \"ns/a\": Full: 1 requests use the cluster, which takes 1",
            "spec.targets[1]: Invalid value: \"none\": there is no cluster \"none\"",
        ]
    );
    assert!(world.refused("r", &[])[0].starts_with("spec.targets: Required value: name one cluster"));
}

#[test]
fn a_granted_request_can_only_be_bound_to_its_cluster() {
    let world = World::new(&[
        configuration(),
        cluster("a", &["r"]),
        cluster("b", &["lost"]),
        granted("r", "a"),
        request("lost", "few"),
    ]);
    assert_eq!(
        world.ask("r", Some(&["ns/a"])).unwrap().outcome,
        Outcome::Unchanged
    );
    assert_eq!(
        world.refused("r", &["ns/b", "c"]),
        [
            "spec.targets: Too many: 2: must have at most 1 items",
            "spec.targets[0]: Invalid value: \"ns/b\": the request is granted cluster ns/a, and a granted cluster \
             cannot change",
            "spec.targets[1]: Invalid value: \"c\": there is no cluster \"c\"; the request is granted cluster ns/a, and \
             a granted cluster cannot change",
        ]
    );
    let errors = world.refused("lost", &["ns/a"]);
    assert!(
        errors[0].ends_with("cluster ns/b already has the finalizer of the request"),
        "{errors:?}"
    );
}

#[test]
fn a_waiting_request_is_due_when_a_cluster_becomes_more_use_to_it() {
    let mut world = World::new(&[configuration(), request("r", "few"), request("other", "one")]);
    assert_eq!(world.put(&cluster("a", &[])).decide, only("r"));
    let joined = world.put(&cluster("a", &["x"]));
    assert_eq!(joined.decide, AffectedDemands::None, "less room is no reason");
    assert_eq!(joined.targets, Some(vec!["ns/a".into()]));
    assert_eq!(world.put(&cluster("a", &[])).decide, only("r"), "room is");
    let heartbeat = world.edit(&at("a"), |value| {
        value["status"] = json!({"observedGeneration": 1, "phase": "Ready"})
    });
    assert_eq!(heartbeat.decide, AffectedDemands::None);
    let labelled = world.edit(&at("a"), |value| value["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(labelled.decide, only("r"));
    let other = world.edit(&at("a"), |value| value["spec"]["purposes"] = json!(["none"]));
    assert_eq!(other.decide, AffectedDemands::None);
    assert_eq!(world.delete(&at("a")).decide, AffectedDemands::None);
}

#[test]
fn texts_that_no_cluster_has_any_more_are_forgotten() {
    let mut other = cluster("a", &[]);
    other["spec"]["purposes"] = json!(["none"]);
    let mut world = World::new(&[configuration(), cluster("b", &[]), other, request("r", "few")]);
    for time in 0..3_000 {
        world.edit(&at("b"), |value| {
            value["metadata"]["labels"] = json!({"time": format!("t{time}")})
        });
    }
    let count = world.fleet.texts.labels.count();
    assert!(count < 2_000, "{count}");
    // The remaining texts have other numbers now.
    let decision = world.ask("r", None).unwrap();
    assert_eq!(&*decision.changes[0].cluster_name, "ns/b");
}

#[test]
fn a_request_without_a_name_for_its_cluster_is_due_when_the_name_is_free() {
    let mut blocker = cluster("one", &["x"]);
    blocker["spec"]["purposes"] = json!(["none"]);
    let mut world = World::new(&[configuration(), blocker, request("r", "one"), request("s", "few")]);
    let blocked = world.ask("r", None).unwrap();
    assert_eq!(
        (blocked.outcome, blocked.reason),
        (Outcome::Unschedulable, "ClusterConflict")
    );
    assert_eq!(world.delete(&at("one")).decide, only("r"));
    assert_eq!(world.ask("r", None).unwrap().outcome, Outcome::Provision);
}

#[test]
fn a_granted_request_is_due_when_its_cluster_or_its_finalizer_is_lost() {
    let mut world = World::new(&[configuration(), cluster("a", &["r"]), granted("r", "a")]);
    let lost = world.edit(&at("a"), |value| value["metadata"]["finalizers"] = json!([]));
    assert_eq!(lost.decide, only("r"));
    let back = world.put(&cluster("a", &["r"]));
    assert_eq!(
        back.decide,
        AffectedDemands::None,
        "which is the scheduler's own write"
    );
    assert_eq!(world.delete(&at("a")).decide, only("r"));
}

#[test]
fn a_request_is_due_when_its_cluster_can_be_read_again() {
    let mut broken = cluster("a", &["r"]);
    broken["spec"]["purposes"] = json!("few");
    let mut world = World::new(&[configuration(), broken, granted("r", "a")]);
    assert_eq!(world.ask("r", None).unwrap().reason, "ClusterConflict");
    assert_eq!(world.put(&cluster("a", &["r"])).decide, only("r"));
    assert_eq!(world.ask("r", None).unwrap().outcome, Outcome::Unchanged);
}

#[test]
fn a_request_is_due_when_it_changes_and_not_when_the_scheduler_changes_it() {
    let mut world = World::new(&[configuration(), cluster("a", &["r"])]);
    assert_eq!(world.put(&request("r", "few")).decide, only("r"));
    assert_eq!(world.put(&granted("r", "a")).decide, AffectedDemands::None);
    let annotate = |operation: &'static str| {
        move |value: &mut Value| {
            value["metadata"]["annotations"] = json!({"openmcp.cloud/operation": operation})
        }
    };
    assert_eq!(
        world.edit(&demand("r"), annotate("ignore")).decide,
        AffectedDemands::None
    );
    assert_eq!(world.edit(&demand("r"), annotate("reconcile")).decide, only("r"));
    assert_eq!(
        world.edit(&demand("r"), annotate("other")).decide,
        AffectedDemands::None
    );
    let lost = world.edit(&demand("r"), |value| value["status"] = Value::Null);
    assert_eq!(lost.decide, only("r"));
    let refused = world.edit(&demand("r"), |value| {
        let cause =
            json!({"type": "Scheduled", "status": "False", "reason": "ClusterConflict", "message": "x"});
        value["status"] = json!({"phase": "Pending", "observedGeneration": 0, "conditions": [cause]});
    });
    assert_eq!(refused.decide, AffectedDemands::None);
    let deleting = world.edit(&demand("r"), |value| {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T09:00:00Z")
    });
    assert_eq!(deleting.decide, only("r"));
    let leaving = world.put(&cluster("a", &[]));
    assert_eq!(
        leaving.decide,
        AffectedDemands::None,
        "which is the scheduler's own write"
    );
}

#[test]
fn a_request_that_waits_for_the_deletion_of_its_cluster_is_due_when_that_is_gone() {
    let since = "2021-10-28T09:00:00Z";
    let mut waiting = granted("r", "a");
    waiting["metadata"]["deletionTimestamp"] = since.into();
    let (own, other) = ("request.clusters.openmcp.cloud/ns.r", "other/finalizer");
    for (finalizers, expected) in [
        (vec![other], only("r")),
        // After a gap in the watch, the last changes are one.
        (vec![own, other], only("r")),
        // The scheduler's own writes: the deletion, and the removal of the last finalizer.
        (vec![own], AffectedDemands::None),
    ] {
        let mut going = cluster("a", &[]);
        going["metadata"]["finalizers"] = json!(finalizers);
        going["metadata"]["deletionTimestamp"] = since.into();
        let mut made_anew = cluster("a", &[]);
        made_anew["metadata"]["uid"] = "another".into();
        let world = || World::new(&[configuration(), waiting.clone(), going.clone()]);
        assert_eq!(world().delete(&at("a")).decide, expected, "{finalizers:?}");
        assert_eq!(world().put(&made_anew).decide, expected, "{finalizers:?}");
    }
}

#[test]
fn a_bad_configuration_leaves_the_last_good_one_in_force() {
    let mut world = World::new(&[request("r", "few")]);
    assert_eq!(world.ask("r", None).unwrap().reason, "ConfigInvalid");
    let mut bad = configuration();
    bad["spec"]["openmcp"]["scheduler"]["scope"] = json!("All");
    assert_eq!(world.put(&bad).decide, AffectedDemands::All);
    let decision = world.ask("r", None).unwrap();
    assert!(
        world
            .fleet
            .message(&decision)
            .contains("scheduler.scope: Unsupported value")
    );
    assert_eq!(world.put(&configuration()).decide, AffectedDemands::All);
    assert_eq!(world.ask("r", None).unwrap().outcome, Outcome::Provision);
    assert_eq!(world.put(&bad).decide, AffectedDemands::None);
    assert_eq!(world.fleet.unusable().len(), 1);
    assert_eq!(world.ask("r", None).unwrap().outcome, Outcome::Provision);
    assert_eq!(world.delete(&config::key("openmcp")).decide, AffectedDemands::All);
    assert_eq!(world.ask("r", None).unwrap().reason, "ConfigInvalid");
}

#[test]
fn what_cannot_be_read_is_listed_and_still_occupies_its_name() {
    let mut broken = cluster("one", &["gone"]);
    broken["spec"]["purposes"] = json!("one");
    let mut going = request("gone", "few");
    going["metadata"]["deletionTimestamp"] = json!("2021-10-28T09:00:00Z");
    going["metadata"]["finalizers"] = json!(["clusters.openmcp.cloud/request"]);
    let world = World::new(&[configuration(), broken, request("r", "one"), going]);
    assert_eq!(world.fleet.count(), 0);
    assert!(
        world.fleet.unusable()[0]
            .problem
            .contains("invalid type: string \"one\"")
    );
    assert_eq!(world.ask("r", None).unwrap().reason, "ClusterConflict");
    let released = world.ask("gone", None).unwrap();
    assert_eq!(world.fleet.writes(&released).len(), 2);
}

#[test]
fn metadata_that_a_request_passes_on_is_repaired_on_its_own_cluster() {
    let mut asks = granted("r", "a");
    asks["metadata"]["labels"] = json!({"metadata.open-control-plane.io/project": "p", "other": "x"});
    asks["metadata"]["annotations"] = json!({"metadata.open-control-plane.io/workspace": "w"});
    let mut shared = cluster("a", &["r"]);
    shared["spec"]["purposes"] = json!(["few"]);
    let mut world = World::new(&[configuration(), asks.clone(), shared.clone()]);
    assert_eq!(
        world.ask("r", None).unwrap().outcome,
        Outcome::Unchanged,
        "others use it"
    );
    let mut own = shared;
    own["spec"]["tenancy"] = json!("Exclusive");
    own["metadata"]["labels"] = json!({"metadata.open-control-plane.io/project": "old", "kept": "y"});
    world.put(&own);
    let decision = world.ask("r", None).unwrap();
    let writes = world.fleet.writes(&decision);
    assert_eq!(writes.len(), 1, "{writes:?}");
    assert_eq!(
        writes[0].object["metadata"]["labels"],
        json!({"metadata.open-control-plane.io/project": "p", "kept": "y"})
    );
    assert_eq!(
        writes[0].object["metadata"]["annotations"],
        json!({"metadata.open-control-plane.io/workspace": "w"})
    );
    assert_eq!(world.put(&writes[0].object).decide, AffectedDemands::None);
    assert_eq!(world.ask("r", None).unwrap().outcome, Outcome::Unchanged);
    // Labels that are removed from the request stay on the Cluster; added labels make the request due.
    let more = world.edit(&demand("r"), |value| {
        value["metadata"]["labels"] = json!({"metadata.open-control-plane.io/team": "t"});
    });
    assert_eq!(more.decide, only("r"));
    let writes = world.fleet.writes(&world.ask("r", None).unwrap());
    assert_eq!(
        writes[0].object["metadata"]["labels"],
        json!({
            "metadata.open-control-plane.io/project": "p", "metadata.open-control-plane.io/team": "t", "kept": "y",
        })
    );
}

#[test]
fn a_scope_that_is_not_set_is_of_the_release_that_decides() {
    let mut elsewhere = cluster("a", &[]);
    elsewhere["metadata"]["namespace"] = json!("other");
    elsewhere["spec"]["purposes"] = json!(["one"]);
    let choosing = |rules: &str| {
        let mut value = configuration();
        value["spec"]["rules"] = json!(rules);
        value
    };
    for (rules, on_hub, outcome, because) in [
        (
            "Documented",
            true,
            Outcome::Provision,
            "spec.rules is Documented; scheduler.scope is not set and means Namespaced",
        ),
        (
            "Current",
            false,
            Outcome::Scheduled,
            "spec.rules is Current; scheduler.scope is not set and means Cluster",
        ),
        (
            "Auto",
            false,
            Outcome::Provision,
            "the objects are in files, or stored by Berth; scheduler.scope is not set and means Namespaced",
        ),
        (
            "Auto",
            true,
            Outcome::Scheduled,
            "the objects are those of a hub; scheduler.scope is not set and means Cluster",
        ),
    ] {
        let mut world = World::new(&[elsewhere.clone(), request("r", "one"), choosing(rules)]);
        if on_hub {
            world.fleet.set_on_hub();
        }
        assert_eq!(world.ask("r", None).unwrap().outcome, outcome, "{rules} {on_hub}");
        let in_force = world.fleet.rules_in_force().unwrap();
        assert_eq!(in_force.because, because);
        // The choice of rules alone is a change.
        let other = if rules == "Current" {
            "Documented"
        } else {
            "Current"
        };
        assert_eq!(world.put(&choosing(other)).decide, AffectedDemands::All);
    }
}

#[test]
fn a_drain_takes_the_cluster_from_whoever_is_granted_it_or_holds_it_and_from_no_other_request() {
    let world = World::new(&[
        cluster("shared", &["holding", "both"]),
        cluster("other", &["elsewhere"]),
        request("holding", "few"),
        granted("both", "shared"),
        granted("granted", "shared"),
        granted("elsewhere", "other"),
        request("waiting", "few"),
    ]);
    let edits = world.fleet.drain("ns/shared", Timestamp::UNIX_EPOCH).unwrap();
    let forgotten: Vec<&Key> = edits
        .iter()
        .filter_map(|edit| match edit {
            Edit::Merge { key, .. } if key.resource == REQUESTS => Some(key),
            _ => None,
        })
        .collect();
    assert_eq!(
        forgotten,
        [&demand("both"), &demand("granted"), &demand("holding")]
    );
}
