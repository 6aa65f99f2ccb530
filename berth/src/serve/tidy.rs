//! Memory that is free goes back to the system.
//!
//! The allocator (mimalloc) keeps freed memory for a second for reuse, and releases older blocks when a
//! thread ends. A server's threads do not end: without this, the memory of a start or a burst stays
//! resident, half of an idle server's heap.

use std::thread;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// Interval of tidying. A thread takes some tens of microseconds.
const EVERY: Duration = Duration::from_secs(2);

/// Lets a thread end now and then.
pub(super) fn spawn() -> JoinHandle<()> {
    tokio::spawn(async {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let ended = thread::Builder::new().name("berth-tidy".to_owned()).spawn(|| {});
            if let Err(error) = ended {
                tracing::debug!(%error, "no thread can be started to give memory back");
            }
        }
    })
}
