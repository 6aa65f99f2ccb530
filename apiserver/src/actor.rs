//! Author of a write, with its circumstances.

use berth_admission::UserInfo;
use berth_apimachinery::Timestamp;

use crate::annotations::Annotations;
use crate::call::Warnings;

/// User and time of a write, and its other circumstances.
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
    /// Whether external policies have already been consulted about the body of the subresource that caused
    /// this write.
    pub(crate) asked: bool,
    /// Whether the process itself decided the write, so that other parties may only add to it.
    pub(crate) decided: bool,
    /// Warnings for the client.
    pub warnings: &'a Warnings,
    /// Annotations for the audit log.
    pub annotations: &'a Annotations,
}
