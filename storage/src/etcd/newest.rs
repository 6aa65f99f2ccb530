//! etcd's newest revision, for consistent reads from the cache. Readers that arrive during a request share
//! the next request, so that a thousand readers cost one small read at a time.

use std::sync::Arc;

use berth_apimachinery::Revision;
use tokio::sync::{mpsc, oneshot};

use crate::cache;
use crate::error::StoreError;
use crate::etcd::follow::newest;
use crate::etcd::layout::Layout;
use crate::etcd::link::Link;

type Answer = Result<Revision, StoreError>;

/// Handle that requests the newest revision.
#[derive(Clone)]
pub(crate) struct NewestRevision {
    requests: mpsc::UnboundedSender<oneshot::Sender<Answer>>,
}

impl NewestRevision {
    /// Creates a handle, and the future that answers its requests, to be run as a task.
    pub(crate) fn new(link: Arc<Link>, layout: Layout) -> (Self, impl Future<Output = ()> + Send) {
        let (requests, queue) = mpsc::unbounded_channel();
        (Self { requests }, answer(link, layout, queue))
    }

    /// Returns a revision at or after every write that was acknowledged before this call.
    ///
    /// # Errors
    /// `Unavailable` when etcd does not answer.
    pub(crate) async fn get(&self) -> Answer {
        let (reply, answer) = oneshot::channel();
        self.requests.send(reply).map_err(|_closed| cache::closed())?;
        answer.await.map_err(|_closed| cache::closed())?
    }
}

async fn answer(
    link: Arc<Link>,
    layout: Layout,
    mut queue: mpsc::UnboundedReceiver<oneshot::Sender<Answer>>,
) {
    while let Some(first) = queue.recv().await {
        let mut replies = vec![first];
        while let Ok(next) = queue.try_recv() {
            replies.push(next);
        }
        let revision = newest(&link, &layout)
            .await
            .map_err(|failure| link.read_error(&failure));
        for reply in replies {
            if reply.send(revision.clone()).is_err() {
                tracing::debug!("a reader left before its revision was known");
            }
        }
    }
}
