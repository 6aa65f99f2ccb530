//! Holds the office, or tries to get it.

use std::sync::Arc;
use std::time::Duration;

use meta::{Clock, Timestamp};
use tokio::sync::watch;

use super::lease::Elector;
use super::observer::Observer;

/// The longest sleep before the clock is looked at again.
const NAP: Duration = Duration::from_secs(30);
/// How soon an elector that does not answer is asked again.
const RETRY: Duration = Duration::from_secs(1);

/// The task that keeps [`super::Controllers::is_leading`] true to the elector's word.
pub(super) struct Leader {
    pub(super) elector: Arc<dyn Elector>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) leads: watch::Sender<bool>,
}

impl Leader {
    /// Runs until the sender of `looks` is gone; then the office is given up.
    pub(super) async fn run(self, mut looks: watch::Receiver<u64>) {
        let mut until = None;
        loop {
            let asked = self.clock.now();
            let again = match self.elector.hold(asked).await {
                Ok(hold) => {
                    until = hold.until;
                    hold.again
                }
                Err(error) => {
                    tracing::warn!(%error, "the lock record of the controllers cannot be read or written");
                    asked.checked_add(RETRY).unwrap_or(Timestamp::MAX)
                }
            };
            loop {
                let now = self.clock.now();
                self.say(until.is_some_and(|until| now < until));
                if now >= again {
                    break;
                }
                // Whoever cannot renew ends its work in time, asked or not.
                let next = until
                    .filter(|&until| now < until)
                    .map_or(again, |until| until.min(again));
                let pause = Duration::try_from(next.duration_since(now))
                    .unwrap_or_default()
                    .min(NAP);
                tokio::select! {
                    looked = looks.changed() => if looked.is_err() {
                        return self.end().await;
                    },
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    fn say(&self, is_leading: bool) {
        let changed = self
            .leads
            .send_if_modified(|leads| std::mem::replace(leads, is_leading) != is_leading);
        if changed {
            tracing::info!(is_leading, "leader election of the controllers");
            self.observer.leading(is_leading);
        }
    }

    async fn end(self) {
        self.say(false);
        if let Err(error) = self.elector.release(self.clock.now()).await {
            tracing::warn!(%error, "the lock record of the controllers is not given up; it expires");
        }
    }
}
