//! The [`Engine`]: one inventory per dialect, kept current by a feeder task, and snapshots of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use berth_apimachinery::{Change, Clock, GroupResource, Key, LabelSet, Revision};
use berth_dialect_contract::names::TARGETS;
use berth_dialect_contract::{Consequences, Dialect, Inventory};
use berth_storage::{At, Source};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinHandle;

use crate::answers::Answers;
use crate::bound::{BindObserver, Settlement};
use crate::contest::Contests;
use crate::dirty::{Dirty, Subscription};
use crate::in_force::{ConfigurationInForce, Configurations};
use crate::mandate::{Mandate, Requests};
use crate::readiness::ReadinessError;
use crate::snapshot::{Snapshot, writable};
use crate::turns::Turns;

/// Longest wait of a read for the feeder, which normally needs microseconds.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Error of an attempt to set a part of an engine that is already set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlreadySet {
    /// The observer of bindings.
    #[error("the binding observer is set already")]
    Observer,
    /// The witness of changes.
    #[error("the witness is set already")]
    Witness,
    /// The mandate.
    #[error("the mandate is set already")]
    Mandate,
}

/// Observer of changes when they are folded, before any decision on them. The feeder calls it while it holds
/// the lock of a dialect, so that it has to be quick. Objects of a list are not reported as changes.
pub trait Witness: Send + Sync + 'static {
    /// Receives `change`, which was folded into the inventory of `dialect`, and its `consequences`.
    fn folded(&self, dialect: &'static str, change: &Change, consequences: &Consequences);
}

/// One dialect with its inventory, and the state of its bindings.
pub(crate) struct Slot {
    pub(crate) dialect: Arc<dyn Dialect>,
    pub(crate) reads: BTreeSet<GroupResource>,
    pub(crate) state: Mutex<State>,
    /// Lock for bindings that lost a race, and for bindings that begin meanwhile, so that these try one after
    /// the other and not all at once.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// Lock that is held while a demand and its binding are created in one step, where other demands compete
    /// for the same places.
    pub(crate) create_lock: Arc<tokio::sync::Mutex<()>>,
    /// Settlements of demands by the scheduler itself, while they are decided and written.
    pub(crate) settlements: Turns<Settlement>,
    /// Latest decisions about demands.
    pub(crate) answers: Answers,
    /// Contests with other writers of decisions.
    pub(crate) contests: Contests,
    /// Whether the objects are on a hub.
    pub(crate) on_hub: AtomicBool,
}

pub(crate) struct State {
    pub(crate) inventory: Arc<dyn Inventory>,
    /// Revision up to which every change is folded.
    pub(crate) revision: Revision,
    /// Revision of the last folded change; after a load, the newest revision that the load may contain.
    pub(crate) changed: Revision,
}

/// Keeps inventories of a source current, and decides on them. It is shared as `Arc<Engine>`;
/// [`Engine::spawn`] starts the feeder.
pub struct Engine {
    pub(crate) slots: Vec<Slot>,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) configurations: Arc<Configurations>,
    /// Revision up to which every change is folded; `None` before the first load.
    pub(crate) folded: watch::Sender<Option<Revision>>,
    /// Wakes the feeder, which then publishes the revision that its watch has reached, even without a change.
    pub(crate) nudge: Notify,
    subscribers: Mutex<Vec<Weak<Subscription>>>,
    /// The dialects whose objects are not all known, each with the reason ([`Engine::hold`]).
    incomplete: Mutex<BTreeMap<&'static str, String>>,
    /// The dialects whose configuration is unknown ([`Engine::set_unconfigured`]).
    unconfigured: Mutex<BTreeSet<&'static str>>,
    /// Permits for concurrent decisions about bindings, as many as there are processors. More would only cost
    /// memory, since a long decision has a thread of its own, which keeps the memory that it once used.
    pub(crate) deciding: Semaphore,
    pub(crate) observer: OnceLock<Arc<dyn BindObserver>>,
    pub(crate) witness: OnceLock<Arc<dyn Witness>>,
    mandate: OnceLock<Arc<dyn Mandate>>,
}

impl Engine {
    /// An engine over `source` for `dialects`. It loads nothing until [`Engine::spawn`].
    #[must_use]
    pub fn new(dialects: Vec<Arc<dyn Dialect>>, source: Arc<dyn Source>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let configurations = Configurations::new(Arc::clone(&source), dialects.clone());
        let slots = dialects.into_iter().map(|dialect| Slot {
            reads: dialect.reads().into_iter().collect(),
            state: Mutex::new(State {
                inventory: dialect.inventory(),
                revision: Revision::default(),
                changed: Revision::default(),
            }),
            turn: tokio::sync::Mutex::default(),
            create_lock: Arc::default(),
            settlements: Turns::default(),
            answers: Answers::default(),
            contests: Contests::default(),
            on_hub: AtomicBool::new(false),
            dialect,
        });
        Arc::new(Self {
            slots: slots.collect(),
            source,
            clock,
            configurations: Arc::new(configurations),
            folded: watch::Sender::new(None),
            nudge: Notify::new(),
            subscribers: Mutex::default(),
            incomplete: Mutex::default(),
            unconfigured: Mutex::default(),
            deciding: Semaphore::new(std::thread::available_parallelism().map_or(2, usize::from)),
            observer: OnceLock::new(),
            witness: OnceLock::new(),
            mandate: OnceLock::new(),
        })
    }

    /// Records that the objects of `dialect` are on a hub where the system runs.
    pub fn set_on_hub(&self, dialect: &str) {
        for slot in self.slots.iter().filter(|slot| slot.dialect.name() == dialect) {
            slot.on_hub.store(true, Ordering::Relaxed);
            writable(&mut slot.state.lock().inventory).set_on_hub();
        }
    }

    /// Sets the observer of every binding, once.
    ///
    /// # Errors
    /// When it is set already.
    pub fn observe(&self, observer: Arc<dyn BindObserver>) -> Result<(), AlreadySet> {
        self.observer.set(observer).map_err(|_| AlreadySet::Observer)
    }

    /// Sets the witness of every change, once.
    ///
    /// # Errors
    /// When it is set already.
    pub fn witness(&self, witness: Arc<dyn Witness>) -> Result<(), AlreadySet> {
        self.witness.set(witness).map_err(|_| AlreadySet::Witness)
    }

    /// Sets the mandate, once. Without a mandate, every request of every dialect is decided here.
    ///
    /// # Errors
    /// When it is set already.
    pub fn set_mandate(&self, mandate: Arc<dyn Mandate>) -> Result<(), AlreadySet> {
        self.mandate.set(mandate).map_err(|_| AlreadySet::Mandate)
    }

    /// The configurations in force.
    #[must_use]
    pub const fn configurations(&self) -> &Arc<Configurations> {
        &self.configurations
    }

    /// The configuration in force of `dialect`.
    #[must_use]
    pub fn configuration(&self, dialect: &str) -> ConfigurationInForce {
        self.configurations.of(dialect)
    }

    /// Whether the decisions of `dialect` are made and written here.
    #[must_use]
    pub fn decides(&self, dialect: &str) -> bool {
        !self.is_unconfigured(dialect) && self.mandate.get().is_none_or(|mandate| mandate.decides(dialect))
    }

    /// The requests that are decided here, if `dialect` is decided here; `None` for all.
    #[must_use]
    pub fn requests(&self, dialect: &str) -> Option<Arc<Requests>> {
        self.mandate.get().and_then(|mandate| mandate.requests(dialect))
    }

    /// Whether a request with `labels` in `namespace` is decided here, if `dialect` is decided here.
    #[must_use]
    pub fn includes(&self, dialect: &str, namespace: &str, labels: &impl LabelSet) -> bool {
        let requests = self.requests(dialect);
        requests.is_none_or(|requests| requests.include(&*self.source, namespace, labels))
    }

    /// Whether `demand`, in its state in `snapshot`, is decided here. A missing demand counts as decided here
    /// if its dialect is.
    #[must_use]
    pub fn is_entrusted(&self, snapshot: &Snapshot, demand: &Key) -> bool {
        let dialect = snapshot.dialect.name();
        if !self.decides(dialect) {
            return false;
        }
        let Some(requests) = self.requests(dialect) else {
            return true;
        };
        let object = snapshot.inventory.object(demand);
        object.is_none_or(|object| requests.include(&*self.source, &demand.namespace, object.meta().labels()))
    }

    /// Whether the fields of `dialect`'s decisions are protected from other writers.
    #[must_use]
    pub fn guards(&self, dialect: &str) -> bool {
        !self.is_unconfigured(dialect) && self.mandate.get().is_none_or(|mandate| mandate.guards(dialect))
    }

    /// Marks the configuration of `dialect` as unknown, or as known again. While it is unknown, the dialect
    /// is neither decided nor guarded here, since another scheduler may decide it.
    pub fn set_unconfigured(&self, dialect: &'static str, is_unknown: bool) {
        let mut unconfigured = self.unconfigured.lock();
        match is_unknown {
            true => unconfigured.insert(dialect),
            false => unconfigured.remove(dialect),
        };
    }

    fn is_unconfigured(&self, dialect: &str) -> bool {
        self.unconfigured.lock().contains(dialect)
    }

    /// A sentence about the contest for `demand` of `dialect`, if another writer keeps changing the decision,
    /// so that Berth leaves the demand alone. `None` if the demand is not decided here any more.
    #[must_use]
    pub fn contest(&self, dialect: &str, demand: &Key) -> Option<Arc<str>> {
        let slot = self.slot(dialect)?;
        let contest = slot.contests.of(demand)?;
        self.is_entrusted(&slot.snapshot(), demand).then_some(contest)
    }

    /// Ends the contest for `demand` of `dialect`, which is not decided here any more.
    pub(crate) fn end_contest(&self, dialect: &str, demand: &Key) {
        if let Some(slot) = self.slot(dialect) {
            slot.contests.forget(demand);
        }
    }

    /// Ends the contests for all demands of `dialect`, which are not decided here any more.
    pub(crate) fn end_contests(&self, dialect: &str) {
        if let Some(slot) = self.slot(dialect) {
            slot.contests.forget_all();
        }
    }

    /// Starts the feeder, which runs until the handle is aborted.
    pub fn spawn(self: &Arc<Self>) -> JoinHandle<()> {
        tokio::spawn(Arc::clone(self).feed())
    }

    /// The dialects, in the order that [`Engine::new`] got.
    pub fn dialects(&self) -> impl Iterator<Item = &Arc<dyn Dialect>> {
        self.slots.iter().map(|slot| &slot.dialect)
    }

    /// The source of objects and changes.
    #[must_use]
    pub fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Whether the first load is complete. Before that, no demand can be decided.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.folded.borrow().is_some()
    }

    pub(crate) fn slot(&self, dialect: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.dialect.name() == dialect)
    }

    /// The present snapshot of the dialect named `dialect`; `None` for an unknown dialect.
    #[must_use]
    pub fn snapshot(&self, dialect: &str) -> Option<Snapshot> {
        self.slot(dialect).map(Slot::snapshot)
    }

    /// Largest number of targets of any dialect. The cost of decisions grows with this number.
    #[must_use]
    pub fn most_targets(&self) -> u32 {
        self.slots.iter().map(Slot::targets).max().unwrap_or_default()
    }

    /// Waits until every change up to `revision` is folded, so that a read after a write sees the
    /// write.
    ///
    /// # Errors
    /// When that takes longer than ten seconds.
    pub async fn caught_up(&self, revision: Revision) -> Result<(), ReadinessError> {
        let mut folded = self.folded.subscribe();
        let is_there = |have: &Option<Revision>| have.is_some_and(|have| have >= revision);
        if is_there(&folded.borrow()) {
            return Ok(());
        }
        self.nudge.notify_one();
        match tokio::time::timeout(MAX_WAIT, folded.wait_for(is_there)).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(ReadinessError::NotCaughtUp {
                wanted: revision,
                have: self.folded.borrow().unwrap_or_default(),
            }),
        }
    }

    /// Waits until every write that any server acknowledged before this call is folded. On a store that
    /// several servers share, the store is asked for its revision.
    ///
    /// # Errors
    /// As [`Engine::caught_up`], and when the store does not return its revision.
    pub async fn caught_up_with_all(&self) -> Result<(), ReadinessError> {
        // No objects of this resource are stored, but the answer has the newest revision of the store. The
        // revision in memory may be older, since another server may have written.
        let newest = self.source.list(TARGETS, At::Latest).await;
        let newest = newest.map_err(|error| ReadinessError::SourceUnavailable(error.to_string()))?;
        self.caught_up(newest.revision).await
    }

    /// A snapshot with every write that any server acknowledged before this call; `None` for an unknown
    /// dialect.
    ///
    /// # Errors
    /// As [`Engine::caught_up_with_all`], and when the dialect is held.
    pub async fn fresh(&self, dialect: &str) -> Result<Option<Snapshot>, ReadinessError> {
        self.complete(dialect)?;
        self.caught_up_with_all().await?;
        Ok(self.snapshot(dialect))
    }

    /// Marks `dialect` as not synced, for the reason `why`: decisions fail with [`ReadinessError::NotSynced`]
    /// until a call with `None` removes the mark.
    pub fn hold(&self, dialect: &'static str, why: Option<String>) {
        {
            let mut incomplete = self.incomplete.lock();
            match why {
                Some(why) => incomplete.insert(dialect, why),
                None => incomplete.remove(dialect),
            };
        }
        self.reconsider();
    }

    /// Makes controllers check again which systems they decide, since the set of decided systems may have
    /// changed.
    pub fn reconsider(&self) {
        self.mark_stale(&[]);
    }

    /// Marks objects as stale without a folded change.
    pub(crate) fn mark_stale(&self, dirty: &[(&'static str, Dirty)]) {
        let subscribers = self.subscribers.lock();
        if let Some(through) = *self.folded.borrow() {
            for subscription in subscribers.iter().filter_map(Weak::upgrade) {
                subscription.mark(through, dirty.iter().cloned());
            }
        }
    }

    /// Checks that all objects of `dialect` are known.
    ///
    /// # Errors
    /// The reason to wait ([`Engine::hold`]).
    pub fn complete(&self, dialect: &str) -> Result<(), ReadinessError> {
        match self.incomplete.lock().get_key_value(dialect) {
            Some((&dialect, why)) => Err(ReadinessError::NotSynced {
                dialect,
                why: why.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Registers a consumer of marks. At first, all objects are marked as stale for it.
    #[must_use]
    pub fn subscribe(&self) -> Arc<Subscription> {
        let subscription = Arc::new(Subscription::default());
        let mut subscribers = self.subscribers.lock();
        // This runs under the lock, so that no fold comes between the first mark and the registration.
        if let Some(through) = *self.folded.borrow() {
            subscription.mark(through, self.everything());
        }
        subscribers.push(Arc::downgrade(&subscription));
        subscription
    }

    /// Marks of all objects of all dialects.
    pub(crate) fn everything(&self) -> Vec<(&'static str, Dirty)> {
        self.slots
            .iter()
            .map(|slot| (slot.dialect.name(), Dirty::everything()))
            .collect()
    }

    /// Tells all consumers that the inventories have every change up to `through`, and which objects these
    /// changes made stale.
    pub(crate) fn publish(&self, through: Revision, dirty: &[(&'static str, Dirty)]) {
        let mut subscribers = self.subscribers.lock();
        subscribers.retain(|subscriber| match subscriber.upgrade() {
            Some(subscription) => {
                subscription.mark(through, dirty.iter().cloned());
                true
            }
            None => false,
        });
        self.folded.send_replace(Some(through));
    }
}

impl Slot {
    pub(crate) fn targets(&self) -> u32 {
        self.state.lock().inventory.count()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = self.state.lock();
        Snapshot {
            dialect: Arc::clone(&self.dialect),
            inventory: Arc::clone(&state.inventory),
            revision: state.revision,
        }
    }
}
