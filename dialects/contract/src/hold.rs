//! Finalizers that only a dialect's own controllers remove: objects with one wait for ever once Berth
//! is uninstalled.

use std::fmt;

use berth_apimachinery::GroupResource;

/// Finalizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finalizer {
    /// The one of this name.
    Is(&'static str),
    /// Finalizers that begin with this.
    Begins(&'static str),
}

impl Finalizer {
    /// Whether `name` is one of them.
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
