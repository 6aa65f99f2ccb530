//! `delete` and `deletecollection`.

use axum::body::Body;
use berth_apimachinery::write::WriteRefusal;
use berth_apimachinery::{Details, Object, Status};
use futures::{StreamExt, TryStreamExt, stream};
use http::{Response, StatusCode};

use super::Cx;
use super::list::{self, Page};
use crate::decode::{self, Doubles, ExpectedType};
use crate::negotiation::Answer;
use crate::options::{DeleteOptions, ListOptions};
use crate::registry::{DeleteOutcome, ObjectAddress};

/// Number of objects of a collection that are deleted concurrently. The store joins concurrent writes into
/// one commit.
const CONCURRENCY: usize = 32;

pub(super) async fn handle(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let options = options(cx)?;
    let actor = cx.actor(options.dry_run);
    match cx.state.registry.delete(cx.address(), actor, &options).await? {
        DeleteOutcome::Pending(object) => cx.object(accepted, StatusCode::OK, &object),
        DeleteOutcome::Gone(object) => cx.status(accepted, &success(cx, &object)),
    }
}

pub(super) async fn handle_collection(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::List)?;
    let list_options = ListOptions::parse(&cx.request.info.query, false)?;
    let options = options(cx)?;
    let page = list::page(cx, &list_options).await?;
    let actor = cx.actor(options.dry_run);
    let results = stream::iter(page.items.clone()).map(|object| {
        let options = &options;
        async move {
            let address = ObjectAddress {
                served: cx.served,
                namespace: object.meta().namespace(),
                name: object.meta().name(),
            };
            match cx.state.registry.delete(address, actor, options).await {
                // The answer has the objects as they were before the deletion.
                Ok(_) => Ok(Some(object)),
                // The object was deleted concurrently, which is not an error; the answer omits the object.
                Err(error) if error.reason == WriteRefusal::Gone => Ok(None),
                Err(error) => Err(Status::from(error)),
            }
        }
    });
    let items: Vec<_> = results.buffered(CONCURRENCY).try_collect().await?;
    let items = items.into_iter().flatten().collect();
    cx.list(accepted, Page { items, ..page }).await
}

/// Parses the options of a delete: from the body if there is one, otherwise from the query. `dryRun` in the
/// query counts in both cases.
pub(super) fn options(cx: &Cx<'_>) -> Result<DeleteOptions, Status> {
    let request = cx.request;
    if request.body.is_empty() {
        return DeleteOptions::of_query(&request.info.query);
    }
    let mut value = decode::body(
        cx.state.codec.as_deref(),
        &request.headers,
        &request.body,
        Doubles::AsInteger,
    )?
    .value;
    let is_absent_or = |value: &serde_json::Value, field: &str, wanted: &str| {
        value[field]
            .as_str()
            .is_none_or(|have| have.is_empty() || have == wanted)
    };
    // Clients send the options in the version of the core group, of `meta.k8s.io`, or of the resource.
    let known = ["v1", "meta.k8s.io/v1", &*cx.served.api_version];
    let version = known
        .into_iter()
        .find(|known| is_absent_or(&value, "apiVersion", known))
        .unwrap_or("v1");
    decode::identify(
        &mut value,
        ExpectedType {
            api_version: version,
            kind: "DeleteOptions",
        },
    )?;
    let mut options = DeleteOptions::of_body(&value)?;
    options.dry_run |= DeleteOptions::of_query(&request.info.query)?.dry_run;
    Ok(options)
}

/// Returns the `Status` for the deletion of `object`.
pub(super) fn success(cx: &Cx<'_>, object: &Object) -> Status {
    Status::success(Some(Details {
        name: object.meta().name().to_owned(),
        group: cx.served.name.group.to_owned(),
        kind: cx.served.name.resource.to_owned(),
        uid: object.meta().uid().to_owned(),
        ..Details::default()
    }))
}
