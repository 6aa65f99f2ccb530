//! The controllers in the program: their selection, leader election, metrics, and the events of decisions.
//!
//! The runtime is [`berth_engine::controller`]. This module connects the runtime with the server's registry,
//! metrics and configuration. Bindings that clients create are also recorded as events.

mod election;
mod event;
mod events;
mod expiry;
mod metrics;
mod observers;
mod pending;
mod selection;
mod series;
mod waits;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Clock, GroupResource, Key};
use berth_apiserver::Registry;
use berth_configuration::{AutoBindMode, Modes, validity};
use berth_dialect_contract::Reconciler;
use berth_engine::controller::{
    LEASES, LeaderElector, Leadership, LeaseDurations, LeaseElector, Settings, SingleReplica,
};
use berth_engine::{BindObserver, Committer, Controllers, Engine};
use berth_storage::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use election::LeaderElectionArgs;
pub use events::Events;
pub(crate) use events::{EVENTS, EventSink, OwnEvents};
pub use metrics::ControllerMetrics;
use observers::BindObservers;
pub use selection::{Selection, select};
pub(crate) use series::{EventWrite, WriteResult};

/// Name of the lock record by which the servers elect the leader that runs the controllers.
pub const CONTROLLERS_LEASE: &str = "berth-controllers";

/// Controllers that are started together.
pub struct RunningControllers {
    controllers: Controllers,
    tasks: Vec<JoinHandle<()>>,
}

/// Parts of the server that the controllers work with.
#[derive(Clone)]
pub struct Environment<'a> {
    /// The engine, which decides.
    pub engine: &'a Arc<Engine>,
    /// Modes of the systems.
    pub modes: &'a Arc<Modes>,
    /// Committer of decisions.
    pub committer: &'a Arc<dyn Committer>,
    /// Resources that are served here.
    pub registry: &'a Arc<Registry>,
    /// Resources that are stored on the hub.
    pub mirrored: &'a BTreeSet<GroupResource>,
    /// Destination of events.
    pub(crate) sink: &'a Arc<dyn EventSink>,
    /// Store of events, if they are stored here.
    pub store: &'a Arc<dyn Store>,
    /// Whether this server is the leader and may write.
    pub leading: watch::Receiver<bool>,
    /// Time for which events are kept; zero keeps events without limit.
    pub event_ttl: Duration,
    /// Recorder of the history of decisions, if there is one: a further observer of bindings.
    pub history: Option<Arc<dyn BindObserver>>,
    /// Metrics.
    pub metrics: &'a Arc<ControllerMetrics>,
}

impl Environment<'_> {
    /// Starts the controllers of `selection` for dialects whose demands are served here or copied from a hub,
    /// the writer of events, and the updates of conditions. If events are served here, it also starts the
    /// removal of old events.
    ///
    /// # Errors
    /// When the engine already has an observer of bindings.
    pub fn start(self, selection: Selection) -> Result<RunningControllers, berth_engine::AlreadySet> {
        let (sink, metrics) = (Arc::clone(self.sink), Arc::clone(self.metrics));
        let (events, writer) = Events::spawn(self.engine, sink, metrics);
        let events = Arc::new(events);
        let observer = Arc::clone(&events) as Arc<dyn BindObserver>;
        let observers = std::iter::once(observer).chain(self.history.clone());
        self.engine
            .observe(Arc::new(BindObservers(observers.collect())))?;
        let leading = self.leading.clone();
        let waits = waits::spawn(self.engine, self.modes, &events, leading.clone());
        let mut tasks = vec![writer, waits];
        tasks.push(validity::spawn(
            self.engine,
            self.modes,
            self.committer,
            leading.clone(),
        ));
        if self.serves(EVENTS) {
            let (store, clock) = (Arc::clone(self.store), Arc::clone(self.engine.clock()));
            tasks.push(expiry::spawn(store, clock, self.event_ttl, leading.clone()));
        }
        let engine = Arc::clone(self.engine);
        let settings = Settings {
            reconcilers: self.reconcilers(&selection),
            dialects: selection
                .deciders
                .into_iter()
                .filter(|name| self.has_demands_of(name))
                .collect(),
            committer: Arc::clone(self.committer),
            gate: Arc::new(move |dialect| AutoBindMode::in_force(&engine, dialect) != AutoBindMode::Off),
            elector: Arc::new(SingleReplica),
            observer: Arc::clone(self.metrics) as Arc<_>,
        };
        Ok(RunningControllers {
            controllers: Controllers::spawn_with_leading(self.engine, &settings, leading),
            tasks,
        })
    }

    fn serves(&self, resource: GroupResource) -> bool {
        self.registry.index().preferred(resource).is_some()
    }

    /// The reconcilers of `selection` whose dialect has its demands here, except reconcilers whose work a
    /// program on the hub does.
    fn reconcilers(&self, selection: &Selection) -> Vec<&'static str> {
        let dialects = self.engine.dialects();
        let local = dialects.filter(|dialect| self.has_demands_of(dialect.name()));
        let all = local.flat_map(|dialect| dialect.controllers().reconcilers(None));
        let is_local = |reconciler: &Arc<dyn Reconciler>| {
            let mut resources = reconciler.writes().into_iter();
            !reconciler.is_left_to_hub() || resources.all(|resource| self.serves(resource))
        };
        let names = all.filter(is_local).map(|reconciler| reconciler.name());
        names
            .filter(|name| selection.reconcilers.contains(name))
            .collect()
    }

    /// Whether all demands of the dialect `name` are served here, or copied from a hub.
    fn has_demands_of(&self, name: &str) -> bool {
        let mut dialects = self.engine.dialects();
        let dialect = dialects.find(|dialect| dialect.name() == name);
        dialect.is_some_and(|dialect| {
            let mut demands = dialect.demands().iter();
            demands.all(|demand| self.serves(demand.resource) || self.mirrored.contains(&demand.resource))
        })
    }
}

/// Leader election among the servers that share `store`, by a lock record in the store. `identity` is the
/// name of this server.
pub fn elector(
    store: &Arc<dyn Store>,
    identity: String,
    durations: LeaseDurations,
) -> Arc<dyn LeaderElector> {
    let key = Key::new(LEASES, "kube-system", CONTROLLERS_LEASE);
    let (source, writer) = (Arc::clone(store) as Arc<_>, Arc::clone(store) as Arc<_>);
    Arc::new(LeaseElector::new(source, writer, key, identity, durations))
}

/// Starts to take part in leader election with `elector`, until the returned value is stopped.
#[must_use]
pub fn lead(
    elector: Arc<dyn LeaderElector>,
    clock: &Arc<dyn Clock>,
    metrics: &Arc<ControllerMetrics>,
) -> Leadership {
    Leadership::spawn(elector, Arc::clone(clock), Arc::clone(metrics) as Arc<_>)
}

impl RunningControllers {
    /// Makes the controllers read the clock again, after a test has changed the time.
    pub fn clock_moved(&self) {
        self.controllers.clock_moved();
    }

    /// Stops the controllers after their running writes are complete. Queued events are lost.
    pub async fn stop(self) {
        self.controllers.stop().await;
        for task in self.tasks {
            task.abort();
        }
    }
}
