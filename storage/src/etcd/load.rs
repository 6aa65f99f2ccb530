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

/// Objects by resource.
pub(crate) type Shelves = BTreeMap<GroupResource, OrdMap<Name, Arc<Object>>>;

/// Loaded objects, and objects that could not be decoded.
#[derive(Default)]
pub(crate) struct LoadedObjects {
    /// Loaded objects, by resource.
    pub(crate) shelves: Shelves,
    /// Objects with invalid values: key and problem.
    pub(crate) unreadable: Vec<(Key, Unreadable)>,
}

/// Reason why a value is not the object of its key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    /// The value may be undamaged, but it is encrypted with other keys.
    #[error("{0}")]
    Sealed(String),
    /// The value is not an object, or it is the object of another key.
    #[error("{0}")]
    Malformed(String),
}

impl From<DecryptionError> for Unreadable {
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
            take(&mut loaded, layout, kv);
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

fn take(loaded: &mut LoadedObjects, layout: &Layout, kv: &KeyValue) {
    let Some(key) = layout.parse(kv.key()) else {
        tracing::warn!(
            key = kv.key_str().unwrap_or("?"),
            "ignoring a key in etcd that is not of an object"
        );
        return;
    };
    match object(layout, &key, kv) {
        Ok(object) => {
            let shelf = loaded.shelves.entry(key.resource).or_default();
            shelf.insert(name_of(&key), Arc::new(object));
        }
        Err(problem) => loaded.unreadable.push((key, problem)),
    }
}

/// Decodes the object in a value, at the revision at which it was written.
///
/// # Errors
/// Reason why the value is not an object.
pub(crate) fn object(layout: &Layout, key: &Key, kv: &KeyValue) -> Result<Object, Unreadable> {
    let revision = Revision(u64::try_from(kv.mod_revision()).unwrap_or_default());
    let json = layout.open(key.resource, kv.key(), kv.value())?;
    let object = match Object::written(&json, revision) {
        Some(object) => object,
        // The value was written by another program.
        None => {
            let malformed = Unreadable::Malformed;
            let value = serde_json::from_slice(&json)
                .map_err(|error| malformed(format!("it is not JSON: {error}")))?;
            Object::new(&value, revision)
                .map_err(|error| malformed(format!("it is not an object: {error}")))?
        }
    };
    let meta = object.meta();
    if *meta.name() != *key.name || *meta.namespace() != *key.namespace {
        return Err(Unreadable::Malformed(format!(
            "it is the object {:?} in namespace {:?}",
            meta.name(),
            meta.namespace()
        )));
    }
    Ok(object)
}

/// Returns the error of a value that is not an object.
pub(crate) fn unreadable(link: &Link, layout: &Layout, key: &Key, why: Unreadable) -> StoreError {
    let place = link.place().to_owned();
    let key = layout.object(key).unwrap_or_else(|_| key.to_string());
    match why {
        Unreadable::Sealed(problem) => StoreError::Sealed { place, key, problem },
        Unreadable::Malformed(problem) => StoreError::Unreadable { place, key, problem },
    }
}
