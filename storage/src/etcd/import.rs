//! Copies of a whole store into etcd and from etcd.
//!
//! During a copy, the marker of the store says that the copy is incomplete, so no server opens the store.
//! etcd assigns the revisions of writes itself, so objects get new revisions, which have to be above all
//! revisions that clients know. So the copy begins with small writes, each of which raises etcd's revision by
//! one, up to the revision of the source.

use std::sync::Arc;

use berth_apimachinery::{Key, Object, Revision};
use etcd_client::{Compare, CompareOp, DeleteOptions, GetOptions, KvClient, Txn, TxnOp};
use tokio::task::JoinSet;

use crate::error::StoreError;
use crate::etcd::EtcdStore;
use crate::etcd::config::EtcdConfig;
use crate::etcd::follow::newest;
use crate::etcd::layout::{Layout, Marker, end_of};
use crate::etcd::link::{Failure, Link, header_revision, number};
use crate::etcd::load::{load, unreadable};
use crate::etcd::open::find_marker;
use crate::snapshot::Snapshot;
use crate::state::State;

/// Maximal number of revisions by which an import raises etcd's revision. For a larger difference, a user has
/// to restore a snapshot of etcd with a higher revision.
pub const RAISE_LIMIT: u64 = 1_000_000;
/// Maximal number of concurrent writes.
const MAX_CONCURRENT: usize = 64;
/// Number of writes between two progress reports.
const REPORT_INTERVAL: u64 = 1_000;

/// Progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyProgress {
    /// etcd's revision is being raised to the revision of the source.
    Raising {
        /// Number of revisions so far.
        done: u64,
        /// Number of revisions in total.
        total: u64,
    },
    /// Objects are being written.
    Writing {
        /// Number of keys so far.
        done: u64,
        /// Number of keys in total.
        total: u64,
    },
}

/// One write of a copy.
struct CopyWrite {
    txn: Txn,
    /// Key and size of the object that is created; `None` for a write that only raises the revision.
    object: Option<(Key, usize)>,
}

/// A copy in progress.
struct Import {
    link: Arc<Link>,
    layout: Layout,
}

impl EtcdStore {
    /// Reads every object of the store of `config` at one revision.
    ///
    /// # Errors
    /// `Unavailable` when etcd does not answer, or the store does not exist or is incomplete; `Unreadable`
    /// when a value is not an object; `Sealed` when a value cannot be decrypted.
    pub async fn export(config: &EtcdConfig) -> Result<Snapshot, StoreError> {
        let link = Link::new(config)?;
        let layout = Layout::new(&config.prefix, &config.encryption);
        let get = |mut kv: KvClient| {
            let key = layout.store().to_owned();
            async move { kv.get(key, None).await }
        };
        let found = link
            .read(get)
            .await
            .map_err(|failure| link.read_error(&failure))?;
        let no_store = |problem: &str| {
            StoreError::Unavailable(format!("{}: {problem} below {}", link.place(), config.prefix))
        };
        let Some(kv) = found.kvs().first() else {
            return Err(no_store("no store found"));
        };
        match Marker::decode(kv.value()) {
            Ok(marker) if !marker.copying => {}
            Ok(_) => return Err(no_store("a copy was begun and not finished")),
            Err(problem) => {
                let (place, key) = (link.place(), layout.store());
                return Err(StoreError::Unavailable(format!(
                    "{place}: the value of {key} cannot be read: {problem}"
                )));
            }
        }
        snapshot(&link, &layout).await
    }

    /// Copies `source` into the store of `config`, which must have no objects, and checks that the copy is
    /// complete. Returns the first revision of the store, which is above the source's. After an interrupted
    /// import, the copy starts over.
    ///
    /// # Errors
    /// `Unavailable` when etcd does not answer, the store has objects, another program writes to it, or
    /// etcd's revision is too far below the source's; `Unreadable` when the marker of the store is invalid.
    pub async fn import(
        config: &EtcdConfig,
        source: &Snapshot,
        report: &mut (dyn FnMut(CopyProgress) + Send),
    ) -> Result<Revision, StoreError> {
        let import = Import {
            link: Arc::new(Link::new(config)?),
            layout: Layout::new(&config.prefix, &config.encryption),
        };
        import.check_revision(source.revision).await?;
        import.begin().await?;
        import.raise(source.revision, report).await?;
        import.write(source, report).await?;
        let copy = snapshot(&import.link, &import.layout).await?;
        if let Some(key) = source.difference(&copy) {
            return Err(import.error(&format!(
                "{key} differs from the written object: another program writes below {}; stop it, then run this \
                 again",
                config.prefix
            )));
        }
        import.put(import.layout.store(), Marker::encode(false)).await
    }

    /// Marks the copy into the store of `config` as incomplete: no server opens the store, and the next
    /// import starts over.
    ///
    /// # Errors
    /// `Unavailable` when etcd does not answer.
    pub async fn withdraw(config: &EtcdConfig) -> Result<(), StoreError> {
        let import = Import {
            link: Arc::new(Link::new(config)?),
            layout: Layout::new(&config.prefix, &config.encryption),
        };
        let marked = import.put(import.layout.store(), Marker::encode(true));
        marked.await.map(drop)
    }

    /// Whether anything changed in the store of `config` since its `snapshot`.
    ///
    /// # Errors
    /// `Unavailable` when etcd does not answer.
    pub async fn changed_since(config: &EtcdConfig, snapshot: &Snapshot) -> Result<bool, StoreError> {
        let link = Link::new(config)?;
        let layout = Layout::new(&config.prefix, &config.encryption);
        let keys = |mut kv: KvClient| {
            let objects = layout.objects();
            let options = GetOptions::new().with_range(end_of(objects)).with_keys_only();
            async move { kv.get(objects, Some(options)).await }
        };
        let found = link.read(keys).await;
        let found = found.map_err(|failure| link.read_error(&failure))?;
        // The snapshot does not have other keys, which are ignored.
        let of_objects = found.kvs().iter().filter(|kv| layout.parse(kv.key()).is_some());
        let is_newer = of_objects
            .clone()
            .any(|kv| kv.mod_revision() > number(snapshot.revision));
        Ok(is_newer || of_objects.count() != snapshot.objects.len())
    }
}

/// Returns all objects at the newest revision.
async fn snapshot(link: &Link, layout: &Layout) -> Result<Snapshot, StoreError> {
    let read_error = |failure: Failure| link.read_error(&failure);
    let revision = newest(link, layout).await.map_err(read_error)?;
    let loaded = load(link, layout, layout.objects(), revision)
        .await
        .map_err(read_error)?;
    if let Some((key, problem)) = loaded.unreadable.into_iter().next() {
        return Err(unreadable(link, layout, &key, problem));
    }
    let mut state = State::new(revision);
    for (resource, items) in loaded.objects {
        state.load(resource, items);
    }
    Ok(state.snapshot())
}

impl Import {
    fn error(&self, problem: &str) -> StoreError {
        StoreError::Unavailable(format!("{}: {problem}", self.link.place()))
    }

    async fn put(&self, key: &str, value: Vec<u8>) -> Result<Revision, StoreError> {
        let put = |mut kv: KvClient| {
            let value = value.clone();
            async move { kv.put(key, value, None).await }
        };
        let answer = self.link.read(put).await;
        let answer = answer.map_err(|failure| self.link.read_error(&failure))?;
        Ok(header_revision(answer.header()))
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        let newest = newest(&self.link, &self.layout).await;
        newest.map_err(|failure| self.link.read_error(&failure))
    }

    /// Checks, before any write, that etcd's revision can be raised above the source's.
    async fn check_revision(&self, source: Revision) -> Result<(), StoreError> {
        let now = self.revision().await?;
        let gap = source.0.saturating_sub(now.0);
        if gap <= RAISE_LIMIT {
            return Ok(());
        }
        Err(self.error(&format!(
            "its revision is {now} and the source's is {source}, so resourceVersions would go back; {gap} is too far \
             to raise it by writing. Save a snapshot of etcd and restore it with `etcdutl snapshot restore \
             --bump-revision {gap} --mark-compacted`, then run this again"
        )))
    }

    /// Marks the store as incomplete. Deletes the objects of an interrupted copy, and refuses other objects,
    /// also those without a marker.
    async fn begin(&self) -> Result<(), StoreError> {
        let found = find_marker(&self.link, &self.layout).await?;
        let objects = self.layout.objects();
        if found.is_some_and(|(marker, _)| marker.copying) {
            let delete = |mut kv: KvClient| {
                let options = DeleteOptions::new().with_range(end_of(objects));
                async move { kv.delete(objects, Some(options)).await }
            };
            let deleted = self.link.read(delete).await;
            deleted.map_err(|failure| self.link.read_error(&failure))?;
            return Ok(());
        }
        let count = |mut kv: KvClient| {
            let options = GetOptions::new().with_range(end_of(objects)).with_count_only();
            async move { kv.get(objects, Some(options)).await }
        };
        let found = self.link.read(count).await;
        let found = found.map_err(|failure| self.link.read_error(&failure))?.count();
        if found > 0 {
            return Err(self.error(&format!(
                "{found} objects are below {objects} already: choose another prefix, or delete them"
            )));
        }
        self.put(self.layout.store(), Marker::encode(true))
            .await
            .map(drop)
    }

    /// Raises etcd's revision to `target`.
    async fn raise(
        &self,
        target: Revision,
        report: &mut (dyn FnMut(CopyProgress) + Send),
    ) -> Result<(), StoreError> {
        let first = self.revision().await?;
        let total = target.0.saturating_sub(first.0);
        let mut now = first;
        while now < target {
            let done = now.0 - first.0;
            report(CopyProgress::Raising { done, total });
            let round = (target.0 - now.0).min(REPORT_INTERVAL);
            let key = self.layout.compacted().to_owned();
            let writes = (0..round).map(|_| {
                // Any write raises the revision. The first compaction overwrites this key.
                let txn = Txn::new().and_then([TxnOp::put(key.clone(), "0", None)]);
                CopyWrite { txn, object: None }
            });
            self.write_all(writes).await?;
            now = self.revision().await?;
        }
        Ok(())
    }

    async fn write(
        &self,
        source: &Snapshot,
        report: &mut (dyn FnMut(CopyProgress) + Send),
    ) -> Result<(), StoreError> {
        let total = source.objects.len() as u64;
        let mut done = 0;
        for batch in source
            .objects
            .chunks(usize::try_from(REPORT_INTERVAL).unwrap_or(1))
        {
            report(CopyProgress::Writing { done, total });
            let writes: Result<Vec<_>, _> = batch
                .iter()
                .map(|(key, object)| self.create(key, object))
                .collect();
            self.write_all(writes?).await?;
            done += batch.len() as u64;
        }
        report(CopyProgress::Writing { done, total });
        Ok(())
    }

    fn create(&self, key: &Key, object: &Object) -> Result<CopyWrite, StoreError> {
        let stored = self.layout.object(key)?;
        let value = self.layout.seal(key.resource, &stored, &object.draft().bytes())?;
        let txn = Txn::new()
            .when([Compare::mod_revision(stored.clone(), CompareOp::Equal, 0)])
            .and_then([TxnOp::put(stored, value, None)]);
        Ok(CopyWrite {
            txn,
            object: Some((key.clone(), object.len())),
        })
    }

    /// Returns the error of a write, which names the object if etcd refuses its size.
    fn copy_error(&self, failure: &Failure, object: Option<(Key, usize)>) -> StoreError {
        match (failure, object) {
            (Failure::TooLarge, Some((key, bytes))) => self.error(&format!(
                "{key} has {bytes} bytes, more than etcd accepts: raise its --max-request-bytes, or make the object \
                 smaller at the source, then run this again"
            )),
            _ => self.link.read_error(failure),
        }
    }

    /// Makes all `writes`, several concurrently. A write without an answer is repeated: it is a creation, or
    /// a write without effect.
    async fn write_all(&self, writes: impl IntoIterator<Item = CopyWrite>) -> Result<(), StoreError> {
        let mut running = JoinSet::new();
        let mut writes = writes.into_iter();
        loop {
            while running.len() < MAX_CONCURRENT
                && let Some(CopyWrite { txn, object }) = writes.next()
            {
                let link = Arc::clone(&self.link);
                running.spawn(async move {
                    let call = |mut kv: KvClient| {
                        let txn = txn.clone();
                        async move { kv.txn(txn).await }
                    };
                    (link.read(call).await, object)
                });
            }
            match running.join_next().await {
                None => return Ok(()),
                // A failed creation means that the object exists: from an earlier attempt, or from another
                // process. The comparison at the end finds differences.
                Some(Ok((Ok(_), _))) => {}
                Some(Ok((Err(failure), object))) => return Err(self.copy_error(&failure, object)),
                Some(Err(panicked)) => return Err(self.error(&panicked.to_string())),
            }
        }
    }
}
