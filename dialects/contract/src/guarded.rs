//! Objects of a system that are guarded by rules about other objects, as data. [`Guards`](crate::Guards)
//! answers the queries about the other objects.

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key};
use serde_json::Value;

/// A resource whose objects cannot be deleted while objects of another resource use them (docs/admission.md,
/// "Guards").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtectedResource {
    /// The resource that is used.
    pub resource: GroupResource,
    /// The resource whose objects use objects of the other resource.
    pub by: GroupResource,
}

/// The resources of a dialect that are guarded.
#[derive(Clone, Copy, Debug)]
pub struct GuardedResources {
    /// Resources whose objects cannot be deleted while they are used.
    pub protects: &'static [ProtectedResource],
    /// Returns the protected objects that an object of the given resource uses, as read from that object
    /// alone.
    pub uses: fn(GroupResource, &Value) -> Vec<Key>,
    /// The resources whose objects must agree with other objects.
    pub judges: &'static [GroupResource],
    /// Resources whose new objects get fields from other objects, where Berth stores the resource.
    pub completes: &'static [GroupResource],
    /// Resources with objects that are reserved for the scheduler.
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

/// Name of the fence around the protected object at `key`, which is of the dialect `dialect`. Every write
/// that begins to use the object passes the fence, and so does the object's deletion. Decisions that count
/// capacity on the object name the same fence ([`Decision::fences`](crate::Decision::fences)), so that a
/// concurrent binding and deletion conflict.
#[must_use]
pub fn fence(dialect: &str, key: &Key) -> Arc<str> {
    let resource = key.resource.resource;
    if key.namespace.is_empty() {
        format!("{dialect}/{resource}/{}", key.name).into()
    } else {
        format!("{dialect}/{resource}/{}/{}", key.namespace, key.name).into()
    }
}
