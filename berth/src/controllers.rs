//! The controllers in the program: which run, what they write through, what they count, and the events of decisions.
//!
//! The runtime is [`engine::controller`]. Here it is joined with the server's registry, metrics and configuration. Events
//! tell of every binding, also of those a client asked for.

mod event;
mod events;
mod expiry;
mod metrics;
mod selection;
mod series;

use std::sync::Arc;
use std::time::Duration;

use apiserver::registry::Registry;
use engine::controller::{Alone, Elector, LEASES, Lease, Settings, Terms};
use engine::{Controllers, Engine};
use meta::{GroupResource, Key};
use storage::Store;
use tokio::task::JoinHandle;

use crate::configuration::AutoBindMode;
use crate::virtual_api::RegistryCommitter;

pub use events::Events;
pub use metrics::ControllerMetrics;
pub use selection::{Selection, select};

/// The name of the controllers' lock record.
pub const OFFICE: &str = "berth-controllers";

/// What is started together.
pub struct Running {
    controllers: Controllers,
    tasks: Vec<JoinHandle<()>>,
}

/// What controllers are started in.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// What decides.
    pub engine: &'a Arc<Engine>,
    /// What decisions and events are written through.
    pub registry: &'a Arc<Registry>,
    /// Where events are.
    pub store: &'a Arc<dyn Store>,
    /// The name of this server among others on the same store; nothing where the store is this process's alone, and
    /// nobody is to be elected.
    pub identity: Option<&'a str>,
    /// How long events are kept; zero is for ever.
    pub event_ttl: Duration,
    /// What counts.
    pub metrics: &'a Arc<ControllerMetrics>,
}

impl Setting<'_> {
    /// Starts the controllers of `selection`, as far as what they place is served here, and, where events are, the writer
    /// of events and what removes old ones.
    ///
    /// # Errors
    /// A sentence when the engine has an observer of its bindings already.
    pub fn start(self, selection: Selection) -> Result<Running, String> {
        let mut tasks = Vec::new();
        if self.serves(events::EVENTS) {
            let (registry, metrics) = (Arc::clone(self.registry), Arc::clone(self.metrics));
            let (events, writing) = Events::spawn(self.engine, registry, metrics);
            self.engine.observe(Arc::new(events))?;
            let clock = Arc::clone(self.engine.clock());
            tasks.extend([
                writing,
                expiry::spawn(Arc::clone(self.store), clock, self.event_ttl),
            ]);
        }
        let source = Arc::clone(self.engine.source());
        let settings = Settings {
            followers: self.followers(&selection),
            dialects: selection
                .deciders
                .into_iter()
                .filter(|name| self.places(name))
                .collect(),
            committer: Arc::new(RegistryCommitter(Arc::clone(self.registry))),
            gate: Arc::new(move |dialect| AutoBindMode::in_force(&*source, dialect) != AutoBindMode::Off),
            elector: self.elector(),
            observer: Arc::clone(self.metrics) as Arc<_>,
        };
        Ok(Running {
            controllers: Controllers::spawn(self.engine, &settings),
            tasks,
        })
    }

    /// Says which of the servers on one store does the controllers' work.
    fn elector(self) -> Arc<dyn Elector> {
        let Some(identity) = self.identity else {
            return Arc::new(Alone);
        };
        let key = Key::new(LEASES, "kube-system", OFFICE);
        let (source, writer) = (Arc::clone(self.store) as Arc<_>, Arc::clone(self.store) as Arc<_>);
        let identity = identity.to_owned();
        Arc::new(Lease::new(source, writer, key, identity, Terms::default()))
    }

    fn serves(self, resource: GroupResource) -> bool {
        self.registry.index().preferred(resource).is_some()
    }

    /// The followers of `selection` whose dialect places anything here.
    fn followers(self, selection: &Selection) -> Vec<&'static str> {
        let dialects = self.engine.dialects();
        let here = dialects.filter(|dialect| self.places(dialect.name()));
        let names = here.flat_map(|dialect| dialect.followers(None).into_iter().map(|follower| follower.name()));
        names.filter(|name| selection.followers.contains(name)).collect()
    }

    /// Whether everything the dialect named `name` places is served here.
    fn places(self, name: &str) -> bool {
        let mut dialects = self.engine.dialects();
        let dialect = dialects.find(|dialect| dialect.name() == name);
        dialect.is_some_and(|dialect| {
            let mut demands = dialect.demands().iter();
            demands.all(|demand| self.serves(demand.resource))
        })
    }
}

impl Running {
    /// Looks at the clock again, after it was moved by hand.
    pub fn look(&self) {
        self.controllers.look();
    }

    /// Ends in order: what is being written is written. Events that wait are lost.
    pub async fn stop(self) {
        self.controllers.stop().await;
        for task in self.tasks {
            task.abort();
        }
    }
}
