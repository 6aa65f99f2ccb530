//! Keys of resources, and of objects.

use std::fmt;
use std::sync::Arc;

use crate::symbol;

/// A resource by group and plural name, across its versions: `placements.cluster.open-cluster-management.io`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The plural, lower-case name.
    pub resource: &'static str,
}

impl GroupResource {
    /// Creates a resource whose names are known at compile time.
    #[must_use]
    pub const fn new(group: &'static str, resource: &'static str) -> Self {
        Self { group, resource }
    }

    /// Creates a resource whose names become known at run time, such as in a stored key or a flag. The names
    /// stay in memory until the process ends ([`symbol`]), so they must not be unchecked names from requests.
    #[must_use]
    pub fn intern(group: &str, resource: &str) -> Self {
        Self {
            group: symbol::intern(group),
            resource: symbol::intern(resource),
        }
    }
}

impl fmt::Display for GroupResource {
    /// Formats `plural.group`, or only `plural` in the core group, as in error messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

impl fmt::Debug for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Key of one object: resource, namespace and name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The resource of the object.
    pub resource: GroupResource,
    /// The namespace of the object; empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// The name of the object.
    pub name: Arc<str>,
}

impl Key {
    /// Creates the key of `namespace`/`name` (an empty namespace for cluster-scoped objects).
    #[must_use]
    pub fn new(resource: GroupResource, namespace: &str, name: &str) -> Self {
        Self {
            resource,
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}/{}", self.resource, self.name)
        } else {
            write!(f, "{}/{}/{}", self.resource, self.namespace, self.name)
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interned_resources_equal_static_ones() {
        assert_eq!(
            GroupResource::intern("apps", "deployments"),
            GroupResource::new("apps", "deployments")
        );
    }
}
