//! The dialects that are responsible for resources.

use std::sync::Arc;

use berth_admission::Request;
use berth_apimachinery::GroupResource;
use berth_dialect_contract::{Dialect, GuardedResources};

use super::knowledge::Knowledge;

/// The resources whose writes a plugin handles, each with its dialect.
pub(super) struct Responsible(Vec<(GroupResource, Arc<dyn Dialect>)>);

impl Responsible {
    /// The dialects of `knowledge`, each for those of its guarded resources that `resources` selects.
    pub(super) fn of(
        knowledge: &Knowledge,
        resources: impl Fn(GuardedResources) -> &'static [GroupResource],
    ) -> Self {
        let of_dialect = |dialect: &Arc<dyn Dialect>| {
            let dialect = Arc::clone(dialect);
            let resources = resources(dialect.guarded()).iter();
            resources.map(move |&resource| (resource, Arc::clone(&dialect)))
        };
        Self(knowledge.dialects().flat_map(of_dialect).collect())
    }

    /// The dialect for `resource`.
    pub(super) fn dialect(&self, resource: GroupResource) -> Option<&Arc<dyn Dialect>> {
        let found = self.0.iter().find(|(known, _)| *known == resource);
        found.map(|(_, dialect)| dialect)
    }

    /// Whether `request` is about an object of these resources, and is not from the object's own
    /// scheduler.
    pub(super) fn concerns(&self, request: &Request<'_>) -> bool {
        let dialect = self.dialect(request.resource);
        dialect.is_some_and(|dialect| dialect.actor() != request.user.name)
    }
}
