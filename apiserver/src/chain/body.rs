//! Bodies: reading request bodies within limits, and tracking response bodies to their last byte.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use berth_apimachinery::Status;
use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use super::trail::Completion;
use crate::memory::Charge;
use crate::signal::Signal;
use crate::unread::Patience;

/// Highest number of bytes that are read and discarded of a refused body: a client that writes its whole body
/// before it reads would otherwise see a broken connection instead of the refusal.
const DISCARD: usize = 16 * 1024 * 1024;
/// Time limit for discarding a body.
const DISCARD_FOR: Duration = Duration::from_secs(2);

/// Time in which any body may arrive, regardless of its rate.
const ARRIVAL: Duration = Duration::from_secs(10);
/// Lowest average rate of a body after [`ARRIVAL`], in bytes per second: slow clients must not occupy memory.
const LEAST_RATE: usize = 4 * 1024;

/// Reads a whole request body of at most `limit` bytes, which are added to `charge` as they arrive.
///
/// # Errors
/// 413 when the body is longer, by its header or in fact, or exceeds the memory share of `charge`; 429 when
/// there is no memory for it now; 400 when it is incomplete; 408 when it is too slow.
pub(super) async fn read(
    headers: &HeaderMap,
    mut body: Body,
    limit: usize,
    charge: &mut Charge,
) -> Result<Bytes, Status> {
    let content_length = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if content_length.is_some_and(|length| length > limit) {
        discard(body).await;
        return Err(Status::too_large(limit));
    }
    let mut parts: Vec<Bytes> = Vec::new();
    let mut length = 0;
    let start = Instant::now();
    loop {
        let deadline = start + ARRIVAL + Duration::from_secs((length / LEAST_RATE) as u64);
        let frame = tokio::time::timeout_at(deadline, body.frame()).await;
        let Some(frame) = frame.map_err(|_elapsed| too_slow(length))? else {
            break;
        };
        let frame = frame.map_err(|problem| {
            Status::bad_request(format!("the request body could not be read: {problem}"))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        let result = if length > limit {
            Err(Status::too_large(limit))
        } else {
            charge.grow(data.len())
        };
        if let Err(error) = result {
            drop(parts);
            discard(body).await;
            return Err(error);
        }
        parts.push(data);
    }
    Ok(join_parts(parts, length))
}

fn too_slow(length: usize) -> Status {
    let text = format!(
        "the request body comes too slowly: {length} bytes of it came, and after {} seconds there must be {LEAST_RATE} a \
         second on average; send it again over a better connection, or less in one request",
        ARRIVAL.as_secs()
    );
    Status::failure(408, "Timeout", text)
}

/// Returns a single part unchanged, and several parts joined.
fn join_parts(mut parts: Vec<Bytes>, length: usize) -> Bytes {
    match parts.len() {
        0 => Bytes::new(),
        1 => parts.remove(0),
        _ => {
            let mut whole = BytesMut::with_capacity(length);
            // Each part is freed as it is copied, so that a large body is not in memory twice.
            parts.into_iter().for_each(|part| whole.extend_from_slice(&part));
            whole.freeze()
        }
    }
}

/// Reads and discards the rest of `body`, within limits.
async fn discard(mut body: Body) {
    let reading = async {
        let mut left = DISCARD;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            if length > left {
                return;
            }
            left -= length;
        }
    };
    // A client that sends for longer than this limit still gets an answer.
    tokio::time::timeout(DISCARD_FOR, reading).await.ok();
}

/// A request body that outlives its reader.
///
/// A refusal without reading the body would drop the body, and on HTTP/2 that resets the stream before the
/// refusal is sent. So the response owns the request's body until the response is sent.
#[derive(Clone)]
pub(super) struct OutlivingBody(Arc<Mutex<Body>>);

/// Splits `body` into a body for the reader and a handle for the response.
pub(super) fn split(body: Body) -> (Body, Option<OutlivingBody>) {
    if http_body::Body::is_end_stream(&body) {
        return (body, None);
    }
    let shared = OutlivingBody(Arc::new(Mutex::new(body)));
    (Body::new(shared.clone()), Some(shared))
}

impl http_body::Body for OutlivingBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut *self.0.lock()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().size_hint()
    }
}

/// A response body in progress. Its end, of any kind, completes the request: it records metrics and, for a
/// long-running request, the last audit event, and returns the place among the requests in flight if the
/// request still has it.
pub(super) struct TrackedBody {
    inner: Body,
    completion: Option<Completion>,
    /// Rest of the request's body, which the client may still be sending; dropped with the response body.
    _unread: Option<OutlivingBody>,
    /// Signal that ends a long-running response in the regular way.
    closing: Option<Signal>,
    /// Time limit of any other response. The timer starts when the body is not ready for the first time.
    longest: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    reservation: BodyReservation,
    /// Whether any part was sent.
    has_sent: bool,
}

/// Memory that a response occupies while the client does not read it, and the time limit for reading.
pub(super) struct BodyReservation {
    charge: Charge,
    /// Charged bytes before the first part is sent.
    least: usize,
    patience: Patience,
}

/// Size above which a part of a response is charged until the client is ready for the next part.
const LARGE_PART: usize = 16 * 1024;

impl BodyReservation {
    pub(super) fn new(charge: Charge, patience: Patience) -> Self {
        Self {
            least: charge.bytes(),
            charge,
            patience,
        }
    }

    /// Records that the client is ready for the next part: it has read the earlier parts, or has room for
    /// them.
    fn client_ready(&mut self) {
        self.patience.progress();
        self.charge.shrink_to(self.least);
    }

    /// Charges a large part that is sent to the client, unless the bytes of the response are charged already.
    fn charge_part(&mut self, bytes: usize) {
        if bytes > LARGE_PART && bytes > self.least {
            self.charge.add(bytes);
        }
    }
}

impl TrackedBody {
    /// Tracks `body` until its end, until `closing`, or for `longest`.
    pub(super) fn new(
        body: Body,
        completion: Completion,
        unread: Option<OutlivingBody>,
        closing: Option<&CancellationToken>,
        longest: Option<Duration>,
        reservation: BodyReservation,
    ) -> Self {
        Self {
            inner: body,
            completion: Some(completion),
            _unread: unread,
            closing: closing.map(Signal::of),
            longest,
            timer: None,
            reservation,
            has_sent: false,
        }
    }

    fn end(&mut self) {
        self.completion = None;
        self.inner = Body::empty();
    }

    fn is_timed_out(&mut self, context: &mut Context<'_>) -> bool {
        let Some(longest) = self.longest else { return false };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + longest)));
        timer.as_mut().poll(context).is_ready()
    }
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self
            .closing
            .as_mut()
            .is_some_and(|closing| closing.poll_unpin(context).is_ready())
        {
            self.closing = None;
            self.end();
            return Poll::Ready(None);
        }
        self.reservation.client_ready();
        let inner = &mut self.inner;
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| Pin::new(inner).poll_frame(context)));
        let frame = match polled {
            Ok(Poll::Pending) if self.is_timed_out(context) => {
                self.end();
                Some(Err(axum::Error::new(
                    "the answer did not complete within the allotted timeout",
                )))
            }
            Ok(polled) => ready!(polled),
            Err(panic) => {
                tracing::error!(
                    panic = panic_text(&*panic),
                    "a response body panicked, and its client got half of it; report it as a bug, with this line"
                );
                self.end();
                Some(Err(axum::Error::new("internal error")))
            }
        };
        match &frame {
            Some(Ok(frame)) => {
                self.has_sent = true;
                let this = &mut *self;
                if let Some(data) = frame.data_ref() {
                    this.reservation.charge_part(data.len());
                    if let Some(completion) = &mut this.completion {
                        completion.sent(data);
                    }
                }
            }
            Some(Err(_)) | None => self.end(),
        }
        Poll::Ready(frame)
    }

    /// The last part is not the end: on HTTP/2 it waits in a buffer until the client reads it, and until then
    /// the response must be tracked. A client that is ready for the next part has room for it.
    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream() && (!self.has_sent || self.completion.is_none())
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Message of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
}
