//! Participation in leader election. Work that only one replica may do depends on a [`Leadership`].

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Clock, Timestamp};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::lease::LeaderElector;
use super::observer::Observer;

/// The longest sleep before the clock is read again.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// Highest time limit for an answer of the elector. A leader waits no longer than the leadership lasts, and
/// then loses the leadership.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay after an attempt that failed or was not answered in time.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Participation of this replica in leader election: whether the replica is the leader.
pub struct Leadership {
    leading: watch::Receiver<bool>,
    /// Counts the calls of [`Leadership::clock_moved`].
    clock_moves: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl Leadership {
    /// Starts a task that tries to become and stay the leader with `elector`, by `clock`.
    #[must_use]
    pub fn spawn(
        elector: Arc<dyn LeaderElector>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let (leads, leading) = watch::channel(false);
        let (clock_moves, moved) = watch::channel(0);
        let leader = Leader {
            elector,
            clock,
            observer,
            leads,
        };
        let task = tokio::spawn(leader.run(moved));
        Self {
            leading,
            clock_moves,
            task,
        }
    }

    /// Returns a receiver with the value true while this replica is the leader.
    #[must_use]
    pub fn leading(&self) -> watch::Receiver<bool> {
        self.leading.clone()
    }

    /// Makes the task read the clock, which a test has moved.
    pub fn clock_moved(&self) {
        self.clock_moves.send_modify(|count| *count += 1);
    }

    /// Stops the task, and releases the leadership if this replica has it. Work that needs the leadership
    /// must have ended.
    pub async fn stop(self) {
        drop(self.clock_moves);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "leader election panicked; the lock expires by itself; report it as a bug, with this line");
        }
    }
}

/// Returns the time from `now` to `then`, or zero if `then` is past.
fn time_left(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default()
}

/// A time that has passed as soon as the clock of the replica or a clock that nobody can set says so. If the
/// clock of a leader is set back, the leadership must not last longer, and the next renewal must not be late.
#[derive(Clone, Copy)]
struct Deadline {
    /// The time by the clock of the replica.
    time: Timestamp,
    /// The time by the clock that nobody can set; `None` beyond the range of that clock.
    instant: Option<Instant>,
}

impl Deadline {
    /// Creates the deadline `time`, which was computed when the clock of the replica was at `start`, at the
    /// instant `begun`.
    fn new(time: Timestamp, start: Timestamp, begun: Instant) -> Self {
        let instant = begun.checked_add(time_left(start, time));
        Self { time, instant }
    }

    /// Returns the time from `now`, by the clock of the replica, to the deadline, or zero if it has passed.
    fn time_left(&self, now: Timestamp) -> Duration {
        let left = time_left(now, self.time);
        self.instant.map_or(left, |instant| {
            left.min(instant.saturating_duration_since(Instant::now()))
        })
    }
}

/// The task that updates a [`Leadership`] by the answers of the elector.
struct Leader {
    elector: Arc<dyn LeaderElector>,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    leads: watch::Sender<bool>,
}

impl Leader {
    /// Runs until the sender of `clock_moves` is dropped, and then releases the leadership.
    async fn run(self, mut clock_moves: watch::Receiver<u64>) {
        let mut until: Option<Deadline> = None;
        loop {
            let (start, begun) = (self.clock.now(), Instant::now());
            let deadline = |time: Timestamp| Deadline::new(time, start, begun);
            let left = until.map_or(ANSWER_TIMEOUT, |until| until.time_left(start));
            let limit = left.min(ANSWER_TIMEOUT);
            let again = match tokio::time::timeout(limit, self.elector.hold(start)).await {
                Ok(Ok(hold)) => {
                    until = hold.until.map(deadline);
                    deadline(hold.again)
                }
                failed => {
                    let error = match failed {
                        Ok(Err(error)) => error.to_string(),
                        _ => format!("no answer within {limit:?}"),
                    };
                    tracing::warn!(error, "cannot read or update the leader election lock; retrying");
                    deadline(start.checked_add(RETRY_DELAY).unwrap_or(Timestamp::MAX))
                }
            };
            loop {
                let now = self.clock.now();
                until = until.filter(|until| !until.time_left(now).is_zero());
                self.publish(until.is_some());
                let mut pause = again.time_left(now).min(LONGEST_SLEEP);
                if pause.is_zero() {
                    break;
                }
                // A leader that cannot renew ends its work in time, even before the next check.
                if let Some(until) = until {
                    pause = pause.min(until.time_left(now));
                }
                tokio::select! {
                    moved = clock_moves.changed() => if moved.is_err() {
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
