//! Objects of a system that are guarded by rules about other objects, as data.
//! [`Guarding`](crate::Guarding) knows the other objects.

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key};
use serde_json::Value;

/// A resource whose objects are not deleted while objects of another one use them (docs/admission.md,
/// "Guards").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protected {
    /// Resource that is used.
    pub resource: GroupResource,
    /// By objects of which resource.
    pub by: GroupResource,
}

/// Resources that are guarded.
#[derive(Clone, Copy, Debug)]
pub struct Guarded {
    /// Resources whose objects are not deleted while they are used.
    pub protects: &'static [Protected],
    /// The protected objects that an object, which is of the resource, uses. Reads the object alone.
    pub uses: fn(GroupResource, &Value) -> Vec<Key>,
    /// The resources whose objects must agree with other objects.
    pub judges: &'static [GroupResource],
    /// The resources of which new objects are completed in the light of other objects, where Berth stores
    /// them.
    pub completes: &'static [GroupResource],
    /// The resources of which objects may be reserved for the scheduler.
    pub reserves: &'static [GroupResource],
}

impl Default for Guarded {
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

/// The name of the fence that every write passes which begins a use of the protected object at `key` of the
/// dialect named `dialect`, and its deletion too. Where decisions count capacity on it, this is the fence
/// they name ([`Decision::fences`](crate::Decision::fences)), so that a concurrent binding and deletion
/// conflict.
#[must_use]
pub fn fence(dialect: &str, key: &Key) -> Arc<str> {
    let resource = key.resource.resource;
    if key.namespace.is_empty() {
        format!("{dialect}/{resource}/{}", key.name).into()
    } else {
        format!("{dialect}/{resource}/{}/{}", key.namespace, key.name).into()
    }
}
