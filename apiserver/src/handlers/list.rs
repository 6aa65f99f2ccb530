//! `list`: a page of objects at one revision.

use std::sync::Arc;

use axum::body::Body;
use berth_apimachinery::{Object, Revision, Status};
use berth_storage::{At, Collection, Name, StoreError};
use http::Response;
use serde_json::{Map, Value};

use super::Cx;
use crate::errors;
use crate::negotiation::{Answer, MediaType, Shape};
use crate::options::{ListOptions, VersionMatch};
use crate::paging::Token;
use crate::resource::Backing;
use crate::selection::Selection;

/// Page size from which a table of computed or projected objects is answered completely in one page.
///
/// kubectl requests tables in pages of 500 rows: the first ten without delay, then five pages per second. A
/// table of 20,000 rows would take six seconds. A server may answer more rows than requested, as
/// kube-apiserver does from its watch cache. Clients that need small answers request smaller pages.
const WHOLE_TABLE_SIZE: usize = 500;

/// One page of a list.
#[derive(Default)]
pub(super) struct Page {
    pub(super) items: Vec<Arc<Object>>,
    pub(super) revision: Revision,
    /// Token of the next page, if there is one.
    pub(super) next: Option<String>,
    /// Number of objects after this page, if it is known without comparing each object.
    pub(super) remaining: Option<usize>,
}

impl Page {
    /// Returns the metadata of the list as JSON.
    pub(super) fn metadata(&self) -> String {
        let mut fields = Map::new();
        fields.insert("resourceVersion".to_owned(), self.revision.to_string().into());
        if let Some(next) = &self.next {
            fields.insert("continue".to_owned(), next.as_str().into());
        }
        if let Some(remaining) = self.remaining {
            fields.insert("remainingItemCount".to_owned(), remaining.into());
        }
        Value::Object(fields).to_string()
    }
}

pub(super) async fn handle(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::List)?;
    let mut options = ListOptions::parse(&cx.request.info.query, false)?;
    if matches!(cx.served.resource.backing, Backing::Projected(_)) {
        options.limit = answer_limit(accepted, options.limit);
    }
    let page = page(cx, &options).await?;
    cx.list(accepted, page).await
}

/// Returns the highest number of objects in the answer to a request with `limit`; 0 means all.
pub(super) fn answer_limit(accepted: MediaType, limit: usize) -> usize {
    match accepted.shape {
        Shape::Table(_) if is_whole(limit) => 0,
        _ => limit,
    }
}

/// Whether a table in pages of `limit` rows may be answered completely.
pub(super) fn is_whole(limit: usize) -> bool {
    limit >= WHOLE_TABLE_SIZE
}

/// Reads the page that `options` request.
pub(super) async fn page(cx: &Cx<'_>, options: &ListOptions) -> Result<Page, Status> {
    let selection = selection(cx, options)?;
    let token = token(options)?;
    let collection = match &token {
        Some(token) => read_after(cx, token).await?,
        None => read(cx, freshness(options)).await?,
    };
    let page = page_after(cx, &collection, &selection, options.limit, token.as_ref())?;
    if page.next.is_some() {
        cache_for_later_pages(cx, &collection);
    }
    Ok(page)
}

pub(super) fn selection(cx: &Cx<'_>, options: &ListOptions) -> Result<Selection, Status> {
    Selection::new(cx.served, cx.namespace, cx.name, &options.labels, &options.fields)
}

pub(super) fn token(options: &ListOptions) -> Result<Option<Token>, Status> {
    if options.token.is_empty() {
        return Ok(None);
    }
    if options.revision.is_some_and(|revision| revision > 0) {
        return Err(Status::bad_request(
            "specifying resource version is not allowed when using continue",
        ));
    }
    Token::parse(&options.token).map(Some)
}

/// Returns the required freshness of a first page (docs/reference.md, "Lists and watches").
fn freshness(options: &ListOptions) -> At {
    match (options.revision.map(Revision), options.version_match) {
        (None, _) => At::Latest,
        (Some(Revision(0)), _) => At::Any,
        (Some(revision), Some(VersionMatch::Exact)) => At::Exact(revision),
        (Some(revision), Some(VersionMatch::NotOlderThan)) => At::NotOlderThan(revision),
        // Without `resourceVersionMatch`, the legacy rule applies: a page has exactly the requested revision,
        // and a complete list has at least this revision.
        (Some(revision), None) if options.limit > 0 => At::Exact(revision),
        (Some(revision), None) => At::NotOlderThan(revision),
    }
}

/// Reads the collection, as recent as `at` requires.
pub(super) async fn read(cx: &Cx<'_>, at: At) -> Result<Collection, Status> {
    let source = cx.served.source().ok_or_else(Status::method_not_allowed)?;
    let result = match at {
        // A projection's revisions exist only in this process: waiting for a later revision would be useless.
        At::NotOlderThan(asked) | At::Exact(asked)
            if cx.served.has_local_versions() && asked > source.revision() =>
        {
            Err(StoreError::TooNew {
                asked,
                current: source.revision(),
            })
        }
        at => source.list(cx.served.stored, at).await,
    };
    result.map_err(|error| errors::of_store(error, cx.served))
}

/// Reads the list for the page after `token`: at the revision of the first page, or the latest list if the
/// token has no revision.
async fn read_after(cx: &Cx<'_>, token: &Token) -> Result<Collection, Status> {
    let Some(revision) = token.revision() else {
        return read(cx, At::Latest).await;
    };
    if let Some(cached) = cx.state.cached_lists.get(&(cx.served.stored, revision)) {
        return Ok(cached);
    }
    let source = cx.served.source().ok_or_else(Status::method_not_allowed)?;
    match source.list(cx.served.stored, At::Exact(revision)).await {
        Ok(collection) => Ok(collection),
        // A token with a future revision is from before a restart, or from another server: it is treated like
        // an expired token.
        Err(StoreError::Expired { .. } | StoreError::TooNew { .. }) => Err(token.clone().expired()),
        Err(error) => Err(errors::of_store(error, cx.served)),
    }
}

/// Caches the list for later pages: in the store, or in the server for a projection.
fn cache_for_later_pages(cx: &Cx<'_>, collection: &Collection) {
    match cx.served.store() {
        Some(store) => store.hold(cx.served.stored, collection),
        None => cx
            .state
            .cached_lists
            .insert((cx.served.stored, collection.revision), collection.clone()),
    }
}

/// Returns the page of at most `limit` selected objects (0 means all) of `collection` that follow `token`.
fn page_after(
    cx: &Cx<'_>,
    collection: &Collection,
    selection: &Selection,
    limit: usize,
    token: Option<&Token>,
) -> Result<Page, Status> {
    let after = token.map(Token::last);
    let after = after.as_ref();
    let mut page = Page {
        revision: collection.revision,
        ..Page::default()
    };
    if let Some((namespace, name)) = selection.single(cx.served) {
        let single_object = collection.get(namespace, name).filter(|object| {
            let place = Name::new(namespace, name);
            after.is_none_or(|after| place > *after)
                && selection.namespace().is_none_or(|wanted| wanted == namespace)
                && selection.matches(object)
        });
        page.items.extend(single_object.cloned());
        return Ok(page);
    }
    let everything = selection.is_everything();
    let mut rest = collection.iter(selection.namespace(), after);
    let (mut last, mut next) = (None, None);
    let mut budget = selection.budget();
    for (name, object) in rest.by_ref() {
        if !everything {
            budget.spend(selection.comparisons())?;
            if !selection.matches(object) {
                continue;
            }
        }
        if limit > 0 && page.items.len() == limit {
            next = last.map(|last| Token::after(last, collection.revision));
            break;
        }
        page.items.push(Arc::clone(object));
        last = Some(name);
    }
    if next.is_some() && everything {
        let known_count = match (token, selection.namespace()) {
            (Some(token), _) => token.remaining(),
            (None, None) => Some(collection.items.len()),
            (None, Some(_)) => None,
        };
        // If the number is unknown, the first object after the page, which the loop read, and the later
        // objects are counted.
        let remaining = known_count.and_then(|known_count| known_count.checked_sub(page.items.len()));
        let remaining = remaining.unwrap_or_else(|| 1 + rest.count());
        page.remaining = Some(remaining);
        next = next.map(|next| next.with_remaining(remaining));
    }
    page.next = next.map(|token| token.encode());
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::negotiation::{Encoding, MetaVersion};

    #[test]
    fn of_what_is_computed_only_tables_in_large_pages_are_answered_whole() {
        let answer_limit = |shape: Shape, limit: usize| {
            let encoding = Encoding::Json;
            answer_limit(MediaType { shape, encoding }, limit)
        };
        let table = Shape::Table(MetaVersion::V1);
        assert_eq!(
            [0, 499, 500, 501].map(|limit| answer_limit(table, limit)),
            [0, 499, 0, 0]
        );
        assert_eq!([0, 500].map(|limit| answer_limit(Shape::Full, limit)), [0, 500]);
    }
}
