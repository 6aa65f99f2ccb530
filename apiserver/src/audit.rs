//! Auditing: writes `audit.k8s.io/v1` Events, as a [`Policy`] configures them, to a log file and to a
//! webhook.
//!
//! A full queue drops no events for the log: it makes requests wait, and queued events are written before the
//! server ends. Events for which no request waits, since its client has gone or its watch has ended, wait in
//! tasks with a limit. An event beyond this limit, or that cannot be written to the log, for example on a full
//! disk, is lost; the loss is counted and is in the server's own log. Events for the webhook wait in a bounded
//! buffer; events that do not fit, or that the webhook does not accept in several attempts, are dropped and
//! counted.

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
