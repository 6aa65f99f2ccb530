//! Clusters that are nominated for a Workload: the clusters of the decision that the Workload names, the best
//! first, under Kueue's names.

use std::collections::{BTreeMap, BTreeSet};

use berth_dialect_contract::names;
use berth_multicluster::{NameRule, Settings, name};
use berth_scheduling_api::decision::{ClusterBinding, Decision};
use berth_scheduling_api::shared::Manifest;

use super::kueue::Worker;
use super::problem::Problem;

/// A cluster that a decision has chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DecidedCluster {
    /// The system's own name of the cluster.
    pub(super) cluster: String,
    /// The reason for the cluster, in the system's own words, and the score.
    pub(super) explanation: String,
    /// The recorded score of the cluster.
    score: Option<i64>,
}

/// The clusters of `decision`, the highest score first. Clusters with equal scores keep the order of the
/// decision, and so do all clusters if a cluster has no score. Clusters that the decision is leaving are left
/// out.
///
/// # Errors
/// When the phase of the decision is neither Bound nor Partial, or no cluster is left.
pub(super) fn ranked(decision: &Manifest<Decision>) -> Result<Vec<DecidedCluster>, Problem> {
    let status = decision.body.status.as_ref();
    let phase = status.map_or("Pending", |status| &*status.phase);
    let bindings = status.into_iter().flat_map(|status| &status.decisions);
    let mut clusters: Vec<DecidedCluster> = bindings
        .filter(|binding| binding.leaving != Some(true))
        .map(decided_cluster)
        .collect();
    if clusters.is_empty() || !matches!(phase, "Bound" | "Partial") {
        let texts = status.map(|status| [&status.reason, &status.message]);
        let texts = texts.into_iter().flatten().flatten();
        let texts: Vec<&str> = texts.map(String::as_str).collect();
        return Err(Problem::NotBound {
            name: decision.metadata("name").to_owned(),
            phase: phase.to_owned(),
            reason: texts.join(": "),
        });
    }
    if clusters.iter().all(|cluster| cluster.score.is_some()) {
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.score));
    }
    Ok(clusters)
}

fn decided_cluster(binding: &ClusterBinding) -> DecidedCluster {
    let reason = Some(&*binding.reason).filter(|reason| !reason.is_empty());
    let parts = [
        reason.map(str::to_owned),
        binding.score.map(|score| format!("score {score}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    DecidedCluster {
        cluster: (*binding.cluster_name).to_owned(),
        explanation: parts.join(", "),
        score: binding.score,
    }
}

/// Checks that the decision `name` has at most `limit` `clusters`, as many as Kueue accepts: each needs a
/// MultiKueueCluster of its own.
///
/// # Errors
/// When there are too many.
pub(super) fn check_count(name: &str, clusters: &[DecidedCluster], limit: usize) -> Result<(), Problem> {
    let distinct: BTreeSet<&str> = clusters.iter().map(|decided| decided.cluster.as_str()).collect();
    let count = distinct.len();
    if count > limit {
        return Err(Problem::TooMany {
            name: name.to_owned(),
            count,
            limit,
        });
    }
    Ok(())
}

/// Input of a nomination: names on the server with the decisions, and the configuration of Kueue in its
/// manager cluster.
pub(super) struct NominationFacts<'a> {
    /// The name of the decision.
    pub(super) decision: &'a str,
    /// The name of the Target without the system, by cluster of the decision.
    pub(super) targets: &'a BTreeMap<String, String>,
    /// The name of the MultiKueueConfig.
    pub(super) config: &'a str,
    /// The existing MultiKueueClusters of the MultiKueueConfig, in the order of its list.
    pub(super) workers: &'a [Worker],
    /// Namespace of Kueue's configuration and of the ClusterProfiles for Kueue.
    pub(super) namespace: &'a str,
}

/// Kueue's names of `clusters`, in the same order.
///
/// # Errors
/// When the decision's name has no system, or a cluster has no MultiKueueCluster.
pub(super) fn nominations(
    clusters: &[DecidedCluster],
    facts: &NominationFacts<'_>,
) -> Result<Vec<String>, Problem> {
    let (_, system) =
        names::split(facts.decision).ok_or_else(|| Problem::NoName(facts.decision.to_owned()))?;
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for decided in clusters {
        let target = facts.targets.get(&decided.cluster);
        match target.and_then(|target| worker(facts, system, target)) {
            Some(worker) if !found.contains(&worker.name) => found.push(worker.name.clone()),
            Some(_) => {}
            None => missing
                .push(target.map_or_else(|| decided.cluster.clone(), |target| names::join(target, system))),
        }
    }
    if !missing.is_empty() {
        return Err(Problem::NoWorkers {
            name: facts.decision.to_owned(),
            config: facts.config.to_owned(),
            clusters: missing,
        });
    }
    Ok(found)
}

/// The MultiKueueCluster of the target `target` of `system`. Names that include the system are tried before
/// the bare name, which may also be the name of another system's target.
fn worker<'a>(facts: &NominationFacts<'a>, system: &str, target: &str) -> Option<&'a Worker> {
    let profile = |names: NameRule| {
        let settings = Settings {
            namespace: facts.namespace.to_owned(),
            names,
            ..Settings::default()
        };
        name::profile(&settings, system, target)
    };
    let names = [
        names::join(target, system),
        profile(NameRule::Qualified),
        profile(NameRule::Bare),
    ];
    let by_name = |name: &String| facts.workers.iter().find(|worker| worker.known_as == *name);
    names.iter().find_map(by_name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn decision(phase: &str, mut decisions: Value) -> Manifest<Decision> {
        for binding in decisions.as_array_mut().unwrap() {
            if binding["reason"].is_null() {
                binding["reason"] = "".into();
            }
        }
        let decision = json!({
            "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Decision", "metadata": {"name": "p.ocm"},
            "status": {"phase": phase, "decisions": decisions},
        });
        serde_json::from_value(decision).unwrap()
    }

    fn order(decision: &Manifest<Decision>) -> Vec<String> {
        let clusters = ranked(decision).expect("there are clusters");
        clusters.into_iter().map(|decided| decided.cluster).collect()
    }

    #[test]
    fn the_best_cluster_is_first_and_leaving_clusters_are_left_out() {
        let scored = decision(
            "Bound",
            json!([
                {"clusterName": "a", "score": 1},
                {"clusterName": "b", "score": 9, "reason": "picked"},
                {"clusterName": "c", "score": 20, "leaving": true},
                {"clusterName": "d", "score": 9},
            ]),
        );
        assert_eq!(order(&scored), ["b", "d", "a"]);
        assert_eq!(ranked(&scored).unwrap()[0].explanation, "picked, score 9");
        let partly = decision(
            "Partial",
            json!([{"clusterName": "b", "score": 1}, {"clusterName": "a"}]),
        );
        assert_eq!(order(&partly), ["b", "a"]);
    }

    #[test]
    fn the_problem_of_an_unbound_decision_has_the_reason() {
        let mut unplaced = decision("Unschedulable", json!([]));
        let status = unplaced.body.status.as_mut().unwrap();
        status.reason = Some("NoFit".to_owned());
        status.message = Some("0 of 3 clusters fit".to_owned());
        let problem = ranked(&unplaced).unwrap_err().to_string();
        assert_eq!(
            problem,
            "decision p.ocm is Unschedulable, with no cluster to nominate: NoFit: 0 of 3 clusters fit"
        );
        for phase in ["Pending", "Releasing", "Ignored"] {
            let problem = ranked(&decision(phase, json!([{"clusterName": "a"}]))).unwrap_err();
            assert_eq!(problem.reason(), "DecisionNotBound", "{phase}");
        }
    }

    fn decided_clusters(names: &[&str]) -> Vec<DecidedCluster> {
        let all: Vec<Value> = names.iter().map(|name| json!({"clusterName": name})).collect();
        ranked(&decision("Bound", json!(all))).unwrap()
    }

    fn worker_of(name: &str, known_as: &str) -> Worker {
        Worker {
            name: name.to_owned(),
            known_as: known_as.to_owned(),
        }
    }

    fn nominated(clusters: &[&str], workers: &[Worker]) -> Result<Vec<String>, Problem> {
        let targets = clusters
            .iter()
            .map(|name| ((*name).to_owned(), name.replace('/', ".")));
        let facts = NominationFacts {
            decision: "p.ocm",
            targets: &targets.collect(),
            config: "workers",
            workers,
            namespace: "kueue-system",
        };
        nominations(&decided_clusters(clusters), &facts)
    }

    #[test]
    fn clusters_have_kueues_names_in_the_order_of_the_decision() {
        let workers = [
            worker_of("one", "c1.ocm"),
            worker_of("c2", "c2"),
            worker_of("other-c1", "c1"),
            worker_of("three", "ns.c3.ocm"),
        ];
        assert_eq!(
            nominated(&["ns/c3", "c2", "c1"], &workers).unwrap(),
            ["three", "c2", "one"],
            "a name with its system comes before a bare one"
        );
        assert_eq!(nominated(&["c1"], &workers[1..]).unwrap(), ["other-c1"]);
    }

    #[test]
    fn a_profile_with_a_shortened_name_is_found() {
        let long = "a-cluster-with-a-name-that-is-much-too-long-for-a-label-value-1";
        let settings = Settings {
            namespace: "kueue-system".to_owned(),
            ..Settings::default()
        };
        let workers = [worker_of("w", &name::profile(&settings, "ocm", long))];
        assert_eq!(nominated(&[long], &workers).unwrap(), ["w"]);
    }

    #[test]
    fn all_clusters_without_a_worker_are_named_and_nothing_is_nominated() {
        let problem = nominated(&["c1", "c2", "c3"], &[worker_of("c1", "c1")]).unwrap_err();
        assert_eq!(problem.reason(), "ClusterNotInMultiKueue");
        assert!(
            problem
                .to_string()
                .contains("MultiKueueConfig workers: c2.ocm, c3.ocm."),
            "{problem}"
        );
    }

    #[test]
    fn more_clusters_than_kueue_accepts_are_an_error() {
        let clusters = decided_clusters(&["a", "b", "c", "c"]);
        let problem = check_count("p.ocm", &clusters, 2).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "decision p.ocm has 3 clusters, and this Kueue takes at most 2 for a Workload: let the decision choose fewer clusters"
        );
        assert_eq!(check_count("p.ocm", &clusters, 3), Ok(()));
    }
}
