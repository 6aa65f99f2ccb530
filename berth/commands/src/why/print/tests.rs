//! Output of a report.

use serde_json::json;

use super::*;

fn question(output: WhyOutput, cluster: Option<&str>) -> WhyQuestion {
    WhyQuestion {
        object: vec!["web.gardener".to_owned()],
        cluster: cluster.map(str::to_owned),
        output,
        all: false,
        all_namespaces: false,
        origin: crate::args::OriginArgs::default(),
    }
}

fn report() -> Value {
    let refused =
        |plugin: &str, reason: &str| json!({"plugin": plugin, "reason": reason, "message": "as it is"});
    json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Scheduling",
        "metadata": {"namespace": "dev", "name": "web.ocm"},
        "spec": {"dialect": "ocm", "sourceRef": {"apiVersion": "v1", "kind": "Placement", "namespace": "dev", "name": "web"}},
        "status": {
            "outcome": "Scheduled", "reason": "Picked", "message": "1 of 3 picked",
            "wanted": 2, "picked": [{"clusterName": "a", "reason": "Picked"}],
            "evaluatedAt": "2026-11-23T10:14:03Z", "inventoryRevision": "1",
            "current": [], "conditions": [], "writes": [],
            "changes": [
                {"action": "Bind", "clusterName": "a"},
                {"action": "Unbind", "clusterName": "gone", "from": "Bound"},
            ],
            "candidates": [
                {"clusterName": "a", "target": "a.ocm", "feasible": true, "picked": true, "rank": 1, "score": 140,
                 "scores": [{"plugin": "Steady", "value": 100, "weight": 1, "weighted": 100},
                            {"plugin": "Balance", "value": 20, "weight": 2, "weighted": 40}],
                 "rejections": []},
                {"clusterName": "b", "target": "b.ocm", "feasible": true, "picked": false, "rank": 2, "score": 20,
                 "scores": [], "rejections": [refused("", "LowerRank")]},
                {"clusterName": "x/c", "target": "c.ocm", "feasible": false, "picked": false,
                 "rejections": [refused("Predicate", "PredicateMismatch"), refused("Taint", "\u{1b}[2JUntolerated")]},
            ],
        },
    })
}

fn printed(question: &WhyQuestion, report: &Value, counts: &[ReasonCount]) -> String {
    let mut out = Vec::new();
    let read = serde_json::from_value(report.clone()).unwrap();
    let answer = Answer {
        raw: report,
        parsed: &read,
    };
    print(&mut out, question, &answer, counts, None).unwrap();
    anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
}

#[test]
fn the_table_has_every_cluster_with_every_reason() {
    let text = printed(&question(WhyOutput::Table, None), &report(), &[]);
    let expected = "\
Placement dev/web (ocm): would be placed on 1 of 2
  1 of 3 picked
  CLUSTER  RANK  SCORE  RESULT               REASON
  a        1     140    would be placed
  b        2     20     not picked           LowerRank: as it is
  c (x/c)               refused              Predicate/PredicateMismatch: as it is
                                             Taint/^[[2JUntolerated: as it is
  gone                  would leave (Bound)
";
    assert_eq!(text, expected);
}

#[test]
fn wide_has_the_parts_of_each_score() {
    let text = printed(&question(WhyOutput::Wide, None), &report(), &[]);
    assert!(text.contains("Steady 100, Balance 20 × 2"), "{text}");
}

#[test]
fn one_cluster_is_told_in_a_sentence_and_its_reasons() {
    let mut refused = report();
    refused["status"]["candidates"].as_array_mut().unwrap().drain(..2);
    let text = printed(&question(WhyOutput::Table, Some("c")), &refused, &[]);
    assert!(
        text.contains("c (x/c) is refused:\n    Predicate/PredicateMismatch: as it is\n"),
        "{text}"
    );
    let mut picked = report();
    picked["status"]["candidates"].as_array_mut().unwrap().truncate(1);
    let text = printed(&question(WhyOutput::Table, Some("a")), &picked, &[]);
    assert!(
        text.contains("a is picked, rank 1\n    score 140: Steady 100, Balance 20 × 2\n"),
        "{text}"
    );
}

#[test]
fn a_long_fleet_is_cut_with_counts_of_all() {
    let mut cut = report();
    cut["status"]["remainingCandidates"] = 7.into();
    let counts = [ReasonCount {
        plugin: "Taint".into(),
        reason: "Untolerated".into(),
        targets: 8,
        message: "it is not tolerated".to_owned(),
    }];
    let text = printed(&question(WhyOutput::Table, None), &cut, &counts);
    assert!(
        text.ends_with("  … and 7 more (--all shows them); of all: 8 Taint/Untolerated\n"),
        "{text}"
    );
}

#[test]
fn the_name_is_as_kubectl_prints_it() {
    let text = printed(&question(WhyOutput::Name, None), &report(), &[]);
    assert_eq!(text, "decision.scheduling.berth.dev/web.ocm\n");
}

#[test]
fn every_line_fits_the_terminal() {
    for width in [80, 120, 200] {
        for output in [WhyOutput::Table, WhyOutput::Wide] {
            let mut report = report();
            report["status"]["message"] = "No cluster fits; ".repeat(40).into();
            report["status"]["warnings"] = json!(["a field has no effect; ".repeat(20)]);
            for candidate in report["status"]["candidates"].as_array_mut().unwrap() {
                candidate["rejections"] = json!([{"plugin": "Predicate", "reason": "PredicateMismatch", "message": "asks for ".repeat(30)}]);
            }
            let mut out = Vec::new();
            let read = serde_json::from_value(report.clone()).unwrap();
            let answer = Answer {
                raw: &report,
                parsed: &read,
            };
            print(&mut out, &question(output, None), &answer, &[], Some(width)).unwrap();
            let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            assert!(text.contains("Predicate/PredicateMismatch"), "{text}");
        }
    }
}
