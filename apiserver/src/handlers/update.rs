//! `update`: the object, or its status, replaced.

use std::sync::Arc;

use axum::body::Body;
use http::{Response, StatusCode};
use meta::kind::Operation;
use meta::{Object, Status};

use super::Cx;
use crate::negotiation::Answer;
use crate::options::WriteOptions;
use crate::registry::Wish;
use crate::resource::Backing;

pub(super) async fn handle(cx: &Cx<'_>, subresource: &'static str) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let options = WriteOptions::parse(&cx.request.info.query, "UpdateOptions")?;
    let schema = cx.served.kind().schema(cx.served.version);
    let value = cx.read_body(cx.expected(), Some(schema), options)?;
    cx.check_name(&value)?;
    let unconditional = cx.served.info().unconditional_update;
    let edit = |_: &Object| Ok(Wish::from(value.clone()));
    let object = write(cx, options.dry_run, subresource, unconditional, edit).await?;
    cx.object(accepted, StatusCode::OK, &object)
}

/// Stores what `edit` makes of the object in the path, where the resource keeps its objects.
pub(super) async fn write(
    cx: &Cx<'_>,
    dry_run: bool,
    subresource: &'static str,
    unconditional: bool,
    mut edit: impl FnMut(&Object) -> Result<Wish, Status>,
) -> Result<Arc<Object>, Status> {
    let actor = cx.actor(dry_run);
    if let Backing::Seen(seen) = &cx.served.resource.backing {
        let key = cx.target().key();
        let version = cx.served.version;
        let edit = |current: &Object| edit(current).map(|wish| wish.value);
        return seen
            .update(version, &key, actor, subresource, unconditional, edit)
            .await;
    }
    let registry = &cx.state.registry;
    registry
        .update(cx.target(), actor, operation(subresource), unconditional, edit)
        .await
}

/// The operation that rules and admission see.
pub(super) fn operation(subresource: &'static str) -> Operation {
    if subresource.is_empty() {
        Operation::Update
    } else {
        Operation::Subresource(subresource)
    }
}
