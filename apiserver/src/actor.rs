//! The actor of a write.

use berth_admission::UserInfo;
use berth_apimachinery::Timestamp;

use crate::annotations::Annotations;
use crate::call::Warnings;

/// User and time of a write, and whether anything is stored.
#[derive(Clone, Copy)]
pub struct Actor<'a> {
    /// The user.
    pub user: &'a UserInfo,
    /// Field manager of its writes.
    pub manager: &'a str,
    /// The instant of the request.
    pub now: Timestamp,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// Whether others were asked already, about the body of the subresource that caused this write.
    pub(crate) asked: bool,
    /// Whether the process itself decided the write, so that others may only add to it.
    pub(crate) decided: bool,
    /// Texts for the client.
    pub warnings: &'a Warnings,
    /// Texts for the audit log.
    pub annotations: &'a Annotations,
}
