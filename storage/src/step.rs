//! Guarded writes of single objects.

use std::sync::Arc;

use berth_apimachinery::write::{Guard, Verb};
use berth_apimachinery::{Draft, Key, Object, Revision};

/// Condition on the step's own object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The object does not exist. A create always requires this.
    Absent,
    /// The object exists, at any revision: for an object that an earlier step of the same list wrote, for
    /// example.
    Present,
    /// The object exists, at exactly this revision.
    At(Revision),
}

/// One guarded write.
#[derive(Clone, Debug)]
pub struct Step {
    /// Action of the step.
    pub verb: Verb,
    /// Key of the object.
    pub key: Key,
    /// Subresource for requests to a hub, or the empty string. Backends that store whole objects ignore it.
    pub subresource: &'static str,
    /// New object; `None` for a delete.
    pub object: Option<Draft>,
    /// Condition on the step's own object.
    pub expect: Expect,
    /// Conditions on other objects and on fences.
    pub guards: Vec<Guard>,
}

/// Result of a step.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// Object after the step; for a delete the last state, at the revision of the deletion.
    pub object: Arc<Object>,
    /// Whether anything was written: an update without changes keeps the revision and sends no event.
    pub changed: bool,
}
