//! Guarded writes of single objects.

use std::sync::Arc;

use meta::{Draft, Key, Object, Revision};

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Make an object that is not there.
    Create,
    /// Replace an object that is there.
    Update,
    /// Remove an object that is there.
    Delete,
}

/// What must be true of the step's own object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// It is not there (always so for a create).
    Absent,
    /// It is there, whatever its revision: for objects an earlier step of the same list wrote.
    Present,
    /// It is there at exactly this revision.
    At(Revision),
}

/// What else must be true when the step is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Another object is still at this revision.
    Unchanged {
        /// Which object.
        key: Key,
        /// Its revision.
        revision: Revision,
    },
    /// No other write passed this fence after `not_after` (the revision of the snapshot decided on). Committing the
    /// step passes the fence. Fences serialize writes that count the same capacity, such as two bindings to one seed.
    Fence {
        /// The fence's name, such as `gardener/seeds/eu-1`.
        name: Arc<str>,
        /// The revision of the snapshot the decision was made on.
        not_after: Revision,
    },
}

/// One guarded write.
#[derive(Clone, Debug)]
pub struct Step {
    /// What to do.
    pub verb: Verb,
    /// To which object.
    pub key: Key,
    /// The subresource a hub must be asked through, or the empty string. Backends that hold whole objects ignore it.
    pub subresource: &'static str,
    /// The new object; `None` for a delete.
    pub object: Option<Draft>,
    /// What must be true of the object.
    pub expect: Expect,
    /// What else must be true.
    pub guards: Vec<Guard>,
}

/// What a step left behind.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The object after the step; for a delete the last state, at the revision of the deletion.
    pub object: Arc<Object>,
    /// Whether anything was written: an update that changes nothing keeps the revision and sends no event.
    pub changed: bool,
}
