//! Loading objects at one revision, page by page.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key, Object, Revision};
use etcd_client::{GetOptions, GetResponse, KeyValue, KvClient};
use imbl::OrdMap;

use crate::collection::Name;
use crate::encryption::DecryptionError;
use crate::error::StoreError;
use crate::etcd::layout::{Layout, end_of};
use crate::etcd::link::{Failure, Link, number};
use crate::state::name_of;

/// Number of keys in a page.
const PAGE: i64 = 500;

/// Objects by resource, then by namespace and name.
pub(crate) type ObjectsByResource = BTreeMap<GroupResource, OrdMap<Name, Arc<Object>>>;

/// Objects that were decoded, and values that could not be decoded.
#[derive(Default)]
pub(crate) struct LoadedObjects {
    /// Decoded objects.
    pub(crate) objects: ObjectsByResource,
    /// Keys of values that are not objects, with the problem of each.
    pub(crate) unreadable: Vec<(Key, ValueError)>,
}

/// Reason why a value is not the object of its key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValueError {
    /// The value may be undamaged, but it is encrypted with other keys.
    #[error("{0}")]
    Sealed(String),
    /// The value is not an object, or it is the object of another key.
    #[error("{0}")]
    Malformed(String),
}

impl From<DecryptionError> for ValueError {
    fn from(error: DecryptionError) -> Self {
        match error {
            DecryptionError::Key(problem) => Self::Sealed(problem),
            DecryptionError::Ephemeral => Self::Malformed(error.to_string()),
        }
    }
}

/// Reads every object below `prefix` (a part of the objects' keys that ends with a slash) at
/// `revision`.
pub(crate) async fn load(
    link: &Link,
    layout: &Layout,
    prefix: &str,
    revision: Revision,
) -> Result<LoadedObjects, Failure> {
    let mut loaded = LoadedObjects::default();
    let mut start = prefix.as_bytes().to_vec();
    loop {
        let page = page(link, &start, &end_of(prefix), revision).await?;
        for kv in page.kvs() {
            decode(&mut loaded, layout, kv);
        }
        match page.kvs().last() {
            Some(last) if page.more() => {
                start = last.key().to_vec();
                start.push(0);
            }
            _ => return Ok(loaded),
        }
    }
}

async fn page(link: &Link, start: &[u8], end: &[u8], revision: Revision) -> Result<GetResponse, Failure> {
    let call = |mut kv: KvClient| {
        let options = GetOptions::new()
            .with_range(end)
            .with_limit(PAGE)
            .with_revision(number(revision));
        async move { kv.get(start, Some(options)).await }
    };
    link.read(call).await
}

/// Decodes the value of `kv` and adds the object, or the problem, to `loaded`.
fn decode(loaded: &mut LoadedObjects, layout: &Layout, kv: &KeyValue) {
    let Some(key) = layout.parse(kv.key()) else {
        tracing::warn!(
            key = kv.key_str().unwrap_or("?"),
            "ignoring a key in etcd that is not the key of an object"
        );
        return;
    };
    match object(layout, &key, kv) {
        Ok(object) => {
            let items = loaded.objects.entry(key.resource).or_default();
            items.insert(name_of(&key), Arc::new(object));
        }
        Err(problem) => loaded.unreadable.push((key, problem)),
    }
}

/// Decodes the object in a value, at the revision at which it was written.
///
/// # Errors
/// Reason why the value is not an object.
pub(crate) fn object(layout: &Layout, key: &Key, kv: &KeyValue) -> Result<Object, ValueError> {
    let revision = Revision(u64::try_from(kv.mod_revision()).unwrap_or_default());
    let json = layout.open(key.resource, kv.key(), kv.value())?;
    let object = match Object::restore(&json, revision) {
        Some(object) => object,
        // Another program wrote the value, in another form than the canonical one.
        None => {
            let malformed = ValueError::Malformed;
            let value = serde_json::from_slice(&json)
                .map_err(|error| malformed(format!("it is not JSON: {error}")))?;
            Object::new(&value, revision)
                .map_err(|error| malformed(format!("it is not an object: {error}")))?
        }
    };
    let meta = object.meta();
    if *meta.name() != *key.name || *meta.namespace() != *key.namespace {
        return Err(ValueError::Malformed(format!(
            "it is the object {:?} in namespace {:?}",
            meta.name(),
            meta.namespace()
        )));
    }
    Ok(object)
}

/// Returns the error of a value that is not an object.
pub(crate) fn unreadable(link: &Link, layout: &Layout, key: &Key, error: ValueError) -> StoreError {
    let place = link.place().to_owned();
    let key = layout.object(key).unwrap_or_else(|_| key.to_string());
    match error {
        ValueError::Sealed(problem) => StoreError::Sealed { place, key, problem },
        ValueError::Malformed(problem) => StoreError::Unreadable { place, key, problem },
    }
}
