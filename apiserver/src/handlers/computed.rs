//! Resources made at each request: the program's handler makes the objects, the server selects, pages and renders.

use axum::body::Body;
use http::{Response, StatusCode};
use meta::kind::Operation;
use meta::{Revision, Status};
use storage::Name;

use super::Cx;
use super::list::{self, Page};
use crate::call::ListQuery;
use crate::negotiation::Answer;
use crate::options::{ListOptions, WriteOptions};
use crate::paging::Token;
use crate::registry::Writing;
use crate::resource::{Backing, Computed};

fn handler<'a>(cx: &'a Cx<'_>) -> Result<&'a dyn Computed, Status> {
    match &cx.served.resource.backing {
        Backing::Computed(handler) => Ok(&**handler),
        Backing::Stored(_) | Backing::Projected(_) | Backing::Seen(_) => Err(Status::method_not_allowed()),
    }
}

pub(super) async fn get(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let object = handler(cx)?.get(&cx.call(false)).await?;
    cx.object(accepted, StatusCode::OK, &object)
}

pub(super) async fn list(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::List)?;
    let options = ListOptions::parse(&cx.request.info.query, false)?;
    let selection = list::selection(cx, &options)?;
    let token = list::token(&options)?;
    // The handler may stop early on a first page, if it leaves one more to be seen; later pages begin anywhere.
    let limit = if token.is_none() && selection.is_everything() && options.limit > 0 {
        options.limit + 1
    } else {
        0
    };
    let query = ListQuery {
        labels: options.labels.clone(),
        fields: options.fields.clone(),
        limit,
    };
    let objects = handler(cx)?.list(&cx.call(false), &query).await?;

    let mut page = Page {
        revision: Revision(1),
        ..Page::default()
    };
    let after = token.map(|token| token.last());
    for object in objects {
        page.revision = page.revision.max(object.revision());
        let place = Name::new(&object.meta().namespace, &object.meta().name);
        if after.as_ref().is_some_and(|after| place <= *after) || !selection.matches_metadata(&object) {
            continue;
        }
        if options.limit > 0 && page.items.len() == options.limit {
            page.next = page.items.last().map(|last| {
                let place = Name::new(&last.meta().namespace, &last.meta().name);
                Token::after(&place, page.revision).encode()
            });
            break;
        }
        page.items.push(object);
    }
    cx.list(accepted, page).await
}

pub(super) async fn create(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let options = WriteOptions::parse(&cx.request.info.query, "CreateOptions")?;
    let schema = cx.served.kind().schema(cx.served.version);
    let value = cx.read_body(cx.expected(), Some(schema), options)?;
    let name = crate::registry::text(&value, "name").to_owned();
    let writing = Writing {
        served: cx.served,
        chain: cx.state.registry.chain(),
        actor: cx.actor(options.dry_run),
        operation: Operation::Create,
        namespace: cx.namespace,
        name: &name,
    };
    writing.ready().await?;
    let value = writing.answer(value).await?;
    let reply = handler(cx)?.create(&cx.call(options.dry_run), value).await?;
    cx.reply(accepted, StatusCode::CREATED, &reply)
}
