//! Needs of a hub that stores the objects of a system, as data.

use std::sync::Arc;

use berth_apimachinery::GroupResource;

use crate::hold::Hold;
use crate::hub_rule::HubRule;
use crate::own_scheduler::OwnScheduler;

/// Whether an object concerns a dialect, by its own fields.
pub type Concern = fn(&serde_json::Value) -> bool;

/// Tests for whether an object is the business of any of several dialects: that of one of them.
pub type Concerns = Arc<[Concern]>;

/// Needs of a hub.
#[derive(Clone, Debug, Default)]
pub struct OnHub {
    /// Rules that the hub has to ask about for [`Dialect::admission`](crate::Dialect::admission) to
    /// work there. Rules that follow from [`Dialect::guarded`](crate::Dialect::guarded) are added
    /// anyway.
    pub rules: Vec<HubRule>,
    /// The finalizers that this dialect's controllers add to objects, and that no other program
    /// removes.
    pub holds: Vec<Hold>,
    /// Resources that the scheduler creates, overwrites and deletes, in addition to its demands
    /// ([`Dialect::demands`](crate::Dialect::demands)) and to the resources reserved for it
    /// ([`Guarded::reserves`](crate::Guarded::reserves)): the scheduler needs rights on them.
    pub records: &'static [GroupResource],
    /// The users that the system's own programs write as, unless its SchedulerConfiguration names others
    /// ([`SystemUsers`](crate::SystemUsers)).
    pub users: &'static [&'static str],
    /// The system's own scheduler, where it has one.
    pub scheduler: Option<OwnScheduler>,
    /// Tests for the objects of a resource that concern this dialect, where not all of them do: those
    /// that pass, and those in a namespace that passes. Others are not copied. `None`: all of them.
    pub concern: Option<fn(GroupResource) -> Option<Concern>>,
}

impl OnHub {
    /// Returns the test for objects of `resource` that concern it; `None` where all of them do.
    #[must_use]
    pub fn concern(&self, resource: GroupResource) -> Option<Concern> {
        self.concern.and_then(|concern| concern(resource))
    }
}
