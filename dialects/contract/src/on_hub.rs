//! The needs of a dialect on a hub that stores the system's objects, as data.

use std::sync::Arc;

use berth_apimachinery::GroupResource;

use crate::finalizer::ResourceFinalizer;
use crate::hub_rule::HubRule;
use crate::own_scheduler::OwnScheduler;

/// A test of whether an object concerns a dialect, by the fields of the object.
pub type Concern = fn(&serde_json::Value) -> bool;

/// The tests of several dialects: an object concerns them if one of the tests passes.
pub type Concerns = Arc<[Concern]>;

/// The needs of a dialect on a hub.
#[derive(Clone, Debug, Default)]
pub struct OnHub {
    /// Rules that select the writes for which the hub must call the webhooks, so that
    /// [`Dialect::admission`](crate::Dialect::admission) works there. The rules that follow from
    /// [`Dialect::guarded`](crate::Dialect::guarded) are added in any case.
    pub rules: Vec<HubRule>,
    /// The finalizers that the dialect's controllers add to objects, and that no other program removes.
    pub finalizers: Vec<ResourceFinalizer>,
    /// Resources of objects that the scheduler creates, updates and deletes, so that it needs the rights to
    /// do so, in addition to the demands ([`Dialect::demands`](crate::Dialect::demands)) and to reserved
    /// resources ([`GuardedResources::reserves`](crate::GuardedResources::reserves)).
    pub records: &'static [GroupResource],
    /// The user names of the system's own programs, unless its SchedulerConfiguration names others
    /// ([`SystemUsers`](crate::SystemUsers)).
    pub users: &'static [&'static str],
    /// The system's own scheduler, where it has one.
    pub scheduler: Option<OwnScheduler>,
    /// Function that returns the test for the objects of a resource, or `None` if all of them concern the
    /// dialect. An object concerns the dialect if the object or its namespace passes the test; other objects
    /// are not copied. Without the function, all objects of all resources concern the dialect.
    pub concern: Option<fn(GroupResource) -> Option<Concern>>,
}

impl OnHub {
    /// Returns the test of whether objects of `resource` concern the dialect; `None` where all objects do.
    #[must_use]
    pub fn concern(&self, resource: GroupResource) -> Option<Concern> {
        self.concern.and_then(|concern| concern(resource))
    }
}
