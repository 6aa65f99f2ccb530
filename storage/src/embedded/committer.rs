//! The one thread that writes: group commit of whatever is queued.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};

use tokio::sync::oneshot;

use crate::cache::Cache;
use crate::embedded::disk::Disk;
use crate::error::StoreError;
use crate::fences::Fences;
use crate::history::Limits;
use crate::stage::Stage;
use crate::step::{Applied, Step};

/// Lists of steps in one commit at most.
const BATCH_LISTS: usize = 4096;
/// Bytes of new objects in one commit, which the list that reaches them may pass.
const BATCH_BYTES: usize = 8 << 20;

/// A list of steps, and who waits for it.
pub(crate) struct Request {
    /// The steps.
    pub(crate) steps: Vec<Step>,
    /// Where the answer goes; nobody may be there any more.
    pub(crate) reply: oneshot::Sender<Result<Vec<Applied>, StoreError>>,
}

impl Request {
    fn bytes(&self) -> usize {
        self.steps
            .iter()
            .filter_map(|step| step.object.as_ref())
            .map(meta::Draft::len)
            .sum()
    }
}

/// The state only the committer thread has.
pub(crate) struct Committer {
    cache: Arc<Cache>,
    disk: Disk,
    limits: Limits,
    fences: Fences,
    failed: Arc<OnceLock<String>>,
}

impl Committer {
    /// A committer that goes on from what `cache` shows.
    pub(crate) fn new(cache: Arc<Cache>, disk: Disk, limits: Limits, failed: Arc<OnceLock<String>>) -> Self {
        let fences = Fences::new(cache.revision());
        Self {
            cache,
            disk,
            limits,
            fences,
            failed,
        }
    }

    /// Commits until the queue is closed and empty.
    pub(crate) fn run(mut self, requests: &Receiver<Request>) {
        while let Ok(first) = requests.recv() {
            self.commit(gather(first, requests));
        }
    }

    fn commit(&mut self, batch: Vec<Request>) {
        if let Some(why) = self.failed.get() {
            let error = StoreError::Unavailable(why.clone());
            batch
                .into_iter()
                .for_each(|request| answer(request.reply, Err(error.clone())));
            return;
        }
        let mut stage = Stage::new(&self.cache.picture());
        let mut waiting = Vec::with_capacity(batch.len());
        for Request { steps, reply } in batch {
            let result = stage.list(&self.fences, &steps);
            if stage.is_empty() {
                // Judged by what is durable already. A later refusal or no-op may rest on a write of this batch.
                answer(reply, result);
            } else {
                waiting.push((reply, result));
            }
        }
        if stage.is_empty() {
            return;
        }
        match self.disk.write(stage.changes(), stage.revision()) {
            Ok(()) => self.publish(stage, waiting),
            Err(error) => self.fail(&error, waiting),
        }
    }

    fn publish(&mut self, stage: Stage, waiting: Vec<Waiting>) {
        let touched = stage.touched();
        self.cache.publish(stage.finish(&mut self.fences, &self.limits));
        waiting
            .into_iter()
            .for_each(|(reply, result)| answer(reply, result));
        self.cache.wake(touched);
    }

    /// The disk refused. What it holds now is uncertain, so nothing more is written until a restart has read it
    /// again; reads go on from memory, which shows exactly what was acknowledged.
    fn fail(&mut self, error: &StoreError, waiting: Vec<Waiting>) {
        tracing::error!(%error, "commit failed; no writes are taken until a restart");
        let why = format!("{error}; writes are refused until the cause is mended and the server restarted");
        let why = self.failed.get_or_init(|| why);
        let error = StoreError::Unavailable(why.clone());
        waiting
            .into_iter()
            .for_each(|(reply, _)| answer(reply, Err(error.clone())));
    }
}

type Reply = oneshot::Sender<Result<Vec<Applied>, StoreError>>;
type Waiting = (Reply, Result<Vec<Applied>, StoreError>);

/// What is queued right now, beginning with `first`.
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

/// Answers a caller that may have stopped waiting; the write stands either way.
fn answer(reply: Reply, result: Result<Vec<Applied>, StoreError>) {
    if reply.send(result).is_err() {
        tracing::debug!("a caller left before its write was answered");
    }
}
