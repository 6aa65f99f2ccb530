//! Placements, policy snapshots and bindings as decisions use them. Each object is parsed once per change.

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

/// The data of a placement that decisions use.
#[derive(Debug)]
pub(crate) struct PlacementRecord {
    /// The placement itself.
    pub(crate) object: Arc<Object>,
    /// The form of the placement: cluster-scoped or namespaced.
    pub(crate) form: &'static Form,
    /// The policy as the object has it.
    pub(crate) raw: Option<PlacementPolicy>,
    /// The compiled policy, or the reason why it cannot be compiled.
    pub(crate) policy: Arc<Result<Policy, String>>,
    /// The number of policy snapshots to keep, including the current one.
    pub(crate) history: usize,
    /// The conditions in the status of the placement.
    pub(crate) conditions: Vec<Condition>,
    /// The namespace to which the status of the placement is copied, if any.
    pub(crate) status_namespace: Option<Arc<str>>,
}

/// The namespace to which the status of `placement` is copied, if any.
pub(crate) fn status_namespace(placement: &Placement) -> Option<Arc<str>> {
    let spec = &placement.spec;
    if spec.status_reporting_scope.as_deref() != Some(NAMESPACE_ACCESSIBLE) {
        return None;
    }
    let mut namespaces = spec.namespaces();
    let (_, only) = namespaces.next().filter(|_| namespaces.next().is_none())?;
    (!only.name.is_empty()).then(|| only.name.as_str().into())
}

impl PlacementRecord {
    /// Parses the placement `object` at `key`. The policy is only compiled if it differs from the policy of
    /// the former record `old`.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(key: &Key, object: &Arc<Object>, old: Option<&Self>) -> Result<Self, String> {
        let view: Placement = kind::view(key, object)?;
        let status_namespace = status_namespace(&view).filter(|_| key.resource == PLACEMENTS);
        let raw = view.spec.policy;
        let compiled = old
            .filter(|old| old.raw == raw)
            .map(|old| Arc::clone(&old.policy));
        let history = view.spec.revision_history_limit.unwrap_or(10);
        Ok(Self {
            object: Arc::clone(object),
            form: Form::of(key.resource),
            policy: compiled.unwrap_or_else(|| Arc::new(Policy::compile(raw.as_ref()))),
            raw,
            history: usize::try_from(history).unwrap_or(0).max(1),
            conditions: view.status.conditions,
            status_namespace,
        })
    }

    /// Whether the placement is being deleted.
    pub(crate) fn deleting(&self) -> bool {
        self.object.meta().deletion_timestamp().is_some()
    }

    /// Whether `other`, another version of the placement, has equal inputs of the decision. The generation is
    /// an input, since the snapshot and both conditions record it: without a decision they would never be
    /// about a spec that only selects other resources.
    pub(crate) fn has_equal_inputs(&self, other: &Self) -> bool {
        self.raw == other.raw
            && self.object.meta().generation() == other.object.meta().generation()
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

/// Parses `text`, the number of a policy snapshot. For KubeFleet, it is at most the highest signed number of
/// 64 bits; here it is lower, so that there is always a number for the next snapshot.
pub(crate) fn snapshot_index(text: &str) -> Option<u64> {
    let index: i64 = text.parse().ok()?;
    u64::try_from(index).ok().filter(|_| index < i64::MAX)
}

/// The data of a policy snapshot that decisions use.
#[derive(Debug)]
pub(crate) struct SnapshotRecord {
    /// The policy snapshot itself.
    pub(crate) object: Arc<Object>,
    /// The name of the snapshot.
    pub(crate) name: Arc<str>,
    /// The number of the snapshot among those of its placement, from 0.
    pub(crate) index: u64,
    /// Whether a label marks the snapshot as the latest.
    pub(crate) latest: bool,
    /// The policy in the snapshot, without the number of clusters.
    pub(crate) policy: Option<PlacementPolicy>,
    /// The status of the snapshot.
    pub(crate) status: PolicySnapshotStatus,
}

impl SnapshotRecord {
    /// Parses the policy snapshot `object` at `key`, and returns the key of its placement with the record.
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
        let index = snapshot_index(index).ok_or_else(|| {
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

    /// Whether the snapshot has the policy of `placement`, regardless of the number of clusters.
    pub(crate) fn has_policy_of(&self, placement: &PlacementRecord) -> bool {
        let placement_policy = placement.raw.as_ref();
        match (&self.policy, placement_policy) {
            (Some(own), Some(placement_policy)) => *own == placement_policy.without_number(),
            (own, placement_policy) => own.is_none() && placement_policy.is_none(),
        }
    }

    /// Whether the label or the annotations of the snapshot must be updated for `placement`, whose policy the
    /// snapshot has.
    pub(crate) fn is_outdated(&self, placement: &PlacementRecord) -> bool {
        let annotations = self.object.annotations();
        let is_current =
            |(name, value): &(&str, Option<String>)| annotations.get(name).as_deref() == value.as_deref();
        !self.latest || !placement.snapshot_annotations().iter().all(is_current)
    }

    /// Whether the snapshot is being deleted.
    pub(crate) fn deleting(&self) -> bool {
        self.object.meta().deletion_timestamp().is_some()
    }
}

/// The phase of a binding, in the order of precedence among several bindings to one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BindingPhase {
    /// The binding is Scheduled or Bound, so that resources should be on the cluster.
    Live,
    /// The binding is Unscheduled: the rollout will remove it.
    Unscheduled,
    /// The binding is being deleted, and the resources on the cluster are cleaned up.
    Deleted,
    /// The binding is being deleted, and only the scheduler's finalizer is left.
    Released,
}

/// The data of a binding that decisions use.
#[derive(Debug)]
pub(crate) struct BindingRecord {
    /// The binding itself.
    pub(crate) object: Arc<Object>,
    /// The name of the cluster.
    pub(crate) cluster: Arc<str>,
    /// The state of the binding.
    pub(crate) state: State,
    /// The name of the policy snapshot by which the cluster was selected.
    pub(crate) snapshot: String,
    /// The decision that the binding records.
    pub(crate) decision: ClusterDecision,
}

impl BindingRecord {
    /// Parses the binding `object` at `key`, and returns the key of its placement with the record.
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

    /// Whether the binding is Scheduled or Bound and not being deleted, so that resources should be on the
    /// cluster.
    pub(crate) fn live(&self) -> bool {
        !self.deleting() && self.state != State::Unscheduled
    }

    /// The phase of the binding. Of several bindings to one cluster, the binding in the first phase counts.
    pub(crate) fn phase(&self) -> BindingPhase {
        let finalizers = self.object.meta().finalizers();
        match (self.deleting(), self.state) {
            (false, State::Scheduled | State::Bound) => BindingPhase::Live,
            (false, State::Unscheduled) => BindingPhase::Unscheduled,
            (true, _) if matches!(finalizers, [only] if **only == *BINDING_FINALIZER) => {
                BindingPhase::Released
            }
            (true, _) => BindingPhase::Deleted,
        }
    }

    /// The state of an Unscheduled binding before it became Unscheduled, which the binding gets when it is
    /// restored. If no annotation records the state, it is Scheduled, and the rollout starts over.
    pub(crate) fn previous_state(&self) -> State {
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

/// The key of the placement of the snapshot or binding `object` at `key`.
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
