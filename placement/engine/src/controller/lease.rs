//! Leader election among several replicas over one store, by a lock record that its holder renews and that
//! expires.
//!
//! The record has the form of a Kubernetes Lease (coordination.k8s.io/v1), as in client-go. Each replica
//! measures expiry by its own clock, from the time when it saw the last renewal, and for the duration that
//! the holder states in the record, so the clocks and the settings of replicas may differ.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, GroupResource, Key, Object, Revision, Timestamp, time};
use berth_storage::{At, Expect, Source, Step, StoreError, Writer};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// The resource of lock records.
pub const LEASES: GroupResource = GroupResource::new("coordination.k8s.io", "leases");

/// The result of an attempt to become or stay the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElectionResult {
    /// Time until which this replica is the leader without another attempt; `None` if it is not the leader.
    pub until: Option<Timestamp>,
    /// Time of the next attempt.
    pub again: Timestamp,
}

/// Elects the replica that is the leader.
#[async_trait]
pub trait LeaderElector: Send + Sync + 'static {
    /// Tries to acquire or renew leadership at `now`.
    ///
    /// # Errors
    /// When the lock record cannot be read or written. A leader then stays the leader until the time in the
    /// previous result.
    async fn hold(&self, now: Timestamp) -> Result<ElectionResult, StoreError>;

    /// Releases leadership, if this replica has it, so that another replica does not have to wait for the end
    /// of the lease.
    ///
    /// # Errors
    /// When the lock record cannot be read or written.
    async fn release(&self, now: Timestamp) -> Result<(), StoreError>;
}

/// Elector for a single replica, such as the only process with an embedded store.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleReplica;

#[async_trait]
impl LeaderElector for SingleReplica {
    async fn hold(&self, _: Timestamp) -> Result<ElectionResult, StoreError> {
        Ok(ElectionResult {
            until: Some(Timestamp::MAX),
            again: Timestamp::MAX,
        })
    }

    async fn release(&self, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Lease duration, renew deadline and retry period, as in client-go's leader election.
///
/// The default lease duration is a third of the default of Kubernetes' own controllers: another replica takes
/// over the work of a dead replica within ten seconds. With shorter durations, a leader would lose the
/// leadership whenever the store is slow to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseDurations {
    duration: Duration,
    renew: Duration,
    retry: Duration,
}

/// Reason why durations of a lease are invalid, or contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDurations {
    /// The lease duration is not in whole seconds, or below one second.
    #[error(
        "the lease duration is {0:?}, but must be at least 1s and in whole seconds, since a Lease \
         states it in seconds"
    )]
    Duration(Duration),
    /// The renew deadline is too long: another replica could become the leader before the holder stops.
    #[error(
        "the renew deadline ({renew:?}) must be shorter than the lease duration ({duration:?}): the leader \
         has to stop before another replica may become the leader"
    )]
    Renew {
        /// The renew deadline.
        renew: Duration,
        /// The lease duration.
        duration: Duration,
    },
    /// The retry period is zero, or so long that the holder could renew too late.
    #[error(
        "the retry period ({retry:?}) must be above zero and, with a fifth added, shorter than the renew deadline ({renew:?})"
    )]
    Retry {
        /// The retry period.
        retry: Duration,
        /// The renew deadline.
        renew: Duration,
    },
}

impl Default for LeaseDurations {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(5),
            renew: Duration::from_secs(4),
            retry: Duration::from_secs(1),
        }
    }
}

impl LeaseDurations {
    /// Creates the durations of a lease that lasts for `duration` without renewal. The holder stops work when
    /// the last successful renewal is `renew` ago. Every replica tries at intervals of `retry`, or up to a
    /// fifth longer, or earlier if the lease of another replica ends.
    ///
    /// # Errors
    /// When the durations are invalid, or contradict each other.
    pub fn new(duration: Duration, renew: Duration, retry: Duration) -> Result<Self, BadDurations> {
        if duration.as_secs() == 0 || duration.subsec_nanos() != 0 {
            return Err(BadDurations::Duration(duration));
        }
        if renew >= duration {
            return Err(BadDurations::Renew { renew, duration });
        }
        if retry.is_zero() || latest_retry(retry) >= renew {
            return Err(BadDurations::Retry { retry, renew });
        }
        Ok(Self {
            duration,
            renew,
            retry,
        })
    }

    /// Returns the interval between two attempts, which may be up to a fifth longer, and ends when the lease of
    /// another replica ends.
    #[must_use]
    pub const fn retry(&self) -> Duration {
        self.retry
    }

    /// Returns the delay before the next attempt of the replica `identity`, after it has read a record of
    /// `version`. The delays of replicas differ, so that they try at different times.
    fn pause(&self, identity: &str, version: &str) -> Duration {
        let mut hasher = DefaultHasher::new();
        (identity, version).hash(&mut hasher);
        let share = u32::try_from(hasher.finish() % u64::from(PARTS)).unwrap_or_default();
        self.retry + (latest_retry(self.retry) - self.retry) / PARTS * share
    }
}

/// Number of different delays between the shortest and the longest.
const PARTS: u32 = 1000;

/// Returns the longest delay for the retry period `retry`.
fn latest_retry(retry: Duration) -> Duration {
    retry + retry / 5
}

/// A lock record as it was read or written.
#[derive(Clone, Debug, PartialEq)]
pub struct LockRecord {
    /// The version, which changes with every write of the record.
    pub version: String,
    /// The record in the form of a Lease.
    pub value: Value,
}

impl LockRecord {
    /// Returns the identity of the holder; empty if the record has no holder.
    #[must_use]
    pub fn holder(&self) -> &str {
        self.value["spec"]["holderIdentity"].as_str().unwrap_or_default()
    }

    /// Returns the duration of the lease without a renewal; `None` if the record does not state it.
    fn duration(&self) -> Option<Duration> {
        let seconds = self.value["spec"]["leaseDurationSeconds"].as_u64();
        seconds.map(Duration::from_secs)
    }
}

/// Storage of one lock record.
#[async_trait]
pub trait ResourceLock: Send + Sync + 'static {
    /// Returns namespace and name of the record.
    fn place(&self) -> (&str, &str);

    /// Reads the record, with every acknowledged write; `None` if there is no record.
    ///
    /// # Errors
    /// When the record cannot be read.
    async fn read(&self) -> Result<Option<LockRecord>, StoreError>;

    /// Replaces the record `over` by `value`, or creates the record if `over` is `None`. Returns the written
    /// record; `None` if another replica has written the record in between.
    ///
    /// # Errors
    /// When the record cannot be written.
    async fn write(&self, over: Option<&LockRecord>, value: &Value)
    -> Result<Option<LockRecord>, StoreError>;
}

/// A lock record as an object of a store.
struct StoreLock {
    source: Arc<dyn Source>,
    writer: Arc<dyn Writer>,
    key: Key,
}

#[async_trait]
impl ResourceLock for StoreLock {
    fn place(&self) -> (&str, &str) {
        (&self.key.namespace, &self.key.name)
    }

    async fn read(&self) -> Result<Option<LockRecord>, StoreError> {
        let list = self.source.list(self.key.resource, At::Latest).await?;
        let found = list.get(&self.key.namespace, &self.key.name);
        Ok(found.map(|object| record(object)))
    }

    async fn write(
        &self,
        over: Option<&LockRecord>,
        value: &Value,
    ) -> Result<Option<LockRecord>, StoreError> {
        let draft = Draft::new(value).map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let (verb, expect) = match over {
            Some(record) => (Verb::Update, Expect::At(revision(record)?)),
            None => (Verb::Create, Expect::Absent),
        };
        let step = Step {
            verb,
            key: self.key.clone(),
            subresource: "",
            object: Some(draft),
            expect,
            guards: Vec::new(),
        };
        match self.writer.apply(vec![step]).await {
            Ok(results) => Ok(results.first().map(|result| record(&result.object))),
            Err(
                StoreError::Conflict { .. } | StoreError::AlreadyExists { .. } | StoreError::NotFound { .. },
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn record(object: &Object) -> LockRecord {
    LockRecord {
        version: object.revision().to_string(),
        value: object.parse(),
    }
}

fn revision(record: &LockRecord) -> Result<Revision, StoreError> {
    let number = record.version.parse().map(Revision);
    number.map_err(|error| StoreError::Unavailable(format!("{}: {error}", record.version)))
}

/// The elector that uses a lock record.
pub struct LeaseElector {
    lock: Arc<dyn ResourceLock>,
    identity: String,
    durations: LeaseDurations,
    /// The last seen version of the record, and the time at which this replica saw it first.
    last_change: Mutex<Option<(String, Timestamp)>>,
    /// The record as this replica wrote it last; `None` before the first write, after a release, and after a
    /// write that failed because of another replica.
    own_record: Mutex<Option<LockRecord>>,
}

impl LeaseElector {
    /// Creates an elector with the lock record at `key` of a store. The name of this replica, `identity`,
    /// must be unique among the replicas.
    #[must_use]
    pub fn new(
        source: Arc<dyn Source>,
        writer: Arc<dyn Writer>,
        key: Key,
        identity: String,
        durations: LeaseDurations,
    ) -> Self {
        Self::with_lock(Arc::new(StoreLock { source, writer, key }), identity, durations)
    }

    /// Creates an elector with the lock record of `lock`. The name of this replica, `identity`, must be
    /// unique among the replicas.
    #[must_use]
    pub fn with_lock(lock: Arc<dyn ResourceLock>, identity: String, durations: LeaseDurations) -> Self {
        Self {
            lock,
            identity,
            durations,
            last_change: Mutex::default(),
            own_record: Mutex::default(),
        }
    }

    /// Whether this replica is the holder in `record`.
    #[must_use]
    pub fn is_mine(&self, record: &LockRecord) -> bool {
        record.holder() == self.identity
    }

    /// Returns the time at which this replica saw `version` of the record first, which is `now` for a new
    /// version. If that time lies after `now`, the clock was set back, and the lease is measured from `now`:
    /// otherwise the lease of a dead holder would not expire for as long as the clock was set back.
    fn unchanged_since(&self, version: &str, now: Timestamp) -> Timestamp {
        let mut last_change = self.last_change.lock();
        match &*last_change {
            Some((known, since)) if known == version && *since <= now => *since,
            _ => {
                *last_change = Some((version.to_owned(), now));
                now
            }
        }
    }

    /// Replaces `record` by a record with this replica as the holder. Returns whether it was written: false
    /// if another replica has written the record in between.
    async fn write_as_holder(&self, record: Option<&LockRecord>, now: Timestamp) -> Result<bool, StoreError> {
        let value = self.held_record(record, now);
        let written = self.lock.write(record, &value).await?;
        let is_written = written.is_some();
        *self.own_record.lock() = written;
        Ok(is_written)
    }

    /// Returns the result of an attempt to replace the record of `version`.
    fn answer(&self, version: &str, is_written: bool, now: Timestamp) -> ElectionResult {
        ElectionResult {
            until: is_written.then(|| after(now, self.durations.renew)),
            again: after(now, self.durations.pause(&self.identity, version)),
        }
    }

    /// Returns `record`, or a new record, with this replica as the holder, renewed at `now`.
    fn held_record(&self, record: Option<&LockRecord>, now: Timestamp) -> Value {
        let mut value = record.map_or_else(
            || {
                let (namespace, name) = self.lock.place();
                json!({
                    "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {
                        "name": name, "namespace": namespace, "creationTimestamp": time::rfc3339(now),
                    },
                    "spec": {},
                })
            },
            |record| record.value.clone(),
        );
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
        }
        let is_holder = record.is_some_and(|record| record.holder() == self.identity);
        let spec = &mut value["spec"];
        spec["holderIdentity"] = self.identity.as_str().into();
        spec["leaseDurationSeconds"] = self.durations.duration.as_secs().into();
        spec["renewTime"] = time::rfc3339_micro(now).into();
        if !is_holder {
            spec["acquireTime"] = time::rfc3339_micro(now).into();
            let before = spec["leaseTransitions"].as_i64();
            let first = record.is_none();
            spec["leaseTransitions"] = if first {
                0
            } else {
                before.unwrap_or_default().saturating_add(1)
            }
            .into();
        }
        value
    }
}

fn after(now: Timestamp, delay: Duration) -> Timestamp {
    now.checked_add(delay).unwrap_or(Timestamp::MAX)
}

#[async_trait]
impl LeaderElector for LeaseElector {
    async fn hold(&self, now: Timestamp) -> Result<ElectionResult, StoreError> {
        // A leader renews without a read, as in client-go. The write fails if the version has changed, since
        // another replica has then written the record.
        let own = self.own_record.lock().clone();
        if let Some(record) = own
            && self.write_as_holder(Some(&record), now).await?
        {
            return Ok(self.answer(&record.version, true, now));
        }
        let record = self.lock.read().await?;
        let version = record.as_ref().map_or("", |record| &record.version);
        if let Some(record) = &record {
            let holder = record.holder();
            let duration = record.duration().unwrap_or(self.durations.duration);
            let end = after(self.unchanged_since(&record.version, now), duration);
            let is_held = !holder.is_empty() && holder != self.identity;
            if is_held && now < end {
                // This replica tries again when the lease of the other replica expires, at the latest.
                let result = self.answer(version, false, now);
                return Ok(ElectionResult {
                    again: result.again.min(end),
                    ..result
                });
            }
        }
        let is_written = self.write_as_holder(record.as_ref(), now).await?;
        Ok(self.answer(version, is_written, now))
    }

    async fn release(&self, now: Timestamp) -> Result<(), StoreError> {
        let Some(record) = self.lock.read().await? else {
            return Ok(());
        };
        if record.holder() != self.identity {
            return Ok(());
        }
        let mut value = self.held_record(Some(&record), now);
        value["spec"]["holderIdentity"] = "".into();
        value["spec"]["leaseDurationSeconds"] = 1.into();
        *self.own_record.lock() = None;
        // If another replica has written the record in between, this replica has no leadership to release.
        self.lock.write(Some(&record), &value).await.map(drop)
    }
}
