//! Waiting for a cancellation together with a much more frequent event.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Future that is ready once a token is cancelled.
///
/// The token's own future takes a shared lock at every poll, and a thousand connections poll such a future at
/// every event that they send. This future reads the token only when the token has woken it.
#[derive(Debug)]
pub(crate) struct Signal(FuturesUnordered<WaitForCancellationFutureOwned>);

impl Signal {
    /// Creates the signal of `token`.
    pub(crate) fn of(token: &CancellationToken) -> Self {
        Self([token.clone().cancelled_owned()].into_iter().collect())
    }
}

impl Future for Signal {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The set is empty after its only future completed, which also means cancelled.
        self.0.poll_next_unpin(context).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_comes_with_the_cancellation_and_stays() {
        let token = CancellationToken::new();
        let mut signal = Signal::of(&token);
        assert!(futures::poll!(&mut signal).is_pending());
        assert!(futures::poll!(&mut signal).is_pending());
        let waiting = tokio::spawn(signal);
        token.cancel();
        waiting.await.unwrap();
        let mut late = Signal::of(&token);
        (&mut late).await;
        late.await;
    }
}
