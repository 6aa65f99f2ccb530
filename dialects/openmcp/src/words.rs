//! Sentences about a decision, rendered only for a reader.

use berth_dialect_contract::{Decision, Outcome};
use berth_scheduling::{Ix, Reason};

use crate::code::Code;
use crate::config::Strategy;
use crate::detail::{Detail, Plan, Step};
use crate::fleet::{Fleet, Operation, Record};
use crate::release::Release;

/// Whether the sentence of a refusal is the same for all clusters.
pub(crate) fn is_alike(reason: Reason) -> bool {
    match Code::of_reason(reason) {
        Code::PurposeNotConfigured
        | Code::SelectorMismatch
        | Code::OutOfScope
        | Code::NeedsExclusive
        | Code::Exclusive
        | Code::Terminating => true,
        Code::PurposeMismatch | Code::Full => false,
    }
}

/// The sentence of one refusal of `candidate`.
pub(crate) fn refusal(fleet: &Fleet, request: &Record, candidate: Ix, reason: Reason) -> String {
    let row = fleet.row(candidate);
    let purpose = &request.requirements.purpose;
    let mapping = fleet.mapping(request);
    match Code::of_reason(reason) {
        Code::PurposeNotConfigured => format!("purpose \"{purpose}\" is not configured"),
        Code::PurposeMismatch if row.purposes().is_empty() => {
            format!("the cluster has no purposes, the request wants \"{purpose}\"")
        }
        Code::PurposeMismatch => {
            let quoted: Vec<String> = row.purposes().iter().map(|one| format!("\"{one}\"")).collect();
            format!(
                "the cluster is for {}, the request wants \"{purpose}\"",
                quoted.join(", ")
            )
        }
        Code::SelectorMismatch => {
            let selector = mapping.map(|mapping| mapping.selector.to_string());
            format!("the labels do not match {}", selector.unwrap_or_default())
        }
        Code::OutOfScope => {
            let namespace = request.object.meta().namespace();
            let only = mapping.map_or(namespace, |mapping| mapping.cluster_namespace(namespace));
            format!("only clusters in namespace \"{only}\" are considered (scope Namespaced)")
        }
        Code::Full => format!(
            "{} requests use the cluster, which takes {}",
            row.used, reason.detail
        ),
        Code::NeedsExclusive => format!("purpose \"{purpose}\" gives each request a cluster of its own"),
        Code::Exclusive => "the cluster is for one request only (tenancy Exclusive)".to_owned(),
        Code::Terminating => "the cluster is being deleted".to_owned(),
    }
}

/// The token and the sentence for a feasible Cluster that was not picked.
pub(crate) fn not_picked(fleet: &Fleet, decision: &Decision, candidate: Ix) -> (&'static str, String) {
    let detail = decision.detail::<Detail>();
    let strategy = detail.map(|detail| detail.strategy).unwrap_or_default();
    let chosen = detail.is_some_and(|detail| detail.chosen);
    let picked = decision.solved.picked.first().map(|&picked| fleet.row(picked));
    let row = fleet.row(candidate);
    let sentence = match picked {
        None => "the request stays with the cluster it was granted".to_owned(),
        Some(picked) if decision.reason == "Kept" => {
            format!("the request stays with cluster {}", picked.record.cluster_name)
        }
        Some(picked) if chosen => format!("cluster {} was asked for", picked.record.cluster_name),
        Some(picked) => {
            let best = &picked.record.cluster_name;
            match strategy {
                Strategy::Balanced if picked.used == row.used => {
                    format!(
                        "as many requests ({}) as cluster {best}, which comes first by name",
                        row.used
                    )
                }
                Strategy::Balanced => {
                    format!("{} requests, cluster {best} has {}", row.used, picked.used)
                }
                Strategy::Random => format!("cluster {best} was picked at random"),
                Strategy::Simple => format!("cluster {best} comes first by name"),
            }
        }
    };
    (strategy.as_str(), sentence)
}

/// The summary of a decision in one line.
pub(crate) fn message(fleet: &Fleet, decision: &Decision) -> String {
    let (Some(request), Some(detail)) = (fleet.request(&decision.demand), decision.detail::<Detail>()) else {
        return String::new();
    };
    let count = fleet.cluster_count();
    let feasible = || format!("{} of {count} clusters feasible", decision.solved.feasible.len());
    match &detail.plan {
        Plan::Grant { place, step, .. } => match step {
            Step::None if decision.outcome == Outcome::Unchanged => {
                format!("bound to {place}; nothing to do")
            }
            Step::None if request.status.cluster.is_some() => {
                format!("bound to {place}; the request is brought up to date")
            }
            Step::None => {
                format!("{place} has the finalizer of the request; the status of the request is restored")
            }
            Step::Join if request.status.cluster.is_some() => {
                format!("bound to {place}; the lost finalizer of the request is restored")
            }
            Step::Join => format!("{}; picked {place}", feasible()),
            Step::Create => format!(
                "{}; {place} is created from the template of purpose \"{}\"",
                feasible(),
                request.requirements.purpose
            ),
            Step::Recreate => format!("{place} no longer exists and is created again"),
        },
        Plan::Fail { message, .. } => message.clone(),
        Plan::Release(release) => release_text(release),
        Plan::Nothing if decision.outcome == Outcome::Ignored => {
            if request.requirements.operation == Operation::Ignore {
                "the request is annotated openmcp.cloud/operation=ignore".to_owned()
            } else {
                let selector = fleet.config.as_ref().map(|config| config.requests.to_string());
                format!(
                    "the labels do not match selectors.requests ({})",
                    selector.unwrap_or_default()
                )
            }
        }
        Plan::Nothing => match &fleet.config_problem {
            Some(problem) => format!("the scheduler's configuration is invalid: {problem}"),
            None => {
                "the scheduler is not configured: create the SchedulerConfiguration \"openmcp\"".to_owned()
            }
        },
    }
}

/// The summary of the release of a request's Clusters.
fn release_text(release: &Release) -> String {
    let names = |deleted: bool| -> Vec<String> {
        let matching = release
            .clusters
            .iter()
            .filter(|cluster| cluster.is_deleted == deleted);
        matching.map(|cluster| cluster.place.to_string()).collect()
    };
    let (kept, deleted) = (names(false), names(true));
    let mut text = "the request is being deleted".to_owned();
    if !kept.is_empty() {
        text.push_str(&format!("; it releases {}", kept.join(", ")));
    }
    if !deleted.is_empty() {
        text.push_str(&format!(
            "; it is the last request of {}, deleted with it",
            deleted.join(", ")
        ));
    }
    if let Some(place) = &release.awaited {
        text.push_str(&format!("; it stays until {place} is gone"));
    }
    text
}
