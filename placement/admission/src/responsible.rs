//! The resources that an admission plugin handles, and the dialects that are responsible for them.

use std::sync::Arc;

use berth_admission::Request;
use berth_apimachinery::GroupResource;
use berth_dialect_contract::{Dialect, GuardedResources};

use super::knowledge::Knowledge;

/// The resources whose writes a plugin handles, each with the responsible dialect.
pub(super) struct ResponsibleDialects(Vec<(GroupResource, Arc<dyn Dialect>)>);

impl ResponsibleDialects {
    /// Takes the resources that `resources` selects from the guarded resources of each dialect of
    /// `knowledge`.
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

    /// Returns the dialect that is responsible for `resource`.
    pub(super) fn dialect(&self, resource: GroupResource) -> Option<&Arc<dyn Dialect>> {
        let found = self.0.iter().find(|(known, _)| *known == resource);
        found.map(|(_, dialect)| dialect)
    }

    /// Whether the plugin handles `request`: the resource has a responsible dialect, and the user is not the
    /// scheduler of that dialect.
    pub(super) fn concerns(&self, request: &Request<'_>) -> bool {
        let dialect = self.dialect(request.resource);
        dialect.is_some_and(|dialect| dialect.actor() != request.user.name)
    }
}
