//! Finalizers that only a dialect's own controllers remove: if Berth is uninstalled, the deletion of an
//! object with such a finalizer never ends.

use std::fmt;

use berth_apimachinery::GroupResource;

/// One finalizer, or all finalizers with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finalizer {
    /// The finalizer with this name.
    Name(&'static str),
    /// All finalizers with this prefix.
    Prefix(&'static str),
}

impl Finalizer {
    /// Whether the finalizer `name` is included.
    #[must_use]
    pub fn covers(self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Prefix(prefix) => name.starts_with(prefix),
        }
    }
}

impl fmt::Display for Finalizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Prefix(prefix) => write!(f, "{prefix}…"),
        }
    }
}

/// A finalizer that a dialect's controllers add to objects of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceFinalizer {
    /// The resource.
    pub resource: GroupResource,
    /// A version in which the hub serves the resource.
    pub version: &'static str,
    /// The finalizer, or several finalizers.
    pub finalizer: Finalizer,
}
