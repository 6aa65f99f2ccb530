//! Changes for which reconcilers act, with objects in memory.

use std::collections::BTreeMap;

use berth_apimachinery::{GroupResource, Revision};
use berth_dialect_contract::{Dialect, Inventory, Objects, Reconciler, Step};

use super::*;
use crate::admission::Settings;
use crate::dialect::Kcp;
use crate::names::{LOCATIONS, NAMESPACES, WORKLOAD_CLUSTERS};
use crate::testing::{cluster, location, namespace, now, put, with};

const CONFIG_MAPS: GroupResource = GroupResource::new("", "configmaps");
const LABEL: &str = "/metadata/labels/state.internal.workloads.kcp.dev~1c1";
const DELETION: &str = "/metadata/annotations/deletion.internal.workloads.kcp.dev~1c1";

#[derive(Default)]
struct Memory(BTreeMap<Key, Arc<Object>>);

impl Objects for Memory {
    fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.0.get(key)
    }

    fn list<'a>(
        &'a self,
        resource: GroupResource,
        namespace: Option<&'a str>,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        let inside = move |key: &&Key| {
            key.resource == resource && namespace.is_none_or(|namespace| *key.namespace == *namespace)
        };
        Box::new(self.0.keys().filter(inside).map(|key| &self.0[key]))
    }
}

#[derive(Default)]
struct World {
    memory: Memory,
    fleet: Fleet,
    revision: u64,
}

fn key_of(value: &Value) -> Key {
    let resource = match value["kind"].as_str() {
        Some("ConfigMap") => CONFIG_MAPS,
        Some("Namespace") => NAMESPACES,
        Some("Location") => LOCATIONS,
        _ => WORKLOAD_CLUSTERS,
    };
    let text = |name: &str| value["metadata"][name].as_str().unwrap_or_default();
    Key::new(resource, text("namespace"), text("name"))
}

impl World {
    fn of(objects: &[Value]) -> Self {
        let mut world = Self::default();
        for object in objects {
            world.store(object);
        }
        world
    }

    fn store(&mut self, value: &Value) -> Change {
        self.revision += 1;
        let revision = Revision(self.revision);
        let (key, object) = (key_of(value), Arc::new(Object::new(value, revision).unwrap()));
        if key.resource != CONFIG_MAPS {
            put(&mut self.fleet, value);
        }
        let old = self.memory.0.insert(key.clone(), Arc::clone(&object));
        Change {
            revision,
            key,
            old,
            new: Some(object),
        }
    }

    fn remove(&mut self, value: &Value) -> Change {
        self.revision += 1;
        crate::testing::remove(&mut self.fleet, value);
        let key = key_of(value);
        Change {
            revision: Revision(self.revision),
            old: self.memory.0.remove(&key),
            new: None,
            key,
        }
    }

    fn context(&self) -> Context<'_> {
        Context {
            objects: &self.memory,
            inventory: &self.fleet as &dyn Inventory,
            now: now(),
        }
    }

    fn due(&self, reconciler: &dyn Reconciler, change: &Change) -> Vec<String> {
        let keys = reconciler.due(change, &self.context());
        keys.iter().map(|key| key.name.to_string()).collect()
    }

    fn all(&self, reconciler: &dyn Reconciler) -> Vec<String> {
        let keys = reconciler.all(&self.context());
        keys.iter().map(|key| key.name.to_string()).collect()
    }

    fn step(&self, reconciler: &dyn Reconciler, value: &Value) -> Step {
        reconciler.step(&key_of(value), &self.context())
    }

    /// Runs the step for `value` and stores its writes. Returns the step, and the keys that its writes make
    /// due.
    fn take(&mut self, reconciler: &dyn Reconciler, value: &Value) -> (Step, Vec<String>) {
        let step = self.step(reconciler, value);
        let mut due = Vec::new();
        for write in &step.writes {
            let change = self.store(&write.object);
            due.extend(self.due(reconciler, &change));
        }
        (step, due)
    }
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "app"}, "data": {"a": "b"}})
}

fn placed(state: &str) -> Value {
    namespace("app", Some(&format!(r#"{{"root:compute+eu+c1":"{state}"}}"#)))
}

fn resources() -> resources::ResourceController {
    resources::ResourceController {
        synced: vec![CONFIG_MAPS],
        coordinated: Vec::new(),
        former: Vec::new(),
    }
}

const NONE: [&str; 0] = [];

#[test]
fn names_are_told_apart_and_writers_are_reserved_users_who_write_what_they_see() {
    let reconcilers = all(resources(), None);
    let names: Vec<&str> = reconcilers.iter().map(|reconciler| reconciler.name()).collect();
    assert_eq!(
        names,
        ["kcp-heartbeat", "kcp-location", "kcp-namespace", "kcp-resource"]
    );
    assert!(
        reconcilers
            .iter()
            .all(|reconciler| reconciler.actor().starts_with("berth:"))
    );
    for reconciler in reconcilers {
        let watches = reconciler.watches();
        assert!(
            reconciler
                .writes()
                .iter()
                .all(|written| watches.contains(written))
        );
    }
}

#[test]
fn a_namespace_is_due_until_it_is_adopted_and_its_own_write_makes_nothing_due() {
    let reconciler = namespaces::NamespaceController;
    let mut world = World::of(&[cluster("c1", "eu"), location("eu")]);
    let change = world.store(&placed("Pending"));
    assert_eq!(world.due(&reconciler, &change), ["app"]);
    assert_eq!(world.all(&reconciler), ["app"]);
    let (step, due) = world.take(&reconciler, &placed("Pending"));
    assert_eq!(step.writes.len(), 1);
    assert_eq!(step.writes[0].base, Some(change.revision));
    assert!(step.writes[0].object["metadata"].get("resourceVersion").is_none());
    assert_eq!(due, NONE);
    assert_eq!(world.all(&reconciler), NONE);
}

#[test]
fn a_namespace_that_waits_for_a_cluster_to_let_go_is_due_when_that_goes() {
    let reconciler = namespaces::NamespaceController;
    let mut leaving = with(placed("Removing"), LABEL, "Sync".into());
    leaving = with(leaving, DELETION, "2021-10-28T08:00:00Z".into());
    let mut world = World::of(&[cluster("c1", "eu"), cluster("c2", "eu"), leaving.clone()]);
    assert_eq!(world.all(&reconciler), NONE);
    let cordoned = with(cluster("c1", "eu"), "/spec/unschedulable", true.into());
    let change = world.store(&cordoned);
    assert_eq!(world.due(&reconciler, &change), NONE);
    let change = world.remove(&cluster("c2", "eu"));
    assert_eq!(world.due(&reconciler, &change), NONE);
    let change = world.remove(&cordoned);
    assert_eq!(world.due(&reconciler, &change), ["app"]);
    let (step, due) = world.take(&reconciler, &leaving);
    assert!(
        step.writes[0].object["metadata"]["annotations"][crate::names::PLACEMENT]
            .as_str()
            .is_some_and(|text| text.contains("Unbound"))
    );
    assert_eq!(due, NONE);
}

#[test]
fn the_resources_of_a_namespace_follow_it_and_contents_cost_nothing() {
    let reconciler = resources();
    let bound = with(placed("Bound"), LABEL, "Sync".into());
    let other = with(config_map("z"), "/metadata/namespace", "elsewhere".into());
    let mut world = World::of(&[
        cluster("c1", "eu"),
        namespace("elsewhere", None),
        other,
        placed("Pending"),
        config_map("a"),
        config_map("b"),
    ]);
    assert_eq!(world.all(&reconciler), NONE);
    let change = world.store(&bound);
    assert_eq!(world.due(&reconciler, &change), ["a", "b"]);
    assert_eq!(world.take(&reconciler, &config_map("a")).1, NONE);
    assert_eq!(world.all(&reconciler), ["b"]);
    assert_eq!(world.take(&reconciler, &config_map("b")).1, NONE);
    // Other labels of the namespace, and the contents of resources, do not matter.
    let change = world.store(&with(bound.clone(), "/metadata/labels/team", "x".into()));
    assert_eq!(world.due(&reconciler, &change), NONE);
    let synced = with(config_map("a"), LABEL, "Sync".into());
    let change = world.store(&with(synced.clone(), "/data/a", "c".into()));
    assert_eq!(world.due(&reconciler, &change), NONE);
    let change = world.store(&config_map("new"));
    assert_eq!(world.due(&reconciler, &change), ["new"]);
    // The namespace has to leave.
    let change = world.store(&with(bound, DELETION, "2021-10-28T08:00:00Z".into()));
    assert_eq!(
        world.due(&reconciler, &change),
        ["a", "b"],
        "what is new goes nowhere"
    );
    let (step, due) = world.take(&reconciler, &synced);
    assert_eq!(
        step.writes[0].object["metadata"]["annotations"]["deletion.internal.workloads.kcp.dev/c1"],
        "2021-10-28T08:00:00Z"
    );
    assert_eq!(due, NONE);
}

#[test]
fn a_cluster_that_goes_is_forgotten_wherever_it_has_left_traces() {
    let reconciler = resources();
    let held = with(
        config_map("held"),
        "/metadata/finalizers",
        json!(["workloads.kcp.dev/syncer-c1"]),
    );
    let mut world = World::of(&[
        cluster("c1", "eu"),
        namespace("app", Some("{}")),
        config_map("free"),
        held.clone(),
    ]);
    let change = world.remove(&cluster("c1", "eu"));
    assert_eq!(world.due(&reconciler, &change), ["held"]);
    let (step, due) = world.take(&reconciler, &held);
    assert_eq!(step.writes[0].object["metadata"]["finalizers"], json!([]));
    assert_eq!(due, NONE);
}

#[test]
fn what_an_unreadable_cluster_holds_is_not_taken_from_it() {
    let reconciler = resources();
    let held = with(
        config_map("held"),
        "/metadata/finalizers",
        json!(["workloads.kcp.dev/syncer-c1"]),
    );
    let mut world = World::of(&[cluster("c1", "eu"), namespace("app", Some("{}")), held.clone()]);
    world.store(&with(cluster("c1", "eu"), "/spec", "odd".into()));
    assert_eq!(world.fleet.unusable().len(), 1);
    assert_eq!(world.step(&reconciler, &held), Step::default());
}

#[test]
fn coordinated_resources_are_assigned_first() {
    let mut reconciler = resources();
    reconciler.coordinated = vec![CONFIG_MAPS];
    let bound = with(placed("Bound"), LABEL, "Sync".into());
    let mut world = World::of(&[cluster("c1", "eu"), bound, config_map("a")]);
    let (step, due) = world.take(&reconciler, &config_map("a"));
    assert_eq!(
        step.writes[0].object["metadata"]["labels"]["state.internal.workloads.kcp.dev/c1"],
        ""
    );
    assert_eq!(due, NONE);
    // The change by the coordination controller makes nothing due.
    let change = world.store(&with(config_map("a"), LABEL, "Sync".into()));
    assert_eq!(world.due(&reconciler, &change), NONE);
}

#[test]
fn what_is_no_longer_synced_loses_what_syncing_put_on_it() {
    let reconciler = ResourceController {
        synced: Vec::new(),
        coordinated: Vec::new(),
        former: vec![CONFIG_MAPS],
    };
    assert!(!reconciler.watches().contains(&CONFIG_MAPS) && reconciler.former_resources() == [CONFIG_MAPS]);
    let mut marked = with(config_map("marked"), LABEL, "Sync".into());
    marked["metadata"]["labels"]["team"] = "x".into();
    marked["metadata"]["finalizers"] = json!(["workloads.kcp.dev/syncer-c2", "example.com/own"]);
    marked["metadata"]["annotations"] = json!({
        "deletion.internal.workloads.kcp.dev/c1": "2021-10-28T08:00:00Z",
        "experimental.status.workloads.kcp.dev/c1": "{}",
        "experimental.spec-diff.workloads.kcp.dev/c2": "[]",
        "finalizers.workloads.kcp.dev/c1": "mine",
        "note": "kept",
    });
    let system = with(marked.clone(), "/metadata/namespace", "kube-system".into());
    let bound = with(placed("Bound"), LABEL, "Sync".into());
    let mut world = World::of(&[
        cluster("c1", "eu"),
        bound.clone(),
        marked.clone(),
        config_map("plain"),
        system.clone(),
    ]);
    assert_eq!(world.all(&reconciler), ["marked"]);
    assert_eq!(world.step(&reconciler, &system), Step::default());
    let (step, due) = world.take(&reconciler, &marked);
    let metadata = &step.writes[0].object["metadata"];
    assert_eq!(metadata["labels"], json!({"team": "x"}));
    assert_eq!(metadata["finalizers"], json!(["example.com/own"]));
    assert_eq!(
        metadata["annotations"],
        json!({"finalizers.workloads.kcp.dev/c1": "mine", "note": "kept"}),
        "what belongs to users stays"
    );
    assert_eq!(
        (due.as_slice(), world.all(&reconciler).as_slice()),
        (&[][..], &[][..])
    );
    // The namespace makes nothing due any more, but a key from a delayed write does.
    let change = world.store(&with(bound, DELETION, "2021-10-28T08:00:00Z".into()));
    assert_eq!(world.due(&reconciler, &change), NONE);
    let change = world.store(&with(config_map("plain"), LABEL, "Sync".into()));
    assert_eq!(world.due(&reconciler, &change), ["plain"]);
}

/// The former resources of the resource controller under the configuration `spec`.
fn former(kcp: &Kcp, spec: Option<Value>) -> String {
    let reconcilers = kcp.controllers().reconcilers(spec.as_ref());
    let found = reconcilers
        .iter()
        .find(|reconciler| reconciler.name() == "kcp-resource")
        .unwrap();
    let watches = found.watches();
    assert!(
        found
            .former_resources()
            .iter()
            .all(|resource| !watches.contains(resource))
    );
    let texts: Vec<String> = found.former_resources().iter().map(ToString::to_string).collect();
    texts.join(" ")
}

#[test]
fn resources_that_are_not_synced_may_have_been_before() {
    let secrets = GroupResource::new("", "secrets");
    let ingresses = GroupResource::new("networking.k8s.io", "ingresses");
    let started = Kcp::new(Settings {
        synced_resources: vec![secrets, ingresses],
        ..Settings::default()
    });
    assert_eq!(former(&Kcp::default(), None), "");
    assert_eq!(
        former(&started, None),
        "configmaps serviceaccounts services deployments.apps"
    );
    assert_eq!(
        former(&started, Some(json!({"syncedResources": ["configmaps"]}))),
        "secrets serviceaccounts services deployments.apps ingresses.networking.k8s.io"
    );
}

#[test]
fn a_resource_that_only_an_earlier_configuration_named_was_synced_before() {
    let kcp = Kcp::default();
    let synced = |name: &str| Some(json!({"syncedResources": [name]}));
    assert_eq!(
        former(&kcp, synced("ingresses.networking.k8s.io")),
        "configmaps secrets serviceaccounts services deployments.apps"
    );
    assert_eq!(
        former(&kcp, synced("configmaps")),
        "secrets serviceaccounts services deployments.apps ingresses.networking.k8s.io"
    );
}

#[test]
fn a_location_counts_what_changes_its_counts_and_looks_again_when_a_heartbeat_is_too_old() {
    let reconciler = locations::LocationController;
    let beating = with(
        cluster("c1", "eu"),
        "/status/lastSyncerHeartbeatTime",
        "2021-10-28T08:59:30Z".into(),
    );
    let mut world = World::of(&[beating.clone(), cluster("c2", "us"), location("eu")]);
    let (step, due) = world.take(&reconciler, &location("eu"));
    let places: Vec<&str> = step.writes.iter().map(|write| write.subresource).collect();
    assert_eq!(places, ["", "status"]);
    assert_eq!(
        step.writes[1].object["status"],
        json!({"instances": 1, "availableInstances": 1})
    );
    assert_eq!(step.writes[1].base, None);
    assert_eq!(
        step.due_at,
        berth_apimachinery::time::parse("2021-10-28T09:00:30.000000001Z")
    );
    assert_eq!(due, ["eu"], "the first of the two writes leaves one to do");
    assert_eq!(
        world.step(&reconciler, &location("eu")).writes,
        Vec::new(),
        "but then nothing is"
    );
    // A heartbeat in time, a cluster of another location, and other fields do not matter.
    let later = with(
        beating,
        "/status/lastSyncerHeartbeatTime",
        "2021-10-28T08:59:59Z".into(),
    );
    for value in [
        later.clone(),
        with(cluster("c2", "us"), "/spec/unschedulable", true.into()),
    ] {
        let change = world.store(&value);
        assert_eq!(world.due(&reconciler, &change), NONE);
    }
    let change = world.store(&with(later.clone(), "/spec/unschedulable", true.into()));
    assert_eq!(world.due(&reconciler, &change), ["eu"]);
    let change = world.store(&with(later, "/metadata/labels/region", "us".into()));
    assert_eq!(world.due(&reconciler, &change), ["eu"]);
    let (step, _) = world.take(&reconciler, &location("eu"));
    assert_eq!(
        step.writes[0].object["status"],
        json!({"instances": 0, "availableInstances": 0})
    );
}

#[test]
fn heartbeats_make_due_when_they_begin_and_when_they_return() {
    let reconciler = heartbeats::HeartbeatController { targets_url: None };
    let beat = |time: &str| {
        with(
            cluster("c1", "eu"),
            "/status/lastSyncerHeartbeatTime",
            time.into(),
        )
    };
    let mut world = World::of(&[cluster("c1", "eu")]);
    assert_eq!(world.all(&reconciler), NONE);
    let change = world.store(&beat("2021-10-28T08:00:00Z"));
    assert_eq!(world.due(&reconciler, &change), ["c1"]);
    let (step, due) = world.take(&reconciler, &beat(""));
    assert_eq!((step.writes.len(), step.due_at), (1, None));
    assert_eq!(step.writes[0].subresource, "status");
    assert_eq!(due, NONE);
    let mut back = step.writes[0].object.clone();
    back["status"]["lastSyncerHeartbeatTime"] = "2021-10-28T08:59:50Z".into();
    let change = world.store(&back);
    assert_eq!(world.due(&reconciler, &change), ["c1"]);
    let (step, due) = world.take(&reconciler, &back);
    assert_eq!(
        step.due_at,
        berth_apimachinery::time::parse("2021-10-28T09:00:50.000000001Z")
    );
    assert_eq!(due, NONE);
    let mut next = step.writes[0].object.clone();
    next["status"]["lastSyncerHeartbeatTime"] = "2021-10-28T09:00:00Z".into();
    let change = world.store(&next);
    assert_eq!(
        world.due(&reconciler, &change),
        NONE,
        "it is looked at in time anyway"
    );
    assert_eq!(world.all(&reconciler), ["c1"]);
}

#[test]
fn a_workload_cluster_says_where_its_syncer_finds_what_it_is_to_sync() {
    let targets = "https://hub/apis/scheduling.berth.dev/v1alpha1/targets";
    let reconciler = heartbeats::HeartbeatController {
        targets_url: Some(targets.into()),
    };
    // The cluster's syncer has not sent a heartbeat yet, and may be looking for the cluster.
    let silent = cluster("c1", "eu");
    let mut world = World::of(std::slice::from_ref(&silent));
    assert_eq!(world.all(&reconciler), ["c1"]);
    let (step, due) = world.take(&reconciler, &silent);
    assert_eq!((step.writes.len(), step.writes[0].subresource), (1, "status"));
    let views = json!([{"url": format!("{targets}/c1.kcp/proxy")}]);
    assert_eq!(step.writes[0].object["status"]["virtualWorkspaces"], views);
    assert_eq!(due, NONE);
    assert_eq!(world.all(&reconciler), NONE);

    // The URL is written together with the effect of a heartbeat, and again when another client changes it.
    let beats = with(
        silent,
        "/status/lastSyncerHeartbeatTime",
        "2021-10-28T08:59:50Z".into(),
    );
    let change = world.store(&beats);
    assert_eq!(world.due(&reconciler, &change), ["c1"]);
    let (step, due) = world.take(&reconciler, &beats);
    let status = &step.writes[0].object["status"];
    assert_eq!((step.writes.len(), &status["virtualWorkspaces"]), (1, &views));
    assert!(status["conditions"].is_array(), "{status}");
    assert_eq!(due, NONE);
    let mut moved = step.writes[0].object.clone();
    moved["status"]["virtualWorkspaces"] = json!([{"url": "https://elsewhere"}]);
    let change = world.store(&moved);
    assert_eq!(world.due(&reconciler, &change), ["c1"]);
    assert_eq!(
        world.step(&reconciler, &moved).writes[0].object["status"]["virtualWorkspaces"],
        views
    );
}
