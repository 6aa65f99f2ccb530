//! Updates, patches and deletions of computed objects: the server reads the object, validates its next state,
//! and passes that state to the program.

use axum::body::Body;
use berth_apimachinery::{Object, Revision, Status, StatusReason, WriteOperation};
use http::{Response, StatusCode};
use serde_json::Value;

use super::{RemainingList, handler};
use crate::call::{Call, Reply};
use crate::handlers::Cx;
use crate::handlers::delete::{options, success};
use crate::handlers::list::Page;
use crate::handlers::patch::PatchRequest;
use crate::negotiation::Answer;
use crate::options::{DeleteOptions, ListOptions, WriteOptions};
use crate::patch_body::Formats;
use crate::registry::{CONFLICT_ATTEMPTS, WriteInput, admit_delete, check_base, text};
use crate::render;

pub(in crate::handlers) async fn update(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let options = WriteOptions::parse(&cx.request.info.query, "UpdateOptions")?;
    let schema = cx.served.kind().schema(cx.served.version);
    let value = cx.read_body(cx.expected(), Some(schema), options)?;
    cx.check_name(&value)?;
    let call = cx.call(options.dry_run);
    let current = handler(cx)?.get(&call).await?;
    let reply = replace(cx, &call, &current, value).await?;
    cx.reply(accepted, StatusCode::OK, &reply)
}

/// Reads, patches and updates the object. Repeats this after a concurrent write, unless the patch changes the
/// resource version.
pub(in crate::handlers) async fn patch(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let formats = Formats {
        strategic: cx.served.info().strategic_merge_patch,
        apply: false,
    };
    let patch = PatchRequest::read(cx, formats)?;
    let schema = cx.served.kind().schema(cx.served.version);
    let call = cx.call(patch.options.dry_run);
    let mut attempt = 1;
    let reply = loop {
        let current = handler(cx)?.get(&call).await?;
        let before = render::value(cx.served, &current);
        let value = patch.apply(cx, cx.expected(), Some(schema), &before)?;
        let keeps_version = text(&value, "resourceVersion") == text(&before, "resourceVersion");
        match replace(cx, &call, &current, value).await {
            Err(status)
                if status.is(StatusReason::Conflict) && keeps_version && attempt < CONFLICT_ATTEMPTS =>
            {
                attempt += 1;
            }
            result => break result?,
        }
    };
    cx.reply(accepted, StatusCode::OK, &reply)
}

/// Passes `value`, the next state of `current`, to the program, after admission and validation.
async fn replace(cx: &Cx<'_>, call: &Call, current: &Object, value: Value) -> Result<Reply, Status> {
    // An object without a resource version cannot be outdated.
    let unconditional = cx.served.info().unconditional_update || current.revision() == Revision(0);
    check_base(cx.served, &value, current, unconditional)?;
    let input = WriteInput {
        served: cx.served,
        index: cx.state.registry.index(),
        chain: cx.state.registry.chain(),
        actor: cx.actor(call.dry_run),
        operation: WriteOperation::Update,
        namespace: cx.namespace,
        name: cx.name,
    };
    let before = render::value(cx.served, current);
    let value = input.answer(Some(&before), value).await?;
    handler(cx)?.update(call, value).await
}

pub(in crate::handlers) async fn delete(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let options = options(cx)?;
    let call = cx.call(options.dry_run);
    let current = handler(cx)?.get(&call).await?;
    match remove(cx, &call, &options, &current).await? {
        Some(reply) => cx.reply(accepted, StatusCode::OK, &reply),
        None => cx.status(accepted, &success(cx, &current)),
    }
}

pub(in crate::handlers) async fn delete_collection(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::List)?;
    let list_options = ListOptions::parse(&cx.request.info.query, false)?;
    let options = options(cx)?;
    let page = RemainingList::of(cx, &list_options)
        .await?
        .computed_page(list_options.limit)?;
    let mut items = Vec::new();
    for object in &page.items {
        let call = Call {
            namespace: object.meta().namespace().to_owned(),
            name: object.meta().name().to_owned(),
            ..cx.call(options.dry_run)
        };
        match remove(cx, &call, &options, object).await {
            // The answer has the objects as they were before the deletion.
            Ok(_) => items.push(object.clone()),
            // The object was deleted concurrently, which is not an error; the answer omits the object.
            Err(status) if status.is(StatusReason::NotFound) => {}
            Err(status) => return Err(status),
        }
    }
    cx.list(accepted, Page { items, ..page }).await
}

/// Lets the program remove `current`, after preconditions and admission; returns the object if it still
/// exists.
async fn remove(
    cx: &Cx<'_>,
    call: &Call,
    options: &DeleteOptions,
    current: &Object,
) -> Result<Option<Reply>, Status> {
    options.check_preconditions(cx.served.name, current)?;
    let actor = cx.actor(call.dry_run);
    // Guards are about other objects of a store, and computed objects have no store.
    let _guards = admit_delete(cx.state.registry.chain(), cx.served, &actor, current).await?;
    handler(cx)?.delete(call).await
}
