//! Handler of `create`: answers 201 with the object.

use axum::body::Body;
use berth_apimachinery::Status;
use http::{Response, StatusCode};

use super::Cx;
use crate::negotiation::Answer;
use crate::options::WriteOptions;
use crate::registry::WriteIntent;

pub(super) async fn handle(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let options = WriteOptions::parse(&cx.request.info.query, "CreateOptions")?;
    let schema = cx.served.kind().schema(cx.served.version);
    let body = || {
        cx.read_body(cx.expected(), Some(schema), options)
            .map(WriteIntent::Sent)
    };
    let actor = cx.actor(options.dry_run);
    let registry = &cx.state.registry;
    let object = registry
        .create_for_client(cx.served, actor, cx.namespace, body)
        .await?;
    cx.object(accepted, StatusCode::CREATED, &object)
}
