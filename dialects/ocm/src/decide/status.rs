//! The status of a Placement: whether it is satisfied, and whether it is well-formed (docs/systems/ocm.md,
//! "Conditions").

use std::sync::Arc;

use berth_dialect_contract::wording::Sentences;
use berth_scheduling::PipelineOutcome;

use crate::detail::Detail;
use crate::kind::{Condition, PlacementStatus};
use crate::names::{MISCONFIGURED, SATISFIED};
use crate::satisfied::SatisfiedCondition;

/// The beginnings of the messages of the conditions. The message of a problem is `<plugin>:<text>`, where the
/// plugin may be empty.
const SENTENCES: Sentences = Sentences(&[
    "no ManagedClusterSetBinding ",
    "no cluster set is bound to namespace ",
    "no cluster set that exists is bound to namespace ",
    "none of the cluster sets asked for (",
    "the bound cluster sets (",
    "numberOfClusters is #",
    "no cluster could be judged",
    "No cluster fits",
    "# cluster decisions unscheduled",
    "every cluster decision is scheduled",
    "the placement is understood",
    ":numberOfClusters is ",
    ":spec.",
    ":[spec.",
    ":there is no built-in prioritizer ",
    "Predicate:spec.",
    "Predicate:[spec.",
    "TaintToleration:spec.",
    "ClusterSet:ManagedClusterSet ",
]);

/// The content of a condition that is to be written: all fields except the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aspect<'a> {
    /// The type of the condition.
    pub(crate) r#type: &'static str,
    /// The status: `True` or `False`.
    pub(crate) status: &'static str,
    /// The reason of the condition, which is a token.
    pub(crate) reason: &'static str,
    /// The message of the condition.
    pub(crate) message: std::borrow::Cow<'a, str>,
}

/// The cluster sets that are available to a placement.
pub(crate) struct AvailableSets<'a> {
    /// The namespace of the placement.
    pub(crate) namespace: &'a str,
    /// The existing sets that are bound to the namespace.
    pub(crate) bound: &'a [Arc<str>],
    /// The sets that are bound to the namespace and do not exist.
    pub(crate) missing: &'a [Arc<str>],
    /// The sets that the placement requests; empty if it requests all bound sets.
    pub(crate) asked: &'a [Arc<str>],
    /// The bound sets that the placement requests.
    pub(crate) sets: &'a [&'a Arc<str>],
    /// Whether the requested sets have any cluster that is not being deleted.
    pub(crate) has_clusters: bool,
}

/// The condition PlacementSatisfied, by the first rule that applies.
pub(crate) fn satisfied(
    available: &AvailableSets<'_>,
    wanted: Option<usize>,
    solved: &PipelineOutcome,
) -> SatisfiedCondition {
    let unmet = |reason, message| SatisfiedCondition {
        status: false,
        reason,
        message,
    };
    let selected = solved.picked.len();
    let AvailableSets {
        namespace,
        bound,
        asked,
        sets,
        ..
    } = available;
    if bound.is_empty() {
        let message = match available.missing {
            [] => {
                format!("no cluster set is bound to namespace {namespace}: create a ManagedClusterSetBinding")
            }
            missing => format!(
                "no cluster set that exists is bound to namespace {namespace}: there is no ManagedClusterSet {}",
                list(missing)
            ),
        };
        return unmet(NO_BINDINGS, message);
    }
    if sets.is_empty() {
        let message = format!(
            "none of the cluster sets asked for ({}) is bound to namespace {namespace}; bound are {}",
            list(asked),
            list(bound)
        );
        return unmet("NoIntersection", message);
    }
    if !available.has_clusters {
        let message = format!(
            "the bound cluster sets ({}) have no clusters, or only clusters that are being deleted",
            list(sets)
        );
        return unmet("AllManagedClusterSetsEmpty", message);
    }
    if selected == 0 {
        // If a cluster was judged, the cause replaces this message.
        let message = match wanted {
            Some(0) => "numberOfClusters is 0",
            _ => "no cluster could be judged",
        };
        return unmet(NOTHING_MATCHED, message.to_owned());
    }
    let unscheduled = wanted.map_or(0, |wanted| wanted.saturating_sub(selected));
    if unscheduled > 0 {
        return unmet(NOT_ALL, format!("{unscheduled} cluster decisions unscheduled"));
    }
    SatisfiedCondition {
        status: true,
        reason: "AllDecisionsScheduled",
        message: "every cluster decision is scheduled".to_owned(),
    }
}

/// The reason of PlacementSatisfied if no existing set is bound to the namespace.
const NO_BINDINGS: &str = "NoManagedClusterSetBindings";
/// The reason of PlacementSatisfied if no cluster is selected.
const NOTHING_MATCHED: &str = "NoManagedClusterMatched";
/// The reason of PlacementSatisfied if fewer clusters are selected than requested.
const NOT_ALL: &str = "NotAllDecisionsScheduled";

/// Adds `cause`, the reason why no cluster or no further cluster fits, to the message of the condition. If no
/// cluster is selected, the cause replaces the message. If too few clusters are selected, the cause follows
/// the count of unscheduled decisions. Other messages stay.
pub(crate) fn add_cause(satisfied: &mut SatisfiedCondition, cause: &str) {
    match satisfied.reason {
        NOTHING_MATCHED => cause.clone_into(&mut satisfied.message),
        NOT_ALL => satisfied.message = format!("{}. {cause}", satisfied.message),
        _ => {}
    }
}

fn list(names: &[impl AsRef<str>]) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
}

impl Detail {
    /// The conditions to be written; none for a placement that was not judged.
    pub(crate) fn aspects(&self) -> Vec<Aspect<'_>> {
        let Some(satisfied) = &self.satisfied else {
            return Vec::new();
        };
        let text = |flag: bool| if flag { "True" } else { "False" };
        let (misconfigured, reason, message) = match &self.problem {
            Some(problem) => (true, "Misconfigured", problem.message().into()),
            None => (false, "Succeedconfigured", "the placement is understood".into()),
        };
        vec![
            Aspect {
                r#type: MISCONFIGURED,
                status: text(misconfigured),
                reason,
                message,
            },
            Aspect {
                r#type: SATISFIED,
                status: text(satisfied.status),
                reason: satisfied.reason,
                message: (&satisfied.message).into(),
            },
        ]
    }
}

/// Whether `known` is the message `ours` without the cause at the end. Another controller writes the message
/// in this form, and would overwrite our message again and again.
fn is_beginning(known: &str, ours: &str) -> bool {
    !known.is_empty()
        && ours
            .strip_prefix(known)
            .is_some_and(|rest| rest.starts_with(". "))
}

/// Whether the status of the decision differs from `stored`.
pub(crate) fn differs(stored: &PlacementStatus, detail: &Detail) -> bool {
    let conditions = detail.aspects().into_iter().any(|aspect| {
        !Condition::find(&stored.conditions, aspect.r#type).is_some_and(|known| {
            *known.status == *aspect.status
                && *known.reason == *aspect.reason
                && (SENTENCES.keeps(&known.message, &aspect.message)
                    || is_beginning(&known.message, &aspect.message))
        })
    });
    let selection = detail.plan.as_ref().is_some_and(|plan| {
        usize::try_from(stored.number_of_selected_clusters) != Ok(plan.selected)
            || stored.decision_groups != plan.groups
    });
    conditions || selection
}
