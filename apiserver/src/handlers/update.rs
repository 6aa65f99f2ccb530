//! `update`: the object, or its status, replaced.

use axum::body::Body;
use http::{Response, StatusCode};
use meta::Status;
use meta::kind::Operation;

use super::Cx;
use crate::negotiation::Answer;
use crate::options::WriteOptions;

pub(super) async fn handle(cx: &Cx<'_>, subresource: &'static str) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let options = WriteOptions::parse(&cx.request.info.query, "UpdateOptions")?;
    let schema = cx.served.kind().schema(cx.served.version);
    let value = cx.read_body(cx.expected(), Some(schema), options)?;
    cx.check_name(&value)?;
    let unconditional = cx.served.info().unconditional_update;
    let actor = cx.actor(options.dry_run);
    let edit = |_: &meta::Object| Ok(value.clone());
    let object = cx
        .state
        .registry
        .update(cx.target(), actor, operation(subresource), unconditional, edit)
        .await?;
    cx.object(accepted, StatusCode::OK, &object)
}

/// The operation that rules and admission see.
pub(super) fn operation(subresource: &'static str) -> Operation {
    if subresource.is_empty() {
        Operation::Update
    } else {
        Operation::Subresource(subresource)
    }
}
