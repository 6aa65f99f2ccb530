//! Every situation of a syncer, and its next step.

use serde_json::json;

use super::*;

const PLACE: StepContext<'static> = StepContext {
    identifier: "x",
    namespace: "kcp1",
    ready: true,
    reports: true,
    form: None,
};

/// A Deployment in the form of the view.
fn up(finalizer: bool, deleting: bool, soft: &str) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "app", "uid": "u", "resourceVersion": "7", "generation": 4,
            "labels": {"app": "web", "state.internal.workloads.kcp.dev/x": "Sync"},
            "annotations": {"note": "kept"},
        },
        "spec": {"replicas": 3},
    });
    if finalizer {
        object["metadata"]["finalizers"] = json!(["workloads.kcp.dev/syncer-x"]);
    }
    if deleting {
        object["metadata"]["deletionTimestamp"] = "2021-10-28T08:00:00Z".into();
    }
    if !soft.is_empty() {
        object["metadata"]["annotations"]["finalizers.workloads.kcp.dev/x"] = soft.into();
    }
    object
}

/// The stored copy of the Deployment on a cluster, with fields that clusters add.
fn down() -> Value {
    let mut object = copy("x", &up(true, false, ""), "kcp1");
    object["metadata"]["uid"] = "d".into();
    object["metadata"]["resourceVersion"] = "3".into();
    object["metadata"]["generation"] = 1.into();
    object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "1".into();
    object["spec"]["paused"] = false.into();
    object
}

fn leaving(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = "2021-10-28T08:00:01Z".into();
    object
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[key.replace("~1", "/")] = value;
    object
}

#[test]
fn an_object_is_held_before_it_is_made_and_made_only_where_there_is_room() {
    let Step::Hold(held) = PLACE.next(Some(&up(false, false, "")), None) else {
        panic!("the finalizer comes first");
    };
    assert_eq!(held, up(true, false, ""));
    let nowhere = StepContext {
        ready: false,
        ..PLACE
    };
    assert_eq!(nowhere.next(Some(&held), None), Step::Wait(SyncerWait::Namespace));
    let Step::Create(made) = PLACE.next(Some(&held), None) else {
        panic!("then it is made");
    };
    assert_eq!(made, copy("x", &held, "kcp1"));
    assert_eq!(
        PLACE.next(Some(&held), Some(&down())),
        Step::Rest,
        "what clusters add is no difference"
    );
}

#[test]
fn an_object_without_the_finalizer_is_held_even_when_its_copy_is_there() {
    let step = PLACE.next(Some(&up(false, false, "")), Some(&down()));
    assert_eq!(step, Step::Hold(up(true, false, "")));
}

#[test]
fn changes_go_down_and_status_comes_up() {
    let changed = with(up(true, false, ""), "/spec/replicas", json!(5));
    let Step::Update(next) = PLACE.next(Some(&changed), Some(&down())) else {
        panic!("the copy is brought up to date");
    };
    assert_eq!(next["spec"], json!({"replicas": 5}));
    assert_eq!(
        next["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "1"
    );
    assert_eq!(next["metadata"]["resourceVersion"], "3");

    let reporting = with(
        down(),
        "/status",
        json!({"readyReplicas": 2, "observedGeneration": 1}),
    );
    let Step::Report(reported) = PLACE.next(Some(&up(true, false, "")), Some(&reporting)) else {
        panic!("the status comes up");
    };
    assert_eq!(
        reported["status"],
        json!({"readyReplicas": 2, "observedGeneration": 4})
    );
    assert_eq!(PLACE.next(Some(&reported), Some(&reporting)), Step::Rest);
    let silent = StepContext {
        reports: false,
        ..PLACE
    };
    assert_eq!(
        silent.next(Some(&up(true, false, "")), Some(&reporting)),
        Step::Rest
    );
}

#[test]
fn a_copy_that_the_cluster_stores_in_another_form_is_not_written_again_and_reports() {
    let wanted = with(
        up(true, false, ""),
        "/spec",
        json!({"cpu": 0.5, "paused": false, "new": 1}),
    );
    let written = copy("x", &wanted, "kcp1");
    let stored = with(
        with(written.clone(), "/spec", json!({"cpu": "500m"})),
        "/status",
        json!({"readyReplicas": 1}),
    );
    let is_update = |step: Step| matches!(step, Step::Update(_));
    assert!(
        is_update(PLACE.next(Some(&wanted), Some(&stored))),
        "one write tells the form"
    );
    let form = ClusterForm::of(&written, &stored);
    let known = StepContext {
        form: form.as_ref(),
        ..PLACE
    };
    let Step::Report(reported) = known.next(Some(&wanted), Some(&stored)) else {
        panic!("the status comes up");
    };
    assert_eq!(reported["status"], stored["status"]);
    assert_eq!(known.next(Some(&reported), Some(&stored)), Step::Rest);
    let theirs = with(stored.clone(), "/spec/cpu", json!("2"));
    assert!(is_update(known.next(Some(&wanted), Some(&theirs))));
    let changed = with(wanted, "/spec/cpu", json!(0.7));
    assert!(is_update(known.next(Some(&changed), Some(&stored))));
}

#[test]
fn a_removal_waits_for_soft_finalizers_then_for_the_copy_then_lets_go() {
    let (held, free) = (up(true, true, "ingress, "), up(true, true, " , "));
    let waiting = Step::Wait(SyncerWait::SoftFinalizers);
    assert_eq!(PLACE.next(Some(&held), Some(&down())), waiting);
    assert_eq!(
        PLACE.next(Some(&held), None),
        waiting,
        "nothing is made of what is leaving"
    );
    let reporting = with(down(), "/status", json!({"readyReplicas": 1}));
    assert!(
        matches!(PLACE.next(Some(&held), Some(&reporting)), Step::Report(_)),
        "it still runs"
    );

    assert_eq!(PLACE.next(Some(&free), Some(&down())), Step::Delete);
    assert_eq!(
        PLACE.next(Some(&free), Some(&leaving(down()))),
        Step::Wait(SyncerWait::Removal)
    );
    let Step::Release(released) = PLACE.next(Some(&free), None) else {
        panic!("the copy is gone");
    };
    assert_eq!(released["metadata"]["finalizers"], json!([]));
    let Step::Release(never_held) = PLACE.next(Some(&up(false, true, "")), None) else {
        panic!("what was never held is let go of too");
    };
    assert!(never_held["metadata"].get("finalizers").is_none());
}

#[test]
fn what_left_the_view_is_deleted_and_what_is_not_ours_is_left_alone() {
    assert_eq!(PLACE.next(None, Some(&down())), Step::Delete);
    assert_eq!(
        PLACE.next(None, Some(&leaving(down()))),
        Step::Wait(SyncerWait::Removal)
    );
    assert_eq!(PLACE.next(None, None), Step::Rest);
    let others = with(
        down(),
        "/metadata/labels/internal.workloads.kcp.dev~1cluster",
        json!("y"),
    );
    assert_eq!(PLACE.next(None, Some(&others)), Step::Rest);
    assert!(matches!(
        PLACE.next(Some(&up(true, false, "")), Some(&others)),
        Step::Blocked(_)
    ));
    assert!(matches!(
        PLACE.next(Some(&up(true, true, "")), Some(&others)),
        Step::Release(_)
    ));
}

#[test]
fn what_the_cluster_made_by_itself_is_taken_over_in_a_namespace_of_ours() {
    let own = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "kcp1",
        "resourceVersion": "9"}, "spec": {"replicas": 1, "paused": true}});
    let Step::Update(taken) = PLACE.next(Some(&up(true, false, "")), Some(&own)) else {
        panic!("it is taken over");
    };
    assert_eq!(owner(&taken), Some("x"));
    assert_eq!(taken["metadata"]["resourceVersion"], "9");
    assert_eq!(PLACE.next(Some(&up(true, false, "")), Some(&taken)), Step::Rest);
}

#[test]
fn a_copy_under_way_out_is_awaited_before_it_is_made_anew() {
    let step = PLACE.next(Some(&up(true, false, "")), Some(&leaving(down())));
    assert_eq!(step, Step::Wait(SyncerWait::Removal));
}

#[test]
fn two_objects_that_would_have_one_copy_stand_in_each_others_way() {
    let mut other = up(true, false, "");
    other["metadata"]["name"] = "web-2".into();
    let Step::Blocked(why) = PLACE.next(Some(&other), Some(&down())) else {
        panic!("the copy is another's");
    };
    assert!(
        why.contains("the copies of web and web-2 would both have the name web"),
        "{why}"
    );
}

#[test]
fn an_object_whose_spec_for_the_cluster_is_not_known_stays_as_it_is_and_still_goes() {
    let mut held = up(true, false, "");
    held["metadata"]["annotations"][PROBLEM] = "annotation x: the JSON patch cannot be applied".into();
    let blocked = Step::Blocked("annotation x: the JSON patch cannot be applied".to_owned());
    assert_eq!(PLACE.next(Some(&held), None), blocked);
    assert_eq!(PLACE.next(Some(&held), Some(&down())), blocked);
    assert_eq!(PLACE.next(Some(&leaving(held)), Some(&down())), Step::Delete);
}

#[test]
fn a_namespace_is_made_first_and_goes_last() {
    let of = Owner {
        identifier: "x".to_owned(),
        logical_cluster: "root".to_owned(),
        registration: None,
        adopted: Vec::new(),
    };
    let next =
        |up: Option<&Value>, down: Option<&Value>, content: usize| namespace_next(&of, up, down, content > 0);
    let there = json!({"metadata": {"name": "app"}});
    let going = leaving(there.clone());
    let made = of.namespace_copy("app");
    assert_eq!(next(Some(&there), None, 0), Step::Create(made.clone()));
    assert_eq!(next(Some(&there), Some(&made), 3), Step::Rest);
    let lost = with(made.clone(), "/metadata/annotations", json!({"theirs": "1"}));
    let found = with(made.clone(), "/metadata/annotations/theirs", json!("1"));
    assert_eq!(
        next(Some(&there), Some(&lost), 3),
        Step::Update(found),
        "the locator is put back"
    );
    assert_eq!(
        next(Some(&there), Some(&leaving(made.clone())), 3),
        Step::Wait(SyncerWait::Removal)
    );
    assert_eq!(
        next(Some(&going), Some(&made), 1),
        Step::Wait(SyncerWait::Content)
    );
    assert_eq!(next(Some(&going), Some(&made), 0), Step::Delete);
    assert_eq!(
        next(Some(&going), Some(&leaving(made.clone())), 0),
        Step::Wait(SyncerWait::Removal)
    );
    assert_eq!(next(Some(&going), None, 0), Step::Release(going.clone()));
    assert_eq!(next(None, Some(&made), 0), Step::Delete);
    assert_eq!(next(None, Some(&made), 1), Step::Wait(SyncerWait::Content));
    assert_eq!(next(None, None, 0), Step::Rest);
    let foreign = json!({"metadata": {"name": "kcp1"}});
    assert!(matches!(next(Some(&there), Some(&foreign), 0), Step::Blocked(_)));
    assert_eq!(next(None, Some(&foreign), 0), Step::Rest);
    assert_eq!(next(Some(&going), Some(&foreign), 0), Step::Release(going));
}
