//! Participation in leader election. All work that only one replica may do depends on a [`Leadership`].

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Clock, Timestamp};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::lease::LeaderElector;
use super::observer::Observer;

/// The longest sleep before the clock is read again.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// Time limit for an elector's answer. A leader waits no longer than its leadership lasts, and then loses
/// it.
const ANSWER: Duration = Duration::from_secs(5);
/// Delay from an attempt that failed or was not answered to the next attempt.
const RETRY: Duration = Duration::from_secs(1);

/// Whether this replica does the work that only one replica may do.
pub struct Leadership {
    leading: watch::Receiver<bool>,
    looks: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl Leadership {
    /// Starts leader election with `elector`, by `clock`, and keeps trying.
    #[must_use]
    pub fn spawn(
        elector: Arc<dyn LeaderElector>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let (leads, leading) = watch::channel(false);
        let (looks, looked) = watch::channel(0);
        let leader = Leader {
            elector,
            clock,
            observer,
            leads,
        };
        let task = tokio::spawn(leader.run(looked));
        Self { leading, looks, task }
    }

    /// Returns a receiver of whether this replica is the leader.
    #[must_use]
    pub fn leading(&self) -> watch::Receiver<bool> {
        self.leading.clone()
    }

    /// Reads the clock again, after a test moved it.
    pub fn look(&self) {
        self.looks.send_modify(|count| *count += 1);
    }

    /// Releases leadership, if this replica has it. Work that needs it must have ended.
    pub async fn stop(self) {
        drop(self.looks);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "leader election panicked; the lock expires by itself; report it as a bug, with this line");
        }
    }
}

/// Time from `now` to `then`.
fn time_left(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default()
}

/// The task that updates a [`Leadership`] by the elector's answers.
struct Leader {
    elector: Arc<dyn LeaderElector>,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    leads: watch::Sender<bool>,
}

impl Leader {
    /// Runs until the sender of `looks` is dropped, and then releases leadership.
    async fn run(self, mut looks: watch::Receiver<u64>) {
        let mut until: Option<Timestamp> = None;
        loop {
            let start = self.clock.now();
            let limit = until.map_or(ANSWER, |until| time_left(start, until).min(ANSWER));
            let again = match tokio::time::timeout(limit, self.elector.hold(start)).await {
                Ok(Ok(hold)) => {
                    until = hold.until;
                    hold.again
                }
                failed => {
                    let error = match failed {
                        Ok(Err(error)) => error.to_string(),
                        _ => format!("no answer within {limit:?}"),
                    };
                    tracing::warn!(error, "cannot read or update the leader election lock; retrying");
                    start.checked_add(RETRY).unwrap_or(Timestamp::MAX)
                }
            };
            loop {
                let now = self.clock.now();
                until = until.filter(|&until| now < until);
                self.publish(until.is_some());
                if now >= again {
                    break;
                }
                // A leader that cannot renew ends its work in time, even before the next check.
                let next = until.map_or(again, |until| until.min(again));
                let pause = time_left(now, next).min(LONGEST_SLEEP);
                tokio::select! {
                    looked = looks.changed() => if looked.is_err() {
                        return self.end().await;
                    },
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    fn publish(&self, is_leading: bool) {
        let changed = self
            .leads
            .send_if_modified(|leads| std::mem::replace(leads, is_leading) != is_leading);
        if changed {
            tracing::info!(is_leading, "leader election: leadership changed");
            self.observer.leading(is_leading);
        }
    }

    async fn end(self) {
        self.publish(false);
        if let Err(error) = self.elector.release(self.clock.now()).await {
            tracing::warn!(%error, "cannot release the leader election lock; it expires by itself");
        }
    }
}
