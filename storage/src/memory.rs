//! A store in memory: for tests, for servers whose objects end with the process, and as the target of
//! projections (virtual kinds).

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Revision};
use parking_lot::Mutex;

use crate::cache::Cache;
use crate::collection::Collection;
use crate::error::{NotReady, StoreError};
use crate::fences::Fences;
use crate::history::Limits;
use crate::source::{At, Scope, Source, Store, Watch, Writer};
use crate::stage::{MAX_OBJECT_BYTES, Stage};
use crate::state::State;
use crate::step::{Step, StepResult};

/// Objects in memory. Lists of steps are applied one after the other, each atomically.
pub struct MemoryStore {
    cache: Cache,
    limits: Limits,
    /// Maximal size of an object, in bytes.
    max_object_bytes: usize,
    /// The fences, under the lock of writers, which is never held across an await.
    fences: Mutex<Fences>,
}

impl Default for MemoryStore {
    /// Creates an empty store at revision 1 (0 is not a valid resourceVersion) with the default history.
    fn default() -> Self {
        Self::new(Revision(1), Limits::default())
    }
}

impl MemoryStore {
    /// Creates an empty store whose first write gets the revision after `start`; earlier changes are unknown,
    /// so that a watch from an earlier revision is `Expired`. `start` must be above 0 if clients see it.
    #[must_use]
    pub fn new(start: Revision, limits: Limits) -> Self {
        Self {
            cache: Cache::new(State::new(start)),
            limits,
            max_object_bytes: MAX_OBJECT_BYTES,
            fences: Mutex::new(Fences::new(start)),
        }
    }

    /// Creates a store like [`MemoryStore::new`] for objects of any size: for objects that are computed and grow
    /// with the fleet, and for copies of objects that another store accepted.
    #[must_use]
    pub fn of_any_size(start: Revision, limits: Limits) -> Self {
        Self {
            max_object_bytes: usize::MAX,
            ..Self::new(start, limits)
        }
    }

    /// Applies one list of steps at once, like [`Writer::apply`], for callers that are not async.
    ///
    /// # Errors
    /// The first error of a step; nothing has changed in this case.
    pub fn commit(&self, steps: &[Step]) -> Result<Vec<StepResult>, StoreError> {
        let mut fences = self.fences.lock();
        let mut stage = Stage::new(&self.cache.state(), self.max_object_bytes);
        let applied = stage.apply(&fences, steps)?;
        if !stage.is_empty() {
            let changed_resources = stage.changed_resources();
            self.cache.publish(stage.finish(&mut fences, &self.limits));
            drop(fences);
            self.cache.wake(changed_resources);
        }
        Ok(applied)
    }
}

#[async_trait]
impl Source for MemoryStore {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        self.cache.list(resource, at).await
    }

    fn cached(&self, resource: GroupResource) -> Collection {
        self.cache.collection(resource)
    }

    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        self.cache.watch(scope, after)
    }

    fn revision(&self) -> Revision {
        self.cache.revision()
    }
}

#[async_trait]
impl Writer for MemoryStore {
    async fn apply(&self, steps: Vec<Step>) -> Result<Vec<StepResult>, StoreError> {
        self.commit(&steps)
    }
}

impl Store for MemoryStore {
    fn hold(&self, resource: GroupResource, collection: &Collection) {
        self.cache.hold(resource, collection);
    }

    fn ready(&self) -> Result<(), NotReady> {
        Ok(())
    }
}
