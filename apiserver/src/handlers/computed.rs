//! Resources made at each request: the program's handler makes the objects, the server selects, pages and renders.

use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use http::{Response, StatusCode};
use meta::kind::Operation;
use meta::{Object, Status, budget};
use storage::Name;

use super::Cx;
use super::list::{self, Page};
use crate::call::ListQuery;
use crate::list_body::Chunks;
use crate::listing::{self, Listing};
use crate::negotiation::{Answer, Shape};
use crate::options::{ListOptions, WriteOptions};
use crate::paging::Token;
use crate::registry::Writing;
use crate::resource::{Backing, Computed};

fn handler<'a>(cx: &'a Cx<'_>) -> Result<&'a dyn Computed, Status> {
    match &cx.served.resource.backing {
        Backing::Computed(handler) => Ok(&**handler),
        Backing::Stored(_) | Backing::Projected(_) | Backing::View(_) => Err(Status::method_not_allowed()),
    }
}

pub(super) async fn get(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let object = handler(cx)?.get(&cx.call(false)).await?;
    cx.object(accepted, StatusCode::OK, &object)
}

pub(super) async fn list(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::List)?;
    let mut options = ListOptions::parse(&cx.request.info.query, false)?;
    options.limit = list::most(accepted, options.limit);
    let selection = list::selection(cx, &options)?;
    let token = list::token(&options)?;
    let asked = asked(cx);
    let listing = match token.as_ref().filter(|token| token.revision().is_some()) {
        Some(token) => {
            let kept = cx.state.listings.get(token.listing(), &asked);
            kept.ok_or_else(|| token.clone().expired())?
        }
        None => {
            let query = ListQuery {
                labels: options.labels.clone(),
                fields: options.fields.clone(),
            };
            handler(cx)?.list(&cx.call(false), &query).await?
        }
    };
    let first = token
        .as_ref()
        .map_or(0, |token| listing::following(&*listing, &token.last()));
    let kept = token.as_ref().map(Token::listing).filter(|&number| number > 0);
    let next = |last: &Name| {
        let number = kept.unwrap_or_else(|| cx.state.listings.keep(&asked, Arc::clone(&listing)));
        Token::after(last, listing.revision()).of_listing(number).encode()
    };
    let mut page = Page {
        revision: listing.revision(),
        ..Page::default()
    };
    if accepted.shape == Shape::Full && selection.is_left_to_others() {
        let end = match options.limit {
            0 => listing.len(),
            limit => first.saturating_add(limit).min(listing.len()),
        };
        if let Some(items) = written(&*listing, first..end)? {
            let remaining = listing.len() - end;
            if remaining > 0 {
                page.remaining = selection.is_everything().then_some(remaining);
                page.next = Some(next(&listing.name(end - 1)));
            }
            return cx.written_list(accepted, &page, items).await;
        }
    }
    let selected = |index| -> Result<Option<Arc<Object>>, Status> {
        budget::wanted()?;
        let object = listing.object(index)?;
        Ok(selection.matches_metadata(&object).then_some(object))
    };
    let mut places = first..listing.len();
    while options.limit == 0 || page.items.len() < options.limit {
        let Some(index) = places.next() else { break };
        page.items.extend(selected(index)?);
    }
    let more = if selection.is_everything() {
        page.remaining = Some(places.len()).filter(|&remaining| remaining > 0);
        page.remaining.is_some()
    } else {
        // Whether anything selected follows is known only by looking at what does.
        let mut following = places.map(selected).filter_map(Result::transpose);
        following.next().transpose()?.is_some()
    };
    if let (true, Some(last)) = (more, page.items.last()) {
        page.next = Some(next(&Name::new(&last.meta().namespace, &last.meta().name)));
    }
    cx.list(accepted, page).await
}

/// How many objects are written into one piece of a body.
const PIECE: usize = 512;

/// The objects of `listing` at `places` as JSON with commas between them, in pieces; `None` where it has to make each.
fn written(listing: &dyn Listing, places: Range<usize>) -> Result<Option<Chunks>, Status> {
    let mut items = Chunks::default();
    let (mut start, end) = (places.start, places.end);
    while start < end {
        let piece = start..end.min(start + PIECE);
        if start > places.start {
            items.push(b",");
        }
        start = piece.end;
        if !listing.write(piece, items.buffer())? {
            return Ok(None);
        }
        items.cut();
    }
    Ok(Some(items))
}

/// Who asks for which list: the pages of one listing belong together.
fn asked(cx: &Cx<'_>) -> String {
    let query = &cx.request.info.query;
    let selector = |key: &str| query.first(key).unwrap_or_default().to_owned();
    let parts = [
        cx.call(false).user.name,
        cx.served.name.to_string(),
        cx.namespace.to_owned(),
        cx.name.to_owned(),
        selector("labelSelector"),
        selector("fieldSelector"),
    ];
    parts.join("\n")
}

pub(super) async fn create(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let options = WriteOptions::parse(&cx.request.info.query, "CreateOptions")?;
    let schema = cx.served.kind().schema(cx.served.version);
    let value = cx.read_body(cx.expected(), Some(schema), options)?;
    let name = crate::registry::text(&value, "name").to_owned();
    let writing = Writing {
        served: cx.served,
        index: cx.state.registry.index(),
        chain: cx.state.registry.chain(),
        actor: cx.actor(options.dry_run),
        operation: Operation::Create,
        namespace: cx.namespace,
        name: &name,
    };
    let value = writing.answer(value).await?;
    let reply = handler(cx)?.create(&cx.call(options.dry_run), value).await?;
    cx.reply(accepted, StatusCode::CREATED, &reply)
}
