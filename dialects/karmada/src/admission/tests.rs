//! Writers of decided fields.

use std::sync::Arc;

use berth_admission::{Chain, UserInfo};
use berth_apimachinery::{GroupResource, Status};
use berth_dialect_contract::{Configuration as _, Dialect as _};
use serde_json::json;

use super::*;
use crate::dialect::Karmada;
use crate::names::DEFAULT_SCHEDULER;
use crate::testing::binding_value;

const CONTROLLERS: &str = "system:karmada:karmada-controller-manager";

/// The answer to an update of `old` to `new` by `user`.
fn update(user: &str, old: &Value, new: &Value) -> Result<(), Status> {
    let guard = DecisionGuard::new(SystemUsers::new([CONTROLLERS]), DEFAULT_SCHEDULER.to_owned());
    let guard: Arc<dyn Plugin> = Arc::new(guard);
    update_under(vec![guard], user, old, new)
}

/// The answer of `plugins` to an update of `old` to `new` by `user`.
fn update_under(plugins: Vec<Arc<dyn Plugin>>, user: &str, old: &Value, new: &Value) -> Result<(), Status> {
    let chain = Chain::new(plugins);
    let user = UserInfo {
        name: user.to_owned(),
        ..UserInfo::default()
    };
    let request = Request {
        operation: Operation::Update,
        resource: BINDINGS,
        kind: "ResourceBinding",
        subresource: "",
        namespace: "team",
        name: "web-deployment",
        user: &user,
        old: Some(old),
        dry_run: false,
    };
    chain.plugins_for(&request).validate(Some(new), &mut Vec::new())
}

/// Whether `user` may update `old` to `new`.
fn may(user: &str, old: &Value, new: &Value) -> bool {
    update(user, old, new).is_ok()
}

#[test]
fn a_refused_change_of_a_decision_is_a_403_with_every_field() {
    let old = binding_value(&json!({}), 3, "a3");
    let mut new = old.clone();
    new["spec"]["clusters"] = json!([{"name": "b", "replicas": 3}]);
    new["metadata"]["annotations"] = json!({APPLIED_PLACEMENT: "{}"});
    let refused = update("alice", &old, &new).unwrap_err();
    assert_eq!(refused.code, 403);
    let causes = refused.details.iter().flat_map(|details| &details.causes);
    let causes: Vec<(&str, &str)> = causes.map(|cause| (&*cause.reason, &*cause.field)).collect();
    let note = format!("metadata.annotations[{APPLIED_PLACEMENT}]");
    assert_eq!(
        causes,
        [
            ("FieldValueForbidden", "spec.clusters"),
            ("FieldValueForbidden", &*note)
        ]
    );
    for part in ["spec.clusters", &note, ACTOR] {
        assert!(refused.message.contains(part), "{}", refused.message);
    }
}

#[test]
fn what_was_decided_is_written_by_the_scheduler_and_by_karmada_alone() {
    let old = binding_value(&json!({}), 3, "a3");
    for (pointer, field, value) in [
        ("/spec", "clusters", json!([{"name": "b", "replicas": 3}])),
        ("/metadata", "annotations", json!({APPLIED_PLACEMENT: "{}"})),
        ("/status", "lastScheduledTime", json!("2026-01-01T00:00:00Z")),
        (
            "/status",
            "conditions",
            json!([{"type": "Scheduled", "status": "True"}]),
        ),
    ] {
        let mut new = old.clone();
        if new["status"].is_null() {
            new["status"] = json!({});
        }
        new.pointer_mut(pointer).expect("it is there")[field] = value;
        assert!(!may("alice", &old, &new), "{pointer}/{field}");
        assert!(
            may(ACTOR, &old, &new) && may(CONTROLLERS, &old, &new),
            "{pointer}/{field}"
        );
    }
}

#[test]
fn karmadas_programs_with_certificates_of_their_own_evict_and_deschedule() {
    let old = binding_value(&json!({}), 3, "a3");
    let mut evicted = old.clone();
    evicted["spec"]["clusters"] = json!([]);
    let by = |user: &str| update_under(Karmada.admission(), user, &old, &evicted).is_ok();
    for program in ["controller-manager", "descheduler"] {
        assert!(by(&format!("system:karmada:karmada-{program}")), "{program}");
    }
    assert!(!by("system:karmada:karmada-scheduler"), "Berth decides");
}

/// A binding of `scheduler` that lists the clusters `held`.
fn of(scheduler: &str, held: &str) -> Value {
    let mut value = binding_value(&json!({}), 3, held);
    value["spec"]["schedulerName"] = scheduler.into();
    value
}

#[test]
fn a_binding_is_handed_over_only_by_the_programs_that_copy_the_name_from_its_policy() {
    let (ours, others) = (of(DEFAULT_SCHEDULER, "a3"), of("another", "a3"));
    for (old, new) in [(&ours, &others), (&others, &ours)] {
        let refused = update("alice", old, new).unwrap_err();
        assert_eq!(refused.code, 403);
        let causes = refused.details.iter().flat_map(|details| &details.causes);
        let fields: Vec<&str> = causes.map(|cause| &*cause.field).collect();
        assert_eq!(fields, ["spec.schedulerName"]);
        assert!(may(DETECTOR, old, new) && may(CONTROLLERS, old, new));
    }
    assert!(may("alice", &of("", "a3"), &ours), "the name of the default");
    assert!(may("alice", &others, &of("a third", "a3")), "neither is Berth's");
    assert!(!may(DETECTOR, &others, &of("", "b3")), "with other clusters");
}

#[test]
fn a_hub_asks_about_a_binding_that_is_handed_over() {
    let rules = hub_rules::all();
    let mut conditions = rules.iter().flat_map(|rule| &rule.conditions);
    let handed_over =
        "(oldObject != null && (object != null && has(object.spec) && has(object.spec.schedulerName) ";
    assert!(conditions.any(|condition| condition.expression.contains(handed_over)));
}

#[test]
fn a_scheduler_writes_its_own_bindings_beside_berth_but_hands_none_over() {
    let settings = json!({"schedulerName": "berth"});
    let allowed = |old: &Value, new: &Value| {
        let plugins = Karmada.admission_under(Some(&settings), &SystemUsers::new([CONTROLLERS]));
        let plugins = plugins.expect("Karmada has plugins");
        update_under(plugins, "system:karmada:karmada-scheduler", old, new).is_ok()
    };
    for other in ["", DEFAULT_SCHEDULER, "another"] {
        assert!(allowed(&of(other, "a3"), &of(other, "b3")), "of {other}");
        assert!(!allowed(&of(other, "a3"), &of("berth", "a3")), "from {other}");
        assert!(!allowed(&of(other, "a3"), &of("berth", "b3")), "from {other}");
        assert!(!allowed(&of("berth", "a3"), &of(other, "a3")), "to {other}");
        assert!(!allowed(&of("berth", "a3"), &of(other, "b3")), "to {other}");
    }
    assert!(!allowed(&of("berth", "a3"), &of("berth", "b3")));
}

#[test]
fn what_is_labelled_so_is_not_deleted() {
    let deleted = |resource: GroupResource, kind: &'static str, label: &str| {
        let chain = Chain::new(vec![Arc::new(DeletionProtection) as Arc<dyn Plugin>]);
        let user = UserInfo::default();
        let old = json!({"metadata": {"labels": {"resourcetemplate.karmada.io/deletion-protected": label}}});
        let request = Request {
            operation: Operation::Delete,
            resource,
            kind,
            subresource: "",
            namespace: "team",
            name: "web",
            user: &user,
            old: Some(&old),
            dry_run: false,
        };
        chain
            .plugins_for(&request)
            .validate(None, &mut Vec::new())
            .is_ok()
    };
    let deployments = GroupResource::new("apps", "deployments");
    for (resource, kind) in [(deployments, "Deployment"), (BINDINGS, "ResourceBinding")] {
        assert!(!deleted(resource, kind, "Always"), "{kind}");
        assert!(deleted(resource, kind, "Sometimes"), "{kind}");
    }
    assert!(
        deleted(GroupResource::new("", "pods"), "Pod", "Always"),
        "no template"
    );
}

#[test]
fn everything_else_of_a_binding_is_the_detectors() {
    let old = binding_value(&json!({}), 3, "a3");
    let mut new = old.clone();
    new["spec"]["replicas"] = 5.into();
    new["spec"]["suspension"] = json!({"scheduling": true});
    new["status"] = json!({"conditions": [{"type": "FullyApplied", "status": "True"}]});
    assert!(may("alice", &old, &new));
}
