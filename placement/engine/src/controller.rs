//! The controllers, which keep every dialect's decisions right while the world changes.
//!
//! Folded changes make demands due ([`berth_dialect_contract::Consequences::decide`]); each dialect has one
//! queue of due keys. The keys are decided with bounded parallelism, and written through [`Engine::bind`],
//! like the bindings of every caller. A demand that fails or finds no place is tried again with growing
//! delays ([`berth_dialect_contract::Pace`]). A demand whose decision depends on time is due again at that
//! time ([`berth_dialect_contract::Decision::due_at`]). Time is the engine's clock; tests that move a clock
//! call [`Controllers::look`].
//!
//! In addition to the controller that decides, a dialect may have reconcilers
//! ([`berth_dialect_contract::Reconciler`]), which carry out decisions and report. They run here, too, each
//! with a queue of its own.
//!
//! Several replicas may run over one store. The [`LeaderElector`] chooses the replica whose controllers
//! work. Correctness does not depend on the election, since every write is guarded, but two replicas would
//! decide everything twice.

mod leader;
mod lease;
mod observer;
mod queue;
mod reconciler_runner;
mod runner;
mod workers;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::bind::Committer;
use crate::engine::Engine;

pub use leader::Leadership;
pub use lease::{
    BadDurations, Hold, LEASES, LeaderElector, Lease, LeaseDurations, Record, ResourceLock, SingleReplica,
};
pub use observer::{Attempt, FinishedStep, Observer, Silent, StepResult};

/// Settings of controllers.
#[derive(Clone)]
pub struct Settings {
    /// The names of the dialects whose controllers run.
    pub dialects: Vec<&'static str>,
    /// The names of the running reconcilers. They carry out decisions and make none, so they do not
    /// wait for the `gate`.
    pub reconcilers: Vec<&'static str>,
    /// Writes the decisions.
    pub committer: Arc<dyn Committer>,
    /// Returns whether a dialect binds by itself. It is called after every change, so it has to be
    /// cheap.
    pub gate: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Elects the replica that works; not used by [`Controllers::under`].
    pub elector: Arc<dyn LeaderElector>,
    /// Observer of the controllers.
    pub observer: Arc<dyn Observer>,
}

/// The controllers at work.
pub struct Controllers {
    stop: CancellationToken,
    looks: watch::Sender<u64>,
    leading: watch::Receiver<bool>,
    runners: Vec<JoinHandle<()>>,
    /// Leader election for these controllers alone, if there is one.
    leadership: Option<Leadership>,
}

impl Controllers {
    /// Starts the controllers of `settings.dialects` over `engine`, whose feeder must be running.
    #[must_use]
    pub fn spawn(engine: &Arc<Engine>, settings: &Settings) -> Self {
        let (elector, clock) = (Arc::clone(&settings.elector), Arc::clone(engine.clock()));
        let leadership = Leadership::spawn(elector, clock, Arc::clone(&settings.observer));
        let mut controllers = Self::under(engine, settings, leadership.leading());
        controllers.leadership = Some(leadership);
        controllers
    }

    /// Starts the controllers like [`Controllers::spawn`], with a leader election that other components
    /// share.
    #[must_use]
    pub fn under(engine: &Arc<Engine>, settings: &Settings, leading: watch::Receiver<bool>) -> Self {
        let stop = CancellationToken::new();
        let looks = watch::Sender::new(0);
        let signals = || runner::Signals {
            stop: stop.clone(),
            looks: looks.subscribe(),
            leading: leading.clone(),
        };
        let runners = settings.dialects.iter().map(|dialect| {
            let runner = runner::Runner::new(Arc::clone(engine), settings.clone(), dialect, signals());
            tokio::spawn(runner.run())
        });
        let all = engine.dialects().flat_map(|dialect| {
            let reconcilers = dialect.controllers().reconcilers(None).into_iter();
            reconcilers.map(move |reconciler| (dialect, reconciler))
        });
        let chosen = all.filter(|(_, reconciler)| settings.reconcilers.contains(&reconciler.name()));
        let reconcilers = chosen.map(|(dialect, reconciler)| {
            let runner =
                reconciler_runner::ReconcilerRunner::new(engine, settings, dialect, reconciler, signals());
            tokio::spawn(runner.run())
        });
        let runners = runners.chain(reconcilers).collect();
        Self {
            stop,
            looks,
            leading,
            runners,
            leadership: None,
        }
    }

    /// Whether these controllers work: their replica is the leader.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        *self.leading.borrow()
    }

    /// Reads the clock again, after a test moved it.
    pub fn look(&self) {
        self.looks.send_modify(|count| *count += 1);
        if let Some(leadership) = &self.leadership {
            leadership.look();
        }
    }

    /// Stops in order: no new work begins, running writes are completed, then leadership is released.
    pub async fn stop(self) {
        self.stop.cancel();
        for runner in self.runners {
            if let Err(error) = runner.await {
                tracing::error!(%error, "a controller panicked, and what it had left to do is done after the next start; report it as a bug, with this line");
            }
        }
        // Leadership outlives the runners: it is released when the last of them has ended.
        if let Some(leadership) = self.leadership {
            leadership.stop().await;
        }
    }
}

#[cfg(test)]
mod tests;
