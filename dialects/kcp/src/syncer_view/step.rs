//! The next step of a syncer for one object, as a pure function of the object in the view and its copy
//! downstream (docs/systems/kcp.md, "Order of removal"). The steps continue from every intermediate state.

use serde_json::Value;

use super::copy::{brought_up_to_date, copy, must_recreate, owner, status_for};
use super::form::ClusterForm;
use super::registration::Owner;
use crate::edit::{ANNOTATIONS, has_soft_finalizers, has_syncer_finalizer, set_syncer_finalizer, text};
use crate::names::PROBLEM;

/// One step of a syncer.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// No step is needed.
    Rest,
    /// No step is possible yet, for this reason.
    Wait(SyncerWait),
    /// Write this object with the syncer's finalizer upstream, before anything is created downstream.
    Hold(Value),
    /// Create this object downstream.
    Create(Value),
    /// Update the object downstream to this object.
    Update(Value),
    /// Delete the object downstream.
    Delete,
    /// Write this status upstream.
    Report(Value),
    /// Write this object without the syncer's finalizer upstream, so that it leaves the view.
    Release(Value),
    /// No step is possible until a user corrects this problem, which is a sentence.
    Blocked(String),
}

impl Step {
    /// Name of the step, without the written content, which may be secret.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Rest => "Rest",
            Self::Wait(_) => "Wait",
            Self::Hold(_) => "Hold",
            Self::Create(_) => "Create",
            Self::Update(_) => "Update",
            Self::Delete => "Delete",
            Self::Report(_) => "Report",
            Self::Release(_) => "Release",
            Self::Blocked(_) => "Blocked",
        }
    }
}

/// The reasons for which a syncer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncerWait {
    /// Coordination controllers still hold the object on this cluster.
    SoftFinalizers,
    /// The downstream namespace does not exist yet, or is being deleted.
    Namespace,
    /// The downstream object is being deleted.
    Removal,
    /// The objects in the namespace must be removed first.
    Content,
}

/// The input of a step in addition to the object in the view and its copy.
#[derive(Clone, Copy, Debug)]
pub struct StepContext<'a> {
    /// The identifier of the syncer's cluster.
    pub identifier: &'a str,
    /// The name of the downstream namespace.
    pub namespace: &'a str,
    /// Whether the downstream namespace exists, and is not being deleted.
    pub ready: bool,
    /// Whether objects of this kind report a status.
    pub reports: bool,
    /// The form in which the cluster stored the copy when it was last written, if it is not that of the copy.
    pub form: Option<&'a ClusterForm>,
}

impl StepContext<'_> {
    /// The next step for an object: `up` is its form in the view, `down` its copy.
    #[must_use]
    pub fn next(&self, up: Option<&Value>, down: Option<&Value>) -> Step {
        let Some(up) = up else {
            // The object has left the view, so its copy is removed.
            return down.map_or(Step::Rest, |down| self.removal(down));
        };
        if is_leaving(up) && !has_soft_finalizers(up, self.identifier) {
            return match down {
                Some(down) if owner(down) == Some(self.identifier) => self.removal(down),
                _ => Step::Release(with_finalizer(up, self.identifier, false)),
            };
        }
        // The copy stays unchanged while the object in the view has a problem.
        if let Some(problem) = text(up, ANNOTATIONS, PROBLEM) {
            return Step::Blocked(problem.to_owned());
        }
        match down {
            Some(down) => self.keep(up, down),
            None if is_leaving(up) => Step::Wait(SyncerWait::SoftFinalizers),
            None if !has_syncer_finalizer(up, self.identifier) => {
                Step::Hold(with_finalizer(up, self.identifier, true))
            }
            None if !self.ready => Step::Wait(SyncerWait::Namespace),
            None => Step::Create(copy(self.identifier, up, self.namespace)),
        }
    }

    /// The next step to remove the copy `down`, if the copy belongs to this syncer.
    fn removal(&self, down: &Value) -> Step {
        match owner(down) {
            Some(owner) if owner == self.identifier && is_leaving(down) => Step::Wait(SyncerWait::Removal),
            Some(owner) if owner == self.identifier => Step::Delete,
            _ => Step::Rest,
        }
    }

    /// The next step if both objects exist and stay.
    fn keep(&self, up: &Value, down: &Value) -> Step {
        if let Some(other) = owner(down).filter(|owner| *owner != self.identifier) {
            let name = crate::edit::name(down);
            return Step::Blocked(format!(
                "{name} in namespace {} of the cluster was created for another workload cluster ({other}); if that \
                 cluster no longer exists, delete {name} there, and the syncer creates it again",
                self.namespace
            ));
        }
        if is_leaving(down) {
            return Step::Wait(SyncerWait::Removal);
        }
        if !is_leaving(up) && !has_syncer_finalizer(up, self.identifier) {
            return Step::Hold(with_finalizer(up, self.identifier, true));
        }
        let expected = copy(self.identifier, up, self.namespace);
        let (recorded_name, name) = (super::copy::Record::of(down).name, crate::edit::name(up));
        if !recorded_name.is_empty() && recorded_name != name {
            return Step::Blocked(format!(
                "the copies of {recorded_name} and {name} would both have the name {} in namespace {} of the cluster: \
                 delete one of the two objects, or create it under another name",
                crate::edit::name(down),
                self.namespace
            ));
        }
        if must_recreate(&expected, down) && owner(down) == Some(self.identifier) {
            return Step::Delete;
        }
        let is_other_form = self.form.is_some_and(|form| form.is_up_to_date(&expected, down));
        if !is_other_form && let Some(next) = brought_up_to_date(&expected, down) {
            return Step::Update(next);
        }
        let status = self.reports.then(|| status_for(up, down, true)).flatten();
        match status {
            Some(status) if up.get("status") != Some(&status) => {
                let mut reported = up.clone();
                reported["status"] = status;
                Step::Report(reported)
            }
            _ if is_leaving(up) => Step::Wait(SyncerWait::SoftFinalizers),
            _ => Step::Rest,
        }
    }
}

/// The next step of `syncer` for a namespace: `up` is the namespace in the view, `down` its copy.
/// `has_content` is set if the syncer still sees objects in the namespace.
#[must_use]
pub fn namespace_next(syncer: &Owner, up: Option<&Value>, down: Option<&Value>, has_content: bool) -> Step {
    let identifier = syncer.identifier.as_str();
    let is_own = |down: &&Value| owner(down) == Some(identifier);
    let leaving = up.is_none_or(|up| is_leaving(up) && !has_soft_finalizers(up, identifier));
    if leaving && has_content {
        return Step::Wait(SyncerWait::Content);
    }
    match (up, down) {
        (_, Some(down)) if leaving && is_own(&down) => match is_leaving(down) {
            true => Step::Wait(SyncerWait::Removal),
            false => Step::Delete,
        },
        (None, _) => Step::Rest,
        (Some(up), _) if leaving => Step::Release(with_finalizer(up, identifier, false)),
        (Some(up), None) if is_leaving(up) => Step::Wait(SyncerWait::SoftFinalizers),
        (Some(up), None) => Step::Create(syncer.namespace_copy(crate::edit::name(up))),
        (Some(_), Some(down)) if !is_own(&down) => Step::Blocked(format!(
            "the namespace {} already exists on the cluster and is not managed by this syncer: if nothing else uses it, \
             delete it there; if an earlier registration of this cluster created it, start the syncer with --adopt",
            crate::edit::name(down)
        )),
        (Some(_), Some(down)) if is_leaving(down) => Step::Wait(SyncerWait::Removal),
        (Some(up), Some(down)) => {
            // The update also restores the locator, which identifies the namespace if its label is lost.
            let expected = syncer.namespace_copy(crate::edit::name(up));
            brought_up_to_date(&expected, down).map_or(Step::Rest, Step::Update)
        }
    }
}

fn is_leaving(object: &Value) -> bool {
    object["metadata"]
        .get("deletionTimestamp")
        .is_some_and(|at| !at.is_null())
}

/// Returns `up` with the syncer's finalizer if `hold` is true, else without it.
fn with_finalizer(up: &Value, identifier: &str, hold: bool) -> Value {
    let mut next = up.clone();
    set_syncer_finalizer(&mut next, identifier, hold);
    next
}

#[cfg(test)]
mod tests;
