//! Finalizers that only a dialect's own controllers remove: once Berth is uninstalled, the deletion of an
//! object with such a finalizer never ends.

use std::fmt;

use berth_apimachinery::GroupResource;

/// One finalizer, or several with a common beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finalizer {
    /// The finalizer with this name.
    Is(&'static str),
    /// The finalizers that begin with this text.
    Begins(&'static str),
}

impl Finalizer {
    /// Whether the finalizer `name` is covered.
    #[must_use]
    pub fn covers(self, name: &str) -> bool {
        match self {
            Self::Is(own) => own == name,
            Self::Begins(prefix) => name.starts_with(prefix),
        }
    }
}

impl fmt::Display for Finalizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(name) => f.write_str(name),
            Self::Begins(prefix) => write!(f, "{prefix}…"),
        }
    }
}

/// Finalizers on the objects of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The resource.
    pub resource: GroupResource,
    /// A served version.
    pub version: &'static str,
    /// The finalizers.
    pub finalizer: Finalizer,
}
