//! The objects a reconciler sees: pictures of the resources it watches.

use std::collections::BTreeMap;
use std::sync::Arc;

use dialect_contract::Objects;
use meta::{GroupResource, Key, Object};
use storage::{Collection, Source};

/// One picture per resource. They are cheap to take, and nothing in them changes.
pub(super) struct Pictures(BTreeMap<GroupResource, Collection>);

impl Pictures {
    /// What `source` has at hand of `resources`.
    pub(super) fn of(source: &dyn Source, resources: &[GroupResource]) -> Self {
        let pictures = resources
            .iter()
            .map(|&resource| (resource, source.cached(resource)));
        Self(pictures.collect())
    }
}

impl Objects for Pictures {
    fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.0.get(&key.resource)?.get(&key.namespace, &key.name)
    }

    fn list<'a>(
        &'a self,
        resource: GroupResource,
        namespace: Option<&'a str>,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        let picture = self.0.get(&resource).into_iter();
        Box::new(picture.flat_map(move |picture| picture.iter(namespace, None).map(|(_, object)| object)))
    }
}
