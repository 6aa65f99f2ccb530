//! Open watches in all forms.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use berth_tests::bench::http::{Call, Connection, Protocol, Socket};
use bytes::{Buf, Bytes, BytesMut};
use futures::StreamExt;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::contestant::Contestant;

/// Time limit of a watcher's wait for an event.
const DEADLINE: Duration = Duration::from_secs(60);

/// Media type of protobuf.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Form of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines of JSON.
    Json,
    /// Frames of protobuf, each after its length in four bytes.
    Protobuf,
    /// Messages of JSON.
    WebSocket,
}

/// An open watch.
pub(crate) enum Feed {
    /// A body with lines or frames.
    Body {
        /// The connection of the body.
        _connection: Connection,
        body: Incoming,
        rest: BytesMut,
        form: Form,
    },
    /// A WebSocket with a message for each event.
    Messages(Box<Socket>),
}

impl Feed {
    /// Opens a watch of `path`, which already has a query.
    pub(crate) async fn open(contestant: &Contestant, form: Form, path: &str) -> Result<Self> {
        if form == Form::WebSocket {
            return Ok(Self::Messages(Box::new(contestant.target.socket(path).await?)));
        }
        let mut connection = Connection::open(&contestant.target, Protocol::One).await?;
        let call = Call {
            accept: (form == Form::Protobuf).then_some(PROTOBUF),
            ..Call::get(path)
        };
        let response = connection.send(&call).await?;
        let media = response.headers().get(http::header::CONTENT_TYPE);
        let is_protobuf = media.is_some_and(|media| media.as_bytes().starts_with(PROTOBUF.as_bytes()));
        ensure!(
            is_protobuf == (form == Form::Protobuf),
            "{}: {form:?} is answered with {media:?}",
            contestant.key
        );
        Ok(Self::Body {
            _connection: connection,
            body: response.into_body(),
            rest: BytesMut::new(),
            form,
        })
    }

    /// Waits for more bytes, and appends complete events to `events`.
    pub(crate) async fn next(&mut self, events: &mut Vec<Bytes>) -> Result<()> {
        match self {
            Self::Messages(socket) => {
                let message = tokio::time::timeout(DEADLINE, socket.next()).await?;
                let message = message.context("the watch ended")??;
                ensure!(!message.is_close(), "the watch was closed");
                if message.is_text() {
                    events.push(Bytes::from(message.into_payload()));
                }
            }
            Self::Body { body, rest, form, .. } => {
                let frame = tokio::time::timeout(DEADLINE, body.frame()).await?;
                let Some(frame) = frame else {
                    bail!("the watch ended");
                };
                if let Some(data) = frame?.data_ref() {
                    rest.extend_from_slice(data);
                }
                while let Some(event) = whole(rest, *form) {
                    events.push(event);
                }
            }
        }
        Ok(())
    }
}

/// Removes the next event from `rest`, if it is complete.
fn whole(rest: &mut BytesMut, form: Form) -> Option<Bytes> {
    if form == Form::Json {
        let end = memchr::memchr(b'\n', rest)?;
        return Some(rest.split_to(end + 1).freeze());
    }
    let length = rest.get(..4)?.get_u32() as usize;
    if rest.len() < length + 4 {
        return None;
    }
    rest.advance(4);
    Some(rest.split_to(length).freeze())
}
