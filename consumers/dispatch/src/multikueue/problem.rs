//! Reasons why clusters are not nominated, for an Event on the Workload.

use thiserror::Error;

/// Reason why clusters are not nominated. Only an Event is written, and the earlier nomination stays.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Problem {
    /// The Workload names no decision.
    #[error(
        "name the decision whose clusters are to be nominated, <object>.<system>, in the label or annotation {}",
        super::DECISION
    )]
    NotNamed,
    /// The Workload names two decisions.
    #[error("the label says {label:?} and the annotation {annotation:?}: leave one of them")]
    NamedTwice {
        /// Value of the label.
        label: String,
        /// Value of the annotation.
        annotation: String,
    },
    /// The name in the Workload is not the name of a decision.
    #[error("{0:?} is no name of a decision: that is <object>.<system>")]
    NoName(String),
    /// The decision does not exist.
    #[error("there is no decision {name}, neither in namespace {namespace} nor as a ClusterDecision")]
    NotFound {
        /// The decision's name.
        name: String,
        /// Namespace of the search.
        namespace: String,
    },
    /// The decision is not bound, or has no cluster.
    #[error("decision {name} is {phase}, with no cluster to nominate{}", after_colon(.why))]
    NotBound {
        /// The decision's name.
        name: String,
        /// The decision's phase.
        phase: String,
        /// Reason why the decision is not bound, if there is one.
        why: String,
    },
    /// The decision has clusters without a MultiKueueCluster.
    #[error(
        "decision {name} has clusters that are no MultiKueueCluster of MultiKueueConfig {config}: {}. A \
         MultiKueueCluster is found by its annotation {}, the ClusterProfile it names, or its own name",
        .clusters.join(", "), super::TARGET
    )]
    NoWorkers {
        /// The decision's name.
        name: String,
        /// The MultiKueueConfig.
        config: String,
        /// The clusters, by the names of their Targets.
        clusters: Vec<String>,
    },
    /// The decision has more clusters than Kueue accepts.
    #[error("decision {name} has {count} clusters, and this Kueue takes {limit} for a Workload")]
    TooMany {
        /// The decision's name.
        name: String,
        /// Number of clusters of the decision.
        count: usize,
        /// Highest number of clusters that Kueue accepts.
        limit: usize,
    },
    /// The MultiKueueConfig of the admission check is missing.
    #[error("MultiKueueConfig {0}, which the admission check names, is not there")]
    NoConfiguration(String),
    /// Another client nominates clusters for the Workload.
    #[error(
        "the clusters that were nominated have been replaced by {0:?}: another dispatcher is at work. Kueue reads its \
         configuration when it starts"
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
    /// The reason of the Event.
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
