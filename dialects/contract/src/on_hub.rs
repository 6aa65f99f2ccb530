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
    /// Rules about which it must ask for [`Dialect::admission`](crate::Dialect::admission) to work there.
    /// Rules that follow from [`Dialect::guarded`](crate::Dialect::guarded) are asked for anyway.
    pub rules: Vec<HubRule>,
    /// The finalizers that this dialect's controllers add to objects, and that no other program
    /// removes.
    pub holds: Vec<Hold>,
    /// Resources that the scheduler creates, writes over and deletes beside those it places
    /// ([`Dialect::demands`](crate::Dialect::demands)) and those reserved for it
    /// ([`Guarded::reserves`](crate::Guarded::reserves)): the scheduler needs rights on them.
    pub records: &'static [GroupResource],
    /// The users that the system's own programs write as, unless its SchedulerConfiguration names others
    /// ([`SystemUsers`](crate::SystemUsers)).
    pub users: &'static [&'static str],
    /// The scheduler that the system brings along, where it does.
    pub scheduler: Option<OwnScheduler>,
    /// Tests for the objects of a resource that are the business of this dialect, where not all of them are:
    /// those that pass, and those in a namespace that does. No other is copied. `None`: all of them.
    pub concern: Option<fn(GroupResource) -> Option<Concern>>,
}

impl OnHub {
    /// Returns the test for objects of `resource` that are its business; `None` where all of them are.
    #[must_use]
    pub fn concern(&self, resource: GroupResource) -> Option<Concern> {
        self.concern.and_then(|concern| concern(resource))
    }
}
