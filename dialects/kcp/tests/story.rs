//! All actors together: a namespace is placed, evicted and released, step by step in the order of
//! docs/systems/kcp.md, "Order of removal". Every write comes from the function of its actor, and the guard
//! allows it for this actor and for no other user.

use std::sync::Arc;

use berth_admission::{Chain, Operation, Request, UserInfo};
use berth_apimachinery::{Change, GroupResource, Key, Object, Revision, Timestamp};
use berth_dialect_contract::{Ask, Inventory};
use berth_dialect_kcp::admission::user_of;
use berth_dialect_kcp::machine::Actor;
use berth_dialect_kcp::names::{LOCATIONS, NAMESPACES, PLACEMENT, WORKLOAD_CLUSTERS};
use berth_dialect_kcp::resource_controller::Context;
use berth_dialect_kcp::syncer_view::Syncer;
use berth_dialect_kcp::{namespace_controller, resource_controller};
use serde_json::{Value, json};

const DEPLOYMENTS: GroupResource = GroupResource::new("apps", "deployments");
const OLD: Syncer<'static> = Syncer {
    identifier: "old",
    advanced: false,
};

/// A namespace with one deployment, the fleet, and the guard in front of both.
struct World {
    fleet: Arc<dyn Inventory>,
    guard: Chain,
    namespace: Value,
    deployment: Value,
    now: Timestamp,
}

impl World {
    fn new() -> Self {
        let kcp = berth_dialect_kcp::dialect();
        let mut world = Self {
            fleet: kcp.inventory(),
            guard: Chain::new(kcp.admission()),
            namespace: json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "app"}}),
            deployment: json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "app"}, "spec": {"replicas": 2}}),
            now: "2021-10-28T09:00:00Z".parse().expect("an instant"),
        };
        let location = json!({"apiVersion": "scheduling.kcp.dev/v1alpha1", "kind": "Location",
            "metadata": {"name": "east"},
            "spec": {"resource": {"version": "v1alpha1", "resource": "workloadclusters"}, "instanceSelector": {}}});
        world.fold(LOCATIONS, &location);
        world.cluster("old", json!({}));
        let namespace = world.namespace.clone();
        world.fold(NAMESPACES, &namespace);
        world
    }

    fn fold(&mut self, resource: GroupResource, value: &Value) {
        let name = value["metadata"]["name"].as_str().expect("a name");
        let object = Object::new(value, Revision(1)).expect("a well-formed object");
        let change = Change::added(Key::new(resource, "", name), Arc::new(object));
        drop(Arc::get_mut(&mut self.fleet).expect("not shared").fold(&change));
    }

    fn cluster(&mut self, name: &str, spec: Value) {
        let value = json!({"apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
            "metadata": {"name": name}, "spec": spec, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        self.fold(WORKLOAD_CLUSTERS, &value);
    }

    /// Checks that the guard allows the write of `new` for the actor, and refuses it for an admin.
    fn admit(&self, user: &str, resource: GroupResource, old: &Value, new: &Value) {
        for (name, allowed) in [(user, true), ("admin", false)] {
            let user = UserInfo {
                name: name.to_owned(),
                groups: vec!["system:masters".to_owned()],
                ..UserInfo::default()
            };
            let request = Request {
                operation: Operation::Update,
                resource,
                kind: "",
                subresource: "",
                namespace: "",
                name: "app",
                user: &user,
                old: Some(old),
                dry_run: false,
            };
            let answer = self
                .guard
                .plugins_for(&request)
                .validate(Some(new), &mut Vec::new());
            assert_eq!(
                answer.is_ok(),
                allowed,
                "{name}: {answer:?}\nfrom {old}\nto {new}"
            );
        }
    }

    fn store_namespace(&mut self, user: &str, new: Value) {
        self.admit(user, NAMESPACES, &self.namespace, &new);
        self.fold(NAMESPACES, &new);
        self.namespace = new;
    }

    /// Runs the placement controller, and returns the annotation.
    fn place(&mut self) -> String {
        let demand = Key::new(NAMESPACES, "", "app");
        let ask = Ask {
            demand: &demand,
            now: self.now,
            seed: 1,
            chosen: None,
        };
        let decision = self
            .fleet
            .decide(&ask)
            .expect("it is there")
            .expect("nothing was chosen");
        for write in self.fleet.writes(&decision) {
            if write.subresource.is_empty() {
                self.store_namespace(user_of(Actor::PlacementController), write.object);
            } else {
                self.fold(NAMESPACES, &write.object);
                self.namespace = write.object;
            }
        }
        self.placement()
    }

    fn placement(&self) -> String {
        let text = self.namespace["metadata"]["annotations"][PLACEMENT].as_str();
        text.expect("a placement").to_owned()
    }

    /// Runs the namespace controller. Returns whether it wrote anything.
    fn namespaces(&mut self) -> bool {
        let new = namespace_controller::reconcile(&self.namespace, |_| true, self.now);
        let acted = new.is_some();
        if let Some(new) = new {
            self.store_namespace(user_of(Actor::NamespaceController), new);
        }
        acted
    }

    /// Runs the resource controller. Returns whether it wrote anything.
    fn resources(&mut self) -> bool {
        let context = Context {
            exists: &|_| true,
            coordinated: false,
            now: self.now,
        };
        let new = resource_controller::reconcile(&self.namespace, &self.deployment, &context);
        let acted = new.is_some();
        if let Some(new) = new {
            self.admit(
                user_of(Actor::ResourceController),
                DEPLOYMENTS,
                &self.deployment,
                &new,
            );
            self.deployment = new;
        }
        acted
    }

    /// Writes the deployment as the syncer of the old cluster, with or without its finalizer.
    fn sync(&mut self, hold: bool) {
        let mut written = OLD.view(&self.deployment).expect("it sees the deployment").object;
        let finalizers: &[&str] = if hold {
            &["workloads.kcp.dev/syncer-old"]
        } else {
            &[]
        };
        written["metadata"]["finalizers"] = json!(finalizers);
        let new = OLD
            .update(&self.deployment, &written, 0)
            .expect("its own business");
        self.admit("berth:syncer:old", DEPLOYMENTS, &self.deployment, &new);
        self.deployment = new;
    }
}

#[test]
fn a_namespace_moves_to_another_cluster_without_a_gap() {
    let mut world = World::new();
    assert_eq!(world.place(), r#"{"root:compute+east+old":"Pending"}"#);
    assert!(OLD.view(&world.deployment).is_none(), "nothing is synced yet");
    assert!(world.namespaces() && world.resources());
    assert_eq!(world.placement(), r#"{"root:compute+east+old":"Bound"}"#);
    world.sync(true);
    assert_eq!(
        world.place(),
        r#"{"root:compute+east+old":"Bound"}"#,
        "nothing to do"
    );

    // 1: the cluster is evicted, and replaced in the same write. 2, 3: the removal is recorded on the
    // namespace, then on the resource.
    world.cluster("new", json!({}));
    world.cluster("old", json!({"evictAfter": "2021-10-28T09:00:00Z"}));
    assert_eq!(
        world.place(),
        r#"{"root:compute+east+new":"Pending","root:compute+east+old":"Removing"}"#
    );
    assert!(world.namespaces() && world.resources());
    assert_eq!(
        world.placement(),
        r#"{"root:compute+east+new":"Bound","root:compute+east+old":"Removing"}"#
    );
    assert_eq!(
        world.deployment["metadata"]["labels"]["state.internal.workloads.kcp.dev/new"],
        "Sync"
    );

    // 4: the syncer sees a deletion. 5: a coordination controller delays it, as any user may.
    world.deployment["metadata"]["annotations"]["finalizers.workloads.kcp.dev/old"] = "ingress".into();
    let seen = OLD
        .view(&world.deployment)
        .expect("it sees the deployment")
        .object;
    assert_eq!(seen["metadata"]["deletionTimestamp"], "2021-10-28T09:00:00Z");
    assert_eq!(
        seen["metadata"]["annotations"]["finalizers.workloads.kcp.dev/old"],
        "ingress"
    );
    assert!(!world.namespaces() && !world.resources(), "everybody waits");
    assert_eq!(world.place(), world.placement());

    // 6 to 8: the object is deleted downstream; the syncer releases it, and no longer sees it.
    world.sync(false);
    assert!(OLD.view(&world.deployment).is_none());
    assert!(!world.resources(), "it is not handed back");

    // 9: the syncer releases the namespace, too. 10, 11: the entry is Unbound, then removed.
    let mut written = OLD.view(&world.namespace).expect("it sees the namespace").object;
    written["metadata"]["finalizers"] = json!([]);
    assert!(
        OLD.update(&world.namespace, &written, 1).is_err(),
        "resources go first"
    );
    let released = OLD
        .update(&world.namespace, &written, 0)
        .expect("its own business");
    world.store_namespace("berth:syncer:old", released);
    assert!(world.namespaces());
    assert_eq!(
        world.placement(),
        r#"{"root:compute+east+new":"Bound","root:compute+east+old":"Unbound"}"#
    );
    assert_eq!(world.place(), r#"{"root:compute+east+new":"Bound"}"#);
    assert!(!world.namespaces() && !world.resources());
    let labels = world.namespace["metadata"]["labels"].to_string();
    assert_eq!(labels, r#"{"state.internal.workloads.kcp.dev/new":"Sync"}"#);
}
