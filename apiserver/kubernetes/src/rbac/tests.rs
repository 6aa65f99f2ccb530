//! RBAC evaluation, aggregation and escalation.

use std::sync::Arc;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, GroupResource, Key};
use berth_storage::{Expect, MemoryStore, Step, Store};
use serde_json::{Value, json};

use super::*;
use crate::core::rbac::{CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, ROLE_BINDINGS, ROLES};

mod escalation;

struct World {
    store: Arc<MemoryStore>,
    rbac: Arc<Rbac>,
}

impl World {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::default());
        let rbac = Rbac::new(Arc::clone(&store) as Arc<dyn Source>);
        Self { store, rbac }
    }

    fn put(&self, resource: GroupResource, mut value: Value) -> &Self {
        value["apiVersion"] = "rbac.authorization.k8s.io/v1".into();
        value["kind"] = "X".into();
        let draft = Draft::new(&value).unwrap();
        let key = Key::new(resource, draft.meta().namespace(), draft.meta().name());
        let there = self
            .store
            .cached(resource)
            .get(&key.namespace, &key.name)
            .is_some();
        let (verb, expect) = if there {
            (Verb::Update, Expect::Present)
        } else {
            (Verb::Create, Expect::Absent)
        };
        let object = Some(draft);
        self.store
            .commit(&[Step {
                verb,
                key,
                subresource: "",
                object,
                expect,
                guards: Vec::new(),
            }])
            .unwrap();
        self
    }

    fn role(&self, name: &str, rules: Value) -> &Self {
        self.put(CLUSTER_ROLES, json!({"metadata": {"name": name}, "rules": rules}))
    }

    fn bind(&self, namespace: &str, role: &str, subject: Value) -> &Self {
        let mut value = json!({"metadata": {"name": format!("{role}-binding")},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}, "subjects": [subject]});
        if namespace.is_empty() {
            return self.put(CLUSTER_ROLE_BINDINGS, value);
        }
        value["metadata"]["namespace"] = namespace.into();
        self.put(ROLE_BINDINGS, value)
    }

    /// Whether jane, in group devs, may do `verb resource[/sub][:name] [namespace]`.
    fn may(&self, verb: &str, resource: &str, namespace: &str) -> bool {
        self.rbac
            .allow_reason(&request(verb, resource, namespace))
            .is_some()
    }

    fn may_visit(&self, path: &str) -> bool {
        let path = path.to_owned();
        let asked = Attributes {
            user: jane(),
            verb: "get".to_owned(),
            path,
            ..Attributes::default()
        };
        self.rbac.allow_reason(&asked).is_some()
    }
}

fn jane() -> UserInfo {
    UserInfo {
        name: "jane".to_owned(),
        groups: vec!["devs".to_owned()],
        ..UserInfo::default()
    }
}

fn request(verb: &str, resource: &str, namespace: &str) -> Attributes {
    let (resource, name) = resource.split_once(':').unwrap_or((resource, ""));
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Attributes {
        user: jane(),
        verb: verb.to_owned(),
        is_resource: true,
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..Attributes::default()
    }
}

fn user() -> Value {
    json!({"kind": "User", "apiGroup": GROUP, "name": "jane"})
}

fn rule(verbs: &[&str], resources: &[&str]) -> Value {
    json!([{"verbs": verbs, "apiGroups": [""], "resources": resources}])
}

#[test]
fn without_a_binding_nothing_is_allowed() {
    let world = World::new();
    world.role("reader", rule(&["get"], &["configmaps"]));
    assert!(!world.may("get", "configmaps", "ns"));
}

#[test]
fn a_cluster_binding_holds_everywhere_and_a_role_binding_in_its_namespace() {
    let world = World::new();
    world
        .role("reader", rule(&["get"], &["configmaps"]))
        .role("writer", rule(&["create"], &["configmaps"]));
    world
        .bind("", "reader", user())
        .bind("ns", "writer", json!({"kind": "Group", "name": "devs"}));
    assert!(world.may("get", "configmaps", "ns") && world.may("get", "configmaps", ""));
    assert!(world.may("create", "configmaps", "ns"));
    assert!(!world.may("create", "configmaps", "other") && !world.may("create", "configmaps", ""));
    let reason = world
        .rbac
        .allow_reason(&request("create", "configmaps", "ns"))
        .unwrap();
    let words =
        "RBAC: allowed by RoleBinding \"writer-binding/ns\" of ClusterRole \"writer\" to Group \"devs\"";
    assert_eq!(reason, words);
}

#[test]
fn a_namespaced_role_is_found_by_its_namespace() {
    let world = World::new();
    world.put(
        ROLES,
        json!({"metadata": {"name": "r", "namespace": "ns"}, "rules": rule(&["get"], &["secrets"])}),
    );
    for namespace in ["ns", "other"] {
        world.put(
            ROLE_BINDINGS,
            json!({"metadata": {"name": "b", "namespace": namespace}, "subjects": [user()],
                "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"}}),
        );
    }
    assert!(world.may("get", "secrets", "ns") && !world.may("get", "secrets", "other"));
}

#[test]
fn changes_hold_at_the_next_request() {
    let world = World::new();
    world
        .role("reader", rule(&["get"], &["configmaps"]))
        .bind("", "reader", user());
    assert!(world.may("get", "configmaps", "ns"));
    world.role("reader", rule(&["get"], &["secrets"]));
    assert!(!world.may("get", "configmaps", "ns") && world.may("get", "secrets", "ns"));
}

#[test]
fn service_accounts_are_users_by_their_long_name() {
    let world = World::new();
    world.role("reader", rule(&["get"], &["configmaps"]));
    world.bind("ns", "reader", json!({"kind": "ServiceAccount", "name": "sa"}));
    let user = UserInfo {
        name: "system:serviceaccount:ns:sa".to_owned(),
        ..UserInfo::default()
    };
    let reason = world.rbac.allow_reason(&Attributes {
        user,
        ..request("get", "configmaps", "ns")
    });
    let words = "RBAC: allowed by RoleBinding \"reader-binding/ns\" of ClusterRole \"reader\" to ServiceAccount \
                 \"sa/ns\"";
    assert_eq!(reason.as_deref(), Some(words));
}

#[test]
fn rules_match_as_kubernetes_matches_them() {
    for (resources, asked, allowed) in [
        (&["shoots"][..], "shoots", true),
        (&["shoots"], "shoots/binding", false),
        (&["shoots/binding"], "shoots/binding", true),
        (&["shoots/binding"], "shoots", false),
        (&["*/scale"], "shoots/scale", true),
        (&["*/scale"], "shoots", false),
        (&["*"], "shoots/binding", true),
    ] {
        let world = World::new();
        world.role("r", rule(&["get"], resources)).bind("", "r", user());
        assert_eq!(world.may("get", asked, "ns"), allowed, "{resources:?} {asked}");
    }
}

#[test]
fn resource_names_limit_and_never_allow_a_create_or_a_list() {
    let world = World::new();
    let rules =
        json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["configmaps"], "resourceNames": ["a"]}]);
    world.role("r", rules).bind("", "r", user());
    assert!(world.may("get", "configmaps:a", "ns"));
    assert!(!world.may("get", "configmaps:b", "ns") && !world.may("list", "configmaps", "ns"));
}

#[test]
fn paths_match_whole_or_by_a_prefix() {
    let world = World::new();
    world
        .role(
            "r",
            json!([{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/openapi/*"]}]),
        )
        .bind("", "r", user());
    assert!(world.may_visit("/healthz") && world.may_visit("/openapi/v3/apis"));
    assert!(!world.may_visit("/healthz/x") && !world.may_visit("/openapi"));
}

#[test]
fn aggregated_roles_have_the_rules_of_those_they_select_and_of_those_below() {
    let world = World::new();
    let aggregate = |name: &str, of: &str, lends: &str| {
        json!({"metadata": {"name": name, "labels": {lends: "true"}}, "rules": rule(&["delete"], &["never"]),
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {of: "true"}}]}})
    };
    world.put(CLUSTER_ROLES, aggregate("admin", "to-admin", "to-edit"));
    world.put(CLUSTER_ROLES, aggregate("edit", "to-edit", "to-admin"));
    world.put(
        CLUSTER_ROLES,
        json!({"metadata": {"name": "part", "labels": {"to-edit": "true"}}, "rules": rule(&["get"], &["configmaps"])}),
    );
    world.bind("ns", "admin", user());
    assert!(
        world.may("get", "configmaps", "ns"),
        "through edit, although the two select each other"
    );
    assert!(
        !world.may("delete", "never", "ns"),
        "what is written in an aggregated role does not count"
    );
}

/// A cluster role that aggregates the roles with the label `of`, and has the labels `lends`.
fn aggregating_role(name: &str, of: &str, lends: &[&str]) -> Value {
    let labels: Value = lends.iter().map(|&label| (label, "true")).collect();
    json!({"metadata": {"name": name, "labels": labels},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {of: "true"}}]}})
}

#[test]
fn the_rules_of_an_aggregated_role_are_in_the_order_in_which_its_roles_are_reached() {
    let world = World::new();
    let plain = |name: &str, lends: &[&str]| {
        let mut role = aggregating_role(name, "", lends);
        role["aggregationRule"] = Value::Null;
        role["rules"] = rule(&["get"], &[name]);
        role
    };
    world
        .put(CLUSTER_ROLES, aggregating_role("a", "to-a", &["to-b"]))
        .put(CLUSTER_ROLES, aggregating_role("b", "to-b", &["to-a"]))
        .put(CLUSTER_ROLES, plain("c", &["to-a"]))
        .put(CLUSTER_ROLES, plain("d", &["to-a", "to-b"]));
    let rules = super::compiled::cluster_roles_of(&world.store.cached(CLUSTER_ROLES));
    let resources = |name: &str| {
        let rules = rules[name].iter();
        rules.map(|rule| rule.resources[0].clone()).collect::<Vec<_>>()
    };
    assert_eq!(resources("a"), ["d", "c"], "d is reached through b");
    assert_eq!(resources("b"), ["c", "d"], "c is reached through a");
    assert_eq!(resources("c"), ["c"]);
}

#[test]
fn a_long_chain_of_aggregated_roles_needs_no_deep_stack() {
    const LENGTH: usize = 1_500;
    let world = World::new();
    for link in 0..LENGTH {
        let (of, lends) = (format!("to-{link}"), format!("to-{}", link + 1));
        let role = aggregating_role(&format!("link-{link}"), &of, &[&lends]);
        world.put(CLUSTER_ROLES, role);
    }
    world.put(
        CLUSTER_ROLES,
        json!({"metadata": {"name": "part", "labels": {"to-0": "true"}}, "rules": rule(&["get"], &["configmaps"])}),
    );
    world.bind("ns", &format!("link-{}", LENGTH - 1), user());
    let small_stack = std::thread::Builder::new().stack_size(256 * 1024);
    let thread = small_stack.spawn(move || world.may("get", "configmaps", "ns"));
    assert!(thread.unwrap().join().unwrap());
}

#[tokio::test]
async fn the_bootstrap_roles_come_once_and_are_completed() {
    let world = World::new();
    let store: Arc<dyn Store> = Arc::clone(&world.store) as Arc<dyn Store>;
    let clock = berth_apimachinery::FixedClock(berth_apimachinery::Timestamp::UNIX_EPOCH);
    let resources = bootstrap::RoleResources {
        placeable: vec![GroupResource::new("core.gardener.cloud", "shoots")],
        fleet_wide: vec![GroupResource::new(
            "placement.kubernetes-fleet.io",
            "clusterresourceplacements",
        )],
        readable: vec![GroupResource::new("scheduling.kcp.dev", "locations")],
        accepts_bindings: true,
    };
    bootstrap::ensure(&store, &clock, &resources).await.unwrap();
    let revision = store.revision();
    bootstrap::ensure(&store, &clock, &resources).await.unwrap();
    assert_eq!(store.revision(), revision, "a second start writes nothing");

    world.bind("ns", "edit", user());
    let asked = |verb: &str, group: &str, resource: &str| {
        let asked = Attributes {
            group: group.to_owned(),
            ..request(verb, resource, "ns")
        };
        world.rbac.allow_reason(&asked).is_some()
    };
    assert!(asked("create", "core.gardener.cloud", "shoots") && asked("get", "", "configmaps"));
    assert!(asked("list", "scheduling.berth.dev", "decisions"));
    for resource in [
        "candidates",
        "targets",
        "decisions/scheduling",
        "decisions/binding",
    ] {
        assert!(
            !asked("get", "scheduling.berth.dev", resource),
            "{resource} is given separately"
        );
    }
    world.role("system:discovery", json!([]));
    assert!(!world.may_visit("/apis"));
    bootstrap::ensure(&store, &clock, &resources).await.unwrap();
    let everyone = UserInfo {
        groups: vec!["system:authenticated".to_owned()],
        ..jane()
    };
    let path = Attributes {
        user: everyone,
        verb: "get".to_owned(),
        path: "/apis/x".to_owned(),
        ..Attributes::default()
    };
    assert!(world.rbac.allow_reason(&path).is_some());
    let masters = UserInfo {
        groups: vec![MASTERS.to_owned()],
        ..UserInfo::default()
    };
    assert!(
        world
            .rbac
            .allow_reason(&Attributes {
                user: masters,
                ..request("delete", "anything", "")
            })
            .is_some()
    );
}

#[test]
fn garbage_in_the_store_grants_nothing_and_breaks_nothing() {
    let world = World::new();
    world
        .role("r", rule(&["get"], &["configmaps"]))
        .bind("", "r", user());
    world.put(
        CLUSTER_ROLES,
        json!({"metadata": {"name": "odd"}, "rules": "all of them"}),
    );
    world.put(
        CLUSTER_ROLE_BINDINGS,
        json!({"metadata": {"name": "odd"}, "subjects": 5}),
    );
    assert!(world.may("get", "configmaps", "ns") && !world.may("get", "secrets", "ns"));
}

#[test]
fn viewers_read_what_is_placed_fleet_wide_and_editors_do_not_write_it() {
    let fleet_wide = GroupResource::new("placement.kubernetes-fleet.io", "clusterresourceplacements");
    let locations = GroupResource::new("scheduling.kcp.dev", "locations");
    let resources = bootstrap::RoleResources {
        placeable: Vec::new(),
        fleet_wide: vec![fleet_wide],
        readable: vec![locations],
        accepts_bindings: true,
    };
    let verbs = |role: &str, resource: &str| -> Vec<String> {
        let roles = bootstrap::all_manifests(&resources);
        let role = roles
            .iter()
            .find(|found| found["metadata"]["name"] == role)
            .unwrap();
        let rules = role["rules"].as_array().unwrap().iter();
        let of = rules.filter(|rule| {
            rule["resources"]
                .as_array()
                .unwrap()
                .iter()
                .any(|have| have == resource)
        });
        of.flat_map(|rule| rule["verbs"].as_array().unwrap().clone())
            .map(|verb| verb.as_str().unwrap().to_owned())
            .collect()
    };
    for resource in ["clusterresourceplacements", "locations"] {
        assert_eq!(
            verbs("system:aggregate-to-view", resource),
            ["get", "list", "watch"]
        );
        assert!(verbs("system:aggregate-to-edit", resource).is_empty());
    }
    assert_eq!(
        verbs("berth:explainer", "clusterresourceplacements/scheduling"),
        ["get"]
    );
}
