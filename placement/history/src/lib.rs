//! The history of decisions (docs/reference.md, "History"): a record of each change of a decision, with its
//! cause.
//!
//! Records are objects of Berth's own store, so that checks at start, backups, encryption, migration
//! and watches work for them, too; they are never on a hub. Start reading at [`recorder`]; [`record`],
//! which is pure, computes the content of a record.
//!
//! ```
//! use std::sync::Arc;
//!
//! use berth_history::History;
//! use berth_engine::Engine;
//! use berth_storage::Store;
//! use tokio::sync::watch;
//! use berth_scheduling_rest::VirtualApi;
//! use berth_scheduling_rest::records::Bounds;
//!
//! fn remember(
//!     engine: &Arc<Engine>, api: &VirtualApi, store: &Arc<dyn Store>, bounds: Bounds,
//!     leading: watch::Receiver<bool>,
//! ) -> Result<berth_history::RunningRecorder, berth_engine::AlreadySet> {
//!     let history = History::new(engine, api.projection(), store, bounds, None, None)?;
//!     // The observer learns the user of each binding, for the record.
//!     if let Some(observer) = history.observer() {
//!         engine.observe(observer)?;
//!     }
//!     Ok(history.spawn(leading))
//! }
//! ```

mod bind_listener;
pub mod causes;
mod decision_states;
pub mod reasons;
pub mod record;
mod record_index;
mod recorder;
pub mod state;
pub mod written_decision;

use std::sync::Arc;

use berth_apimachinery::{Clock, GroupResource};
use berth_engine::{BindObserver, Engine};
use berth_scheduling_rest::projection::Projection;
use berth_scheduling_rest::records::Bounds;
use berth_storage::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::bind_listener::BindListener;
use self::causes::{Causes, Managers};
use self::recorder::Recorder;

/// The history of the decisions of one engine.
pub struct History {
    engine: Arc<Engine>,
    projection: Arc<Projection>,
    store: Arc<dyn Store>,
    bounds: Bounds,
    /// The resource of namespaces, where the store has all namespaces.
    namespaces: Option<GroupResource>,
    causes: Arc<Causes>,
    listener: Arc<BindListener>,
}

/// The running task of the recorder.
pub struct RunningRecorder {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl History {
    /// The history of the decisions of `engine` in `projection`, stored in `store` within `bounds`.
    /// With `namespaces`, the resource of namespaces in that store, records are deleted with their
    /// namespace. `managers` has the field managers of copies of a hub's objects.
    ///
    /// # Errors
    /// When the engine has another witness already.
    pub fn new(
        engine: &Arc<Engine>,
        projection: &Arc<Projection>,
        store: &Arc<dyn Store>,
        bounds: Bounds,
        namespaces: Option<GroupResource>,
        managers: Option<Managers>,
    ) -> Result<Arc<Self>, berth_engine::AlreadySet> {
        let public_resources = engine.dialects().flat_map(|dialect| {
            let resources = dialect.shown().cluster_kinds.iter().copied();
            resources.chain([dialect.target()])
        });
        let causes = Causes::new(Arc::clone(engine.clock()), public_resources.collect(), managers);
        let causes = Arc::new(causes);
        let listener = Arc::new(BindListener::new(Arc::clone(engine.clock()), Arc::clone(&causes)));
        if bounds.per_decision > 0 {
            engine.witness(Arc::clone(&causes) as Arc<_>)?;
        }
        Ok(Arc::new(Self {
            engine: Arc::clone(engine),
            projection: Arc::clone(projection),
            store: Arc::clone(store),
            bounds,
            namespaces,
            causes,
            listener,
        }))
    }

    /// Observer of bindings, for the engine; `None` where no history is kept.
    #[must_use]
    pub fn observer(&self) -> Option<Arc<dyn BindObserver>> {
        (self.bounds.per_decision > 0).then(|| Arc::clone(&self.listener) as Arc<_>)
    }

    /// Starts to record, or deletes all records where no history is kept. Where servers share the
    /// store, `leading` is true in the server that records changes which no server made.
    #[must_use]
    pub fn spawn(self: &Arc<Self>, leading: watch::Receiver<bool>) -> RunningRecorder {
        let stop = CancellationToken::new();
        let recorder = Recorder::new(Arc::clone(self), leading);
        let task = match self.bounds.per_decision {
            0 => tokio::spawn(recorder.clear(stop.clone())),
            _ => tokio::spawn(recorder.run(stop.clone())),
        };
        RunningRecorder { stop, task }
    }

    fn clock(&self) -> &dyn Clock {
        &**self.engine.clock()
    }
}

impl RunningRecorder {
    /// Stops the recorder, after it has recorded the last changes.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the recorder of the decision history panicked; changes since then are not recorded; report it as a bug, with this line");
        }
    }
}
