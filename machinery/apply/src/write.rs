//! Writes to an object, and the resulting owners of its fields.

mod apply;
mod reconcile;
mod reset;
mod update;
mod versions;

use berth_apimachinery::Timestamp;

use crate::managers::{self, Identity, Operation};
pub use apply::{ApplyError, ApplyOutcome, Conflict};
pub use reset::Reset;
pub use versions::{SingleVersion, Versions};

/// Author, version and time of a write, and the part of the object that it may change.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// Name of the manager; an empty name means `unknown`.
    pub manager: &'a str,
    /// Subresource of the write; empty for the object itself.
    pub subresource: &'a str,
    /// API version of the objects and of the configuration.
    pub api_version: &'a str,
    /// Time for changed entries.
    pub now: Timestamp,
    /// Fields that the write cannot change, and so never owns.
    pub reset: &'a Reset,
}

impl Writer<'_> {
    fn identity(&self, operation: Operation) -> Identity {
        Identity {
            manager: managers::name_or_unknown(self.manager).into_owned(),
            operation,
            api_version: match operation {
                Operation::Apply => String::new(),
                Operation::Update => self.api_version.to_owned(),
            },
            subresource: self.subresource.to_owned(),
        }
    }

    fn time(&self) -> Option<Timestamp> {
        managers::whole_seconds(self.now)
    }
}
