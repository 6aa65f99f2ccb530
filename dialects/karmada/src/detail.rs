//! The part of a decision that only Karmada has.

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

/// The part of a decision that only Karmada has.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// Reason why the binding is ignored; `None` if it is decided.
    pub(crate) ignored: Option<IgnoreReason>,
    /// Reason why Karmada would decide the binding now; [`Trigger::Nothing`] if there is no reason. `None` if
    /// the pipeline did not run.
    pub(crate) trigger: Option<Trigger>,
    /// Reason why the binding is not scheduled: the failure of the group that was tried first, or an exceeded
    /// quota.
    pub(crate) failure: Option<Failure>,
    /// The quota that the decision would exceed; `None` if it exceeds no quota.
    pub(crate) excess: Option<Excess>,
    /// The replicas of each cluster after the decision; `None` if the listed clusters stay.
    pub(crate) shares: Option<Shares>,
    /// The index of the group of clusters that the decision reports; `None` if the placement has no groups.
    pub(crate) group: Option<usize>,
    /// The groups of clusters that were tried, in order.
    pub(crate) tried: Vec<GroupAttempt>,
    /// The clusters that were selected before replicas were divided, in the order of names.
    pub(crate) selected: Vec<Ix>,
    /// The limits of the room of the feasible clusters, in the order of these clusters.
    pub(crate) limits: Vec<RoomLimit>,
    /// Whether the caller chose the clusters.
    pub(crate) is_chosen: bool,
}

impl Detail {
    /// Whether the listed clusters stay because nothing makes Karmada decide. If the caller chose the
    /// clusters, the binding is decided without a trigger.
    pub(crate) fn is_left_alone(&self) -> bool {
        self.trigger == Some(Trigger::Nothing) && !self.is_chosen
    }
}
