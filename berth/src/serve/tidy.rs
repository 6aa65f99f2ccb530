//! Return of free memory to the operating system.
//!
//! The allocator (mimalloc) keeps freed memory for a second for reuse, and releases older blocks when a
//! thread ends. A server's threads do not end. Without this task, memory that a start or a burst has freed
//! stays resident: half of an idle server's heap.

use std::thread;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// Interval between two threads. A thread costs some tens of microseconds.
const INTERVAL: Duration = Duration::from_secs(2);

/// Starts a task that lets a thread end at each interval.
pub(super) fn spawn() -> JoinHandle<()> {
    tokio::spawn(async {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let result = thread::Builder::new().name("berth-tidy".to_owned()).spawn(|| {});
            if let Err(error) = result {
                tracing::debug!(%error, "no thread can be started to give memory back");
            }
        }
    })
}
