//! Part of a decision that only this system has.

use std::collections::BTreeSet;

use berth_scheduling::Ix;

use crate::choice::Tried;
use crate::divide::Shares;
use crate::failure::Failure;
use crate::ignored::Ignored;
use crate::quota::Excess;
use crate::room::Bound;
use crate::trigger::Trigger;

/// The column of room, with the resource that limits it.
pub(crate) const ROOM: &str = "Room";

/// Part of a decision that only this system has.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// Why the binding is left alone, where it is.
    pub(crate) ignored: Option<Ignored>,
    /// Cause for which Karmada decides.
    pub(crate) trigger: Option<Trigger>,
    /// Why no group takes all: of the one that was tried first.
    pub(crate) failure: Option<Failure>,
    /// The quota that has too little left, where one has.
    pub(crate) excess: Option<Excess>,
    /// Replicas by cluster as they will be listed; absent where what is listed stays.
    pub(crate) shares: Option<Shares>,
    /// The index of the reported group.
    pub(crate) group: Option<usize>,
    /// The groups that were tried, in order.
    pub(crate) tried: Vec<Tried>,
    /// The clusters that were selected, before replicas were divided.
    pub(crate) selected: BTreeSet<Ix>,
    /// Bound of the room of each feasible cluster, aligned with them.
    pub(crate) bounds: Vec<Bound>,
    /// The clusters that were chosen by the caller.
    pub(crate) is_chosen: bool,
}
