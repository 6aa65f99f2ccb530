//! A decision as data, without sentences: reasons are tokens.

use std::any::Any;
use std::sync::Arc;

use berth_apimachinery::{FieldError, Key, Revision, Timestamp};
use berth_scheduling::PipelineOutcome;

/// Outcome of a decision (docs/reference.md, "The scheduling report").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The demand has every place that it requests.
    Scheduled,
    /// The demand is bound in part.
    Partial,
    /// The demand is not bound.
    Unschedulable,
    /// A new target will be created.
    Provision,
    /// The demand is bound, and nothing would be written.
    Unchanged,
    /// The request or the configuration cannot be understood.
    Invalid,
    /// The system does not schedule this object.
    Ignored,
    /// The object is being deleted or no longer placed, and its clusters are released.
    Released,
}

impl Outcome {
    /// The outcome as a token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "Scheduled",
            Self::Partial => "Partial",
            Self::Unschedulable => "Unschedulable",
            Self::Provision => "Provision",
            Self::Unchanged => "Unchanged",
            Self::Invalid => "Invalid",
            Self::Ignored => "Ignored",
            Self::Released => "Released",
        }
    }
}

/// The kind of a change to one cluster of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The cluster is newly bound.
    Bind,
    /// The cluster stays bound.
    Keep,
    /// The cluster is released.
    Unbind,
    /// The cluster is created.
    Create,
    /// An earlier binding to the cluster is restored.
    Restore,
    /// The cluster stays bound, with another amount.
    Resize,
}

impl Action {
    /// The kind of change as a token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bind => "Bind",
            Self::Keep => "Keep",
            Self::Unbind => "Unbind",
            Self::Create => "Create",
            Self::Restore => "Restore",
            Self::Resize => "Resize",
        }
    }
}

/// The change of one cluster of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingChange {
    /// The kind of the change.
    pub action: Action,
    /// The name of the cluster.
    pub cluster_name: Arc<str>,
    /// The state before, by the system's own name; empty where the system names none.
    pub from: &'static str,
    /// The state after, by the system's own name; empty where the system names none.
    pub to: &'static str,
    /// The amount before; `None` where the cluster was not bound, or the system divides no amount.
    pub amount_from: Option<i64>,
    /// The amount after; `None` where the cluster is released, or the system divides no amount.
    pub amount_to: Option<i64>,
}

/// A place of a demand before the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentPlace {
    /// The name of the cluster, which may no longer be a candidate.
    pub cluster_name: Arc<str>,
    /// The state, by the system's own name; empty where the system names none.
    pub state: &'static str,
    /// The amount, where the system divides one among clusters.
    pub amount: Option<i64>,
}

/// A decision on one demand.
#[derive(Debug)]
pub struct Decision {
    /// The demand.
    pub demand: Key,
    /// The revision of the demand on which the decision is based. This revision guards the writes.
    pub demand_revision: Revision,
    /// The outcome.
    pub outcome: Outcome,
    /// `Picked`, `Kept`, `Created`, or a token of docs/reference.md, "Reason tokens".
    pub reason: &'static str,
    /// The result of the pipeline; empty for a decision without a run of the pipeline.
    pub solved: PipelineOutcome,
    /// The amounts of the picked clusters, in the order of [`PipelineOutcome::picked`]; empty where the
    /// system divides nothing.
    pub amounts: Vec<i64>,
    /// The names of the scorers, by [`berth_scheduling::ScoreColumn::plugin`].
    pub scorers: Vec<Arc<str>>,
    /// Clusters that the request names (Fleet's PickFixed) and that do not exist: the name, and the plugin
    /// and reason token of the refusal.
    pub unknown: Vec<(Arc<str>, &'static str, &'static str)>,
    /// The places to which the demand is bound now.
    pub current: Vec<CurrentPlace>,
    /// The changes of the binding, one for each cluster.
    pub changes: Vec<BindingChange>,
    /// The fences of everything that the decision has counted: the capacity of targets, quotas (Karmada), or
    /// new shared Clusters (openMCP). Every fence guards the writes.
    pub fences: Vec<Arc<str>>,
    /// Next time at which this decision may change without a write.
    pub due_at: Option<Timestamp>,
    /// The instant for which the decision was computed.
    pub now: Timestamp,
    /// The dialect's own part of the decision, for views and writes.
    pub detail: Box<dyn Any + Send + Sync>,
}

impl Decision {
    /// The amount of the cluster at `index` of [`PipelineOutcome::picked`]; `None` where nothing is divided.
    #[must_use]
    pub fn amount_of_pick(&self, index: usize) -> Option<i64> {
        self.amounts.get(index).copied()
    }

    /// The dialect's own part of the decision; `None` if it is not a `T`.
    #[must_use]
    pub fn detail<T: 'static>(&self) -> Option<&T> {
        self.detail.downcast_ref()
    }
}

/// The refusal to bind the chosen targets.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceRefusal {
    /// The errors, at `spec.targets[i]` about one target, and at `spec.targets` about all targets together.
    pub errors: Vec<FieldError>,
}
