//! Forms of a plan.

use super::*;

fn plan() -> Value {
    json!({
        "counts": {"lost": 1, "moved": 1, "same": 2},
        "decided": 4,
        "entries": [
            {
                "dialect": "ocm", "kind": "Placement", "namespace": "ns", "name": "p.ocm", "verdict": "Moved",
                "left": ["c1"], "joined": ["c2", "c3", "c4", "c5"], "leftCount": 1, "joinedCount": 4,
                "after": {"outcome": "Scheduled", "message": "ok"},
                "candidates": [{
                    "clusterName": "c1",
                    "appeared": [{"plugin": "TaintToleration", "reason": "Untolerated", "message": "taint a|b"}],
                }],
            },
            {
                "dialect": "gardener", "kind": "Shoot", "namespace": "garden", "name": "s.gardener", "verdict": "Lost",
                "left": ["seed"], "joined": [], "leftCount": 1, "joinedCount": 0,
                "after": {"outcome": "Unschedulable", "message": "no seed"}, "candidates": [],
            },
        ],
    })
}

fn printed(plan: &Value, form: SimulateOutput) -> String {
    let mut out = Vec::new();
    print(&mut out, plan, form).unwrap();
    anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
}

#[test]
fn counts_come_first_and_every_row_says_why() {
    let text = printed(&plan(), SimulateOutput::Table);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "2 decisions change: 1 Lost, 1 Moved; 2 decided again as before."
    );
    assert!(lines[3].contains("c2, c3, c4 and 1 more"), "{text}");
    assert!(
        lines[3].ends_with("TaintToleration/Untolerated: taint a|b"),
        "{text}"
    );
    assert!(lines[4].ends_with("no seed"), "{text}");
}

#[test]
fn amounts_have_a_column_where_any_changes() {
    let mut plan = plan();
    plan["counts"] = json!({"moved": 1, "resized": 1});
    plan["entries"][1]["verdict"] = "Resized".into();
    plan["entries"][1]["resized"] = json!([{"clusterName": "seed", "from": 6, "to": 4}]);
    plan["entries"][1]["resizedCount"] = 1.into();
    let text = printed(&plan, SimulateOutput::Table);
    assert!(text.contains("1 Moved, 1 Resized"), "{text}");
    assert!(text.contains("RESIZES") && text.contains("seed 6 → 4"), "{text}");
    let without = printed(&super::tests::plan(), SimulateOutput::Markdown);
    assert!(!without.contains("resizes"), "{without}");
}

#[test]
fn markdown_keeps_what_would_break_its_table_in_its_cell() {
    let text = printed(&plan(), SimulateOutput::Markdown);
    assert!(text.starts_with("**2 decisions change"), "{text}");
    assert!(
        text.contains("| taint a\\|b |") || text.contains("taint a\\|b |"),
        "{text}"
    );
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 4);
}

#[test]
fn json_and_yaml_are_a_review_with_the_plan_as_its_answer() {
    let value: Value = serde_json::from_str(&printed(&plan(), SimulateOutput::Json)).unwrap();
    assert_eq!(value["status"]["plan"], plan());
    let value: Value = serde_saphyr::from_str(&printed(&plan(), SimulateOutput::Yaml)).unwrap();
    assert_eq!(
        (&value["kind"], &value["status"]["plan"]),
        (&json!("SchedulingReview"), &plan())
    );
}

#[test]
fn nothing_changes_is_said_in_one_line() {
    let plan = json!({"counts": {"same": 3}, "entries": []});
    assert_eq!(
        printed(&plan, SimulateOutput::Table),
        "No decision changes; 3 decided again as before.\n"
    );
    assert_eq!(changed_count(&plan), 0);
}

#[test]
fn every_line_fits_the_terminal() {
    let mut plan = plan();
    let long = "the taint is not tolerated; ".repeat(12);
    plan["entries"][1]["after"]["message"] = long.into();
    for width in [80, 120, 200] {
        let mut out = Vec::new();
        table(&mut out, &plan, Some(width)).unwrap();
        let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(text.contains("c2, c3, c4 and 1 more"), "{text}");
    }
}
