//! Placements, snapshots and bindings, each parsed once per change.

use std::sync::Arc;

use berth_apimachinery::types::Condition;
use berth_apimachinery::{Key, Object};

use crate::form::Form;
use crate::kind::{
    self, Binding, BindingSpec, ClusterDecision, NAMESPACE_ACCESSIBLE, Placement, PlacementPolicy,
    PolicySnapshot, PolicySnapshotStatus, State,
};
use crate::names::{
    BINDING_FINALIZER, GENERATION_ANNOTATION, INDEX_LABEL, LATEST_LABEL, NUMBER_ANNOTATION, PARENT_LABEL,
    PLACEMENTS, PREVIOUS_STATE_ANNOTATION,
};
use crate::policy::Policy;

/// A placement.
#[derive(Debug)]
pub(crate) struct PlacementRecord {
    /// The object.
    pub(crate) object: Arc<Object>,
    /// Form of the placement.
    pub(crate) form: &'static Form,
    /// The policy in the object.
    pub(crate) raw: Option<PlacementPolicy>,
    /// The compiled policy, or the reason why it cannot be compiled.
    pub(crate) policy: Arc<Result<Policy, String>>,
    /// Number of snapshots that are kept, including the current one.
    pub(crate) history: usize,
    /// The conditions in the status.
    pub(crate) conditions: Vec<Condition>,
    /// The namespace to which the status is copied, if any.
    pub(crate) shown_in: Option<Arc<str>>,
}

/// The namespace to which the status of `placement` is copied, if any.
pub(crate) fn shown_in(placement: &Placement) -> Option<Arc<str>> {
    let spec = &placement.spec;
    if spec.status_reporting_scope.as_deref() != Some(NAMESPACE_ACCESSIBLE) {
        return None;
    }
    let mut namespaces = spec.namespaces();
    let (_, only) = namespaces.next().filter(|_| namespaces.next().is_none())?;
    (!only.name.is_empty()).then(|| only.name.as_str().into())
}

impl PlacementRecord {
    /// Parses a placement, and compiles its policy if it differs from the policy of the former record `old`.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(key: &Key, object: &Arc<Object>, old: Option<&Self>) -> Result<Self, String> {
        let view: Placement = kind::view(key, object)?;
        let shown_in = shown_in(&view).filter(|_| key.resource == PLACEMENTS);
        let raw = view.spec.policy;
        let known = old
            .filter(|old| old.raw == raw)
            .map(|old| Arc::clone(&old.policy));
        let history = view.spec.revision_history_limit.unwrap_or(10);
        Ok(Self {
            object: Arc::clone(object),
            form: Form::of(key.resource),
            policy: known.unwrap_or_else(|| Arc::new(Policy::compile(raw.as_ref()))),
            raw,
            history: usize::try_from(history).unwrap_or(0).max(1),
            conditions: view.status.conditions,
            shown_in,
        })
    }

    /// Whether the placement is being deleted.
    pub(crate) fn deleting(&self) -> bool {
        self.object.meta().deletion_timestamp().is_some()
    }

    /// Whether this version of the placement and `other` lead to the same decision. Resources and the
    /// scheduler's own fields are not compared, since changes of resources do not trigger scheduling.
    pub(crate) fn decides_like(&self, other: &Self) -> bool {
        self.raw == other.raw
            && self.deleting() == other.deleting()
            && self.policy.is_ok() == other.policy.is_ok()
    }

    /// The annotations that a current snapshot must have, with their values; `None` removes an annotation.
    pub(crate) fn snapshot_annotations(&self) -> [(&'static str, Option<String>); 2] {
        let number = self.raw.as_ref().and_then(|policy| policy.number_of_clusters);
        [
            (
                GENERATION_ANNOTATION,
                Some(self.object.meta().generation().to_string()),
            ),
            (NUMBER_ANNOTATION, number.map(|number| number.to_string())),
        ]
    }
}

/// A policy snapshot.
#[derive(Debug)]
pub(crate) struct SnapshotRecord {
    /// The object.
    pub(crate) object: Arc<Object>,
    /// The name.
    pub(crate) name: Arc<str>,
    /// The number, from 0.
    pub(crate) index: u64,
    /// Whether the snapshot is marked as the latest.
    pub(crate) latest: bool,
    /// The policy, without the number of clusters.
    pub(crate) policy: Option<PlacementPolicy>,
    /// The status.
    pub(crate) status: PolicySnapshotStatus,
}

impl SnapshotRecord {
    /// Parses a snapshot, and returns it with the key of its placement.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(key: &Key, object: &Arc<Object>) -> Result<(Key, Self), String> {
        let view: PolicySnapshot = kind::view(key, object)?;
        let labels = object.meta().labels();
        let parent = parent(key, object)?;
        let suffix = key
            .name
            .strip_prefix(&*parent.name)
            .and_then(|rest| rest.strip_prefix('-'));
        let index = labels.get(INDEX_LABEL).or(suffix).unwrap_or_default();
        let index = index.parse().map_err(|_| {
            format!("{key} is left out: its label {INDEX_LABEL} (\"{index}\") must be a number")
        })?;
        let record = Self {
            object: Arc::clone(object),
            name: Arc::clone(&key.name),
            index,
            latest: labels.get(LATEST_LABEL).is_some_and(|latest| latest == "true"),
            policy: view.spec.policy.as_ref().map(PlacementPolicy::without_number),
            status: view.status,
        };
        Ok((parent, record))
    }

    /// Whether the policy is the policy of `placement`, regardless of the number of clusters.
    pub(crate) fn has_policy_of(&self, placement: &PlacementRecord) -> bool {
        let placement_policy = placement.raw.as_ref();
        match (&self.policy, placement_policy) {
            (Some(own), Some(placement_policy)) => *own == placement_policy.without_number(),
            (own, placement_policy) => own.is_none() && placement_policy.is_none(),
        }
    }

    /// Whether the label or annotations must be updated for `placement`, whose policy this snapshot has.
    pub(crate) fn is_outdated(&self, placement: &PlacementRecord) -> bool {
        let annotations = self.object.annotations();
        let right =
            |(name, value): &(&str, Option<String>)| annotations.get(name).as_deref() == value.as_deref();
        !self.latest || !placement.snapshot_annotations().iter().all(right)
    }

    /// Whether the snapshot is being deleted.
    pub(crate) fn deleting(&self) -> bool {
        self.object.meta().deletion_timestamp().is_some()
    }
}

/// The hold of a binding on its cluster, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hold {
    /// Resources should be on the cluster.
    Live,
    /// The binding is Unscheduled: the rollout will remove it.
    Unscheduled,
    /// The binding is being deleted, while resources are cleaned up.
    Deleted,
    /// The binding is being deleted, and only the scheduler's finalizer is left.
    Released,
}

/// A binding.
#[derive(Debug)]
pub(crate) struct BindingRecord {
    /// The object.
    pub(crate) object: Arc<Object>,
    /// The cluster.
    pub(crate) cluster: Arc<str>,
    /// State of the binding.
    pub(crate) state: State,
    /// The policy snapshot that selected the cluster.
    pub(crate) snapshot: String,
    /// The recorded decision.
    pub(crate) decision: ClusterDecision,
}

impl BindingRecord {
    /// Parses a binding, and returns it with the key of its placement.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(key: &Key, object: &Arc<Object>) -> Result<(Key, Self), String> {
        let Binding { spec, .. } = kind::view(key, object)?;
        let BindingSpec {
            state,
            scheduling_policy_snapshot_name: snapshot,
            target_cluster,
            cluster_decision: decision,
            ..
        } = spec;
        if target_cluster.is_empty() {
            return Err(format!(
                "{key} is left out: spec.targetCluster must name a cluster"
            ));
        }
        let record = Self {
            object: Arc::clone(object),
            cluster: target_cluster.into(),
            state,
            snapshot,
            decision,
        };
        Ok((parent(key, object)?, record))
    }

    /// Whether the binding is being deleted.
    pub(crate) fn deleting(&self) -> bool {
        self.object.meta().deletion_timestamp().is_some()
    }

    /// Whether resources should be on the cluster.
    pub(crate) fn live(&self) -> bool {
        !self.deleting() && self.state != State::Unscheduled
    }

    /// The hold of the binding on its cluster. Of several bindings to the same cluster, the binding with the
    /// strongest hold counts.
    pub(crate) fn hold(&self) -> Hold {
        let finalizers = self.object.meta().finalizers();
        match (self.deleting(), self.state) {
            (false, State::Scheduled | State::Bound) => Hold::Live,
            (false, State::Unscheduled) => Hold::Unscheduled,
            (true, _) if matches!(finalizers, [only] if **only == *BINDING_FINALIZER) => Hold::Released,
            (true, _) => Hold::Deleted,
        }
    }

    /// The state before Unscheduled, which a restored binding gets. If it is not recorded, the rollout
    /// starts over.
    pub(crate) fn previous(&self) -> State {
        match self
            .object
            .annotations()
            .get(PREVIOUS_STATE_ANNOTATION)
            .as_deref()
        {
            Some("Bound") => State::Bound,
            _ => State::Scheduled,
        }
    }
}

fn parent(key: &Key, object: &Object) -> Result<Key, String> {
    let label = object
        .meta()
        .labels()
        .get(PARENT_LABEL)
        .filter(|parent| !parent.is_empty());
    label.map(|name| Form::parent(key, name)).ok_or_else(|| {
        format!("{key} is left out: its label {PARENT_LABEL} must name the placement it belongs to")
    })
}
