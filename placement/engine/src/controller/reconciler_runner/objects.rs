//! The objects that a reconciler sees: lists of its watched resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key, Object};
use berth_dialect_contract::Objects;
use berth_storage::{Collection, Source};

/// Immutable lists of objects, one for each watched resource.
pub(super) struct Lists(BTreeMap<GroupResource, Collection>);

impl Lists {
    /// Takes the cached objects of `resources` from `source`.
    pub(super) fn of(source: &dyn Source, resources: &[GroupResource]) -> Self {
        let lists = resources
            .iter()
            .map(|&resource| (resource, source.cached(resource)));
        Self(lists.collect())
    }
}

impl Objects for Lists {
    fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.0.get(&key.resource)?.get(&key.namespace, &key.name)
    }

    fn list<'a>(
        &'a self,
        resource: GroupResource,
        namespace: Option<&'a str>,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        let list = self.0.get(&resource).into_iter();
        Box::new(list.flat_map(move |list| list.iter(namespace, None).map(|(_, object)| object)))
    }
}
