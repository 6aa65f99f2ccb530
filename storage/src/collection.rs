//! A consistent, ordered picture of one resource. Cloning is cheap: the map is persistent.

use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;
use meta::{Object, Revision};

/// The place of an object in its collection: by namespace, then by name, in byte order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Name {
    /// The place of `namespace`/`name`.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// The objects of one resource at one revision.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// The revision of the picture.
    pub revision: Revision,
    /// The objects in order.
    pub items: OrdMap<Name, Arc<Object>>,
}

impl Collection {
    /// One object.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.items.get(&Name::new(namespace, name))
    }

    /// The objects of one namespace, or of all with `None`, in order, beginning after `after`.
    pub fn iter<'a>(
        &'a self,
        namespace: Option<&'a str>,
        after: Option<&Name>,
    ) -> impl Iterator<Item = (&'a Name, &'a Arc<Object>)> + 'a {
        let start = match (after, namespace) {
            (Some(after), _) => Bound::Excluded(after.clone()),
            (None, Some(namespace)) => Bound::Included(Name::new(namespace, "")),
            (None, None) => Bound::Unbounded,
        };
        self.items
            .range((start, Bound::Unbounded))
            .take_while(move |(name, _)| namespace.is_none_or(|namespace| *name.namespace == *namespace))
    }
}
