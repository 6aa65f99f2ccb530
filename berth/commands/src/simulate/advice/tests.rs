//! Output of advice.

use serde_json::json;

use super::*;

fn target(name: &str, advice: &Value) -> Value {
    json!({
        "clusterName": name, "target": format!("{name}.ocm"),
        "rejections": [{"plugin": "P", "reason": "R", "message": "no", "note": "mend \u{1b}[2J it"}],
        "advice": advice,
    })
}

fn status() -> Value {
    let own = json!({"then": "Feasible", "allowed": true, "changes": [{"message": "tolerate it", "whose": "Request"}],
        "patches": [{"command": "kubectl patch x", "kind": "X", "name": "x"}]});
    let label = |name: &str| {
        json!({"then": "Picked", "allowed": false,
        "changes": [{"message": format!("label Cluster {name} a=b"), "whose": "Target"}],
        "patches": [{"kind": "Cluster", "name": name}]})
    };
    json!({
        "targets": [target("a", &json!([label("a"), own])), target("b", &json!([label("b"), own]))],
        "remainingTargets": 2,
        "gaveUp": "too much",
    })
}

fn printed(status: &Value, commands: bool, width: Option<usize>) -> String {
    let mut out = Vec::new();
    edits(&mut out, status, commands, width).unwrap();
    anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
}

#[test]
fn one_edit_is_told_once_with_the_clusters_it_lets_in_and_the_askers_own_first() {
    assert_eq!(
        printed(&status(), true, None),
        "\x20 1. tolerate it\n\
         \x20    → 2 clusters would fit\n\
         \x20    a, b\n\
         \x20    kubectl patch x\n\
         \x20 2. label Cluster … a=b\n\
         \x20    → 2 clusters would be picked, each by this alone\n\
         \x20    a, b\n\
         \x20    the owner of the cluster has to change it; you may not\n\
         \x20    Cluster a\n\
         \x20    Cluster b\n\
         \x20 2 clusters: mend ^[[2J it\n\
         \x20 The nearest 2 clusters were tried, 2 more were not: see berth advice --limit and --cluster.\n\
         \x20 The search ended early: too much\n"
    );
}

#[test]
fn a_note_of_several_rejections_counts_each_cluster_once() {
    let mut twice = target("a", &json!([]));
    let rejections = twice["rejections"].as_array_mut().unwrap();
    let first = rejections[0].clone();
    rejections.push(first);
    let both = json!({"targets": [twice, target("b", &json!([]))]});
    let text = printed(&both, false, None);
    assert!(text.contains("  2 clusters: mend ^[[2J it\n"), "{text}");
}

#[test]
fn commands_are_shown_where_they_are_asked_for() {
    let text = printed(&status(), false, None);
    assert!(!text.contains("kubectl"), "{text}");
    assert!(text.contains("-o wide shows the commands"), "{text}");
}

#[test]
fn every_line_fits_the_terminal() {
    for width in [80, 120, 200] {
        let mut status = status();
        let long = "tolerate the taint that keeps it away; ".repeat(12);
        status["targets"][0]["advice"][1]["changes"][0]["message"] = long.into();
        for line in printed(&status, false, Some(width)).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn where_nothing_helps_that_is_said() {
    let text = printed(&json!({"targets": [target("a", &json!([]))]}), false, None);
    assert!(
        text.starts_with("  No single change makes one of these clusters fit.\n"),
        "{text}"
    );
}

#[test]
fn only_whole_words_are_the_name_of_the_cluster() {
    for (message, shown) in [
        ("label Cluster a a=b", "label Cluster … a=b"),
        ("tolerate the taint a/b of a", "tolerate the taint a/b of …"),
        (
            "remove the taint of \"a\", a, aa",
            "remove the taint of \"…\", …, aa",
        ),
    ] {
        assert_eq!(without_name(message, "a"), shown);
    }
}
