//! The resources of a system whose writes are checked by rules about other objects, as data.
//! [`Guards`](crate::Guards) answers queries about these other objects.

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key};
use serde_json::Value;

/// A resource whose objects cannot be deleted while objects of another resource use them (docs/admission.md,
/// "Guards").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtectedResource {
    /// The protected resource.
    pub resource: GroupResource,
    /// The resource whose objects use protected objects.
    pub used_by: GroupResource,
}

/// The resources of a dialect whose writes are guarded.
#[derive(Clone, Copy, Debug)]
pub struct GuardedResources {
    /// Resources whose objects cannot be deleted while other objects use them.
    pub protects: &'static [ProtectedResource],
    /// Function that returns the keys of the protected objects that an object of a resource uses. It reads
    /// only this object.
    pub uses: fn(GroupResource, &Value) -> Vec<Key>,
    /// Resources whose objects are validated against other objects ([`Guards::judge`](crate::Guards::judge)).
    pub judges: &'static [GroupResource],
    /// Resources whose new objects get fields from other objects
    /// ([`Guards::complete`](crate::Guards::complete)), where Berth stores the resource.
    pub completes: &'static [GroupResource],
    /// Resources with objects that only the scheduler may write
    /// ([`Guards::reserved`](crate::Guards::reserved)).
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

/// The name of the fence for the protected object at `key`, which is of `dialect`. Every write
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
