//! The committer, the only thread that writes: it commits all queued lists of steps as a group.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Change, Meta, Object};
use tokio::sync::oneshot;

use crate::cache::Cache;
use crate::embedded::disk::Disk;
use crate::error::StoreError;
use crate::fences::Fences;
use crate::history::Limits;
use crate::stage::{MAX_OBJECT_BYTES, Stage};
use crate::state::State;
use crate::step::{Step, StepResult};

/// Maximal number of lists of steps in one commit.
const BATCH_LISTS: usize = 4096;
/// Limit of the bytes of new objects in one commit; the list that exceeds it is still included.
const BATCH_BYTES: usize = 4 << 20;
/// Minimal interval between two checks whether a full disk has room again.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A list of steps, and the channel for the waiting caller.
pub(crate) struct Request {
    /// The steps.
    pub(crate) steps: Vec<Step>,
    /// Channel for the answer; the receiver may already be dropped.
    pub(crate) reply: oneshot::Sender<Result<Vec<StepResult>, StoreError>>,
}

impl Request {
    fn bytes(&self) -> usize {
        self.steps
            .iter()
            .filter_map(|step| step.object.as_ref())
            .map(berth_apimachinery::Draft::len)
            .sum()
    }
}

/// State of the committer thread.
pub(crate) struct Committer {
    cache: Arc<Cache>,
    disk: Disk,
    limits: Limits,
    fences: Fences,
    /// Reason why the store can no longer write; empty while it can.
    failed: Arc<OnceLock<String>>,
    /// Time of the last check whether a full disk has room again.
    last_check: Option<Instant>,
    /// Number of bytes that deletions and smaller updates have freed in the file since the disk is full. The
    /// size of the file does not change.
    freed: u64,
}

impl Committer {
    /// Creates a committer that continues from the state of `cache`.
    pub(crate) fn new(cache: Arc<Cache>, disk: Disk, limits: Limits, failed: Arc<OnceLock<String>>) -> Self {
        let fences = Fences::new(cache.revision());
        Self {
            cache,
            disk,
            limits,
            fences,
            failed,
            last_check: None,
            freed: 0,
        }
    }

    /// Commits until the queue is closed and empty.
    pub(crate) fn run(mut self, requests: &Receiver<Request>) {
        let _guard = ThreadGuard(Arc::clone(&self.failed));
        while let Ok(first) = requests.recv() {
            let batch = gather(first, requests);
            let batch = self.reject_growing(batch);
            self.commit(batch);
        }
    }

    /// Returns the requests of `batch` that can be written: all, or on a full disk only requests that need no
    /// additional space. Answers the others with an error.
    fn reject_growing(&mut self, batch: Vec<Request>) -> Vec<Request> {
        let reserve = self.disk.reserve();
        if !reserve.is_spent() {
            return batch;
        }
        if self
            .last_check
            .is_none_or(|last_check| last_check.elapsed() >= CHECK_INTERVAL)
        {
            self.restore_reserve();
            self.last_check = Some(Instant::now());
        }
        if !self.disk.reserve().is_spent() {
            return batch;
        }
        let state = self.cache.state();
        let (fitting, growing) = batch.into_iter().partition::<Vec<_>, _>(|request| {
            let mut steps = request.steps.iter();
            steps.all(|step| !grows(&state, step))
        });
        let error = StoreError::Unavailable(format!(
            "the disk of {} is full: only deletions, and updates that take no more space, are accepted until space is freed",
            self.disk.file()
        ));
        for request in growing {
            answer(request.reply, Err(error.clone()));
        }
        fitting
    }

    /// Reserves the space again if the disk has room for it. If not, but deletions freed as much space in the
    /// file as the reserve needs, shrinks the file. If less was freed, the file is not shrunk: the free space
    /// is used once writes are accepted again.
    fn restore_reserve(&mut self) {
        self.disk.reserve().hold();
        let reserve = self.disk.reserve().bytes();
        if !self.disk.reserve().is_spent() {
            self.freed = 0;
            return;
        }
        if self.freed < reserve {
            return;
        }
        match self.disk.shrink() {
            Ok(()) => {
                self.freed = 0;
                self.disk.reserve().hold();
            }
            Err(error) => {
                tracing::warn!(%error, freed = self.freed, "disk full, and the space that deletions freed in the file cannot be given back yet; trying again");
            }
        }
    }

    fn commit(&mut self, batch: Vec<Request>) {
        if let Some(reason) = self.failed.get() {
            let error = StoreError::Unavailable(reason.clone());
            batch
                .into_iter()
                .for_each(|request| answer(request.reply, Err(error.clone())));
            return;
        }
        let mut stage = Stage::new(&self.cache.state(), MAX_OBJECT_BYTES);
        let mut waiters = Vec::with_capacity(batch.len());
        for Request { steps, reply } in batch {
            let result = stage.apply(&self.fences, &steps);
            if stage.is_empty() {
                // The batch has no change yet, so that this refusal or no-op depends on the durable state
                // alone. A later one may depend on a change of this batch, and waits for the commit.
                answer(reply, result);
            } else {
                waiters.push((reply, result));
            }
        }
        if stage.is_empty() {
            return;
        }
        match self.disk.write(stage.changes(), stage.revision()) {
            Ok(()) => {
                if self.disk.reserve().is_spent() {
                    self.freed += stage
                        .changes()
                        .iter()
                        .map(|(change, _)| bytes_freed(change))
                        .sum::<u64>();
                }
                self.publish(stage, waiters);
            }
            Err(error) => self.fail(&error, waiters),
        }
    }

    fn publish(&mut self, stage: Stage, waiters: Vec<CommitWaiter>) {
        let changed_resources = stage.changed_resources();
        self.cache.publish(stage.finish(&mut self.fences, &self.limits));
        waiters
            .into_iter()
            .for_each(|(reply, result)| answer(reply, result));
        self.cache.wake(changed_resources);
    }

    /// Stops writing after an error of the disk, and answers `waiters` with the error. The content of the
    /// file is uncertain until a restart reads it again. Reads continue from memory, which has exactly the
    /// acknowledged writes.
    fn fail(&mut self, error: &StoreError, waiters: Vec<CommitWaiter>) {
        let problem = match error {
            StoreError::Unavailable(problem) => problem.clone(),
            error => error.to_string(),
        };
        let reason =
            format!("{problem}; writes are refused until the cause is corrected and the server is restarted");
        // The reason is set before anything else that could fail, such as the log line.
        let reason = self.failed.get_or_init(|| reason);
        tracing::error!(%error, "commit failed; rejecting all writes until a restart");
        let error = StoreError::Unavailable(reason.clone());
        waiters
            .into_iter()
            .for_each(|(reply, _)| answer(reply, Err(error.clone())));
    }
}

/// Guard that reports a panic of the thread: the store is then not ready.
struct ThreadGuard(Arc<OnceLock<String>>);

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.get_or_init(|| {
                "the thread that commits ended by a panic; writes are refused until the server is restarted".to_owned()
            });
        }
    }
}

/// Whether a step needs more disk space than the object that it replaces. Steps of a deletion do not count.
fn grows(state: &State, step: &Step) -> bool {
    let Some(draft) = &step.object else { return false };
    match (step.verb, state.get(&step.key)) {
        (Verb::Update, Some(current)) => {
            draft.len() > current.len() && !advances_deletion(current.meta(), draft.meta())
        }
        _ => true,
    }
}

/// Whether an update marks the object as being deleted, or removes a finalizer of an object with this mark.
fn advances_deletion(before: &Meta, after: &Meta) -> bool {
    after.deletion_timestamp().is_some()
        && (before.deletion_timestamp().is_none() || after.finalizers().len() < before.finalizers().len())
}

/// Returns the number of bytes that a change frees.
fn bytes_freed(change: &Change) -> u64 {
    let length = |object: &Option<Arc<Object>>| object.as_ref().map_or(0, |object| object.len());
    length(&change.old).saturating_sub(length(&change.new)) as u64
}

type Reply = oneshot::Sender<Result<Vec<StepResult>, StoreError>>;
type CommitWaiter = (Reply, Result<Vec<StepResult>, StoreError>);

/// Returns the requests that are queued now, beginning with `first`.
fn gather(first: Request, requests: &Receiver<Request>) -> Vec<Request> {
    let mut bytes = first.bytes();
    let mut batch = vec![first];
    while batch.len() < BATCH_LISTS && bytes < BATCH_BYTES {
        let Ok(next) = requests.try_recv() else { break };
        bytes += next.bytes();
        batch.push(next);
    }
    batch
}

/// Answers a caller, which may have stopped waiting. A committed write stays in any case.
fn answer(reply: Reply, result: Result<Vec<StepResult>, StoreError>) {
    if reply.send(result).is_err() {
        tracing::debug!("a caller left before its write was answered");
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Draft, Revision};
    use serde_json::json;

    use super::*;
    use crate::conformance::{thing, update};
    use crate::step::Expect;

    #[test]
    fn on_a_full_disk_an_object_with_the_mark_of_deletion_may_lose_finalizers_but_not_grow() {
        let object = |is_marked: bool, finalizers: &[&str], text: &str| {
            let mut value = json!({
                "apiVersion": "conformance.example/v1", "kind": "Thing",
                "metadata": {"namespace": "a", "name": "x", "finalizers": finalizers},
                "spec": {"text": text},
            });
            if is_marked {
                value["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            }
            Draft::new(&value).unwrap()
        };
        let is_growth = |before: Draft, after: Draft| {
            let key = thing("a", "x");
            let mut state = State::new(Revision(1));
            state.set(&key, Some(Arc::new(before.at(Revision(1)))));
            let step = Step {
                object: Some(after),
                ..update(&key, 1, Expect::Present)
            };
            grows(&state, &step)
        };
        let (both, long) = (&["f", "g"][..], "longer than a finalizer");
        assert!(!is_growth(object(false, both, ""), object(true, both, "")));
        assert!(!is_growth(object(true, both, ""), object(true, &["f"], long)));
        assert!(is_growth(object(true, both, ""), object(true, both, long)));
        assert!(is_growth(object(false, both, ""), object(false, both, long)));
    }
}
