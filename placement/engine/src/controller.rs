//! The controllers, which keep the decisions of every dialect current while the world changes.
//!
//! Folded changes make demands due ([`berth_dialect_contract::Consequences::decide`]); each dialect has one
//! queue of due keys. The keys are decided with bounded parallelism, and written through [`Engine::bind`],
//! like the bindings of every caller. A demand that fails is tried again with growing delays
//! ([`berth_dialect_contract::Pace`]), and in some systems so is a demand that finds no place. A demand whose
//! decision depends on time is due again at that time ([`berth_dialect_contract::Decision::due_at`]). Time
//! comes from the engine's clock; a test that moves the clock calls [`Controllers::clock_moved`].
//!
//! In addition to the controller that decides, a dialect may have reconcilers
//! ([`berth_dialect_contract::Reconciler`]), which carry out decisions and report. Each reconciler runs here
//! with a queue of its own.
//!
//! Several replicas may run over one store. Leader election ([`LeaderElector`]) chooses the replica whose
//! controllers work. Correctness does not depend on leader election, since every write is guarded, but
//! without it two replicas would decide everything twice.

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
    BadDurations, ElectionResult, LEASES, LeaderElector, LeaseDurations, LeaseElector, LockRecord,
    ResourceLock, SingleReplica,
};
pub use observer::{Attempt, FinishedStep, NoopObserver, Observer, StepResult};

/// Settings of controllers.
#[derive(Clone)]
pub struct Settings {
    /// The names of the dialects whose controllers run.
    pub dialects: Vec<&'static str>,
    /// The names of the reconcilers that run. They do not depend on `gate`, since they make no decisions.
    pub reconcilers: Vec<&'static str>,
    /// The committer of the controllers' writes.
    pub committer: Arc<dyn Committer>,
    /// Returns whether the controller of a dialect may work. The function is called after every change, so it
    /// has to be cheap.
    pub gate: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// The elector of the leader; not used by [`Controllers::spawn_with_leading`].
    pub elector: Arc<dyn LeaderElector>,
    /// The observer of the controllers.
    pub observer: Arc<dyn Observer>,
}

/// The running controllers of an engine.
pub struct Controllers {
    stop: CancellationToken,
    /// Counts the calls of [`Controllers::clock_moved`].
    clock_moves: watch::Sender<u64>,
    leading: watch::Receiver<bool>,
    runners: Vec<JoinHandle<()>>,
    /// The leader election of only these controllers; `None` if other components share it.
    leadership: Option<Leadership>,
}

impl Controllers {
    /// Starts the controllers of `settings.dialects` over `engine`, whose feeder must be running, with a
    /// leader election of their own.
    #[must_use]
    pub fn spawn(engine: &Arc<Engine>, settings: &Settings) -> Self {
        let (elector, clock) = (Arc::clone(&settings.elector), Arc::clone(engine.clock()));
        let leadership = Leadership::spawn(elector, clock, Arc::clone(&settings.observer));
        let mut controllers = Self::spawn_with_leading(engine, settings, leadership.leading());
        controllers.leadership = Some(leadership);
        controllers
    }

    /// Starts the controllers like [`Controllers::spawn`], but with a leader election that other components
    /// share: `leading` tells whether this replica is the leader.
    #[must_use]
    pub fn spawn_with_leading(
        engine: &Arc<Engine>,
        settings: &Settings,
        leading: watch::Receiver<bool>,
    ) -> Self {
        let stop = CancellationToken::new();
        let clock_moves = watch::Sender::new(0);
        let signals = || runner::Signals {
            stop: stop.clone(),
            clock_moves: clock_moves.subscribe(),
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
            clock_moves,
            leading,
            runners,
            leadership: None,
        }
    }

    /// Whether these controllers work, since their replica is the leader.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        *self.leading.borrow()
    }

    /// Makes the controllers read the clock, which a test has moved.
    pub fn clock_moved(&self) {
        self.clock_moves.send_modify(|count| *count += 1);
        if let Some(leadership) = &self.leadership {
            leadership.clock_moved();
        }
    }

    /// Stops the controllers in order: no new work begins, running writes are completed, then leadership is
    /// released.
    pub async fn stop(self) {
        self.stop.cancel();
        for runner in self.runners {
            if let Err(error) = runner.await {
                tracing::error!(%error, "a controller panicked; its remaining work is done after the next start; report it as a bug, with this line");
            }
        }
        // Leadership is released only after the last runner has ended.
        if let Some(leadership) = self.leadership {
            leadership.stop().await;
        }
    }
}

#[cfg(test)]
mod tests;
