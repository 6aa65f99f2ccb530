//! Advice in the wire format, as parts of SchedulingAdvice and Scheduling.

use berth_scheduling_api::advice::{
    AdviceSet, AdviceStatus, AdvisedChange, AdvisedPatch, AdvisedTarget, ShortAdvice,
};
use berth_scheduling_api::shared::{AnyValue, none_if_empty};

use super::patch::Form;
use super::{Advice, Change, Patch, Set, TargetAdvice};
use crate::snapshot::Snapshot;

impl Advice {
    /// Returns the `status` of a SchedulingAdvice, for advice that was computed on `snapshot`.
    #[must_use]
    pub fn status(&self, snapshot: &Snapshot) -> AdviceStatus {
        let ShortAdvice {
            targets,
            remaining_targets,
            gave_up,
        } = self.short();
        AdviceStatus {
            outcome: self.decision.outcome.as_str().into(),
            reason: self.decision.reason.into(),
            message: snapshot.inventory.message(&self.decision),
            evaluated_at: berth_apimachinery::time::rfc3339(self.decision.now),
            inventory_revision: snapshot.revision.0.to_string(),
            targets,
            remaining_targets,
            gave_up,
        }
    }

    /// Returns `status.advice` of a Scheduling.
    #[must_use]
    pub fn short(&self) -> ShortAdvice {
        ShortAdvice {
            targets: self.targets.iter().map(TargetAdvice::wire).collect(),
            remaining_targets: self.remaining,
            gave_up: self.gave_up.clone().unwrap_or_default(),
        }
    }
}

impl TargetAdvice {
    fn wire(&self) -> AdvisedTarget {
        AdvisedTarget {
            cluster_name: self.cluster_name.clone(),
            target: self.target.clone(),
            feasible: self.feasible,
            picked: self.picked,
            rejections: self.rejections.clone(),
            advice: self.advice.iter().map(Set::wire).collect(),
            gave_up: self.gave_up.then_some(true),
        }
    }
}

impl Set {
    fn wire(&self) -> AdviceSet {
        AdviceSet {
            then: self.then.into(),
            allowed: self.allowed,
            changes: self.changes.iter().map(Change::wire).collect(),
            patches: self.patches.iter().map(Patch::wire).collect(),
        }
    }
}

impl Change {
    fn wire(&self) -> AdvisedChange {
        AdvisedChange {
            message: self.message.clone(),
            whose: self.whose.as_str().into(),
        }
    }
}

impl Patch {
    fn wire(&self) -> AdvisedPatch {
        let (r#type, patch) = match &self.form {
            Form::Json(operations) => ("json", operations.clone().into()),
            Form::Create(object) => ("create", object.clone()),
            Form::Hidden(paths) => ("hidden", paths.clone().into()),
        };
        AdvisedPatch {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: none_if_empty(&self.namespace),
            name: self.name.clone(),
            whose: self.whose.as_str().into(),
            allowed: self.allowed,
            r#type: r#type.into(),
            patch: AnyValue(patch),
            command: none_if_empty(&self.command),
        }
    }
}
