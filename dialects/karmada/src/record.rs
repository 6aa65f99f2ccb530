//! A binding, parsed once per change.

use std::sync::Arc;

use berth_apimachinery::{Key, Object};

use crate::compiled_placement::CompiledPlacement;
use crate::kind::binding::{Binding, BindingSpec, BindingStatus};
use crate::kind::placement::Placement;
use crate::names::{APPLIED_PLACEMENT, CLAIMS, DEFAULT_SCHEDULER};
use crate::room::Request;

/// The placement of the last decision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AppliedPlacement {
    /// No decision is recorded.
    Never,
    /// The annotation does not have a valid placement.
    Unreadable,
    /// The placement that the annotation has.
    Placement(Box<Placement>),
}

/// The data of a binding that decisions use.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The object of the binding.
    pub(crate) object: Arc<Object>,
    /// The spec of the binding: the template, its requirements, and its clusters.
    pub(crate) spec: BindingSpec,
    /// The status of the binding, with the reports of the scheduler.
    pub(crate) status: BindingStatus,
    /// The compiled placement; `None` in a binding that is attached to other bindings.
    pub(crate) placement: Option<Arc<CompiledPlacement>>,
    /// The request of one replica; `None` if the binding has no requirements.
    pub(crate) request: Option<Request>,
    /// The placement of the last decision.
    pub(crate) applied: AppliedPlacement,
}

impl Record {
    /// Parses the binding `object` at `key`, and compiles its placement.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(key: &Key, object: &Arc<Object>) -> Result<Self, String> {
        let Binding { spec, status } = object
            .view()
            .map_err(|error| format!("{key} is left out: {error}"))?;
        let request = spec.replica_requirements.as_ref().map(Request::read).transpose();
        let annotation = object.annotations().get(APPLIED_PLACEMENT);
        let applied = match annotation.as_deref() {
            None | Some("") => AppliedPlacement::Never,
            Some(text) => {
                serde_json::from_str(text).map_or(AppliedPlacement::Unreadable, AppliedPlacement::Placement)
            }
        };
        Ok(Self {
            object: Arc::clone(object),
            placement: spec
                .placement
                .as_ref()
                .map(|raw| Arc::new(CompiledPlacement::compile(raw))),
            request: request.map_err(|problem| format!("{key} is left out: {problem}"))?,
            applied,
            spec,
            status,
        })
    }

    /// Whether the template is a workload: it has replicas, or requirements of a replica.
    pub(crate) fn is_workload(&self) -> bool {
        self.spec.replicas > 0 || self.spec.replica_requirements.is_some()
    }

    /// Whether the replicas can be divided, which is not possible for a workload with several components.
    pub(crate) fn divides(&self) -> bool {
        self.is_workload() && self.spec.components.len() <= 1
    }

    /// The requested number of replicas.
    pub(crate) fn replicas(&self) -> i64 {
        i64::from(self.spec.replicas)
    }

    /// Whether a decision from scratch was requested after the last decision, compared in whole seconds.
    pub(crate) fn is_rescheduled(&self) -> bool {
        let last = self.status.last_scheduled_time.map(|time| time.0.as_second());
        let triggered_at = self.spec.reschedule_triggered_at.map(|time| time.0.as_second());
        triggered_at
            .zip(last)
            .is_some_and(|(triggered_at, last)| triggered_at > last)
    }

    /// The name of the scheduler that decides the binding.
    pub(crate) fn scheduler(&self) -> &str {
        scheduler(&self.spec.scheduler_name)
    }

    /// Whether a policy or a MultiClusterService claims the binding.
    pub(crate) fn is_claimed(&self) -> bool {
        let labels = self.object.meta().labels();
        CLAIMS.iter().any(|key| labels.contains_key(key))
    }

    /// Whether the scheduling of the binding is suspended.
    pub(crate) fn is_suspended(&self) -> bool {
        let suspension = self.spec.suspension;
        suspension.and_then(|suspension| suspension.scheduling) == Some(true)
    }

    /// Whether the workload is reported healthy on `cluster`.
    pub(crate) fn is_healthy_on(&self, cluster: &str) -> bool {
        let mut items = self.status.aggregated_status.iter();
        items.any(|item| item.cluster_name == cluster && item.health == "Healthy")
    }

    /// Whether the binding is being deleted.
    pub(crate) fn is_deleting(&self) -> bool {
        self.object.meta().deletion_timestamp().is_some()
    }
}

/// The name of the scheduler that decides a binding with the schedulerName `name`.
pub(crate) fn scheduler(name: &str) -> &str {
    match name {
        "" => DEFAULT_SCHEDULER,
        name => name,
    }
}
