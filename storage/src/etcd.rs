//! A store on etcd v3, which several Berth servers can share.
//!
//! etcd's revision is the resourceVersion: every step is one transaction and so one revision, guarded by the
//! revisions of the objects it depends on ([`write`]). The steps of a list are committed one after the other;
//! after a failure, the earlier steps stay. Fences are separate keys, which are compared and written with the
//! step, so they also work across processes.
//!
//! One watch of all objects feeds the watch cache ([`follow`], [`feed`]), so reads and watches are served
//! from memory, as in other stores. A list of the newest state requests etcd's revision ([`newest`]) and
//! waits until the watch has reached that revision, so the list has every write that any replica
//! acknowledged. Lists at a revision from before the start of this process, or too far in the past for the
//! cache to undo the changes since, are read from etcd, page by page ([`load`]).

mod compact;
mod config;
mod feed;
mod follow;
mod import;
mod layout;
mod link;
mod load;
mod newest;
mod open;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Revision};
use tokio::task::JoinHandle;

use crate::collection::Collection;
use crate::error::{NotReady, StoreError};
use crate::history::Limits;
use crate::source::{At, Scope, Source, Store, Watch, Writer};
use crate::step::{Step, StepResult};
pub use config::{DEFAULT_COMPACTION, DEFAULT_PREFIX, EtcdConfig};
use feed::Feed;
pub use import::{CopyProgress, RAISE_LIMIT};
use layout::Layout;
use link::{Failure, Link};
use newest::NewestRevision;
use write::{FencePasses, StepWriter};

/// Objects in etcd. Dropping the store ends its watch; the objects stay in etcd.
pub struct EtcdStore {
    link: Arc<Link>,
    layout: Layout,
    feed: Arc<Feed>,
    newest_revision: NewestRevision,
    /// First revision of this store. Earlier revisions of the etcd cluster may belong to another store.
    since: Revision,
    tasks: Vec<JoinHandle<()>>,
}

impl EtcdStore {
    /// Connects, reads every object and starts the watch. An empty prefix becomes a new store.
    ///
    /// # Errors
    /// `Unavailable` when no server answers, etcd is too old, the settings are invalid, or a copy into the
    /// store is incomplete; `Unreadable`, with the key, when a value is not an object; `Sealed` when a value
    /// cannot be decrypted.
    pub async fn open(config: &EtcdConfig, limits: Limits) -> Result<Self, StoreError> {
        open::open(config, limits).await
    }

    /// Reads the objects of `resource` at `revision` from etcd itself. `oldest` is the oldest revision of the
    /// cache, for the error `Expired`.
    async fn list_from_etcd(
        &self,
        resource: GroupResource,
        revision: Revision,
        oldest: Revision,
    ) -> Result<Collection, StoreError> {
        let prefix = self.layout.objects_of(resource);
        let loaded = load::load(&self.link, &self.layout, &prefix, revision).await;
        let mut loaded = loaded.map_err(|failure| match failure {
            Failure::Compacted => StoreError::Expired {
                asked: revision,
                oldest,
            },
            failure => self.link.read_error(&failure),
        })?;
        if let Some((key, problem)) = loaded.unreadable.pop() {
            return Err(load::unreadable(&self.link, &self.layout, &key, problem));
        }
        let items = loaded.objects.remove(&resource).unwrap_or_default();
        Ok(Collection { revision, items })
    }

    /// Waits until the cache has every write that was acknowledged before this call.
    async fn catch_up(&self) -> Result<(), StoreError> {
        let newest = self.newest_revision.get().await?;
        self.feed.wait_for(newest).await.map_err(|_behind| {
            StoreError::Unavailable(format!(
                "{}: the watch has not delivered revision {newest} within {} s: try again",
                self.link.place(),
                Feed::WAIT.as_secs()
            ))
        })
    }

    async fn exact(&self, resource: GroupResource, revision: Revision) -> Result<Collection, StoreError> {
        let cache = self.feed.cache();
        if revision > cache.revision() {
            // The revision may be from another replica that is slightly ahead.
            self.catch_up().await?;
        }
        let result = cache.list(resource, At::Exact(revision)).await;
        let Err(StoreError::Expired { oldest, .. }) = result else {
            return result;
        };
        let state = cache.state();
        // Changes that this process dropped because of its limits stay dropped. etcd may still have changes
        // that this process never had, or that are only expensive to compute.
        let forgotten = revision >= state.start() && revision < state.floor(resource);
        if forgotten || revision < self.since {
            return result;
        }
        self.list_from_etcd(resource, revision, oldest).await
    }
}

impl Drop for EtcdStore {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

#[async_trait]
impl Source for EtcdStore {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        match at {
            At::Latest => {
                self.catch_up().await?;
                Ok(self.cached(resource))
            }
            At::Any => Ok(self.cached(resource)),
            At::NotOlderThan(revision) => {
                self.feed.wait_for(revision).await?;
                Ok(self.cached(resource))
            }
            At::Exact(revision) => self.exact(resource, revision).await,
        }
    }

    fn cached(&self, resource: GroupResource) -> Collection {
        self.feed.cache().collection(resource)
    }

    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        self.feed.cache().watch(scope, after)
    }

    fn revision(&self) -> Revision {
        self.feed.cache().revision()
    }
}

#[async_trait]
impl Writer for EtcdStore {
    /// Applies the steps one by one: when one fails, the earlier ones stay. A success means that etcd's
    /// majority has the writes and that this store serves them, unless its watch has just been interrupted.
    async fn apply(&self, steps: Vec<Step>) -> Result<Vec<StepResult>, StoreError> {
        let writer = StepWriter {
            link: &self.link,
            layout: &self.layout,
            feed: &self.feed,
        };
        let mut passed = FencePasses::new();
        let mut applied = Vec::with_capacity(steps.len());
        for step in &steps {
            applied.push(writer.apply(step, &mut passed).await?);
        }
        let last = applied.iter().filter(|applied| applied.changed);
        if let Some(last) = last.map(|applied| applied.object.revision()).max()
            && let Err(behind) = self.feed.wait_for(last).await
        {
            // The write is committed, and lists of the newest state wait for it.
            tracing::warn!(%behind, "etcd's watch lags behind own writes; they are stored and are shown once it catches up");
        }
        Ok(applied)
    }
}

impl Store for EtcdStore {
    fn hold(&self, resource: GroupResource, collection: &Collection) {
        self.feed.cache().hold(resource, collection);
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn ready(&self) -> Result<(), NotReady> {
        self.feed.ready()
    }
}
