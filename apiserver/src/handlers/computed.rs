//! Resources that are computed for each request: the program's handler computes the objects, and the server
//! selects, pages and renders them.

mod write;

use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use berth_apimachinery::{Object, Status, WriteOperation, budget};
use berth_storage::Name;
use http::{Response, StatusCode};

use super::Cx;
use super::list::{self, Page};
use crate::call::ListQuery;
use crate::list_body::Chunks;
use crate::listing::{self, Listing};
use crate::negotiation::{Answer, Shape};
use crate::options::{ListOptions, WriteOptions};
use crate::paging::Token;
use crate::registry::WriteInput;
use crate::resource::{Backing, Computed};
use crate::selection::Selection;

pub(super) use write::{delete, delete_collection, patch, update};

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
    options.limit = list::answer_limit(accepted, options.limit);
    let rest = RemainingList::of(cx, &options).await?;
    if accepted.shape == Shape::Full
        && let Some((page, items)) = rest.serialized_page(options.limit)?
    {
        return cx.serialized_list(accepted, &page, items).await;
    }
    let page = rest.computed_page(options.limit)?;
    cx.list(accepted, page).await
}

/// Part of a computed list from the beginning of a page to the end.
struct RemainingList<'a> {
    cx: &'a Cx<'a>,
    selection: Selection,
    listing: Arc<dyn Listing>,
    /// Number of the listing in the cache; `None` if the listing is not cached.
    listing_number: Option<u64>,
    /// Index of the first object of the page.
    first: usize,
}

impl<'a> RemainingList<'a> {
    async fn of(cx: &'a Cx<'_>, options: &ListOptions) -> Result<Self, Status> {
        let selection = list::selection(cx, options)?;
        let token = list::token(options)?;
        let listing = match token.as_ref().filter(|token| token.revision().is_some()) {
            Some(token) => {
                let cached = cx.state.listings.get(token.listing(), &list_identity(cx));
                cached.ok_or_else(|| token.clone().expired())?
            }
            None => {
                let query = ListQuery {
                    labels: options.labels.clone(),
                    fields: options.fields.clone(),
                };
                handler(cx)?.list(&cx.call(false), &query).await?
            }
        };
        let token = token.as_ref();
        Ok(Self {
            cx,
            selection,
            listing_number: token.map(Token::listing).filter(|&number| number > 0),
            first: token.map_or(0, |token| listing::following(&*listing, &token.last())),
            listing,
        })
    }

    /// Returns the token of the page after `last`, and caches the listing for that page.
    fn next_token(&self, last: &Name) -> String {
        let cache = || {
            let listings = &self.cx.state.listings;
            listings.keep(&list_identity(self.cx), Arc::clone(&self.listing))
        };
        let number = self.listing_number.unwrap_or_else(cache);
        Token::after(last, self.listing.revision())
            .of_listing(number)
            .encode()
    }

    /// Returns a page of at most `limit` objects (0 means all), which the listing serializes. `None` if each
    /// object must be computed: because the selection depends on metadata, or because the listing does not
    /// support [`Listing::write`].
    fn serialized_page(&self, limit: usize) -> Result<Option<(Page, Chunks)>, Status> {
        if !self.selection.accepts_any_metadata() {
            return Ok(None);
        }
        let count = self.listing.len();
        let end = match limit {
            0 => count,
            limit => self.first.saturating_add(limit).min(count),
        };
        let Some(items) = serialize(&*self.listing, self.first..end)? else {
            return Ok(None);
        };
        let remaining = count - end;
        let page = Page {
            revision: self.listing.revision(),
            remaining: Some(remaining).filter(|&remaining| remaining > 0 && self.selection.is_everything()),
            next: (remaining > 0).then(|| self.next_token(&self.listing.name(end - 1))),
            ..Page::default()
        };
        Ok(Some((page, items)))
    }

    /// Returns a page of at most `limit` objects (0 means all). Each object is computed, and compared with
    /// the selection.
    fn computed_page(&self, limit: usize) -> Result<Page, Status> {
        let mut page = Page {
            revision: self.listing.revision(),
            ..Page::default()
        };
        let selected = |index| -> Result<Option<Arc<Object>>, Status> {
            budget::check_needed()?;
            let object = self.listing.object(index)?;
            Ok(self.selection.matches_metadata(&object).then_some(object))
        };
        let mut indices = self.first..self.listing.len();
        while limit == 0 || page.items.len() < limit {
            let Some(index) = indices.next() else { break };
            page.items.extend(selected(index)?);
        }
        let more = if self.selection.is_everything() {
            page.remaining = Some(indices.len()).filter(|&remaining| remaining > 0);
            page.remaining.is_some()
        } else {
            // A further page exists only if one of the next objects is selected.
            let mut following = indices.map(selected).filter_map(Result::transpose);
            following.next().transpose()?.is_some()
        };
        if let (true, Some(last)) = (more, page.items.last()) {
            page.next = Some(self.next_token(&Name::new(last.meta().namespace(), last.meta().name())));
        }
        Ok(page)
    }
}

/// Number of objects that are serialized together into one piece of a body.
const PIECE: usize = 512;

/// Serializes the objects of `listing` at `indices` as JSON with commas between them, in pieces; `None` if
/// the listing cannot do this.
fn serialize(listing: &dyn Listing, indices: Range<usize>) -> Result<Option<Chunks>, Status> {
    let mut items = Chunks::default();
    for start in indices.clone().step_by(PIECE) {
        if start > indices.start {
            items.push(b",");
        }
        if !listing.write(start..indices.end.min(start + PIECE), items.buffer())? {
            return Ok(None);
        }
        items.cut();
    }
    Ok(Some(items))
}

/// Returns the identity of the list and of the reader. A cached listing is used only for further pages with
/// the same identity.
fn list_identity(cx: &Cx<'_>) -> String {
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
    let input = WriteInput {
        served: cx.served,
        index: cx.state.registry.index(),
        chain: cx.state.registry.chain(),
        actor: cx.actor(options.dry_run),
        operation: WriteOperation::Create,
        namespace: cx.namespace,
        name: &name,
    };
    let value = input.answer(None, value).await?;
    let reply = handler(cx)?.create(&cx.call(options.dry_run), value).await?;
    cx.reply(accepted, StatusCode::CREATED, &reply)
}
