//! Discovery and OpenAPI: documents that are rendered once at start, selected by `Accept`, and revalidated by
//! `ETag` (docs/reference.md, "Discovery and OpenAPI").
//!
//! Discovery does not depend on a backend: while no replica answers discovery, a hub cannot finish any
//! namespace deletion.

mod accept;
mod content;
mod rendered;

use std::collections::BTreeMap;

use axum::body::Body;
use berth_apimachinery::Status;
use bytes::Bytes;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, EXPIRES, IF_NONE_MATCH,
    LOCATION, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use crate::negotiation;
use crate::request_info::Query;
use accept::Clause;
use content::Content;

/// One document, in one or more forms.
#[derive(Debug)]
pub struct Document {
    /// Path of the document, without a slash at the end.
    pub path: String,
    /// Forms of the document; the first form is for clients that accept anything.
    pub forms: Vec<Form>,
    /// The hash that clients put into the query (`?hash=`) of an OpenAPI v3 document. The answer to a request
    /// with this hash never changes.
    pub hash: Option<String>,
}

/// One form of a document.
#[derive(Debug)]
pub struct Form {
    content_type: HeaderValue,
    accepts: Vec<Clause>,
    etag: Option<HeaderValue>,
    /// Whether shared caches may store the form.
    public: bool,
    content: Content,
}

impl Form {
    /// Creates a form with media type `content_type`. A client accepts the form by a clause of `Accept` that
    /// matches this type and has the same parameters `as`, `g` and `v`. `etag` has quotes. With `public`,
    /// shared caches may store the form.
    #[must_use]
    pub fn new(content_type: &'static str, etag: Option<&str>, public: bool, body: Bytes) -> Self {
        Self {
            content_type: HeaderValue::from_static(content_type),
            accepts: accept::parse(content_type),
            // An ETag is a quoted hash; an ETag that is not a valid header value is omitted.
            etag: etag.and_then(|etag| HeaderValue::from_str(etag).ok()),
            public,
            content: Content::new(body),
        }
    }

    /// Also serves the form to clients that accept `media_type`, as another name of the form.
    #[must_use]
    pub fn also_as(mut self, media_type: &str) -> Self {
        self.accepts.extend(accept::parse(media_type));
        self
    }
}

/// All documents of a server.
#[derive(Debug, Default)]
pub struct Documents(BTreeMap<String, Document>);

impl Documents {
    /// Creates the set of `documents`.
    #[must_use]
    pub fn new(documents: Vec<Document>) -> Self {
        Self(
            documents
                .into_iter()
                .map(|document| (document.path.clone(), document))
                .collect(),
        )
    }

    /// Adds a document, or replaces the document with the same path.
    pub(crate) fn add(&mut self, document: Document) {
        self.0.insert(document.path.clone(), document);
    }

    /// All paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Answers a request to `path`.
    ///
    /// # Errors
    /// 404 for an unknown path, 405 for a method that does not read, 406 when no form is acceptable.
    pub(crate) fn answer(
        &self,
        path: &str,
        is_read: bool,
        headers: &HeaderMap,
        query: &Query,
    ) -> Result<Response<Body>, Status> {
        let document = self.0.get(path).ok_or_else(Status::no_such_path)?;
        if !is_read {
            return Err(Status::method_not_allowed());
        }
        let requested = query.first("hash").filter(|hash| !hash.is_empty());
        if let (Some(current), Some(requested)) = (&document.hash, requested)
            && current != requested
        {
            return Ok(redirect(path, current));
        }
        let form = document.choose(headers)?;
        let immutable = document.hash.is_some() && requested.is_some();
        Ok(form.respond(headers, immutable))
    }
}

impl Document {
    /// Returns the form that the client prefers.
    fn choose(&self, headers: &HeaderMap) -> Result<&Form, Status> {
        let clauses = accept::clauses(headers.get_all(ACCEPT));
        let form = if clauses.is_empty() {
            self.forms.first()
        } else {
            clauses.iter().find_map(|clause| {
                self.forms
                    .iter()
                    .find(|form| form.accepts.iter().any(|offered| clause.accepts(offered)))
            })
        };
        form.ok_or_else(|| {
            let types: Vec<&str> = self
                .forms
                .iter()
                .filter_map(|form| form.content_type.to_str().ok())
                .collect();
            Status::not_acceptable(&types)
        })
    }
}

impl Form {
    fn respond(&self, headers: &HeaderMap, immutable: bool) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        let map = response.headers_mut();
        map.insert(VARY, HeaderValue::from_static("Accept"));
        if self.content.gzip().is_some() {
            map.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        if immutable {
            map.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
            // A fixed date that no cache outlives; a date a year from now would differ with every answer.
            map.insert(EXPIRES, HeaderValue::from_static("Fri, 31 Dec 2100 00:00:00 GMT"));
        } else if self.public {
            map.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
        }
        if let Some(etag) = &self.etag {
            map.insert(ETAG, etag.clone());
            if client_has(headers, etag) {
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                return response;
            }
        }
        map.insert(CONTENT_TYPE, self.content_type.clone());
        let (length, body) = match self.content.gzip() {
            Some(gzip) if negotiation::accepts_gzip(headers) => {
                map.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                (gzip.len(), Body::from(gzip.clone()))
            }
            _ => (self.content.len(), self.content.plain()),
        };
        map.insert(CONTENT_LENGTH, length.into());
        *response.body_mut() = body;
        response
    }
}

/// Returns the redirect (301) to the document at `path` with the current `hash`.
fn redirect(path: &str, hash: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(location) = HeaderValue::from_str(&format!("{path}?hash={hash}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// Whether the client already has the form with `etag` (`If-None-Match`).
fn client_has(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    elements(headers, &IF_NONE_MATCH).any(|known| {
        let known = known.strip_prefix("W/").unwrap_or(known);
        known == "*" || known.as_bytes() == etag.as_bytes()
    })
}

/// Returns the elements of a comma-separated header.
fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',').map(str::trim))
}

#[cfg(test)]
mod tests;
