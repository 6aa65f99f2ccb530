//! User and circumstances of a write.

use berth_admission::UserInfo;
use berth_apimachinery::Timestamp;

use crate::annotations::Annotations;
use crate::call::Warnings;

/// User, time and other circumstances of a write.
#[derive(Clone, Copy)]
pub struct Actor<'a> {
    /// The user.
    pub user: &'a UserInfo,
    /// Field manager of the write; a deletion needs none.
    pub manager: &'a str,
    /// The instant of the request.
    pub now: Timestamp,
    /// Whether the write is a dry run, which stores nothing.
    pub dry_run: bool,
    /// Whether policies and webhooks have already admitted the body of the subresource that causes this
    /// write; they are then not consulted again.
    pub(crate) policies_consulted: bool,
    /// Whether this process determined the content of the write, so that policies and webhooks may only add
    /// to it.
    pub(crate) decided: bool,
    /// Warnings for the client.
    pub warnings: &'a Warnings,
    /// Annotations for the audit log.
    pub annotations: &'a Annotations,
}
