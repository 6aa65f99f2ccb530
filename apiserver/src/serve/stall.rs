//! A stream that fails if the peer does not read.
//!
//! A peer whose receive window stays full would occupy a connection, buffers and places of requests in flight
//! forever: no body is polled while the connection is not writable.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Stream whose writes fail once they make no progress for the time `timeout`.
#[derive(Debug)]
pub(super) struct TimeoutStream<S> {
    inner: S,
    timeout: Duration,
    /// Timer that runs while a write waits.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> TimeoutStream<S> {
    pub(super) fn new(inner: S, timeout: Duration) -> Self {
        Self {
            inner,
            timeout,
            timer: None,
        }
    }

    /// Returns the result of a write; a write that has waited for the whole timeout is an error.
    fn with_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.timer = None;
            return result;
        }
        let timeout = self.timeout;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + timeout)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the peer does not read",
            ))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.with_timeout(context, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.with_timeout(context, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_flush(context);
        self.with_timeout(context, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_shutdown(context);
        self.with_timeout(context, result)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_peer_that_does_not_read_is_given_up() {
        let (local, mut remote) = tokio::io::duplex(16);
        let mut stream = TimeoutStream::new(local, Duration::from_millis(20));
        let problem = stream.write_all(&[7; 64]).await.unwrap_err();
        assert_eq!(problem.kind(), io::ErrorKind::TimedOut);
        let mut first = [0; 16];
        remote.read_exact(&mut first).await.unwrap();
    }

    #[tokio::test]
    async fn a_peer_that_reads_slowly_is_served() {
        let (local, mut remote) = tokio::io::duplex(16);
        let mut stream = TimeoutStream::new(local, Duration::from_secs(5));
        let reader = tokio::spawn(async move {
            let mut all = Vec::new();
            remote.read_to_end(&mut all).await.unwrap();
            all
        });
        stream.write_all(&[7; 6400]).await.unwrap();
        stream.shutdown().await.unwrap();
        drop(stream);
        assert_eq!(reader.await.unwrap().len(), 6400);
    }
}
