//! The guard against privilege escalation.

use berth_admission::{Operation, Plugin as _, Request};

use super::*;

fn admit(
    world: &World,
    resource: GroupResource,
    namespace: &str,
    old: Option<&Value>,
    new: &Value,
) -> Result<(), u16> {
    let guard = EscalationGuard::new(Arc::clone(&world.rbac));
    let user = jane();
    let request = Request {
        operation: if old.is_some() {
            Operation::Update
        } else {
            Operation::Create
        },
        resource,
        kind: "X",
        subresource: "",
        namespace,
        name: "x",
        user: &user,
        old,
        dry_run: false,
    };
    assert!(guard.handles(&request));
    guard
        .validate(&request, Some(new), &mut Vec::new())
        .map_err(|denied| denied.into_status(&request).code)
}

#[test]
fn nobody_grants_what_they_lack() {
    let world = World::new();
    world
        .role("r", rule(&["get", "list"], &["configmaps", "secrets"]))
        .bind("ns", "r", user());
    let role = |verbs: &[&str], resources: &[&str]| json!({"rules": rule(verbs, resources)});
    assert_eq!(
        admit(&world, ROLES, "ns", None, &role(&["list"], &["secrets"])),
        Ok(())
    );
    assert_eq!(
        admit(&world, ROLES, "other", None, &role(&["list"], &["secrets"])),
        Err(403)
    );
    assert_eq!(
        admit(&world, ROLES, "ns", None, &role(&["*"], &["secrets"])),
        Err(403)
    );
    assert_eq!(
        admit(&world, ROLES, "ns", None, &role(&["get"], &["secrets/x"])),
        Err(403)
    );
    let same = role(&["*"], &["secrets"]);
    assert_eq!(
        admit(&world, ROLES, "ns", Some(&same), &same),
        Ok(()),
        "what does not change grants nothing"
    );
    let mut owned = same.clone();
    owned["metadata"] = json!({"finalizers": ["example.com/wait"]});
    let mut same = same;
    same["metadata"] = json!({});
    assert_eq!(
        admit(&world, ROLES, "ns", Some(&same), &owned),
        Ok(()),
        "finalizers grant nothing"
    );
    let aggregating = json!({"aggregationRule": {"clusterRoleSelectors": [{}]}});
    assert_eq!(admit(&world, CLUSTER_ROLES, "", None, &aggregating), Err(403));
}

#[test]
fn nobody_puts_rights_that_they_lack_into_an_aggregated_role_by_a_label() {
    let world = World::new();
    world
        .role("r", rule(&["get"], &["configmaps"]))
        .bind("", "r", user());
    let labelled = |role: &Value| {
        let mut role = role.clone();
        role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] = "true".into();
        role
    };
    let wide = json!({"metadata": {"name": "x"}, "rules": rule(&["*"], &["*"])});
    assert_eq!(
        admit(&world, CLUSTER_ROLES, "", Some(&wide), &labelled(&wide)),
        Err(403)
    );
    let held = json!({"metadata": {"name": "x"}, "rules": rule(&["get"], &["configmaps"])});
    assert_eq!(
        admit(&world, CLUSTER_ROLES, "", Some(&held), &labelled(&held)),
        Ok(())
    );
    let aggregated = json!({"metadata": {"name": "x"}, "aggregationRule": {"clusterRoleSelectors": [{}]}});
    assert_eq!(
        admit(
            &world,
            CLUSTER_ROLES,
            "",
            Some(&aggregated),
            &labelled(&aggregated)
        ),
        Err(403)
    );
}

#[test]
fn nobody_without_all_rights_ends_an_aggregation() {
    let world = World::new();
    world
        .role("r", rule(&["get"], &["configmaps"]))
        .bind("", "r", user());
    let aggregating = json!({"aggregationRule": {"clusterRoleSelectors": [{}]}});
    let fixed = json!({"rules": rule(&["get"], &["configmaps"])});
    assert_eq!(admit(&world, CLUSTER_ROLES, "", None, &fixed), Ok(()));
    assert_eq!(
        admit(&world, CLUSTER_ROLES, "", Some(&aggregating), &fixed),
        Err(403)
    );
}

#[test]
fn escalate_and_bind_are_rights_of_their_own() {
    let world = World::new();
    let rules = json!([{"verbs": ["escalate"], "apiGroups": [GROUP], "resources": ["roles"]},
        {"verbs": ["bind"], "apiGroups": [GROUP], "resources": ["clusterroles"], "resourceNames": ["big"]}]);
    world.role("granter", rules).bind("", "granter", user());
    world
        .role("big", rule(&["*"], &["*"]))
        .role("other", rule(&["*"], &["*"]));
    assert_eq!(
        admit(&world, ROLES, "ns", None, &json!({"rules": rule(&["*"], &["*"])})),
        Ok(())
    );
    let binding = |role: &str| json!({"roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}});
    assert_eq!(admit(&world, ROLE_BINDINGS, "ns", None, &binding("big")), Ok(()));
    assert_eq!(
        admit(&world, ROLE_BINDINGS, "ns", None, &binding("other")),
        Err(403)
    );
    assert_eq!(
        admit(&world, ROLE_BINDINGS, "ns", None, &binding("missing")),
        Err(404)
    );
}

#[test]
fn the_refusal_lists_what_is_missing() {
    let world = World::new();
    let guard = EscalationGuard::new(Arc::clone(&world.rbac));
    let user = jane();
    let request = Request {
        operation: Operation::Create,
        resource: ROLES,
        kind: "Role",
        subresource: "",
        namespace: "ns",
        name: "x",
        user: &user,
        old: None,
        dry_run: false,
    };
    let role = json!({"rules": rule(&["get"], &["pods"])});
    let status = guard
        .validate(&request, Some(&role), &mut Vec::new())
        .unwrap_err()
        .into_status(&request);
    assert_eq!(
        status.message,
        "roles.rbac.authorization.k8s.io \"x\" is forbidden: user \"jane\" (groups=[\"devs\"]) is attempting to grant \
         RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}"
    );
    let master = UserInfo {
        groups: vec![MASTERS.to_owned()],
        ..jane()
    };
    assert!(!guard.handles(&Request {
        user: &master,
        ..request
    }));
}
