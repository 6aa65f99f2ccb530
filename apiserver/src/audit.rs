//! The audit log: one `audit.k8s.io/v1` Event per line, at level Metadata (no bodies), to a file or standard output.
//!
//! Events are never dropped: a full queue makes requests wait, and what is queued is written before the server ends.

mod event;
mod writer;

pub(crate) use event::{Event, ObjectReference, ResponseStatus, Stage};
pub use writer::{Audit, AuditError};
