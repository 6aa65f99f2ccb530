//! Records of changes between two states.

use std::sync::Arc;

use berth_scheduling_api::record::RecordedCluster;
use berth_scheduling_api::shared::SourceRef;
use serde_json::json;

use super::super::state::state;
use super::*;

fn subject() -> DecisionSubject {
    DecisionSubject {
        dialect: "ocm".into(),
        source_ref: Arc::new(SourceRef {
            api_version: "v1".into(),
            kind: "Placement".into(),
            name: "p".into(),
            ..SourceRef::default()
        }),
    }
}

fn change<'a>(
    subject: &'a DecisionSubject,
    from: Option<&'a DecisionState>,
    to: Option<&'a DecisionState>,
) -> Change<'a> {
    Change {
        decision: "p.ocm",
        subject,
        at: "2026-11-23T10:14:03Z".parse().unwrap(),
        from,
        to,
        written: None,
        observed_cause: None,
        unseen: false,
    }
}

fn object_cause(name: &str, manager: &str) -> RecordCause {
    RecordCause {
        r#type: CauseType::Object,
        verb: "Updated".to_owned(),
        api_version: "v1".to_owned(),
        kind: "ManagedCluster".to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
        resource_version: "7".to_owned(),
        field_manager: manager.to_owned(),
        more: 0,
    }
}

fn counts(of: &[(&str, i64)]) -> Reasons {
    of.iter()
        .map(|(reason, count)| (("P", *reason), *count))
        .collect()
}

fn written_decision() -> WrittenDecision {
    WrittenDecision {
        actor: "berth:scheduler",
        message: "1 of 2 fit".to_owned(),
        reasons: counts(&[("R", 2)]),
        stays: [Arc::from("b")].into(),
        leaves: [Arc::from("a")].into(),
        clusters: vec![MovedCluster {
            score: Some(30),
            ..MovedCluster::named("b", Move::Joined)
        }],
        ..WrittenDecision::default()
    }
}

#[test]
fn a_change_is_named_by_what_becomes_of_the_clusters() {
    let subject = subject();
    let (none, a, b, ab) = (
        state("Unschedulable", &[]),
        state("Bound", &["a"]),
        state("Bound", &["b"]),
        state("Bound", &["a", "b"]),
    );
    for (from, to, expected, joined, left) in [
        (None, Some(&a), "Bound", 1, 0),
        (None, Some(&none), "Unplaced", 0, 0),
        (Some(&none), Some(&a), "Fits", 1, 0),
        (Some(&a), Some(&ab), "Grown", 1, 0),
        (Some(&a), Some(&b), "Moved", 1, 1),
        (Some(&ab), Some(&b), "Shrunk", 0, 1),
        (Some(&ab), Some(&none), "Lost", 0, 2),
        (Some(&ab), None, "Removed", 0, 2),
        (Some(&a), Some(&state("Releasing", &["a"])), "Same", 0, 0),
    ] {
        let record = record(&change(&subject, from, to));
        let found = (&*record.change, record.joined_count, record.left_count);
        assert_eq!(found, (expected, joined, left));
        assert_eq!(record.clusters.len(), joined + left);
        assert_eq!(
            (record.from.is_some(), record.to.is_some()),
            (from.is_some(), to.is_some())
        );
    }
}

#[test]
fn what_the_decision_said_is_in_the_record() {
    let subject = subject();
    let mut before = state("Bound", &["a"]);
    before.reasons = Some(counts(&[("R", 1), ("gone", 4)]));
    let (after, written) = (state("Bound", &["b"]), written_decision());
    let record = record(&Change {
        written: Some(&written),
        ..change(&subject, Some(&before), Some(&after))
    });
    assert_eq!(record.to.unwrap().message, "1 of 2 fit");
    assert_eq!(record.clusters[0].score, Some(30));
    assert_eq!(record.clusters[1], MovedCluster::named("a", Move::Left));
    let counted: Vec<_> = record
        .reasons
        .iter()
        .map(|change| (change.reason.as_str(), change.from, change.to))
        .collect();
    assert_eq!(counted, [("R", Some(1), Some(2)), ("gone", Some(4), Some(0))]);
    assert_eq!(record.actor.user, "berth:scheduler");
    assert_eq!(
        record.cause,
        RecordCause::of(CauseType::Time),
        "nothing made it due"
    );
}

#[test]
fn the_cause_is_an_object_a_person_time_or_unseen() {
    let subject = subject();
    let (a, b) = (state("Bound", &["a"]), state("Bound", &["b"]));
    let plain = || change(&subject, Some(&a), Some(&b));
    let due = WrittenDecision {
        cause: Some(object_cause("one", "kubectl-edit")),
        ..written_decision()
    };
    let asked = WrittenDecision {
        by: Some("alice".to_owned()),
        ..due.clone()
    };
    let of = |change: Change<'_>| {
        let record = record(&change);
        (record.cause, record.actor.user, record.actor.field_manager)
    };
    let text = |text: &str| text.to_owned();
    assert_eq!(
        of(Change {
            written: Some(&due),
            ..plain()
        }),
        (
            object_cause("one", "kubectl-edit"),
            text("berth:scheduler"),
            text("")
        )
    );
    assert_eq!(
        of(Change {
            written: Some(&asked),
            ..plain()
        }),
        (RecordCause::of(CauseType::Request), text("alice"), text(""))
    );
    let observed_cause = object_cause("p", "somebody");
    assert_eq!(
        of(Change {
            observed_cause: Some(observed_cause.clone()),
            ..plain()
        }),
        (observed_cause.clone(), text(""), text("somebody"))
    );
    assert_eq!(
        of(plain()),
        (RecordCause::of(CauseType::Time), text(""), text(""))
    );
    assert_eq!(
        of(Change {
            observed_cause: Some(observed_cause),
            unseen: true,
            ..plain()
        }),
        (RecordCause::of(CauseType::Unseen), text(""), text(""))
    );
}

#[test]
fn counts_go_on_where_the_last_record_ended() {
    let subject = subject();
    let (after, written) = (state("Bound", &["b"]), written_decision());
    let spec = record(&Change {
        written: Some(&written),
        ..change(&subject, None, Some(&after))
    });
    assert_eq!(spec.reasons[0].from, None, "nobody counted before");
    assert_eq!(counts_after(&spec), Some(counts(&[("R", 2)])));
    let none = WrittenDecision {
        reasons: counts(&[]),
        ..written.clone()
    };
    let spec = record(&Change {
        written: Some(&none),
        ..change(&subject, None, Some(&after))
    });
    assert_eq!(counts_after(&spec), Some(counts(&[])), "nothing was refused");
    let nothing = record(&change(&subject, None, Some(&after)));
    assert_eq!(counts_after(&nothing), None);
}

#[test]
fn of_many_clusters_the_first_are_named_and_all_are_counted() {
    let subject = subject();
    let mut many = state("Bound", &[]);
    many.clusters = (0..120)
        .map(|number| RecordedCluster {
            cluster_name: format!("c{number:03}"),
            ..RecordedCluster::default()
        })
        .collect();
    many.cluster_count = 120;
    let record = record(&change(&subject, None, Some(&many)));
    assert_eq!((record.clusters.len(), record.joined_count), (MAX_CLUSTERS, 120));
    let to = record.to.unwrap();
    assert_eq!((to.clusters.len(), to.cluster_count), (MAX_CLUSTERS, 120));
}

#[test]
fn a_record_is_an_object_that_is_found_by_label_and_read_back() {
    let subject = subject();
    let after = state("Bound", &["b"]);
    let spec = record(&Change {
        observed_cause: Some(object_cause("one", "")),
        ..change(&subject, None, Some(&after))
    });
    let now = "2026-11-23T10:14:04Z".parse().unwrap();
    let value = object("ns", "p.ocm.1", &spec, now).unwrap();
    assert_eq!(value["kind"], "DecisionRecord");
    assert_eq!(
        value["metadata"]["labels"],
        json!({"decision": "p.ocm", "system": "ocm"})
    );
    assert_eq!(value["metadata"]["creationTimestamp"], "2026-11-23T10:14:04Z");
    assert_eq!(value["spec"]["cause"]["type"], "Object");
    assert_eq!(
        serde_json::from_value::<RecordSpec>(value["spec"].clone()).unwrap(),
        spec
    );

    let long = RecordSpec {
        decision: format!("{}.ocm", "x".repeat(60)),
        ..spec
    };
    let value = object("", "x.1", &long, now).unwrap();
    assert_eq!(value["kind"], "ClusterDecisionRecord");
    assert_eq!(
        value["metadata"]["labels"],
        json!({"system": "ocm"}),
        "no label has so long a value"
    );
}
