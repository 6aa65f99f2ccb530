//! Events: both APIs over the same record.

use berth_apimachinery::{Cell, Revision, Timestamp, WriteOperation};
use serde_json::json;

use super::*;

fn served() -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "ns"},
        "regarding": {"kind": "Shoot", "name": "foo", "namespace": "ns"}, "note": " placed ", "reason": "Scheduled",
        "type": "Normal", "eventTime": "2026-11-21T12:00:00.000001Z", "action": "Binding",
        "reportingController": "berth.dev/scheduler", "reportingInstance": "berth-0",
        "series": {"count": 4, "lastObservedTime": "2026-11-21T12:30:00.000000Z"},
    })
}

fn stored() -> Object {
    let mut value = served();
    Event.to_stored("v1", &mut value);
    value["apiVersion"] = "v1".into();
    Object::new(&value, Revision(7)).unwrap()
}

fn errors(kind: &dyn Kind, old: Option<&Value>, new: &Value) -> Vec<String> {
    let operation = if old.is_some() {
        WriteOperation::Update
    } else {
        WriteOperation::Create
    };
    let write = Write {
        operation,
        old,
        now: Timestamp::UNIX_EPOCH,
    };
    kind.validate(&write, new)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn one_object_is_both_apis() {
    let object = stored();
    assert_eq!(object.value()["involvedObject"]["name"], "foo");
    assert_eq!(object.value()["message"], " placed ");
    let mut back = Event.to_served("v1", &object).unwrap();
    back["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    assert_eq!(back, served());
    assert_eq!(Event.stored_in(), CoreEvent.stored_in());
}

#[test]
fn every_field_can_be_selected_in_both() {
    let object = stored();
    let read = |kind: &dyn Kind, path: &str| {
        let field = kind.selectable().iter().find(|field| field.path == path).unwrap();
        field.read(object.value())
    };
    assert_eq!(read(&CoreEvent, "involvedObject.kind"), "Shoot");
    assert_eq!(read(&Event, "regarding.name"), "foo");
    assert_eq!(read(&CoreEvent, "source"), "berth.dev/scheduler");
    assert_eq!(read(&Event, "reportingController"), "berth.dev/scheduler");
    for path in ["namespace", "uid", "apiVersion", "resourceVersion", "fieldPath"] {
        read(&CoreEvent, &format!("involvedObject.{path}"));
        read(&Event, &format!("regarding.{path}"));
    }
}

#[test]
fn the_row_shows_the_series() {
    let row = Event.row(&stored());
    assert_eq!(row.len(), Event.columns().len());
    assert_eq!(
        row[0],
        Cell::Age(berth_apimachinery::time::parse("2026-11-21T12:30:00Z"))
    );
    assert_eq!(row[3], Cell::from("shoot/foo"));
    assert_eq!(row[5], Cell::from("berth.dev/scheduler, berth-0"));
    assert_eq!(row[6], Cell::from("placed"));
    assert_eq!(row[8], Cell::from(4));
    let old = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "ns"},
        "firstTimestamp": "2026-11-21T12:00:00Z", "source": {"component": "x"}, "involvedObject": {"kind": "Node"}});
    let row = CoreEvent.row(&Object::new(&old, Revision(1)).unwrap());
    assert_eq!(
        row[0],
        Cell::Age(berth_apimachinery::time::parse("2026-11-21T12:00:00Z"))
    );
    assert_eq!(
        (&row[3], &row[5], &row[8]),
        (&Cell::from("node"), &Cell::from("x"), &Cell::from(1))
    );
}

#[test]
fn the_newer_api_asks_for_more() {
    let good = stored().parse();
    assert!(
        errors(&Event, None, &good).is_empty(),
        "{:?}",
        errors(&Event, None, &good)
    );
    let mut bad = good.clone();
    bad["type"] = "Bad".into();
    bad["count"] = 3.into();
    bad["message"] = "x".repeat(1025).into();
    bad["reportingComponent"] = "a b".into();
    bad.as_object_mut().unwrap().remove("action");
    let errors = errors(&Event, None, &bad);
    let starts = [
        "reportingController: Invalid",
        "action: Required",
        "note: Too long",
        "type: Unsupported",
        "deprecatedCount: Invalid",
    ];
    assert_eq!(errors.len(), starts.len(), "{errors:?}");
    for (error, start) in errors.iter().zip(starts) {
        assert!(error.starts_with(start), "{error}");
    }
}

#[test]
fn a_series_in_the_newer_api_is_of_two_and_has_a_time() {
    let mut event = stored().parse();
    event["series"] = json!({"count": 1});
    assert_eq!(
        errors(&Event, None, &event),
        [
            "series.count: Invalid value: \"\": should be at least 2",
            "series.lastObservedTime: Required value"
        ]
    );
    assert!(errors(&CoreEvent, None, &event).is_empty());
}

#[test]
fn an_object_of_an_event_with_a_time_may_be_elsewhere_in_both_apis() {
    for kind in [&Event as &dyn Kind, &CoreEvent] {
        let mut event = stored().parse();
        event["involvedObject"]["namespace"] = "other".into();
        assert_eq!(errors(kind, None, &event), [""; 0]);
        event["involvedObject"]["namespace"] = "".into();
        assert_eq!(errors(kind, None, &event).len(), 1);
        event["metadata"]["namespace"] = "kube-system".into();
        assert_eq!(errors(kind, None, &event), [""; 0]);
    }
}

#[test]
fn an_event_of_v1_may_have_any_type() {
    let mut event = stored().parse();
    event["type"] = "Odd".into();
    assert_eq!(errors(&CoreEvent, None, &event), [""; 0]);
    assert_eq!(errors(&Event, None, &event).len(), 1);
}

#[test]
fn a_series_that_an_update_keeps_is_not_judged_again() {
    let mut old = stored().parse();
    old["series"] = json!({"count": 1});
    let mut new = old.clone();
    new["metadata"]["labels"] = json!({"seen": "true"});
    assert_eq!(errors(&Event, Some(&old), &new), [""; 0]);
    new["series"]["count"] = 0.into();
    assert_eq!(errors(&Event, Some(&old), &new).len(), 2);
}

#[test]
fn wrong_types_are_told_by_the_names_the_client_used() {
    let mut bad = stored().parse();
    bad["involvedObject"]["name"] = 5.into();
    assert!(
        errors(&Event, None, &bad)[0].starts_with("regarding.name: "),
        "{:?}",
        errors(&Event, None, &bad)
    );
}

#[test]
fn in_the_newer_api_only_the_series_moves() {
    let old = stored().parse();
    let mut new = old.clone();
    new["series"]["count"] = 5.into();
    assert!(errors(&Event, Some(&old), &new).is_empty());
    new["message"] = "other".into();
    assert_eq!(
        errors(&Event, Some(&old), &new),
        ["note: Invalid value: \"other\": field is immutable"]
    );
}

#[test]
fn an_event_stands_with_what_it_is_about() {
    let event = |own: &str, involved: &str| json!({"metadata": {"namespace": own}, "involvedObject": {"namespace": involved}});
    assert!(errors(&CoreEvent, None, &event("ns", "ns")).is_empty());
    assert!(errors(&CoreEvent, None, &event("default", "")).is_empty());
    let words = "involvedObject.namespace: Invalid value: \"a\": does not match event.namespace";
    assert_eq!(errors(&CoreEvent, None, &event("ns", "a")), [words]);
    assert_eq!(errors(&CoreEvent, None, &event("ns", "")).len(), 1);
}

#[test]
fn times_have_microseconds_and_are_kept_in_utc() {
    let with = |path: &str, time: &str| {
        let mut value = stored().parse();
        *value.pointer_mut(path).unwrap() = time.into();
        value
    };
    for path in ["/eventTime", "/series/lastObservedTime"] {
        for kind in [&Event as &dyn Kind, &CoreEvent] {
            for bad in [
                "2026-11-21T12:00:00Z",
                "2026-11-21T12:00:00.123Z",
                "2026-11-21T12:00:00.1234567Z",
            ] {
                let errors = errors(kind, None, &with(path, bad));
                assert_eq!(errors.len(), 1, "{bad}: {errors:?}");
                assert!(
                    errors[0].contains("must be a time with microseconds"),
                    "{errors:?}"
                );
            }
            let mut zoned = with(path, "2026-11-21T14:00:00.000001+02:00");
            let write = Write {
                operation: WriteOperation::Create,
                old: None,
                now: Timestamp::UNIX_EPOCH,
            };
            kind.prepare(&write, &mut zoned);
            assert_eq!(zoned.pointer(path).unwrap(), "2026-11-21T12:00:00.000001Z");
            assert!(errors(kind, None, &zoned).is_empty());
        }
    }
}

#[test]
fn names_of_events_are_free_in_v1_and_subdomains_in_the_newer_api() {
    for name in ["UPPER", "a..b", "pod.17a2_x"] {
        assert!(CoreEvent.validate_name(name).is_ok(), "{name}");
        assert!(Event.validate_name(name).is_err(), "{name}");
    }
    assert!(CoreEvent.validate_name("a/b").is_err());
}

#[test]
fn a_deletion_of_an_event_waits_for_no_dependents_whatever_was_asked_for() {
    for kind in [&CoreEvent as &dyn Kind, &Event] {
        assert!(!kind.has_dependents(), "{}", kind.info().group);
    }
}
