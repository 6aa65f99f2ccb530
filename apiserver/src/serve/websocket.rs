//! Connections that have switched to a WebSocket: each line of a watch is sent as a message, until the watch
//! ends or the client disconnects.
//!
//! No data are queued for a client that does not read: the next part of the answer is requested only when the
//! last part has been written. Until then, no message is read from the client. [`super::stall`] ends a
//! connection whose peer reads nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_websockets::{Error, Limits, Message, ServerBuilder, WebSocketStream};

/// Interval of pings to a client: without them, a proxy on the way may close an idle connection.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Time limit of the client's answer to the closing of the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest message of a client. Messages of clients have no meaning; they are read and dropped.
const LONGEST_MESSAGE: usize = 4096;

/// Slot for the session that a request started, which runs once the connection has switched protocols.
#[derive(Clone, Default)]
pub(super) struct SessionSlot(Arc<Mutex<Option<Session>>>);

impl SessionSlot {
    /// Sets the session: the lines of `body` are sent once the connection has switched.
    pub(super) fn set(&self, upgrade: OnUpgrade, body: Body) {
        *self.0.lock() = Some(Session { upgrade, body });
    }

    /// Takes the session to run, once the connection no longer speaks HTTP.
    pub(super) fn take(&self) -> Option<Session> {
        self.0.lock().take()
    }
}

/// A watch whose events are sent as messages.
pub(super) struct Session {
    upgrade: OnUpgrade,
    body: Body,
}

impl Session {
    /// Sends every line until the body ends or the client disconnects, and closes the connection.
    ///
    /// # Errors
    /// When the connection breaks or the client violates the protocol.
    pub(super) async fn run(self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let stream = TokioIo::new(self.upgrade.await?);
        let limits = Limits::default().max_payload_len(Some(LONGEST_MESSAGE));
        let mut socket = ServerBuilder::new().limits(limits).serve(stream);
        // The watch ends here, even if the client does not close the connection.
        let result = send(&mut socket, self.body).await;
        // A client that does not answer the closing in time is no error: all messages were sent.
        tokio::time::timeout(CLOSE_TIMEOUT, socket.close())
            .await
            .unwrap_or(Ok(()))?;
        Ok(result?)
    }
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

async fn send(socket: &mut Socket, body: Body) -> Result<(), Error> {
    let mut parts = body.into_data_stream();
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            received = socket.next() => match received {
                Some(Ok(message)) if !message.is_close() => {}
                Some(Err(problem)) => return Err(problem),
                Some(Ok(_)) | None => return Ok(()),
            },
            part = parts.next() => match part {
                Some(Ok(part)) => {
                    for line in lines(&part) {
                        socket.feed(Message::text(line)).await?;
                    }
                }
                // The reason of the broken answer has already been logged.
                Some(Err(_)) | None => return Ok(()),
            },
            _ = pings.tick() => socket.feed(Message::ping(Bytes::new())).await?,
        }
        // This also sends the answer to a ping: a client's messages are read no faster than the client reads
        // the answers.
        socket.flush().await?;
    }
}

/// Splits a part of the answer, which ends with a line feed, into lines without line feeds.
fn lines(part: &Bytes) -> impl Iterator<Item = Bytes> {
    let lines = part.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| part.slice_ref(line))
}
