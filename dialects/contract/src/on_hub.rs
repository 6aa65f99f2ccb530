//! Needs of a dialect on a hub that stores the objects of its system, as data.

use std::sync::Arc;

use berth_apimachinery::GroupResource;

use crate::hold::Hold;
use crate::hub_rule::HubRule;
use crate::own_scheduler::OwnScheduler;

/// A test of an object's own fields: whether the object concerns a dialect.
pub type Concern = fn(&serde_json::Value) -> bool;

/// The tests of several dialects: an object concerns them if one of the tests passes.
pub type Concerns = Arc<[Concern]>;

/// Needs of a dialect on a hub.
#[derive(Clone, Debug, Default)]
pub struct OnHub {
    /// Rules that select the writes for which the hub must call the webhooks, so that
    /// [`Dialect::admission`](crate::Dialect::admission) works there. The rules that follow from
    /// [`Dialect::guarded`](crate::Dialect::guarded) are added in any case.
    pub rules: Vec<HubRule>,
    /// The finalizers that this dialect's controllers add to objects, and that no other program
    /// removes.
    pub holds: Vec<Hold>,
    /// Resources that the scheduler creates, overwrites and deletes, so that it needs rights on them, in
    /// addition to its demands ([`Dialect::demands`](crate::Dialect::demands)) and to the resources reserved
    /// for it ([`GuardedResources::reserves`](crate::GuardedResources::reserves)).
    pub records: &'static [GroupResource],
    /// The user names of the system's own programs, unless its SchedulerConfiguration names others
    /// ([`SystemUsers`](crate::SystemUsers)).
    pub users: &'static [&'static str],
    /// The system's own scheduler, where it has one.
    pub scheduler: Option<OwnScheduler>,
    /// Returns the test for objects of a resource, where some of these objects do not concern this dialect.
    /// An object concerns the dialect if the object or its namespace passes the test; other objects are not
    /// copied. `None`: all objects concern this dialect.
    pub concern: Option<fn(GroupResource) -> Option<Concern>>,
}

impl OnHub {
    /// Returns the test for objects of `resource` that concern the dialect; `None` where all of them do.
    #[must_use]
    pub fn concern(&self, resource: GroupResource) -> Option<Concern> {
        self.concern.and_then(|concern| concern(resource))
    }
}
