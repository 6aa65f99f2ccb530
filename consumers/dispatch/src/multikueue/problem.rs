//! Reason why clusters are not nominated: for an Event on the Workload.

use thiserror::Error;

/// See the module. Nothing is written about any of them, and the earlier nomination stays.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Problem {
    /// No decision is named.
    #[error(
        "name the decision whose clusters are to be nominated, <object>.<system>, in the label or annotation {}",
        super::DECISION
    )]
    NotNamed,
    /// Two are.
    #[error("the label says {label:?} and the annotation {annotation:?}: leave one of them")]
    NamedTwice {
        /// Value of the label.
        label: String,
        /// Value of the annotation.
        annotation: String,
    },
    /// It is not the name of a decision.
    #[error("{0:?} is no name of a decision: that is <object>.<system>")]
    NoName(String),
    /// There is no object of that name.
    #[error("there is no decision {name}, neither in namespace {namespace} nor as a ClusterDecision")]
    NotFound {
        /// Its name.
        name: String,
        /// Namespace of the search.
        namespace: String,
    },
    /// It has no cluster.
    #[error("decision {name} is {phase}, with no cluster to nominate{}", after_colon(.why))]
    NotBound {
        /// Its name.
        name: String,
        /// Its phase.
        phase: String,
        /// Reason why it is not bound, if given.
        why: String,
    },
    /// Clusters that Kueue cannot reach.
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
    /// More than Kueue takes.
    #[error("decision {name} has {count} clusters, and this Kueue takes {limit} for a Workload")]
    TooMany {
        /// The decision's name.
        name: String,
        /// Number of clusters it has.
        count: usize,
        /// Most clusters that Kueue takes.
        limit: usize,
    },
    /// Kueue's own configuration is missing.
    #[error("MultiKueueConfig {0}, which the admission check names, is not there")]
    NoConfiguration(String),
    /// Another client nominates.
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
