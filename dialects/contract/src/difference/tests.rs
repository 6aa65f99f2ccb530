//! Tables of two reports and their difference.

use serde_json::json;

use super::*;

/// A name, the candidates before and after, and the differences.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

/// Parses `name verdict score reason...`, such as `a Picked 10` or `b Refused - Taints/NoSelect`.
fn candidate(line: &'static str) -> Candidate {
    let words: Vec<&'static str> = line.split(' ').collect();
    let score = words[2].parse().ok();
    Candidate {
        cluster_name: words[0].into(),
        target: format!("{}.toy", words[0]),
        feasible: words[1] != "Refused",
        out_of_scope: false,
        picked: words[1] == "Picked",
        amount: None,
        rank: None,
        score,
        scores: score
            .map(|value| Score {
                plugin: "Room".into(),
                value: Some(value),
                weight: 1,
                weighted: value,
                message: String::new(),
            })
            .into_iter()
            .collect(),
        rejections: words[3..].iter().map(|word| rejection(word)).collect(),
    }
}

/// Parses `Plugin/Token` or `Plugin/Token=message`.
fn rejection(word: &'static str) -> RejectionEntry {
    let (token, message) = word.split_once('=').unwrap_or((word, ""));
    let (plugin, reason) = token.split_once('/').expect("Plugin/Token");
    RejectionEntry {
        plugin: plugin.into(),
        reason: reason.into(),
        message: message.to_owned(),
    }
}

fn report(outcome: &'static str, candidates: &[&'static str]) -> Report {
    let candidates: Vec<Candidate> = candidates.iter().map(|line| candidate(line)).collect();
    Report {
        outcome: outcome.into(),
        reason: outcome.into(),
        message: String::new(),
        warnings: Vec::new(),
        rules: None,
        amount: None,
        evaluated_at: String::new(),
        inventory_revision: "1".to_owned(),
        picked: Vec::new(),
        current: Vec::new(),
        changes: Vec::new(),
        candidates,
        remaining_candidates: None,
        funnel: Vec::new(),
        wanted: None,
        reason_counts: None,
        conditions: Vec::new(),
        writes: Vec::new(),
        advice: None,
    }
}

/// The clusters that differ as `name From->To +appeared -gone`, with `score a->b` if the score differs.
fn shown(difference: &Difference) -> Vec<String> {
    let one = |candidate: &CandidateDifference| {
        let mut line = candidate.cluster_name.clone();
        if let Some(ValueChange { from, to }) = candidate.verdict {
            line.push_str(&format!(" {}->{}", from.as_str(), to.as_str()));
        }
        if let Some(ValueChange { from, to }) = candidate.score {
            line.push_str(&format!(" score {from:?}->{to:?}"));
        }
        for entry in &candidate.appeared {
            line.push_str(&format!(" +{}/{}", entry.plugin, entry.reason));
        }
        for entry in &candidate.gone {
            line.push_str(&format!(" -{}/{}", entry.plugin, entry.reason));
        }
        line
    };
    difference.candidates.iter().map(one).collect()
}

#[test]
fn verdicts_scores_and_reasons_that_changed_are_told() {
    let table: &[Row] = &[
        ("nothing", &["a Picked 1"], &["a Picked 1"], &[]),
        (
            "a cluster becomes refused and another takes its place",
            &["a Picked 9", "b Feasible 5 /NotPicked"],
            &["a Refused - Taints/NoSelect", "b Picked 5"],
            &[
                "a Picked->Refused score Some(9)->None +Taints/NoSelect",
                "b Feasible->Picked -/NotPicked",
            ],
        ),
        (
            "one of two reasons goes",
            &["a Refused - P/X Q/Y"],
            &["a Refused - Q/Y"],
            &["a -P/X"],
        ),
        (
            "a reason of the same token says something else",
            &["a Refused - P/X=one"],
            &["a Refused - P/X=two"],
            &["a +P/X -P/X"],
        ),
        (
            "why a feasible cluster was not picked counts others, and is compared by its token",
            &["a Feasible 1 /NotPicked=3rd"],
            &["a Feasible 1 /NotPicked=4th"],
            &[],
        ),
        (
            "a cluster comes and one goes",
            &["a Feasible 1"],
            &["b Refused - P/X"],
            &["a Feasible->Absent score Some(1)->None", "b Absent->Refused +P/X"],
        ),
        (
            "only a score",
            &["a Picked 1"],
            &["a Picked 2"],
            &["a score Some(1)->Some(2)"],
        ),
    ];
    for (name, before, after, expected) in table {
        let found = difference(&report("Scheduled", before), &report("Scheduled", after));
        assert_eq!(shown(&found), *expected, "{name}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{name}");
    }
}

#[test]
fn the_counts_are_of_verdicts_and_of_scores_alone() {
    let before = report(
        "Scheduled",
        &[
            "a Picked 9",
            "b Feasible 5",
            "c Refused - P/X",
            "d Feasible 3",
            "e Picked 1",
        ],
    );
    let after = report(
        "Partial",
        &["a Refused - P/X", "b Picked 5", "c Feasible 1", "d Feasible 4"],
    );
    let found = difference(&before, &after);
    assert_eq!(
        found.counts,
        Counts {
            picked: 1,
            dropped: 2,
            fits: 1,
            refused: 2,
            resized: 0,
            rescored: 1
        }
    );
    assert_eq!(
        found.outcome,
        ValueChange::of("Scheduled".to_owned(), "Partial".to_owned())
    );
}

#[test]
fn a_cluster_that_will_be_made_is_a_pick_like_others() {
    let mut after = report("Provision", &["a Refused - P/X"]);
    after.picked.push(Pick {
        cluster_name: "new".into(),
        target: String::new(),
        rank: None,
        score: None,
        scores: Vec::new(),
        amount: None,
        reason: "Created".into(),
    });
    let found = difference(&report("Unschedulable", &["a Refused - P/X"]), &after);
    assert_eq!(shown(&found), ["new Absent->Picked"]);
}

#[test]
fn the_same_clusters_with_other_amounts_are_a_difference() {
    let sized = |amount: i64| {
        let mut all = report("Scheduled", &["a Picked -", "b Picked -"]);
        for candidate in &mut all.candidates {
            candidate.amount = Some(if *candidate.cluster_name == *"a" {
                amount
            } else {
                3
            });
        }
        all
    };
    let found = difference(&sized(5), &sized(7));
    assert_eq!(found.counts.resized, 1);
    let [a] = &found.candidates[..] else {
        panic!("{found:?}")
    };
    assert_eq!((a.cluster_name.as_str(), &a.verdict), ("a", &None));
    assert_eq!(a.amount, ValueChange::of(Some(5), Some(7)));
    assert!(difference(&sized(5), &sized(5)).is_empty());
}

#[test]
fn it_is_the_other_way_round_the_other_way_round() {
    let one = report("Scheduled", &["a Picked 9", "b Refused - P/X"]);
    let two = report("Partial", &["a Feasible 7 /NotPicked", "c Picked 1"]);
    let (there, back) = (difference(&one, &two), difference(&two, &one));
    assert_eq!(there.candidates.len(), back.candidates.len());
    for (one, two) in there.candidates.iter().zip(&back.candidates) {
        assert_eq!(
            (&one.cluster_name, &one.appeared, &one.gone),
            (&two.cluster_name, &two.gone, &two.appeared)
        );
    }
}

#[test]
fn as_json_only_what_differs_is_there() {
    let found = difference(
        &report("Scheduled", &["a Picked 1", "b Feasible 1"]),
        &report("Scheduled", &["a Refused - P/X", "b Feasible 1"]),
    );
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        json!({
            "counts": {"picked": 0, "dropped": 1, "fits": 0, "refused": 1, "resized": 0, "rescored": 0},
            "candidates": [{
                "clusterName": "a", "target": "a.toy",
                "verdict": {"from": "Picked", "to": "Refused"},
                "score": {"from": 1, "to": null},
                "scores": [{"plugin": "Room", "from": 1}],
                "appeared": [{"plugin": "P", "reason": "X", "message": ""}],
            }],
        })
    );
}
