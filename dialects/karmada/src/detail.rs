//! The part of a decision that only this system has.

use berth_scheduling::Ix;

use crate::choice::GroupAttempt;
use crate::divide::Shares;
use crate::failure::Failure;
use crate::ignored::IgnoreReason;
use crate::quota::Excess;
use crate::room::RoomLimit;
use crate::trigger::Trigger;

/// The name of the score column for room.
pub(crate) const ROOM: &str = "Room";

/// The part of a decision that only this system has.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// Reason why the binding is ignored; `None` if it is not.
    pub(crate) ignored: Option<IgnoreReason>,
    /// Reason why Karmada would decide now; [`Trigger::Nothing`] if it would not. `None` if the pipeline did
    /// not run.
    pub(crate) trigger: Option<Trigger>,
    /// Reason why the binding is not scheduled: of the group that was tried first, or the exceeded quota.
    pub(crate) failure: Option<Failure>,
    /// The quota that would be exceeded, if there is one.
    pub(crate) excess: Option<Excess>,
    /// Replicas by cluster after the decision; `None` if the listed clusters stay.
    pub(crate) shares: Option<Shares>,
    /// The index of the reported group.
    pub(crate) group: Option<usize>,
    /// The groups that were tried, in order.
    pub(crate) tried: Vec<GroupAttempt>,
    /// The clusters that were selected before replicas were divided, in the order of names.
    pub(crate) selected: Vec<Ix>,
    /// The limit of each feasible cluster's room, aligned with the feasible clusters.
    pub(crate) bounds: Vec<RoomLimit>,
    /// Whether the caller chose the clusters.
    pub(crate) is_chosen: bool,
}
