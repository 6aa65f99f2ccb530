//! Long work, during which the other tasks of the runtime thread run on another thread.

use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

/// Number of targets above which the other tasks move to another thread. Such a decision takes almost a
/// millisecond; moving the tasks costs a tenth of that.
const MANY: u32 = 5_000;

/// Duration of work above which the other tasks should move to another thread.
pub(crate) const LONG: Duration = Duration::from_micros(750);

/// Runs `work`, which costs as much as judging this number of `targets`. Where the cost is high, the
/// other tasks of this runtime thread (probes, other requests) move to another thread meanwhile.
pub fn aside<T>(targets: u32, work: impl FnOnce() -> T) -> T {
    let has_others =
        Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if targets > MANY && has_others {
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
            aside(MANY + 1, || {
                receiver.recv_timeout(Duration::from_secs(10)).is_ok()
            })
        });
        assert!(deciding.await.unwrap(), "the other task did not run");
    }

    #[test]
    fn without_a_runtime_of_several_threads_it_is_done_on_the_spot() {
        assert_eq!(aside(u32::MAX, || 1), 1);
    }
}
