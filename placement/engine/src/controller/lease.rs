//! Leader election among several replicas over one store, by a lock record that its holder renews and that
//! expires.
//!
//! The record has the form of a Kubernetes Lease (coordination.k8s.io/v1), which people know. Each
//! replica measures expiry by its own clock, from the last renewal that *this* replica saw, so that
//! differing clocks do no harm.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, GroupResource, Key, Object, Revision, Timestamp, time};
use berth_storage::{At, Expect, Source, Step, StoreError, Writer};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Resource of lock records.
pub const LEASES: GroupResource = GroupResource::new("coordination.k8s.io", "leases");

/// The answer of an elector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Time until which this replica may work without another check; `None` where it may not work.
    pub until: Option<Timestamp>,
    /// Time of the next attempt.
    pub again: Timestamp,
}

/// Elects the replica that works.
#[async_trait]
pub trait LeaderElector: Send + Sync + 'static {
    /// Tries to acquire or renew leadership at `now`.
    ///
    /// # Errors
    /// When the record cannot be read or written. A leader then stays the leader until the time in the
    /// previous answer.
    async fn hold(&self, now: Timestamp) -> Result<Hold, StoreError>;

    /// Releases leadership, if this replica has it, so that another replica does not have to wait for the end
    /// of the lease.
    ///
    /// # Errors
    /// When the record cannot be read or written.
    async fn release(&self, now: Timestamp) -> Result<(), StoreError>;
}

/// Elector for a single replica, such as the only process with an embedded store.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleReplica;

#[async_trait]
impl LeaderElector for SingleReplica {
    async fn hold(&self, _: Timestamp) -> Result<Hold, StoreError> {
        Ok(Hold {
            until: Some(Timestamp::MAX),
            again: Timestamp::MAX,
        })
    }

    async fn release(&self, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The times of a lease, as in client-go's leader election.
///
/// The default duration is a third of the default of Kubernetes' own controllers: another replica takes over
/// the work of a dead replica within ten seconds. With shorter times, a leader would lose leadership whenever
/// the store is slow to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseDurations {
    duration: Duration,
    renew: Duration,
    retry: Duration,
}

/// Reason why the times of a lease contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDurations {
    /// The duration of a Lease is in whole seconds, at least one.
    #[error(
        "the lease duration is {0:?}: whole seconds, at least one, are expected, since the Lease says it in seconds"
    )]
    Duration(Duration),
    /// Another replica could begin before the holder stops.
    #[error(
        "the renew deadline ({renew:?}) must be shorter than the lease duration ({duration:?}): its holder has to stop \
         before another may begin"
    )]
    Renew {
        /// The renew deadline.
        renew: Duration,
        /// The lease duration.
        duration: Duration,
    },
    /// The holder could renew too late, or without a pause.
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
    /// The times of a lease that lasts for `duration` without renewal. Its holder stops work when the
    /// last successful renewal is `renew` ago. Every candidate tries at intervals of `retry`, or up to
    /// a fifth longer.
    ///
    /// # Errors
    /// When the times contradict each other.
    pub fn new(duration: Duration, renew: Duration, retry: Duration) -> Result<Self, BadDurations> {
        if duration.as_secs() == 0 || duration.subsec_nanos() != 0 {
            return Err(BadDurations::Duration(duration));
        }
        if renew >= duration {
            return Err(BadDurations::Renew { renew, duration });
        }
        if retry.is_zero() || late(retry) >= renew {
            return Err(BadDurations::Retry { retry, renew });
        }
        Ok(Self {
            duration,
            renew,
            retry,
        })
    }

    /// Shortest interval between two regular checks. The longest interval is a fifth longer.
    #[must_use]
    pub const fn retry(&self) -> Duration {
        self.retry
    }

    /// Delay before the next check by `identity`, after reading a record of `version`. The delays of
    /// replicas differ, so that they check at different times.
    fn pause(&self, identity: &str, version: &str) -> Duration {
        let mut hasher = DefaultHasher::new();
        (identity, version).hash(&mut hasher);
        let share = u32::try_from(hasher.finish() % u64::from(PARTS)).unwrap_or_default();
        self.retry + (late(self.retry) - self.retry) / PARTS * share
    }
}

/// Number of different times between a retry period and the latest retry.
const PARTS: u32 = 1000;

/// The latest retry.
fn late(retry: Duration) -> Duration {
    retry + retry / 5
}

/// A read lock record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Version, which changes with every write of the record.
    pub version: String,
    /// The record.
    pub value: Value,
}

impl Record {
    /// The leader by this record; empty without one.
    #[must_use]
    pub fn holder(&self) -> &str {
        self.value["spec"]["holderIdentity"].as_str().unwrap_or_default()
    }
}

/// Storage of one lock record.
#[async_trait]
pub trait ResourceLock: Send + Sync + 'static {
    /// The record's namespace and name.
    fn place(&self) -> (&str, &str);

    /// The record, with every acknowledged write; `None` when it does not exist.
    ///
    /// # Errors
    /// When the record cannot be read.
    async fn read(&self) -> Result<Option<Record>, StoreError>;

    /// Replaces the read record by `value`; `over` is `None` where there was no record. Returns the record as
    /// written; `None` when another replica has written the record in between.
    ///
    /// # Errors
    /// When the record cannot be written.
    async fn write(&self, over: Option<&Record>, value: &Value) -> Result<Option<Record>, StoreError>;
}

/// Keeps a record in a store.
struct InStore {
    source: Arc<dyn Source>,
    writer: Arc<dyn Writer>,
    key: Key,
}

#[async_trait]
impl ResourceLock for InStore {
    fn place(&self) -> (&str, &str) {
        (&self.key.namespace, &self.key.name)
    }

    async fn read(&self) -> Result<Option<Record>, StoreError> {
        let list = self.source.list(self.key.resource, At::Latest).await?;
        let found = list.get(&self.key.namespace, &self.key.name);
        Ok(found.map(|object| record(object)))
    }

    async fn write(&self, over: Option<&Record>, value: &Value) -> Result<Option<Record>, StoreError> {
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

fn record(object: &Object) -> Record {
    Record {
        version: object.revision().to_string(),
        value: object.parse(),
    }
}

fn revision(record: &Record) -> Result<Revision, StoreError> {
    let number = record.version.parse().map(Revision);
    number.map_err(|error| StoreError::Unavailable(format!("{}: {error}", record.version)))
}

/// Leader election by a lock record.
pub struct Lease {
    lock: Arc<dyn ResourceLock>,
    identity: String,
    terms: LeaseDurations,
    /// The last seen version of the record, and the time at which it was first seen.
    last_change: Mutex<Option<(String, Timestamp)>>,
    /// The record as this replica wrote it last, while no other replica is known to have written it.
    own_record: Mutex<Option<Record>>,
}

impl Lease {
    /// The lease at `key` of a store, for a holder named `identity`, which must be unique among
    /// replicas.
    #[must_use]
    pub fn new(
        source: Arc<dyn Source>,
        writer: Arc<dyn Writer>,
        key: Key,
        identity: String,
        terms: LeaseDurations,
    ) -> Self {
        Self::with_lock(Arc::new(InStore { source, writer, key }), identity, terms)
    }

    /// The lease with the record of `lock`, for a holder named `identity`, which must be unique among
    /// replicas.
    #[must_use]
    pub fn with_lock(lock: Arc<dyn ResourceLock>, identity: String, terms: LeaseDurations) -> Self {
        Self {
            lock,
            identity,
            terms,
            last_change: Mutex::default(),
            own_record: Mutex::default(),
        }
    }

    /// Whether this replica is the leader by `record`.
    #[must_use]
    pub fn is_mine(&self, record: &Record) -> bool {
        record.holder() == self.identity
    }

    /// Time since which this replica has seen no change of the record.
    fn since(&self, version: &str, now: Timestamp) -> Timestamp {
        let mut last_change = self.last_change.lock();
        match &*last_change {
            Some((known, since)) if known == version => *since,
            _ => {
                *last_change = Some((version.to_owned(), now));
                now
            }
        }
    }

    /// Writes the record with this replica as the holder over `record`. Returns whether it was written.
    async fn take(&self, record: Option<&Record>, now: Timestamp) -> Result<bool, StoreError> {
        let value = self.held_record(record, now);
        let written = self.lock.write(record, &value).await?;
        let is_written = written.is_some();
        *self.own_record.lock() = written;
        Ok(is_written)
    }

    /// Answer after an attempt to write the record over that of `version`.
    fn answer(&self, version: &str, is_written: bool, now: Timestamp) -> Hold {
        Hold {
            until: is_written.then(|| after(now, self.terms.renew)),
            again: after(now, self.terms.pause(&self.identity, version)),
        }
    }

    /// The record with this replica as the holder from `now` on.
    fn held_record(&self, record: Option<&Record>, now: Timestamp) -> Value {
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
        spec["leaseDurationSeconds"] = self.terms.duration.as_secs().into();
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
impl LeaderElector for Lease {
    async fn hold(&self, now: Timestamp) -> Result<Hold, StoreError> {
        // A leader renews without a read, as client-go's does. The version in the write refuses it when
        // another replica has written the record.
        let own = self.own_record.lock().clone();
        if let Some(record) = own
            && self.take(Some(&record), now).await?
        {
            return Ok(self.answer(&record.version, true, now));
        }
        let record = self.lock.read().await?;
        let version = record.as_ref().map_or("", |record| &record.version);
        if let Some(record) = &record {
            let holder = record.holder();
            let end = after(self.since(&record.version, now), self.terms.duration);
            let is_held = !holder.is_empty() && holder != self.identity;
            if is_held && now < end {
                // This replica waits for a dead leader no longer than that leader's lease lasts.
                let hold = self.answer(version, false, now);
                return Ok(Hold {
                    again: hold.again.min(end),
                    ..hold
                });
            }
        }
        let is_written = self.take(record.as_ref(), now).await?;
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
        // Where another replica has written the record, this replica does not have the leadership any
        // more.
        self.lock.write(Some(&record), &value).await.map(drop)
    }
}
