//! Events about systems that Berth is configured to decide, but does not decide yet because their own
//! scheduler runs (docs/take-over.md). The events are about the system's SchedulerConfiguration, even if that
//! configuration is not stored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_configuration::{DecidingCondition, DecidingState, Modes, deciding_condition};
use berth_dialect_contract::{Dialect, Note, NoteType, config};
use berth_engine::Engine;
use berth_storage::informer::{self, Handler};
use berth_storage::{Scope, StoreError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::event::EventContent;
use super::events::Events;

/// Field `action` of the events.
const ACTION: &str = "Deciding";

/// Starts the task that, while `leading` is true, reports every system of `engine` for which Berth begins to
/// wait, waits with new evidence, or decides after a wait.
pub(super) fn spawn(
    engine: &Arc<Engine>,
    modes: &Arc<Modes>,
    events: &Arc<Events>,
    leading: watch::Receiver<bool>,
) -> JoinHandle<()> {
    let reporter = WaitReporter {
        engine: Arc::clone(engine),
        schedulers: modes.own_scheduler_evidence().changes(),
        modes: Arc::clone(modes),
        events: Arc::clone(events),
        leading,
        waiting: WaitingSystems::default(),
    };
    // The informer runs until the handle is aborted.
    tokio::spawn(informer::run(
        Arc::clone(engine.source()),
        Scope::One(config::RESOURCE),
        reporter,
        std::future::pending(),
    ))
}

struct WaitReporter {
    engine: Arc<Engine>,
    modes: Arc<Modes>,
    events: Arc<Events>,
    leading: watch::Receiver<bool>,
    /// Changes of the known state of the systems' own schedulers.
    schedulers: watch::Receiver<u64>,
    waiting: WaitingSystems,
}

/// Systems for which Berth waits, each with the evidence that its own scheduler runs.
#[derive(Default)]
struct WaitingSystems(BTreeMap<&'static str, Arc<str>>);

impl WaitingSystems {
    /// Records the state of `dialect`, and returns the type of the event to report, if there is one.
    fn record(&mut self, dialect: &'static str, state: &DecidingState) -> Option<NoteType> {
        match state {
            DecidingState::Waits(evidence) => {
                let before = self.0.insert(dialect, Arc::clone(evidence));
                (before.as_ref() != Some(evidence)).then_some(NoteType::Warning)
            }
            DecidingState::Decides => self.0.remove(dialect).map(|_| NoteType::Normal),
            DecidingState::Observes | DecidingState::Misconfigured => {
                self.0.remove(dialect);
                None
            }
        }
    }
}

impl WaitReporter {
    fn report(&self, dialect: &dyn Dialect, state: &DecidingState, r#type: NoteType) {
        let configurations = self.engine.source().cached(config::RESOURCE);
        let stored = configurations.get("", dialect.name());
        let in_force = self.engine.configuration(dialect.name());
        let DecidingCondition { reason, message, .. } = deciding_condition(dialect, state, in_force.spec());
        let note = Note {
            r#type,
            reason,
            action: ACTION,
            text: message,
            related: None,
        };
        let event = EventContent::of_configuration(dialect, stored.map(|stored| &**stored), note);
        self.events.send(Some(event), self.engine.clock().now());
    }
}

impl Handler for WaitReporter {
    async fn work(&mut self) -> bool {
        self.schedulers.mark_unchanged();
        if !*self.leading.borrow_and_update() {
            // Another leader may report the end of a wait meanwhile.
            self.waiting = WaitingSystems::default();
            return true;
        }
        let dialects: Vec<Arc<dyn Dialect>> = self.engine.dialects().cloned().collect();
        for dialect in dialects {
            let state = self.modes.deciding_state(dialect.name());
            if let Some(r#type) = self.waiting.record(dialect.name(), &state) {
                self.report(&*dialect, &state, r#type);
            }
        }
        true
    }

    async fn woken(&mut self) {
        tokio::select! {
            () = changed(&mut self.leading) => {}
            () = changed(&mut self.schedulers) => {}
        }
    }

    fn ended(&self, problem: &StoreError) -> Duration {
        if matches!(problem, StoreError::Expired { .. }) {
            return Duration::ZERO;
        }
        tracing::warn!(error = %problem, "cannot watch SchedulerConfigurations; retrying");
        Self::RETRY_AFTER
    }
}

/// Waits for a change; waits for ever when the sender is dropped.
async fn changed<T>(receiver: &mut watch::Receiver<T>) {
    if receiver.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_begins_to_wait_or_no_longer_does_is_told_of_once() {
        let mut waiting = WaitingSystems::default();
        let waits = |evidence: &str| DecidingState::Waits(evidence.into());
        for (state, expected) in [
            (DecidingState::Decides, None),
            (waits("pod-1 renews its Lease"), Some(NoteType::Warning)),
            (waits("pod-1 renews its Lease"), None),
            (waits("pod-2 renews its Lease"), Some(NoteType::Warning)),
            (DecidingState::Decides, Some(NoteType::Normal)),
            (DecidingState::Decides, None),
            (waits("pod-2 renews its Lease"), Some(NoteType::Warning)),
            (DecidingState::Observes, None),
            (DecidingState::Decides, None),
        ] {
            assert_eq!(waiting.record("ocm", &state), expected, "{state:?}");
        }
    }
}
