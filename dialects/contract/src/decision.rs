//! A decision: data only, no text that is not a token.

use std::any::Any;
use std::sync::Arc;

use berth_apimachinery::{FieldError, Key, Revision, Timestamp};
use berth_scheduling::PipelineOutcome;

/// Outcome of a decision (docs/reference.md, "The scheduling report").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All that was wanted is placed.
    Scheduled,
    /// A part of it is bound.
    Partial,
    /// No part of it is bound.
    Unschedulable,
    /// A new target will be made.
    Provision,
    /// Something is bound and nothing would be written.
    Unchanged,
    /// The request or the configuration cannot be understood.
    Invalid,
    /// The system leaves this object alone.
    Ignored,
    /// The object is being deleted: the released clusters.
    Released,
}

impl Outcome {
    /// The token.
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

/// Change to one cluster of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is bound to another cluster.
    Bind,
    /// It stays bound.
    Keep,
    /// It is released.
    Unbind,
    /// It is created.
    Create,
    /// An earlier binding comes back.
    Restore,
    /// It stays bound, with another amount.
    Resize,
}

impl Action {
    /// The token.
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

/// One cluster's change; states as the system names them, empty where it names none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingChange {
    /// Kind of change.
    pub action: Action,
    /// The cluster.
    pub cluster_name: Arc<str>,
    /// The state before.
    pub from: &'static str,
    /// The state after.
    pub to: &'static str,
    /// The amount before; `None` where it was not bound, or the system does not divide.
    pub amount_from: Option<i64>,
    /// The amount after; `None` where it is released, or the system does not divide.
    pub amount_to: Option<i64>,
}

/// Place where a demand is bound before the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// The cluster, which may no longer be a candidate.
    pub cluster_name: Arc<str>,
    /// The state, as the system names it; empty where it names none.
    pub state: &'static str,
    /// The amount, where the system divides one among clusters.
    pub amount: Option<i64>,
}

/// A decision on one demand.
#[derive(Debug)]
pub struct Decision {
    /// The demand.
    pub demand: Key,
    /// The revision of the demand that was decided: a guard of the writes.
    pub demand_revision: Revision,
    /// Outcome.
    pub outcome: Outcome,
    /// `Picked`, `Kept`, `Created`, or a token of docs/reference.md, "Reason tokens".
    pub reason: &'static str,
    /// The pipeline's result; empty for decisions that never ran it.
    pub solved: PipelineOutcome,
    /// The amount of each of [`PipelineOutcome::picked`], aligned with it; empty where nothing is divided.
    pub amounts: Vec<i64>,
    /// The names of the scorers, by [`berth_scheduling::ScoreColumn::plugin`].
    pub scorers: Vec<Arc<str>>,
    /// Clusters named by the request that are no candidates, with plugin, token and detail code (Fleet's
    /// PickFixed).
    pub unknown: Vec<(Arc<str>, &'static str, &'static str)>,
    /// Places where it is bound now.
    pub current: Vec<Current>,
    /// Changes, cluster by cluster.
    pub changes: Vec<BindingChange>,
    /// The targets whose capacity was counted: fence names, each guarding the writes.
    pub fences: Vec<Arc<str>>,
    /// Next time at which this decision may change without a write.
    pub due_at: Option<Timestamp>,
    /// The instant it was decided for.
    pub now: Timestamp,
    /// The dialect's own part, for its views and writes.
    pub detail: Box<dyn Any + Send + Sync>,
}

impl Decision {
    /// The amount of the pick at `index` of [`PipelineOutcome::picked`].
    #[must_use]
    pub fn amount_of_pick(&self, index: usize) -> Option<i64> {
        self.amounts.get(index).copied()
    }

    /// The dialect's own part.
    #[must_use]
    pub fn detail<T: 'static>(&self) -> Option<&T> {
        self.detail.downcast_ref()
    }
}

/// A choice of targets that cannot be bound: one cause per target, with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceRefusal {
    /// The errors, at `spec.targets[i]`.
    pub errors: Vec<FieldError>,
}
