//! Return of free memory to the operating system.
//!
//! The allocator (mimalloc) keeps freed memory for a second for reuse, and releases older blocks when a
//! thread ends. A server's threads do not end. Without this task, memory that was freed after the start or a
//! burst stays resident: half of the heap of an idle server.

use std::thread;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// Interval at which a thread is started and ends. A thread costs some tens of microseconds.
const INTERVAL: Duration = Duration::from_secs(2);

/// Starts a task that runs an empty thread at each interval, so that the allocator releases memory at the end
/// of the thread.
pub(super) fn spawn() -> JoinHandle<()> {
    tokio::spawn(async {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let result = thread::Builder::new().name("berth-tidy".to_owned()).spawn(|| {});
            if let Err(error) = result {
                tracing::debug!(%error, "cannot start the thread that releases free memory");
            }
        }
    })
}
