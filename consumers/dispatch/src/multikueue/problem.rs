//! Reasons why clusters are not nominated for a Workload, for an Event on the Workload.

use thiserror::Error;

/// Reason why clusters are not nominated for a Workload. An earlier nomination stays, and an Event is
/// written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Problem {
    /// The Workload names no decision.
    #[error(
        "name the decision whose clusters are to be nominated, <object>.<system>, in the label or annotation {}",
        super::DECISION
    )]
    NotNamed,
    /// The Workload names two different decisions.
    #[error(
        "label and annotation {} name different decisions, {label:?} and {annotation:?}: remove one of the two",
        super::DECISION
    )]
    NamedTwice {
        /// Value of the label.
        label: String,
        /// Value of the annotation.
        annotation: String,
    },
    /// The name in the Workload is not the name of a decision.
    #[error("{0:?} is not the name of a decision, which has the form <object>.<system>")]
    NoName(String),
    /// The decision does not exist.
    #[error("there is no decision {name}, neither in namespace {namespace} nor as a ClusterDecision")]
    NotFound {
        /// The decision's name.
        name: String,
        /// Namespace of the Workload.
        namespace: String,
    },
    /// The decision is not bound, or has no cluster.
    #[error("decision {name} is {phase}, with no cluster to nominate{}", after_colon(.reason))]
    NotBound {
        /// The decision's name.
        name: String,
        /// The decision's phase.
        phase: String,
        /// Reason and message of the decision; empty if it has none.
        reason: String,
    },
    /// The decision has clusters without a MultiKueueCluster.
    #[error(
        "decision {name} has clusters without a MultiKueueCluster in MultiKueueConfig {config}: {}. Add one for each \
         cluster; it is found by the annotation {}, by its ClusterProfile, or by its own name",
        .clusters.join(", "), super::TARGET
    )]
    NoWorkers {
        /// The decision's name.
        name: String,
        /// The name of the MultiKueueConfig.
        config: String,
        /// The clusters, by the names of their Targets.
        clusters: Vec<String>,
    },
    /// The decision has more clusters than Kueue accepts.
    #[error(
        "decision {name} has {count} clusters, and this Kueue takes at most {limit} for a Workload: let the decision \
         choose fewer clusters"
    )]
    TooMany {
        /// The decision's name.
        name: String,
        /// Number of clusters of the decision.
        count: usize,
        /// Highest number of clusters that Kueue accepts.
        limit: usize,
    },
    /// The MultiKueueConfig of the admission check is missing.
    #[error(
        "MultiKueueConfig {0}, which the admission check names, does not exist: create it, or correct the check"
    )]
    NoConfiguration(String),
    /// Another client repeatedly replaces the nominated clusters.
    #[error(
        "the nominated clusters have been replaced by {0:?}: another dispatcher nominates clusters for this Workload. \
         Kueue reads dispatcherName only when it starts: restart Kueue if it was changed"
    )]
    Replaced(Vec<String>),
}

fn after_colon(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}

impl Problem {
    /// The reason of the Event: a word in CamelCase.
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::NotNamed => "DecisionNotNamed",
            Self::NamedTwice { .. } => "DecisionAmbiguous",
            Self::NoName(_) => "DecisionInvalid",
            Self::NotFound { .. } => "DecisionNotFound",
            Self::NotBound { .. } => "DecisionNotBound",
            Self::NoWorkers { .. } => "ClusterNotInMultiKueue",
            Self::TooMany { .. } => "TooManyClusters",
            Self::NoConfiguration(_) => "MultiKueueConfigNotFound",
            Self::Replaced(_) => "NominationReplaced",
        }
    }
}
