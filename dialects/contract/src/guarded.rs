//! Objects of a system that are guarded by rules about other objects, as data.
//! [`Guarding`](crate::Guarding) knows the other objects.

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key};
use serde_json::Value;

/// A resource whose objects are not deleted while objects of another one use them (docs/admission.md,
/// "Guards").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtectedResource {
    /// Resource that is used.
    pub resource: GroupResource,
    /// Resource whose objects use it.
    pub by: GroupResource,
}

/// Resources that are guarded.
#[derive(Clone, Copy, Debug)]
pub struct GuardedResources {
    /// Resources whose objects are not deleted while they are used.
    pub protects: &'static [ProtectedResource],
    /// Returns the protected objects that an object of the using resource uses. Reads the object alone.
    pub uses: fn(GroupResource, &Value) -> Vec<Key>,
    /// The resources whose objects must agree with other objects.
    pub judges: &'static [GroupResource],
    /// Resources whose new objects are completed from other objects, where Berth stores them.
    pub completes: &'static [GroupResource],
    /// Resources with objects that may be reserved for the scheduler.
    pub reserves: &'static [GroupResource],
}

impl Default for GuardedResources {
    fn default() -> Self {
        Self {
            protects: &[],
            uses: |_, _| Vec::new(),
            judges: &[],
            completes: &[],
            reserves: &[],
        }
    }
}

/// Name of the fence for uses of the protected object at `key` of the dialect `dialect`. Every write that
/// begins a use passes the fence, and so does the object's deletion. Decisions that count capacity on the
/// object name the same fence ([`Decision::fences`](crate::Decision::fences)), so that a concurrent binding and
/// deletion conflict.
#[must_use]
pub fn fence(dialect: &str, key: &Key) -> Arc<str> {
    let resource = key.resource.resource;
    if key.namespace.is_empty() {
        format!("{dialect}/{resource}/{}", key.name).into()
    } else {
        format!("{dialect}/{resource}/{}/{}", key.namespace, key.name).into()
    }
}
