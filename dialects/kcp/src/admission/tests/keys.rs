//! The guard of internal labels and annotations.

use super::*;

const STATE_X: &str = "state.internal.workloads.kcp.dev/x";
const DELETION_X: &str = "deletion.internal.workloads.kcp.dev/x";
const FINALIZER_X: &str = "workloads.kcp.dev/syncer-x";
const THEN: &str = "2021-10-28T08:00:00Z";
const NAMESPACES_BY: &str = "berth:namespace-controller";
const RESOURCES_BY: &str = "berth:resource-controller";
const COORDINATION: &str = "berth:coordination-controller";
const PLACEMENTS: &str = "berth:placement-controller";
const USERS: [&str; 7] = [
    PLACEMENTS,
    NAMESPACES_BY,
    RESOURCES_BY,
    COORDINATION,
    SYNCER_X,
    "berth:syncer:y",
    ALICE,
];

fn labelled(value: Option<&str>) -> Value {
    let labels = value.map_or(
        json!({"app": "web"}),
        |value| json!({"app": "web", STATE_X: value}),
    );
    object(labels, json!({}), json!([]))
}

fn annotated(key: &str, value: Option<&str>) -> Value {
    let annotations = value.map_or(json!({"note": "a"}), |value| json!({"note": "a", key: value}));
    object(json!({}), annotations, json!([]))
}

fn held(names: &[&str]) -> Value {
    object(json!({}), json!({}), json!(names))
}

/// Users among [`USERS`] who may make this change.
fn allowed(resource: GroupResource, old: &Value, new: &Value) -> Vec<&'static str> {
    let guard = PlacementGuard::default();
    let may = |user: &&str| review(&guard, user, resource, "", Some(old), new).is_ok();
    USERS.into_iter().filter(may).collect()
}

#[test]
fn state_labels_change_by_the_table_alone() {
    let on = |resource, from, to| allowed(resource, &labelled(from), &labelled(to));
    let none: [&str; 0] = [];
    for (from, to, namespace, resource) in [
        (None, Some("Sync"), vec![NAMESPACES_BY], vec![RESOURCES_BY]),
        (None, Some(""), vec![], vec![RESOURCES_BY]),
        (
            Some(""),
            Some("Sync"),
            vec![NAMESPACES_BY],
            vec![RESOURCES_BY, COORDINATION],
        ),
        (
            Some("Sync"),
            None,
            vec![NAMESPACES_BY, SYNCER_X],
            vec![RESOURCES_BY, SYNCER_X],
        ),
        (Some(""), None, vec![NAMESPACES_BY], vec![RESOURCES_BY]),
        (Some("Sync"), Some(""), vec![], vec![]),
        (Some("Odd"), None, vec![NAMESPACES_BY], vec![RESOURCES_BY]),
        (None, Some("Odd"), vec![], vec![]),
        (Some("Sync"), Some("sync"), vec![], vec![]),
    ] {
        assert_eq!(
            on(NAMESPACES, from, to),
            namespace,
            "namespace {from:?} to {to:?}"
        );
        assert_eq!(on(DEPLOYMENTS, from, to), resource, "resource {from:?} to {to:?}");
    }
    assert_eq!(
        on(GroupResource::new("apps", "statefulsets"), None, Some("Odd")),
        USERS,
        "not synced, not guarded"
    );
    let both = allowed(DEPLOYMENTS, &labelled(Some("Sync")), &labelled(Some("Sync")));
    assert_eq!(both, USERS);
    assert_eq!(on(NAMESPACES, Some(""), Some("Odd")), none);
}

#[test]
fn refusals_of_labels_name_the_step_and_the_actor() {
    let answer = update_resource(ALICE, &labelled(Some("")), &labelled(Some("Sync")));
    refused(
        answer,
        403,
        &[
            "metadata.labels[state.internal.workloads.kcp.dev/x]: Forbidden: from \"\" to \"Sync\": only the resource \
             controller (user berth:resource-controller) or a coordination controller (user \
             berth:coordination-controller) may do this",
        ],
    );
    let answer = update(ALICE, &labelled(Some("Sync")), &labelled(None));
    refused(
        answer,
        403,
        &[
            "from \"Sync\" to absent: only the namespace controller",
            "the syncer of that cluster (user berth:syncer:x)",
        ],
    );
    refused(
        update_resource(RESOURCES_BY, &labelled(None), &labelled(Some("Odd"))),
        422,
        &["must be empty or \"Sync\""],
    );
    let long = format!("state.internal.workloads.kcp.dev/{}", "x".repeat(57));
    let new = object(json!({long: "Sync"}), json!({}), json!([]));
    refused(
        update_resource(RESOURCES_BY, &held(&[]), &new),
        422,
        &["must be no more than 56 characters"],
    );
}

#[test]
fn an_object_is_not_made_with_guarded_keys() {
    let guard = PlacementGuard::default();
    for (new, part) in [
        (labelled(Some("Sync")), "from absent to \"Sync\""),
        (labelled(Some("")), "from absent to \"\""),
        (annotated(DELETION_X, Some(THEN)), "may set it"),
        (held(&[FINALIZER_X]), "may add it"),
    ] {
        for resource in [NAMESPACES, DEPLOYMENTS] {
            refused(review(&guard, ALICE, resource, "", None, &new), 403, &[part]);
        }
    }
    let soft = annotated("finalizers.workloads.kcp.dev/x", Some("mine"));
    assert!(review(&guard, ALICE, DEPLOYMENTS, "", None, &soft).is_ok());
}

#[test]
fn removals_are_stamped_once_by_their_controller() {
    let on = |resource, from, to| allowed(resource, &annotated(DELETION_X, from), &annotated(DELETION_X, to));
    assert_eq!(on(NAMESPACES, None, Some(THEN)), [NAMESPACES_BY]);
    assert_eq!(on(DEPLOYMENTS, None, Some(THEN)), [RESOURCES_BY]);
    assert_eq!(on(NAMESPACES, Some(THEN), None), [NAMESPACES_BY, SYNCER_X]);
    assert_eq!(on(DEPLOYMENTS, Some(THEN), None), [RESOURCES_BY, SYNCER_X]);
    assert_eq!(on(DEPLOYMENTS, Some("soon"), Some(THEN)), [RESOURCES_BY]);
    assert!(
        on(DEPLOYMENTS, Some(THEN), Some("2021-10-28T09:00:00Z")).is_empty(),
        "never refreshed"
    );
    assert!(on(DEPLOYMENTS, None, Some("soon")).is_empty());
    let answer = update_resource(
        RESOURCES_BY,
        &annotated(DELETION_X, None),
        &annotated(DELETION_X, Some("soon")),
    );
    refused(answer, 422, &["must be an RFC 3339 instant"]);
}

#[test]
fn syncer_finalizers_are_the_syncers_own() {
    let none = held(&["other"]);
    let one = held(&["other", FINALIZER_X]);
    for resource in [NAMESPACES, DEPLOYMENTS] {
        assert_eq!(allowed(resource, &none, &one), [SYNCER_X]);
        assert_eq!(allowed(resource, &one, &none), [RESOURCES_BY, SYNCER_X]);
    }
    refused(
        update_resource(ALICE, &one, &none),
        403,
        &["metadata.finalizers[workloads.kcp.dev/syncer-x]", "may remove it"],
    );
    assert!(
        update_resource(ALICE, &one, &held(&[FINALIZER_X])).is_ok(),
        "others' finalizers are not guarded"
    );
}

#[test]
fn internal_keys_are_not_for_users() {
    let negotiation = "internal.scheduling.kcp.dev/negotiation-workspace";
    let set = |key: &str| (annotated(key, None), annotated(key, Some("root:compute")));
    let (old, new) = set(negotiation);
    assert_eq!(allowed(NAMESPACES, &old, &new), [PLACEMENTS]);
    for key in [
        "internal.workloads.kcp.dev/cluster",
        "other.internal.workloads.kcp.dev/x",
    ] {
        let (old, new) = set(key);
        assert!(allowed(DEPLOYMENTS, &old, &new).is_empty(), "{key}");
    }
    for key in [
        "finalizers.workloads.kcp.dev/x",
        "notinternal.workloads.kcp.dev/x",
        "experimental.spec-diff.workloads.kcp.dev/x",
    ] {
        let (old, new) = set(key);
        assert!(allowed(DEPLOYMENTS, &old, &new).contains(&ALICE), "{key}");
    }
}

#[test]
fn the_controllers_own_computations_pass_the_guard() {
    let now = berth_apimachinery::time::parse("2021-10-28T09:00:00Z").unwrap();
    let mut namespace = placed(Some(r#"{"root:compute+east+x":"Pending"}"#));
    let mut resource = labelled(None);
    let context = crate::resource_controller::Context {
        exists: &|_| true,
        coordinated: false,
        now,
    };
    for step in ["adopted", "removing", "released"] {
        match step {
            "removing" => {
                let removing = placed(Some(r#"{"root:compute+east+x":"Removing"}"#));
                let annotation = removing["metadata"]["annotations"][PLACEMENT].clone();
                namespace["metadata"]["annotations"][PLACEMENT] = annotation;
            }
            "released" => {
                let labels = namespace["metadata"]["labels"].as_object_mut().unwrap();
                labels.remove(STATE_X);
            }
            _ => {}
        }
        let new = crate::namespace_controller::reconcile(&namespace, |_| true, now).unwrap();
        assert_eq!(update(NAMESPACES_BY, &namespace, &new), Ok(()), "{step}");
        namespace = new;
        let new = crate::resource_controller::reconcile(&namespace, &resource, &context).unwrap();
        assert_eq!(update_resource(RESOURCES_BY, &resource, &new), Ok(()), "{step}");
        resource = new;
    }
    assert_eq!(
        namespace["metadata"]["annotations"][PLACEMENT],
        r#"{"root:compute+east+x":"Unbound"}"#
    );
}
