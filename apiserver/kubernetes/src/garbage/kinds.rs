//! Stored kinds, by the group and kind that owner references have, and by resource.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key, Kind, OwnerReference};
use berth_apiserver::{Backing, Group};

/// The stored kinds of a server.
#[derive(Default)]
pub struct Kinds {
    by_kind: HashMap<(&'static str, &'static str), Arc<dyn Kind>>,
    by_resource: HashMap<GroupResource, Arc<dyn Kind>>,
}

impl Kinds {
    /// The stored kinds of `groups`.
    #[must_use]
    pub fn of(groups: &[Group]) -> Arc<Self> {
        let mut kinds = Self::default();
        for resource in groups.iter().flat_map(|group| &group.resources) {
            if !matches!(resource.backing, Backing::Stored(_)) {
                continue;
            }
            let info = resource.kind.info();
            kinds
                .by_kind
                .insert((info.group, info.kind), Arc::clone(&resource.kind));
            // Where two APIs serve the same stored objects, the kind of the first API is used.
            kinds
                .by_resource
                .entry(resource.kind.stored_in())
                .or_insert_with(|| Arc::clone(&resource.kind));
        }
        Arc::new(kinds)
    }

    /// Resources of the stored kinds, sorted and without duplicates.
    #[must_use]
    pub fn stored(&self) -> Vec<GroupResource> {
        self.by_resource
            .keys()
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// Namespaced resources of the stored kinds, sorted and without duplicates.
    #[must_use]
    pub fn namespaced(&self) -> Vec<GroupResource> {
        let namespaced = |resource: &GroupResource| self.by_resource[resource].info().namespaced();
        self.stored().into_iter().filter(namespaced).collect()
    }

    /// The kind of the stored objects of `resource`.
    #[must_use]
    pub fn kind(&self, resource: GroupResource) -> Option<&Arc<dyn Kind>> {
        self.by_resource.get(&resource)
    }

    /// Key of the owner to which an object in `namespace` refers. `None` for a kind that this server does not
    /// store, and for a namespaced owner of a cluster-scoped object, which is not allowed.
    #[must_use]
    pub fn resolve(&self, owner: &OwnerReference, namespace: &str) -> Option<Key> {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = self.by_kind.get(&(group, owner.kind.as_str()))?;
        let resource = kind.stored_in();
        match (kind.info().namespaced(), namespace) {
            (false, _) => Some(Key::new(resource, "", &owner.name)),
            (true, "") => None,
            (true, namespace) => Some(Key::new(resource, namespace, &owner.name)),
        }
    }
}
