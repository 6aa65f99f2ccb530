//! Sentences for codes, rendered only for a reader of a decision.

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
        Code::NotUnderstood
        | Code::SelectorMismatch
        | Code::OutOfScope
        | Code::NeedsOwn
        | Code::Exclusive
        | Code::Terminating => true,
        Code::PurposeMismatch | Code::Full => false,
    }
}

/// The sentence of one refusal of `candidate`.
pub(crate) fn refusal(fleet: &Fleet, request: &Record, candidate: Ix, reason: Reason) -> String {
    let row = fleet.row(candidate);
    let purpose = &request.wants.purpose;
    let mapping = fleet.mapping(request);
    match Code::of_reason(reason) {
        Code::NotUnderstood => format!("purpose \"{purpose}\" is not configured"),
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
            let only = mapping.map_or(namespace, |mapping| mapping.home(namespace));
            format!("only clusters in namespace \"{only}\" are looked at (scope Namespaced)")
        }
        Code::Full => format!(
            "{} requests use the cluster, which takes {}",
            row.used, reason.detail
        ),
        Code::NeedsOwn => format!("purpose \"{purpose}\" gives each request a cluster of its own"),
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
                Strategy::Random => format!("cluster {best} was drawn"),
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
    let count = fleet.clusters();
    let feasible = || format!("{} of {count} clusters feasible", decision.solved.feasible.len());
    match &detail.plan {
        Plan::Grant { place, step, .. } => match step {
            Step::None if decision.outcome == Outcome::Unchanged => {
                format!("bound to {place}; nothing to do")
            }
            Step::None if request.status.cluster.is_some() => {
                format!("bound to {place}; the request is brought up to date")
            }
            Step::None => format!("{place} carries the finalizer of the request; its status says so again"),
            Step::Join if request.status.cluster.is_some() => {
                format!("bound to {place}; its lost finalizer is put back")
            }
            Step::Join => format!("{}; picked {place}", feasible()),
            Step::Create => format!(
                "{}; {place} is made from the template of purpose \"{}\"",
                feasible(),
                request.wants.purpose
            ),
            Step::Recreate => format!("{place} is gone and made again"),
        },
        Plan::Fail { message, .. } => message.clone(),
        Plan::Release(release) => release_text(release),
        Plan::Nothing if decision.outcome == Outcome::Ignored => {
            if request.wants.operation == Operation::Ignore {
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

fn release_text(release: &Release) -> String {
    let names = |deleted: bool| -> Vec<String> {
        let matching = release
            .leaves
            .iter()
            .filter(|(_, is_deleted)| *is_deleted == deleted);
        matching.map(|(place, _)| place.to_string()).collect()
    };
    let (left, deleted) = (names(false), names(true));
    let mut text = "the request is being deleted".to_owned();
    if !left.is_empty() {
        text.push_str(&format!("; it leaves {}", left.join(", ")));
    }
    if !deleted.is_empty() {
        text.push_str(&format!(
            "; {} go with it, their last request",
            deleted.join(", ")
        ));
    }
    if let Some(place) = &release.awaited {
        text.push_str(&format!("; it stays until {place} is gone"));
    }
    text
}
