//! Timelines as they are printed.

use serde_json::{Value, json};

use super::*;

fn answer(history: &Value) -> Answer {
    Answer {
        history: serde_json::from_value(history.clone()).unwrap(),
        json: history.clone(),
    }
}

fn printed(history: &Value) -> String {
    let mut out = Vec::new();
    print(&mut out, HistoryOutput::Table, &answer(history), "web", None).unwrap();
    let text = String::from_utf8(out).unwrap();
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn each_step_says_when_why_by_whom_and_what_is_different() {
    let source = json!({"apiVersion": "v1", "kind": "Placement", "name": "p"});
    let bound = json!({"phase": "Bound", "clusterCount": 1, "clusters": []});
    let history = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "DecisionHistory",
        "metadata": {"name": "p.ocm", "namespace": "ns"},
        "status": {
            "keptIn": "Memory", "perDecision": 20, "maxAgeSeconds": 3600, "remainingRecords": 4,
            "records": [
                {
                    "name": "p.ocm.1", "at": "2026-11-23T10:14:03.250000Z", "change": "Bound",
                    "decision": "p.ocm", "dialect": "ocm", "sourceRef": source,
                    "to": {"phase": "Bound", "message": "1 of 2 fit", "clusterCount": 1, "clusters": []},
                    "clusters": [{
                        "clusterName": "one", "change": "Joined", "score": 30,
                        "scores": [{"plugin": "Steady", "weighted": 30}],
                    }],
                    "joinedCount": 1, "leftCount": 0,
                    "reasons": [{"plugin": "Taint", "reason": "Untolerated", "to": 1}],
                    "cause": {"type": "Request"}, "actor": {"user": "al\u{1b}ice"},
                },
                {
                    "name": "p.ocm.2", "at": "2026-11-23T10:20:00Z", "change": "Moved",
                    "decision": "p.ocm", "dialect": "ocm", "sourceRef": source,
                    "from": bound, "to": bound,
                    "clusters": [
                        {"clusterName": "two", "change": "Joined"},
                        {"clusterName": "one", "change": "Left",
                         "rejections": [{"plugin": "Taint", "reason": "Untolerated", "message": "drained"}]},
                    ],
                    "joinedCount": 1, "leftCount": 3,
                    "reasons": [
                        {"plugin": "Taint", "reason": "Untolerated", "from": 1, "to": 2},
                        {"plugin": "Set", "reason": "NotInSet", "from": 5, "to": 5},
                    ],
                    "cause": {"type": "Object", "kind": "ManagedCluster", "name": "one", "verb": "Updated",
                              "resourceVersion": "17", "fieldManager": "kubectl-edit", "more": 2},
                    "actor": {"user": "berth:scheduler"},
                },
                {
                    "name": "p.ocm.3", "at": "2026-11-23T10:21:00Z", "change": "Removed",
                    "decision": "p.ocm", "dialect": "ocm", "sourceRef": source, "from": bound,
                    "cause": {"type": "Unseen"}, "actor": {},
                },
                {
                    "name": "p.ocm.4", "at": "2026-11-23T10:22:00Z", "change": "Moved",
                    "decision": "p.ocm", "dialect": "ocm", "sourceRef": source, "from": bound, "to": bound,
                    "cause": {"type": "Unseen"}, "actor": {},
                    "agreement": {"status": "False", "message": "Berth would leave one (Taint/Untolerated: drained)"},
                },
                {
                    "name": "p.ocm.5", "at": "2026-11-23T10:23:00Z", "change": "Moved",
                    "decision": "p.ocm", "dialect": "ocm", "sourceRef": source, "from": bound, "to": bound,
                    "cause": {"type": "Unseen"}, "actor": {}, "agreement": {"status": "True"},
                },
            ],
        },
    });
    let expected = "\
ns/p.ocm (Placement p)
4 older

2026-11-23 10:14:03Z  Bound  a Binding was created, by al^[ice
  Bound: 1 of 2 fit
  + one  score 30 (Steady 30)
  Taint/Untolerated refuses 1 target

2026-11-23 10:20:00Z  Moved  ManagedCluster one was updated with kubectl-edit (resourceVersion 17), and 2 more changes, by berth:scheduler
  Bound
  + two
  - one  Taint/Untolerated: drained
  - 2 more
  Taint/Untolerated refuses 1 → 2 targets

2026-11-23 10:21:00Z  Removed  seen at the start of a server (no server recorded the change)
  Bound → gone

2026-11-23 10:22:00Z  Moved  seen at the start of a server (no server recorded the change)
  Bound
  Berth would leave one (Taint/Untolerated: drained)

2026-11-23 10:23:00Z  Moved  seen at the start of a server (no server recorded the change)
  Bound
  Berth agrees

The last 20 changes, for 1 hour, in memory, since the start of the server.
";
    assert_eq!(printed(&history), expected);
}

#[test]
fn no_history_is_told_and_why() {
    let none = |status: Value| {
        printed(&json!({
            "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "DecisionHistory",
            "metadata": {"name": "web.gardener"}, "status": status,
        }))
    };
    assert_eq!(
        none(json!({"keptIn": "Database", "perDecision": 5, "maxAgeSeconds": 0, "records": []})),
        "No changes of \"web\" are recorded.\nThe last 5 changes, in the server's database.\n"
    );
    assert_eq!(
        none(json!({"keptIn": "Database", "perDecision": 0, "maxAgeSeconds": 0, "records": []})),
        "No changes of \"web\" are recorded.\nThe server records no changes: --history-per-decision is 0.\n"
    );
}

#[test]
fn every_line_fits_the_terminal() {
    let long = "the taint that keeps it away is not tolerated; ".repeat(10);
    let source = json!({"apiVersion": "v1", "kind": "Placement", "name": "p"});
    let bound = json!({"phase": "Bound", "clusterCount": 1, "clusters": []});
    let history = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "DecisionHistory",
        "metadata": {"name": "p.ocm", "namespace": "ns"},
        "status": {"keptIn": "Memory", "perDecision": 20, "maxAgeSeconds": 3600, "records": [{
            "name": "p.ocm.1", "at": "2026-11-23T10:20:00Z", "change": "Moved", "decision": "p.ocm", "dialect": "ocm", "sourceRef": source,
            "from": bound, "to": {"phase": "Bound", "message": long, "clusterCount": 0, "clusters": []},
            "clusters": [{"clusterName": "one", "change": "Left",
                          "rejections": [{"plugin": "Taint", "reason": "Untolerated", "message": long}]}],
            "cause": {"type": "Object", "kind": "ManagedCluster", "name": "one-of-a-long-name", "verb": "Updated",
                      "resourceVersion": "17", "fieldManager": "kubectl-edit", "more": 2},
            "actor": {"user": "berth:scheduler"}, "agreement": {"status": "False", "message": long},
        }]},
    });
    for width in [80, 120, 200] {
        let mut out = Vec::new();
        print(
            &mut out,
            HistoryOutput::Table,
            &answer(&history),
            "web",
            Some(width),
        )
        .unwrap();
        let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(text.contains("one-of-a-long-name"), "{text}");
    }
}
