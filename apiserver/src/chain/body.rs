//! Bodies: reads request bodies within limits, and tracks response bodies to their last byte.

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

use super::tracker::Completion;
use crate::memory::Charge;
use crate::signal::Signal;
use crate::unread::ProgressLimit;

/// Highest number of bytes of a refused body that are read and discarded: a client that sends the whole body
/// before it reads would otherwise see a broken connection instead of the refusal.
const MAX_DISCARDED_BYTES: usize = 16 * 1024 * 1024;
/// Time limit for discarding a body.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);

/// Time in which a body may arrive at any rate.
const ARRIVAL_TIME: Duration = Duration::from_secs(10);
/// Lowest average rate of a body after [`ARRIVAL_TIME`], in bytes per second: slow clients must not occupy
/// memory for long.
const MIN_RATE: usize = 4 * 1024;

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
        let deadline = start + ARRIVAL_TIME + Duration::from_secs((length / MIN_RATE) as u64);
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
        "the request body comes too slowly: {length} bytes have arrived, and after the first {} seconds an average of \
         {MIN_RATE} bytes a second is required; send it again over a faster connection, or send less in one request",
        ARRIVAL_TIME.as_secs()
    );
    Status::failure(408, "Timeout", text)
}

/// Joins the parts of a body; a single part is not copied.
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
        let mut left = MAX_DISCARDED_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            if length > left {
                return;
            }
            left -= length;
        }
    };
    // A client that sends for longer than this limit still gets an answer.
    tokio::time::timeout(DISCARD_TIMEOUT, reading).await.ok();
}

/// A request body that its reader and the response share.
///
/// If a request is refused before the body is read, its reader drops the body. On HTTP/2, this would reset
/// the stream before the refusal is sent. So the response keeps the request's body until the response is
/// sent.
#[derive(Clone)]
pub(super) struct SharedBody(Arc<Mutex<Body>>);

/// Splits `body` into a body for the reader and a handle for the response.
pub(super) fn split(body: Body) -> (Body, Option<SharedBody>) {
    if http_body::Body::is_end_stream(&body) {
        return (body, None);
    }
    let shared = SharedBody(Arc::new(Mutex::new(body)));
    (Body::new(shared.clone()), Some(shared))
}

impl http_body::Body for SharedBody {
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

/// A response body in progress. The end of the body, of any kind, completes the request: this records metrics
/// and, for a long-running request, the last audit event, and returns the place among the requests in flight
/// if the request still has one.
pub(super) struct TrackedBody {
    inner: Body,
    completion: Option<Completion>,
    /// Rest of the request's body, which the client may still be sending; dropped with the response body.
    _unread: Option<SharedBody>,
    /// Signal that ends a long-running response without an error.
    closing: Option<Signal>,
    /// Time limit of a response that is not long-running. The timer starts when the body is first not ready.
    longest: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    reservation: BodyReservation,
    /// Whether at least one part was sent.
    has_sent: bool,
}

/// Memory that a response occupies while the client does not read it, and the time limit for reading.
pub(super) struct BodyReservation {
    charge: Charge,
    /// Charged bytes before the first part is sent; the charge never becomes smaller.
    minimum: usize,
    progress_limit: ProgressLimit,
}

/// Size in bytes above which a part of a response is charged until the client is ready for the next part.
const MAX_SMALL_PART: usize = 16 * 1024;

impl BodyReservation {
    pub(super) fn new(charge: Charge, progress_limit: ProgressLimit) -> Self {
        Self {
            minimum: charge.bytes(),
            charge,
            progress_limit,
        }
    }

    /// Records that the client is ready for the next part: it has read the earlier parts, or has room for
    /// them.
    fn client_ready(&mut self) {
        self.progress_limit.record_progress();
        self.charge.shrink_to(self.minimum);
    }

    /// Charges a large part that is sent to the client, unless the bytes of the response are charged already.
    fn charge_part(&mut self, bytes: usize) {
        if bytes > MAX_SMALL_PART && bytes > self.minimum {
            self.charge.add(bytes);
        }
    }
}

impl TrackedBody {
    /// Tracks `body` until its end, until `closing`, or for `longest`.
    pub(super) fn new(
        body: Body,
        completion: Completion,
        unread: Option<SharedBody>,
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

    /// Completes the request, and drops the rest of the body.
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
                    "a response body panicked, so the client received only a part of it; report this line as a bug"
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
                        completion.count_sent(data);
                    }
                }
            }
            Some(Err(_)) | None => self.end(),
        }
        Poll::Ready(frame)
    }

    /// After the last part, the body is not at its end yet: on HTTP/2 the part waits in a buffer until the
    /// client reads it, and until then the response must be tracked. The end is reported when the client is
    /// ready for a further part.
    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream() && (!self.has_sent || self.completion.is_none())
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Returns the message of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value without a message")
}
