//! Keys below the prefix:
//!
//! - `objects/<group>/<resource>/<namespace>/<name>`: an object's canonical JSON, with an empty
//!   `resourceVersion`. The revision is the key's own; the group of core kinds and the namespace of
//!   cluster-scoped objects are empty.
//! - `fences/<name>`: a fence, which was last passed at the key's revision. The value is the key of the
//!   object whose write passed the fence.
//! - `store`: the version of the layout, and whether a copy into the store is incomplete. Revisions before
//!   this key's revision are never served.
//! - `compacted`: the revision up to which history is compacted. The key's version elects the replica that
//!   compacts.

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::encryption::{DecryptionError, Encryption};
use crate::error::StoreError;

/// Version of this layout.
const FORMAT: u32 = 1;

/// Keys of one store.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    objects: String,
    fences: String,
    store: String,
    compacted: String,
    encryption: Arc<Encryption>,
}

/// Value of the key `store`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Marker {
    format: u32,
    /// Whether a copy into this store has begun but not ended: the content is incomplete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) copying: bool,
}

impl Marker {
    /// Encodes the marker of a store with this layout.
    pub(crate) fn encode(copying: bool) -> Vec<u8> {
        let marker = Self {
            format: FORMAT,
            copying,
        };
        serde_json::to_vec(&marker).unwrap_or_default()
    }

    /// Decodes a marker.
    ///
    /// # Errors
    /// Description of the problem, such as another layout.
    pub(crate) fn decode(value: &[u8]) -> Result<Self, String> {
        let marker: Self = serde_json::from_slice(value)
            .map_err(|error| format!("it is not the marker of a store: {error}"))?;
        if marker.format != FORMAT {
            return Err(format!(
                "it has layout {}, and this program reads only layout {FORMAT}",
                marker.format
            ));
        }
        Ok(marker)
    }
}

impl Layout {
    /// Creates the layout of the keys below `prefix`; `encryption` encrypts the objects' values.
    pub(crate) fn new(prefix: &str, encryption: &Arc<Encryption>) -> Self {
        Self {
            objects: format!("{prefix}/objects/"),
            fences: format!("{prefix}/fences/"),
            store: format!("{prefix}/store"),
            compacted: format!("{prefix}/compacted"),
            encryption: Arc::clone(encryption),
        }
    }

    /// Prefix of every object's key.
    pub(crate) fn objects(&self) -> &str {
        &self.objects
    }

    /// Prefix of the keys of all objects of `resource`.
    pub(crate) fn objects_of(&self, resource: GroupResource) -> String {
        format!("{}{}/{}/", self.objects, resource.group, resource.resource)
    }

    /// Returns the key of an object.
    ///
    /// # Errors
    /// `Misuse` when the group, the resource or the namespace has a slash, which no valid one has.
    pub(crate) fn object(&self, key: &Key) -> Result<String, StoreError> {
        let parts = [key.resource.group, key.resource.resource, &key.namespace];
        if parts.iter().any(|part| part.contains('/')) {
            return Err(StoreError::Misuse {
                key: key.clone(),
                problem: "its group, resource or namespace has a slash".to_owned(),
            });
        }
        let [group, resource, namespace] = parts;
        Ok(format!(
            "{}{group}/{resource}/{namespace}/{}",
            self.objects, key.name
        ))
    }

    /// Returns the stored form of `value`, encrypted if `encryption` requires it. `stored` is the key of an
    /// object of `resource`.
    ///
    /// # Errors
    /// `Unavailable` when the value cannot be encrypted.
    pub(crate) fn seal(
        &self,
        resource: GroupResource,
        stored: &str,
        value: &[u8],
    ) -> Result<Vec<u8>, StoreError> {
        let sealed = self.encryption.seal(resource, stored.as_bytes(), value);
        let sealed = sealed.map_err(|problem| StoreError::Unavailable(format!("{stored}: {problem}")))?;
        Ok(sealed.into_owned())
    }

    /// Decodes the value from the stored form: the reverse of [`Layout::seal`].
    ///
    /// # Errors
    /// The reason why the value cannot be decrypted.
    pub(crate) fn open(
        &self,
        resource: GroupResource,
        stored: &[u8],
        value: &[u8],
    ) -> Result<Bytes, DecryptionError> {
        let opened = self.encryption.open(resource, stored, value)?;
        Ok(opened.map_or_else(|| Bytes::copy_from_slice(value), Bytes::from))
    }

    /// Parses the key of an object; `None` for other keys.
    pub(crate) fn parse(&self, key: &[u8]) -> Option<Key> {
        let rest = std::str::from_utf8(key).ok()?.strip_prefix(&self.objects)?;
        let mut parts = rest.splitn(4, '/');
        let (group, resource, namespace, name) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(Key::new(GroupResource::intern(group, resource), namespace, name))
    }

    /// Returns the key of a fence.
    pub(crate) fn fence(&self, name: &str) -> String {
        format!("{}{name}", self.fences)
    }

    /// Key of the [`Marker`].
    pub(crate) fn store(&self) -> &str {
        &self.store
    }

    /// Key that elects the replica that compacts.
    pub(crate) fn compacted(&self) -> &str {
        &self.compacted
    }
}

/// Returns the end of the range of all keys that begin with `prefix`, which ends with a slash.
pub(crate) fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_whatever_the_name() {
        let layout = Layout::new("/berth", &Arc::default());
        for (group, resource, namespace, name) in [
            ("core.gardener.cloud", "shoots", "garden-dev", "foo"),
            ("", "configmaps", "default", "x"),
            ("rbac.authorization.k8s.io", "clusterroles", "", "system:node/odd"),
        ] {
            let key = Key::new(GroupResource::intern(group, resource), namespace, name);
            let stored = layout.object(&key).unwrap();
            assert_eq!(layout.parse(stored.as_bytes()), Some(key.clone()));
            assert!(stored.starts_with(&layout.objects_of(key.resource)));
        }
        assert!(layout.parse(b"/other/objects/a/b/c/d").is_none());
        assert!(layout.parse(b"/berth/objects/a/b").is_none());
        let slash = Key::new(GroupResource::intern("a", "b"), "c/d", "e");
        assert!(layout.object(&slash).is_err());
        assert_eq!(end_of("/a/"), b"/a0");
    }

    #[test]
    fn another_layout_is_refused() {
        assert!(!Marker::decode(&Marker::encode(false)).unwrap().copying);
        assert!(Marker::decode(&Marker::encode(true)).unwrap().copying);
        assert!(
            Marker::decode(br#"{"format":2}"#)
                .unwrap_err()
                .contains("layout 2")
        );
        assert!(Marker::decode(b"hello").is_err());
    }
}
