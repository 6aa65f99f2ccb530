//! Informer, the loop of a controller: list, watch the changes since the list, and list again when the watch
//! ends, as informers do in Kubernetes.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Revision;

use crate::error::StoreError;
use crate::source::{Event, Scope, Source};

/// Maximal number of changes that are read from the watch at a time.
const MAX_CHANGES: usize = 1024;

/// Receiver of an informer's changes, such as a controller. The handler tracks its pending work itself.
pub trait Handler: Send {
    /// Delay before failed work is retried.
    const RETRY_AFTER: Duration = Duration::from_secs(1);

    /// Lists all objects, and forgets the known ones, since changes may have been missed. The watch then
    /// starts at a revision from before this call, so the lists may already include some of the watched
    /// changes. A controller that reads everything at any change does nothing here.
    ///
    /// # Errors
    /// The error of the source. The informer lists again later.
    fn list(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// Applies changes, oldest first.
    fn handle(&mut self, events: &[Arc<Event>]) -> impl Future<Output = ()> + Send {
        let _ = events;
        async {}
    }

    /// Does the pending work: after the list, after each [`Handler::handle`], and after other wake-ups.
    /// Returns whether all work is done. If not, the informer calls this method again after
    /// [`Handler::RETRY_AFTER`] at the latest.
    fn work(&mut self) -> impl Future<Output = bool> + Send;

    /// Waits until there is work although the source has not changed. Must be cancel safe.
    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// Logs that the list failed or the watch ended, in the controller's own words. Returns the delay before
    /// the next list.
    fn ended(&self, problem: &StoreError) -> Duration;
}

/// Keeps `handler` informed of the objects in `scope` of `source`, until `stop` completes.
pub async fn run(
    source: Arc<dyn Source>,
    scope: Scope,
    mut handler: impl Handler,
    stop: impl Future<Output = ()>,
) {
    let follow_forever = async {
        loop {
            // The revision is read before the list, so that no change in between is missed.
            let start = source.revision();
            let problem = follow(&*source, &scope, start, &mut handler).await;
            // A pause precedes the next request to a store that does not answer.
            tokio::time::sleep(handler.ended(&problem)).await;
        }
    };
    tokio::select! {
        () = stop => {}
        () = follow_forever => {}
    }
}

/// Lists, then watches the changes after `start`; returns the error that ended the list or the watch.
async fn follow<H: Handler>(
    source: &dyn Source,
    scope: &Scope,
    start: Revision,
    handler: &mut H,
) -> StoreError {
    if let Err(problem) = handler.list().await {
        return problem;
    }
    let mut watch = match source.watch(scope.clone(), start) {
        Ok(watch) => watch,
        Err(problem) => return problem,
    };
    loop {
        let is_done = handler.work().await;
        tokio::select! {
            events = watch.next(MAX_CHANGES) => match events {
                Ok(events) => handler.handle(&events).await,
                Err(problem) => return problem,
            },
            () = handler.woken() => {}
            // Failed work may succeed later without a change in the source.
            () = tokio::time::sleep(H::RETRY_AFTER), if !is_done => {}
        }
    }
}

#[cfg(test)]
mod tests;
