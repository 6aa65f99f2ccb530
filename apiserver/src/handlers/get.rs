//! `get`: one object, as fresh as the request requires.

use std::sync::Arc;

use axum::body::Body;
use berth_apimachinery::{Object, Revision, Status};
use berth_storage::At;
use http::{Response, StatusCode};

use super::{Cx, list};
use crate::negotiation::Answer;
use crate::options;

pub(super) async fn handle(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let object = read(cx).await?;
    cx.object(accepted, StatusCode::OK, &object)
}

/// Reads the object, as fresh as the request requires.
pub(super) async fn read(cx: &Cx<'_>) -> Result<Arc<Object>, Status> {
    let at = match options::revision(&cx.request.info.query)? {
        None => At::Latest,
        Some(0) => At::Any,
        Some(revision) => At::NotOlderThan(Revision(revision)),
    };
    let list = list::read(cx, at).await?;
    list.get(cx.namespace, cx.name)
        .cloned()
        .ok_or_else(|| Status::not_found(cx.served.name, cx.name))
}
