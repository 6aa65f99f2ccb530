//! Auditing: writes `audit.k8s.io/v1` Events, as a [`Policy`] configures them, to a log file and to a
//! webhook.
//!
//! Events for the log are never dropped: a full queue makes requests wait, and queued events are written
//! before the server ends. Events for the webhook wait in a bounded buffer; events that do not fit are
//! dropped and counted.

mod batch;
mod bodies;
mod event;
mod level;
mod policy;
mod rotate;
mod writer;

pub use batch::{BatchDestination, BatchLimits, DeliveryError};
pub(crate) use bodies::{CONFIDENTIAL, are_confidential, json_line, read_response};
pub(crate) use event::{Event, ObjectReference, ResponseStatus};
pub use level::Level;
pub(crate) use level::Stage;
pub use policy::{Policy, PolicyErrors};
pub(crate) use policy::{PolicyAttributes, Verdict};
pub use rotate::Rotation;
pub use writer::{Audit, AuditConfig, AuditError, AuditLog};
