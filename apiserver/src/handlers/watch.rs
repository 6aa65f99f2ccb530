//! `watch`: changes in real time, as one JSON object per line or per message of a WebSocket, or as frames of
//! protobuf.

mod feed;
mod frame;

use std::time::Duration;

use axum::body::Body;
use berth_apimachinery::{Revision, Status};
use berth_storage::{At, Collection, Scope, Source, StoreError, Watch};
use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use super::{Cx, list};
use crate::errors;
use crate::names;
use crate::negotiation::Answer;
use crate::options::ListOptions;
use crate::response_facts::WatchProgress;
use crate::websocket::Handshake;
use feed::{Feed, Start};
use frame::Framer;

/// Minimal duration of a watch without `timeoutSeconds`. A random duration of at most this length is added
/// (docs/reference.md, "Lists and watches").
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

pub(super) async fn handle(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let handshake = Handshake::of(&cx.request.method, &cx.request.headers)?;
    // The messages of a WebSocket are lines of JSON.
    let accepted = match handshake {
        Some(_) => cx.negotiate_json(Answer::Watch)?,
        None => cx.negotiate(Answer::Watch)?,
    };
    let options = ListOptions::parse(&cx.request.info.query, true)?;
    let selection = list::selection(cx, &options)?;
    let source = cx.served.source().ok_or_else(Status::method_not_allowed)?;
    let framer = Framer::new(cx, accepted)?;

    // From here on the status code is a success, and errors are events, as clients expect.
    let result = start(cx, source, &options).await.and_then(|(objects, watch)| {
        let initial = objects.map(|objects| feed::initial_objects(&objects, &selection, cx.served));
        Ok((initial.transpose()?, watch))
    });
    let start = match result {
        Ok((initial, watch)) => Start::Running { initial, watch },
        Err(status) => Start::Failed(Box::new(status)),
    };
    let progress = WatchProgress::default();
    let feed = Feed::new(
        start,
        framer,
        selection,
        &options,
        timeout(&options),
        progress.clone(),
    );
    let body = stream::unfold(feed, |mut feed| async move {
        let chunk = feed.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(chunk), feed))
    });
    let mut response = Response::new(Body::from_stream(body));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static(accepted.encoding.stream_type()),
    );
    response.extensions_mut().insert(progress);
    if let Some(handshake) = handshake {
        handshake.switch(&mut response);
    }
    Ok(response)
}

fn timeout(options: &ListOptions) -> Duration {
    match options.timeout_seconds {
        // A century is practically unlimited, and does not overflow an instant.
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds.min(100 * 365 * 24 * 3600)),
        _ => {
            let spread = names::random() % DEFAULT_TIMEOUT.as_millis();
            DEFAULT_TIMEOUT + Duration::from_millis(u64::try_from(spread).unwrap_or_default())
        }
    }
}

type StartedWatch = (Option<Collection>, Box<dyn Watch>);

/// Returns the initial objects, if any, and the watch of later changes.
async fn start(cx: &Cx<'_>, source: &dyn Source, options: &ListOptions) -> Result<StartedWatch, Status> {
    let failed = |error: StoreError| errors::of_store(error, cx.served);
    let scope = || Scope::One(cx.served.stored);
    let revision = options.revision.map(Revision);
    let at = match (options.send_initial_events, revision) {
        (Some(true), Some(Revision(0))) | (None, Some(Revision(0))) => At::Any,
        (Some(true), Some(revision)) => At::NotOlderThan(revision),
        (_, None) => At::Latest,
        (Some(false), Some(Revision(0))) => At::Any,
        (_, Some(revision)) => return follow(cx, source, revision).await.map(|watch| (None, watch)),
    };
    let collection = list::read(cx, at).await?;
    let watch = source.watch(scope(), collection.revision).map_err(failed)?;
    let initial = (options.send_initial_events != Some(false)).then_some(collection);
    Ok((initial, watch))
}

/// Starts the watch of all changes after `revision`. Waits for a future revision, as a list does; for a
/// projection, a future revision is an error.
async fn follow(cx: &Cx<'_>, source: &dyn Source, revision: Revision) -> Result<Box<dyn Watch>, Status> {
    let scope = || Scope::One(cx.served.stored);
    match source.watch(scope(), revision) {
        Err(StoreError::TooNew { .. }) if !cx.served.has_local_versions() => {
            list::read(cx, At::NotOlderThan(revision)).await?;
            source.watch(scope(), revision)
        }
        result => result,
    }
    .map_err(|error| errors::of_store(error, cx.served))
}
