//! Long blocking work, during which the other tasks of the runtime thread run on another thread.

use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

/// Highest number of targets that are judged without moving other tasks. Judging that many takes almost a
/// millisecond; moving the other tasks to another thread costs a tenth of that.
const MAX_TARGETS_INLINE: u32 = 5_000;

/// Duration of work above which other tasks should move to another thread.
pub(crate) const LONG_WORK: Duration = Duration::from_micros(750);

/// Runs `work`, which costs as much as judging this number of `targets`. If the cost is high, the other tasks
/// of this runtime thread (probes, other requests) move to another thread meanwhile.
pub fn run_blocking<T>(targets: u32, work: impl FnOnce() -> T) -> T {
    let can_move_tasks =
        Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if targets > MAX_TARGETS_INLINE && can_move_tasks {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn the_only_thread_answers_others_while_much_is_decided() {
        let (sender, receiver) = mpsc::channel();
        let deciding = tokio::spawn(async move {
            tokio::spawn(async move { sender.send(()).unwrap() });
            run_blocking(MAX_TARGETS_INLINE + 1, || {
                receiver.recv_timeout(Duration::from_secs(10)).is_ok()
            })
        });
        assert!(deciding.await.unwrap(), "the other task did not run");
    }

    #[test]
    fn without_a_runtime_of_several_threads_it_is_done_on_the_spot() {
        assert_eq!(run_blocking(u32::MAX, || 1), 1);
    }
}
