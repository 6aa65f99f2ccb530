//! The cluster sets, Placements and PlacementDecisions of a hub, each parsed once per change.

use std::sync::Arc;

use berth_apimachinery::selector::Selector;
use berth_apimachinery::{Labels, Object};

use crate::cel;
use crate::kind::{self, ManagedClusterSet, PlacementStatus, SelectorType};
use crate::names::{DISABLE_ANNOTATION, PLACEMENT_LABEL, SET_LABEL};
use crate::policy::{Policies, Policy};

/// The rule by which clusters belong to a set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Membership {
    /// The clusters whose set label names the set.
    Label,
    /// The clusters that the selector matches.
    Selector(Selector),
    /// No cluster: the set is of the type LabelSelector, but has no selector.
    Empty,
    /// An unknown rule: the set cannot be read, for this reason.
    Unreadable(String),
}

/// A ManagedClusterSet.
#[derive(Debug)]
pub(crate) struct ClusterSet {
    /// The rule by which clusters belong to the set.
    pub(crate) membership: Membership,
}

impl ClusterSet {
    /// Creates the record of a set.
    ///
    /// # Errors
    /// The problem of the selector of the set.
    pub(crate) fn new(view: &ManagedClusterSet) -> Result<Self, String> {
        let selector = &view.spec.cluster_selector;
        let membership = match (selector.selector_type, &selector.label_selector) {
            (SelectorType::ExclusiveClusterSetLabel, _) => Membership::Label,
            (SelectorType::LabelSelector, None) => Membership::Empty,
            (SelectorType::LabelSelector, Some(labels)) => Membership::Selector(
                Selector::compile(labels, "spec.clusterSelector.labelSelector")
                    .map_err(|errors| berth_apimachinery::field::aggregate(&errors))?,
            ),
        };
        Ok(Self { membership })
    }

    /// The record of a set that cannot be read because of `problem`. The set still exists: without a record it
    /// would count as missing, and its clusters would leave all decisions.
    pub(crate) fn unreadable(problem: String) -> Self {
        Self {
            membership: Membership::Unreadable(problem),
        }
    }

    /// The reason why the set cannot be read; `None` if it can.
    pub(crate) fn problem(&self) -> Option<&str> {
        match &self.membership {
            Membership::Unreadable(problem) => Some(problem),
            Membership::Label | Membership::Selector(_) | Membership::Empty => None,
        }
    }

    /// Whether a cluster with `labels` belongs to the set, which is named `name`. No cluster is known to belong
    /// to a set that cannot be read.
    pub(crate) fn has(&self, name: &str, labels: &Labels) -> bool {
        match &self.membership {
            Membership::Label => labels.get(SET_LABEL) == Some(name),
            Membership::Selector(selector) => selector.matches(labels),
            Membership::Empty | Membership::Unreadable(_) => false,
        }
    }

    /// Whether a cluster with `labels` may belong to the set, which is named `name`. Any cluster may belong to a
    /// set that cannot be read.
    pub(crate) fn may_have(&self, name: &str, labels: &Labels) -> bool {
        self.problem().is_some() || self.has(name, labels)
    }
}

/// A Placement.
#[derive(Debug)]
pub(crate) struct PlacementRecord {
    /// The object.
    pub(crate) object: Arc<Object>,
    /// The status.
    pub(crate) status: PlacementStatus,
    /// The compiled spec, shared by all records with equal specs.
    pub(crate) policy: Arc<Policy>,
}

impl PlacementRecord {
    /// Creates the record of a placement. The spec is compiled only if neither the `old` record nor another
    /// placement has an equal spec.
    pub(crate) fn new(
        object: Arc<Object>,
        mut view: kind::Placement,
        old: Option<&Self>,
        policies: &Policies,
        cache: &cel::Cache,
    ) -> Self {
        view.shrink_to_fit();
        let known = old
            .filter(|old| old.policy.spec == view.spec)
            .map(|old| Arc::clone(&old.policy));
        let kind::Placement { spec, status } = view;
        let policy = known.unwrap_or_else(|| policies.get_or_compile(spec, cache));
        Self {
            object,
            status,
            policy,
        }
    }

    /// Whether the scheduler ignores the placement.
    pub(crate) fn disabled(&self) -> bool {
        self.object
            .annotations()
            .get(DISABLE_ANNOTATION)
            .is_some_and(|value| value == "true")
    }

    /// Whether the placement is being deleted.
    pub(crate) fn terminating(&self) -> bool {
        self.object.meta().deletion_timestamp().is_some()
    }

    /// Whether this version of the placement and `other` lead to the same decision. Fields that the scheduler
    /// writes are not compared.
    pub(crate) fn decides_like(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.policy, &other.policy) || self.policy.spec == other.policy.spec)
            && self.disabled() == other.disabled()
            && self.terminating() == other.terminating()
            && self.object.meta().uid() == other.object.meta().uid()
    }
}

/// A PlacementDecision.
#[derive(Debug)]
pub(crate) struct DecisionRecord {
    /// The object.
    pub(crate) object: Arc<Object>,
    /// The listed clusters, in stored order.
    pub(crate) clusters: Vec<ListedCluster>,
}

/// One cluster that a PlacementDecision lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedCluster {
    /// The name of the cluster.
    pub(crate) name: Arc<str>,
    /// The stored reason.
    pub(crate) reason: Box<str>,
    /// The stored score.
    pub(crate) score: Option<i64>,
}

impl DecisionRecord {
    /// Creates the record of a PlacementDecision.
    pub(crate) fn new(object: Arc<Object>, view: &kind::PlacementDecision) -> Self {
        let listed = view.status.decisions.iter().map(|decision| ListedCluster {
            name: decision.cluster_name.as_str().into(),
            reason: decision.reason.as_str().into(),
            score: decision.score,
        });
        Self {
            clusters: listed.collect(),
            object,
        }
    }

    /// The name of the Placement, from the label of the PlacementDecision.
    pub(crate) fn placement(&self) -> Option<&str> {
        self.object.meta().labels().get(PLACEMENT_LABEL)
    }
}
