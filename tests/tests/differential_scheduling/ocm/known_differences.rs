//! Known differences from OCM's controller: docs/systems/ocm.md, "Differences from upstream".

use serde_json::{Value, json};

use crate::known_differences::{Case, KnownDifference};

pub(super) const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        why: "a malformed toleration is told whether or not a cluster passes the predicates; OCM looks at tolerations once one does",
        settle: |case, theirs, ours| {
            let unread = theirs["problem"].is_null() && ours["problem"] == "Misconfigured";
            if unread && malformed(case) && nothing_passes(theirs) {
                *theirs = ours.clone();
            }
        },
    },
    KnownDifference {
        why: "a Placement that is misconfigured keeps its decisions; OCM empties them",
        settle: |_, theirs, ours| {
            if theirs["problem"] == "Misconfigured" && ours["problem"] == "Misconfigured" {
                for part in ["decisions", "groups", "selected"] {
                    ours["written"][part] = theirs["written"][part].clone();
                }
            }
        },
    },
    KnownDifference {
        why: "expressions run on clusters that may be chosen from; OCM's filter, asked by itself, runs them on any",
        settle: |case, theirs, ours| {
            let spec = &case.object("Placement")["spec"];
            let predicates = spec["predicates"].as_array().into_iter().flatten();
            let mut selectors =
                predicates.map(|predicate| &predicate["requiredClusterSelector"]["celSelector"]);
            if selectors.any(|selector| !selector.is_null()) {
                without(&mut theirs["refused"], "Predicate");
                without(&mut ours["refused"], "Predicate");
            }
        },
    },
    KnownDifference {
        why: "where there is nothing to choose from, malformed tolerations tolerate nothing; OCM's filter does not answer then",
        settle: |case, theirs, ours| {
            if malformed(case) {
                without(&mut theirs["refused"], "TaintToleration");
                without(&mut ours["refused"], "TaintToleration");
            }
        },
    },
    KnownDifference {
        why: "labels of a PlacementDecision that was there follow its list at once; OCM patches them a run later",
        settle: |case, theirs, ours| {
            for there in case.objects("PlacementDecision") {
                let name = there["metadata"]["name"].as_str().unwrap_or_default();
                let at = format!("/written/decisions/{name}");
                if let (Some(old), Some(new)) = (theirs.pointer_mut(&at), ours.pointer(&at))
                    && old["labels"] == there["metadata"]["labels"]
                {
                    old["labels"] = new["labels"].clone();
                }
            }
        },
    },
];

fn malformed(case: &Case<'_>) -> bool {
    let tolerations = case.object("Placement")["spec"]["tolerations"].as_array();
    tolerations.into_iter().flatten().any(|toleration| {
        let empty = |field: &str| toleration[field].as_str().unwrap_or_default().is_empty();
        let exists = toleration["operator"] == "Exists";
        (empty("key") && !exists) || (exists && !empty("value"))
    })
}

/// Whether each cluster is refused before the filter of taints.
fn nothing_passes(theirs: &Value) -> bool {
    theirs["picked"] == json!([]) && theirs["totals"].is_null()
}

/// Removes the verdicts of `filter` about clusters that are not candidates.
fn without(refused: &mut Value, filter: &str) {
    let all = refused
        .as_object_mut()
        .into_iter()
        .flat_map(|all| all.values_mut());
    for filters in all.filter_map(Value::as_array_mut) {
        if filters.first().is_some_and(|first| first == "Candidates") {
            filters.retain(|one| one != filter);
        }
    }
}
