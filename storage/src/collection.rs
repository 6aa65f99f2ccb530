//! A consistent, ordered list of one resource. Cloning is cheap, since the map is persistent.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use berth_apimachinery::{Object, Revision};
use equivalent::{Comparable, Equivalent};
use imbl::OrdMap;

/// Position of an object in its collection: by namespace, then by name, in byte order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Name {
    /// Creates the position of `namespace`/`name`.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// Namespace and name of a lookup, in the order of [`Name`]: a lookup needs no new `Name`.
struct NameRef<'a>(&'a str, &'a str);

impl Equivalent<Name> for NameRef<'_> {
    fn equivalent(&self, name: &Name) -> bool {
        self.compare(name).is_eq()
    }
}

impl Comparable<Name> for NameRef<'_> {
    fn compare(&self, name: &Name) -> Ordering {
        (self.0, self.1).cmp(&(&*name.namespace, &*name.name))
    }
}

/// The objects of one resource at one revision.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// The revision of the list.
    pub revision: Revision,
    /// The objects in order.
    pub items: OrdMap<Name, Arc<Object>>,
}

impl Collection {
    /// Whether the collection shares the map of objects with `other`. The check is cheap, but two separately
    /// built collections differ even if their objects are equal.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.items.ptr_eq(&other.items)
    }

    /// Returns the object `namespace`/`name`.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.items.get(&NameRef(namespace, name))
    }

    /// Iterates over the objects of `namespace` (`None`: of all namespaces) in order, beginning after `after`,
    /// which must be in `namespace`.
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
