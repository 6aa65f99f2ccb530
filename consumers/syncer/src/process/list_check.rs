//! Check of the lists of the view. After another hub came up at the address, or the WorkloadCluster was
//! replaced, a list may show other objects with the same names. So no step begins before the hub has
//! confirmed, after the list, that the WorkloadCluster is still that of the session.

use std::sync::Arc;

use anyhow::Result;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Duration, Instant};

use super::act::StepExecutor;

/// Pause after a failed check. It is longer than a failure of the identity check is shared.
const PAUSE: Duration = Duration::from_millis(1500);

/// The end of a check.
pub(super) struct ListCheckEnd {
    /// The time at which the check began.
    start: Instant,
    outcome: Result<()>,
}

/// Check of the lists of the view.
#[derive(Default)]
pub(super) struct ListCheck {
    /// The time of the last list, until it is confirmed.
    unconfirmed: Option<Instant>,
    /// The check that is running, if there is one.
    running: JoinSet<ListCheckEnd>,
    /// The problem of the last check.
    last_problem: Option<String>,
}

impl ListCheck {
    /// Records that a list of the view is complete.
    pub(super) fn record_list(&mut self) {
        self.unconfirmed = Some(Instant::now());
    }

    /// Whether all lists are confirmed. If not, a check is started, unless one is running.
    pub(super) fn is_confirmed(&mut self, executor: &Arc<StepExecutor>) -> bool {
        if self.unconfirmed.is_none() {
            return true;
        }
        if self.running.is_empty() {
            let executor = Arc::clone(executor);
            self.running.spawn(async move {
                let start = Instant::now();
                let outcome = executor.identity.confirm().await;
                if outcome.is_err() {
                    tokio::time::sleep(PAUSE).await;
                }
                ListCheckEnd { start, outcome }
            });
        }
        false
    }

    /// Waits for the end of the running check; `None` if none is running.
    pub(super) async fn ended(&mut self) -> Option<Result<ListCheckEnd, JoinError>> {
        self.running.join_next().await
    }

    /// Records the end of a check, which confirms the lists before its start.
    pub(super) fn record(&mut self, end: ListCheckEnd) {
        let problem = end.outcome.err().map(|problem| format!("{problem:#}"));
        match &problem {
            None => self.unconfirmed = self.unconfirmed.filter(|listed| *listed > end.start),
            // A problem may last: it is logged only when it changes.
            Some(text) if self.last_problem.as_ref() != Some(text) => {
                tracing::warn!(
                    problem = text,
                    "nothing is synced until a new list is confirmed; retrying"
                );
            }
            Some(_) => {}
        }
        self.last_problem = problem;
    }
}
