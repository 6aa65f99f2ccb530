//! Bindings that result from templates and policies: each rule of Karmada's detector, and a policy that
//! claims ten thousand templates.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Change, GroupResource, Key, Object, Revision, Timestamp};
use berth_dialect_contract::{Context, Inventory, Objects, Reconciler};
use serde_json::{Value, json};

use super::Detector;
use crate::fleet::Fleet;
use crate::names::{
    BINDINGS, CLUSTER_BINDINGS, CLUSTER_OVERRIDE_POLICIES, CLUSTER_PROPAGATION_POLICIES, OVERRIDE_POLICIES,
    PROPAGATION_POLICIES,
};
use crate::testing::object;

const DEPLOYMENTS: GroupResource = GroupResource::new("apps", "deployments");

/// Objects, with the fleet that has folded them.
#[derive(Default)]
struct World {
    objects: BTreeMap<Key, Arc<Object>>,
    fleet: Fleet,
}

impl Objects for World {
    fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    fn list<'a>(
        &'a self,
        resource: GroupResource,
        namespace: Option<&'a str>,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        let first = Key::new(resource, namespace.unwrap_or_default(), "");
        let all = self.objects.range(first..);
        let within = all.take_while(move |(key, _)| {
            key.resource == resource && namespace.is_none_or(|namespace| *key.namespace == *namespace)
        });
        Box::new(within.map(|(_, object)| object))
    }
}

impl World {
    fn context(&self) -> Context<'_> {
        Context {
            objects: self,
            inventory: &self.fleet as &dyn Inventory,
            now: Timestamp::UNIX_EPOCH,
        }
    }

    /// Stores `value` at `key`, or deletes the object there. Returns the keys that become due.
    fn put(&mut self, key: &Key, value: Option<&Value>) -> Vec<Key> {
        let new = value.map(object);
        let old = match &new {
            Some(new) => self.objects.insert(key.clone(), Arc::clone(new)),
            None => self.objects.remove(key),
        };
        let change = Change {
            revision: Revision(1),
            key: key.clone(),
            old,
            new,
        };
        self.fleet.fold(&change);
        Detector.due(&change, &self.context())
    }

    /// Stores `value` and handles all keys that become due.
    fn settle(&mut self, key: &Key, value: Option<&Value>) {
        let mut due = self.put(key, value);
        let mut steps = 0;
        while let Some(next) = due.pop() {
            for write in Detector.step(&next, &self.context()).writes {
                let made = (write.verb != Verb::Delete).then_some(&write.object);
                due.extend(self.put(&write.key, made));
            }
            steps += 1;
            assert!(steps < 50, "own writes make nothing due for ever");
        }
        assert_eq!(Detector.all(&self.context()), []);
    }

    fn value(&self, key: &Key) -> Value {
        self.objects.get(key).map_or(Value::Null, |object| object.parse())
    }

    /// The policy that claims the binding of the Deployment `web`, by its name.
    fn claimed(&self) -> Option<String> {
        let binding = self.value(&binding("web"));
        let annotations = &binding["metadata"]["annotations"];
        let names = [
            "propagationpolicy.karmada.io/name",
            "clusterpropagationpolicy.karmada.io/name",
        ];
        names
            .iter()
            .find_map(|name| annotations[*name].as_str().map(str::to_owned))
    }
}

fn binding(template: &str) -> Key {
    Key::new(BINDINGS, "team", &format!("{template}-deployment"))
}

fn template(name: &str) -> Key {
    Key::new(DEPLOYMENTS, "team", name)
}

fn deployment(name: &str, replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "team", "uid": format!("uid-{name}"), "labels": {"app": name}},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [
            {"name": "main", "image": "i:1", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"x/gpu": 1}}},
            {"name": "side", "image": "i:1", "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}}},
        ]}}},
    })
}

/// A policy named `name` with one selector, and further fields of its spec.
fn policy(name: &str, selector: Value, more: Value) -> Value {
    let mut selector = selector;
    selector["apiVersion"] = "apps/v1".into();
    selector["kind"] = "Deployment".into();
    let mut spec = more;
    spec["resourceSelectors"] = json!([selector]);
    if spec["placement"].is_null() {
        spec["placement"] = json!({"clusterAffinity": {"clusterNames": [name]}});
    }
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "team", "uid": format!("id-{name}")}, "spec": spec,
    })
}

fn own(name: &str) -> Key {
    Key::new(PROPAGATION_POLICIES, "team", name)
}

fn of_all(name: &str) -> Key {
    Key::new(CLUSTER_PROPAGATION_POLICIES, "", name)
}

fn for_all(name: &str, selector: Value, more: Value) -> Value {
    let mut value = policy(name, selector, more);
    value["kind"] = "ClusterPropagationPolicy".into();
    value["metadata"] = json!({"name": name, "uid": format!("id-{name}")});
    value
}

#[test]
fn a_policy_and_a_deployment_make_a_binding_with_what_its_pods_ask_for() {
    let mut world = World::default();
    world.settle(&template("web"), Some(&deployment("web", 12)));
    assert_eq!(world.value(&binding("web")), Value::Null);
    world.settle(
        &own("p"),
        Some(&policy(
            "p",
            json!({"name": "web"}),
            json!({"schedulerName": "berth"}),
        )),
    );
    let made = world.value(&binding("web"));
    assert_eq!(
        made["metadata"]["labels"],
        json!({"propagationpolicy.karmada.io/permanent-id": "id-p"})
    );
    assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "uid-web");
    let spec = &made["spec"];
    assert_eq!(
        (&spec["replicas"], &spec["schedulerName"]),
        (&json!(12), &json!("berth"))
    );
    assert_eq!(
        spec["replicaRequirements"]["resourceRequest"],
        json!({"cpu": "750m", "memory": "1536Mi", "x/gpu": "1"})
    );
    assert_eq!(
        spec["placement"],
        json!({"clusterAffinity": {"clusterNames": ["p"]}})
    );
    assert_eq!(spec["resource"]["name"], "web");
    let claimed = &world.value(&template("web"))["metadata"]["annotations"];
    assert_eq!(claimed["propagationpolicy.karmada.io/name"], "p");
}

#[test]
fn what_others_wrote_into_a_binding_stays_when_its_template_changes() {
    let mut world = World::default();
    world.settle(&own("p"), Some(&policy("p", json!({}), json!({}))));
    world.settle(&template("web"), Some(&deployment("web", 2)));
    let mut decided = world.value(&binding("web"));
    decided["spec"]["clusters"] = json!([{"name": "a", "replicas": 2}]);
    decided["spec"]["suspension"] = json!({"scheduling": true});
    decided["status"] = json!({"schedulerObservedGeneration": 1});
    world.settle(&binding("web"), Some(&decided));
    let mut grown = world.value(&template("web"));
    grown["spec"]["replicas"] = 5.into();
    world.settle(&template("web"), Some(&grown));
    let now = world.value(&binding("web"));
    assert_eq!(now["spec"]["replicas"], 5);
    for pointer in ["/spec/clusters", "/spec/suspension", "/status"] {
        assert_eq!(now.pointer(pointer), decided.pointer(pointer), "{pointer}");
    }
    // Changes by other clients of fields from the policy are reverted.
    let mut edited = now;
    edited["spec"]["placement"] = json!({});
    world.settle(&binding("web"), Some(&edited));
    assert_ne!(world.value(&binding("web"))["spec"]["placement"], json!({}));
}

#[test]
fn a_policy_with_workload_affinity_gives_the_groups_of_the_templates_labels() {
    let mut world = World::default();
    world.fleet.settings.workload_affinity = true;
    let keys = json!({"affinity": {"groupByLabelKey": "app"}, "antiAffinity": {"groupByLabelKey": "ha"}});
    let placement = json!({"placement": {"workloadAffinity": keys}});
    world.settle(&own("p"), Some(&policy("p", json!({}), placement)));
    world.settle(&template("web"), Some(&deployment("web", 1)));
    let groups = |world: &World| world.value(&binding("web"))["spec"]["workloadAffinityGroups"].clone();
    assert_eq!(groups(&world), json!({"affinityGroup": "app=web"}));
    let mut labelled = world.value(&template("web"));
    labelled["metadata"]["labels"]["ha"] = "pair".into();
    world.settle(&template("web"), Some(&labelled));
    assert_eq!(
        groups(&world),
        json!({"affinityGroup": "app=web", "antiAffinityGroup": "ha=pair"})
    );
    world.settle(&own("p"), Some(&policy("p", json!({}), json!({}))));
    assert_eq!(groups(&world), Value::Null);
}

#[test]
fn without_the_gate_a_policy_with_workload_affinity_gives_no_groups() {
    let mut world = World::default();
    let keys = json!({"affinity": {"groupByLabelKey": "app"}});
    let placement = json!({"placement": {"workloadAffinity": keys}});
    world.settle(&own("p"), Some(&policy("p", json!({}), placement)));
    world.settle(&template("web"), Some(&deployment("web", 1)));
    assert_eq!(
        world.value(&binding("web"))["spec"].get("workloadAffinityGroups"),
        None
    );
}

#[test]
fn the_best_policy_is_one_of_the_namespace_then_priority_then_closeness_then_name() {
    for (policies, best) in [
        (
            vec![
                (
                    of_all("a"),
                    for_all("a", json!({"name": "web"}), json!({"priority": 9})),
                ),
                (own("z"), policy("z", json!({}), json!({}))),
            ],
            "z",
        ),
        (
            vec![
                (own("a"), policy("a", json!({"name": "web"}), json!({}))),
                (own("z"), policy("z", json!({}), json!({"priority": 1}))),
            ],
            "z",
        ),
        (
            vec![
                (
                    own("a"),
                    policy(
                        "a",
                        json!({"labelSelector": {"matchLabels": {"app": "web"}}}),
                        json!({}),
                    ),
                ),
                (own("z"), policy("z", json!({"name": "web"}), json!({}))),
            ],
            "z",
        ),
        (
            vec![
                (own("a"), policy("a", json!({}), json!({}))),
                (
                    own("z"),
                    policy(
                        "z",
                        json!({"labelSelector": {"matchLabels": {"app": "web"}}}),
                        json!({}),
                    ),
                ),
            ],
            "z",
        ),
        (
            vec![
                (own("z"), policy("z", json!({}), json!({}))),
                (own("a"), policy("a", json!({}), json!({}))),
            ],
            "a",
        ),
    ] {
        let mut world = World::default();
        for (key, value) in &policies {
            world.settle(key, Some(value));
        }
        world.settle(&template("web"), Some(&deployment("web", 1)));
        assert_eq!(world.claimed().as_deref(), Some(best), "{policies:?}");
    }
}

#[test]
fn a_claimed_template_keeps_its_policy_as_long_as_it_selects_it() {
    let mut world = World::default();
    world.settle(&of_all("first"), Some(&for_all("first", json!({}), json!({}))));
    world.settle(&template("web"), Some(&deployment("web", 1)));
    world.settle(
        &own("better"),
        Some(&policy("better", json!({"name": "web"}), json!({"priority": 5}))),
    );
    assert_eq!(world.claimed().as_deref(), Some("first"));
    world.settle(
        &of_all("first"),
        Some(&for_all("first", json!({"name": "other"}), json!({}))),
    );
    assert_eq!(world.claimed().as_deref(), Some("better"));
    let labels = &world.value(&template("web"))["metadata"]["labels"];
    assert_eq!(
        labels["clusterpropagationpolicy.karmada.io/permanent-id"],
        Value::Null
    );
}

#[test]
fn without_its_policy_a_binding_stays_and_is_claimed_no_more() {
    let mut world = World::default();
    world.settle(&own("p"), Some(&policy("p", json!({}), json!({}))));
    world.settle(&template("web"), Some(&deployment("web", 1)));
    world.settle(&own("p"), None);
    assert_eq!(world.claimed(), None);
    assert_eq!(world.value(&binding("web"))["spec"]["replicas"], 1);
    assert_eq!(world.value(&binding("web"))["metadata"].get("labels"), None);
    // A deleted template gets no binding either.
    world.settle(&own("p"), Some(&policy("p", json!({}), json!({}))));
    world.settle(&template("web"), None);
    assert_eq!(world.value(&binding("web")), Value::Null);
}

#[test]
fn a_template_that_nobody_can_read_is_known_by_its_binding() {
    let mut world = World::default();
    world.settle(
        &own("p"),
        Some(&policy("p", json!({"labelSelector": {}}), json!({}))),
    );
    world.settle(&template("web"), Some(&deployment("web", 3)));
    let made = world.value(&binding("web"));
    let mut blind = World::default();
    blind.put(
        &own("p"),
        Some(&policy("p", json!({"labelSelector": {}}), json!({}))),
    );
    blind.put(&binding("web"), Some(&made));
    let edit = policy(
        "p",
        json!({"labelSelector": {}}),
        json!({"placement": {"clusterAffinity": {"exclude": ["a"]}}}),
    );
    blind.settle(&own("p"), Some(&edit));
    let now = blind.value(&binding("web"));
    assert_eq!(
        now["spec"]["placement"],
        json!({"clusterAffinity": {"exclude": ["a"]}})
    );
    assert_eq!(now["spec"]["replicas"], 3);
}

#[test]
fn anything_else_is_no_workload_and_what_has_no_namespace_gets_a_cluster_resource_binding() {
    let mut world = World::default();
    let mut select = for_all("p", json!({}), json!({}));
    select["spec"]["resourceSelectors"] = json!([
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "a:b"},
        {"apiVersion": "batch/v1", "kind": "Job"},
    ]);
    world.settle(&of_all("p"), Some(&select));
    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "team"}});
    world.settle(
        &Key::new(GroupResource::new("", "configmaps"), "team", "c"),
        Some(&config),
    );
    let made = world.value(&Key::new(BINDINGS, "team", "c-configmap"));
    assert_eq!(
        (
            made["spec"].get("replicas"),
            made["spec"].get("replicaRequirements")
        ),
        (None, None)
    );
    let mut elsewhere = config;
    elsewhere["metadata"]["namespace"] = "kube-system".into();
    world.settle(
        &Key::new(GroupResource::new("", "configmaps"), "kube-system", "c"),
        Some(&elsewhere),
    );
    assert_eq!(
        world.value(&Key::new(BINDINGS, "kube-system", "c-configmap")),
        Value::Null
    );
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a:b"}});
    world.settle(
        &Key::new(
            GroupResource::new("rbac.authorization.k8s.io", "clusterroles"),
            "",
            "a:b",
        ),
        Some(&role),
    );
    let made = world.value(&Key::new(CLUSTER_BINDINGS, "", "a.b-clusterrole"));
    assert_eq!(made["kind"], "ClusterResourceBinding");
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum", "namespace": "team"},
        "spec": {"parallelism": 8, "completions": 5, "template": {"spec": {"nodeSelector": {"disk": "ssd"}}}},
    });
    world.settle(
        &Key::new(GroupResource::new("batch", "jobs"), "team", "sum"),
        Some(&job),
    );
    let made = world.value(&Key::new(BINDINGS, "team", "sum-job"));
    assert_eq!(made["spec"]["replicas"], 5);
    assert_eq!(
        made["spec"]["replicaRequirements"],
        json!({"nodeClaim": {"nodeSelector": {"disk": "ssd"}}})
    );
}

/// A lazy policy that places on `cluster`.
fn lazy(cluster: &str) -> Value {
    let placement = json!({"clusterAffinity": {"clusterNames": [cluster]}});
    policy(
        "p",
        json!({}),
        json!({"activationPreference": "Lazy", "placement": placement}),
    )
}

/// The first cluster that the placement in the binding of the Deployment `web` names.
fn named_cluster(world: &World) -> Value {
    world.value(&binding("web"))["spec"]["placement"]["clusterAffinity"]["clusterNames"][0].clone()
}

#[test]
fn a_lazy_policy_waits_for_the_template_and_one_with_overrides_for_them() {
    let mut world = World::default();
    world.settle(&own("p"), Some(&lazy("a")));
    world.settle(&template("web"), Some(&deployment("web", 1)));
    world.settle(&own("p"), Some(&lazy("b")));
    assert_eq!(named_cluster(&world), "a");
    let mut changed = world.value(&template("web"));
    changed["spec"]["replicas"] = 2.into();
    world.settle(&template("web"), Some(&changed));
    assert_eq!(named_cluster(&world), "b");

    let mut world = World::default();
    world.settle(&template("web"), Some(&deployment("web", 1)));
    world.settle(
        &own("p"),
        Some(&policy("p", json!({}), json!({"dependentOverrides": ["o"]}))),
    );
    assert_eq!(world.claimed(), None);
}

#[test]
fn a_lazy_policy_takes_no_effect_with_what_controllers_write() {
    let mut world = World::default();
    world.settle(&own("p"), Some(&lazy("a")));
    world.settle(&template("web"), Some(&deployment("web", 1)));
    world.settle(&own("p"), Some(&lazy("b")));
    let mut decided = world.value(&binding("web"));
    decided["spec"]["clusters"] = json!([{"name": "a", "replicas": 1}]);
    world.settle(&binding("web"), Some(&decided));
    assert_eq!(named_cluster(&world), "a", "the scheduler wrote the binding");
    let mut reported = world.value(&template("web"));
    reported["status"] = json!({"readyReplicas": 1});
    world.settle(&template("web"), Some(&reported));
    assert_eq!(named_cluster(&world), "a", "a status was written");
}

#[test]
fn an_override_policy_that_appears_lets_the_policies_that_wait_for_it_claim() {
    let overriding = |kind: &str, metadata: Value| json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": {}});
    let mut world = World::default();
    world.settle(&template("web"), Some(&deployment("web", 1)));
    let waiting = json!({"dependentOverrides": ["first", "second"]});
    world.settle(&own("p"), Some(&policy("p", json!({}), waiting)));
    for (namespace, name, claimed) in [
        ("team", "other", None),
        ("elsewhere", "first", None),
        ("team", "first", None),
        ("team", "second", Some("p")),
    ] {
        let made = overriding("OverridePolicy", json!({"name": name, "namespace": namespace}));
        world.settle(&Key::new(OVERRIDE_POLICIES, namespace, name), Some(&made));
        assert_eq!(world.claimed().as_deref(), claimed, "{namespace}/{name}");
    }

    let mut world = World::default();
    world.settle(&template("web"), Some(&deployment("web", 1)));
    let waiting = json!({"dependentOverrides": ["o"]});
    world.settle(&of_all("all"), Some(&for_all("all", json!({}), waiting)));
    assert_eq!(world.claimed(), None);
    let made = overriding("ClusterOverridePolicy", json!({"name": "o"}));
    world.settle(&Key::new(CLUSTER_OVERRIDE_POLICIES, "", "o"), Some(&made));
    assert_eq!(world.claimed().as_deref(), Some("all"));
}

#[test]
fn a_policy_that_matches_ten_thousand_templates_among_a_thousand_policies_is_looked_through_in_time() {
    let mut world = World::default();
    for number in 0..10_000 {
        let name = format!("web-{number}");
        world.put(&template(&name), Some(&deployment(&name, 1)));
    }
    for number in 0..1_000 {
        let name = format!("other-{number}");
        world.put(
            &own(&name),
            Some(&policy(&name, json!({"name": name}), json!({}))),
        );
    }
    let start = std::time::Instant::now();
    let due = world.put(&own("all"), Some(&policy("all", json!({}), json!({}))));
    assert_eq!(due.len(), 10_000);
    let writes: usize = due
        .iter()
        .map(|key| Detector.step(key, &world.context()).writes.len())
        .sum();
    assert_eq!(writes, 20_000);
    // The limit is for a busy machine, and a build without optimization.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
