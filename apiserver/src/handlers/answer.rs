//! Answers in the negotiated form: one object, a list, a handler's reply, or a `Status`.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use berth_apimachinery::{Object, Revision, Status};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, VARY};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::list::Page;
use super::{ApiState, Cx};
use crate::call::{Document, Reply, Rows};
use crate::compress::{BodyKey, THRESHOLD};
use crate::context::RequestCx;
use crate::list_body::{self, ChunkBody, Chunks, ListBody};
use crate::negotiation::{self, Answer, Encoding, Forms, MediaType, MetaVersion, Shape};
use crate::protobuf;
use crate::render::{MessageEncoder, ObjectForm};
use crate::request_info::RequestInfo;
use crate::resource::Backing;
use crate::respond;
use crate::response_facts::JoinedList;
use crate::served::ServedVersion;
use crate::table::{self, IncludeObjectPolicy, TableForm};
use crate::yaml;

impl Cx<'_> {
    /// Negotiates the form of the answer. Handlers call this before the operation, so that a request with the
    /// answer 406 changes nothing.
    pub(super) fn negotiate(&self, answer: Answer) -> Result<MediaType, Status> {
        let forms = self.state.forms(self.served, &self.request.info);
        self.negotiate_forms(answer, forms)
    }

    /// Negotiates the form of an answer that cannot be protobuf.
    pub(super) fn negotiate_json(&self, answer: Answer) -> Result<MediaType, Status> {
        let forms = self.state.forms(self.served, &self.request.info);
        let messages = false;
        self.negotiate_forms(answer, Forms { messages, ..forms })
    }

    fn negotiate_forms(&self, answer: Answer, forms: Forms) -> Result<MediaType, Status> {
        let request = self.request;
        let accepted = negotiation::negotiate(&request.headers, &request.info.query, answer, forms)?;
        if matches!(accepted.shape, Shape::Table(_)) {
            IncludeObjectPolicy::parse(&self.request.info.query)?;
        }
        Ok(accepted)
    }

    pub(super) fn table_form(&self, version: MetaVersion) -> Result<TableForm, Status> {
        let include = IncludeObjectPolicy::parse(&self.request.info.query)?;
        Ok(TableForm {
            version,
            include,
            now: self.request.now,
        })
    }

    /// Renders one object.
    pub(super) fn object(
        &self,
        accepted: MediaType,
        code: StatusCode,
        object: &Object,
    ) -> Result<Response<Body>, Status> {
        if let Shape::Table(version) = accepted.shape {
            let metadata = json!({"resourceVersion": object.revision().to_string()}).to_string();
            let form = self.table_form(version)?;
            return chunks(
                accepted,
                code,
                form.of_objects(self.served, &metadata, std::iter::once(object)),
            );
        }
        let form = ObjectForm::of(accepted.shape);
        let json = || form.render(self.served, object).join();
        if let (Encoding::Protobuf, Some(messages)) = (accepted.encoding, self.messages(form)) {
            self.request.annotations.record_response_body(|| json().into());
            let envelope = messages.envelope(object).into();
            return Ok(respond::bytes(code, accepted.encoding.content_type(), envelope));
        }
        self.whole(accepted, code, json())
    }

    /// Returns the encoder of the resource's objects as protobuf messages; `None` if no codec knows the
    /// message.
    pub(super) fn messages(&self, form: ObjectForm) -> Option<MessageEncoder> {
        let codec = self.state.codec.as_ref()?;
        let served = self.served;
        let is_known = codec.has_message(&served.api_version, served.info().kind);
        is_known.then(|| MessageEncoder {
            codec: Arc::clone(codec),
            served: Arc::clone(served),
            form,
        })
    }

    /// Renders a body in one piece, in the negotiated encoding.
    fn whole(&self, accepted: MediaType, code: StatusCode, json: Bytes) -> Result<Response<Body>, Status> {
        if accepted.encoding == Encoding::Protobuf
            && let Some(envelope) = self.state.envelope(&parse(&json)?)
        {
            self.request.annotations.record_response_body(|| json.into());
            return Ok(respond::bytes(code, accepted.encoding.content_type(), envelope));
        }
        whole(accepted, code, json)
    }

    /// Renders the reply of a handler of the program.
    pub(super) fn reply(
        &self,
        accepted: MediaType,
        code: StatusCode,
        reply: &Reply,
    ) -> Result<Response<Body>, Status> {
        let value = match reply {
            Reply::Object(object) => return self.object(accepted, code, object),
            Reply::Document(document) => return self.document(accepted, code, &**document),
            Reply::Value(value) => value,
        };
        match accepted.shape {
            Shape::Full => self.whole(accepted, code, value.to_string().into()),
            Shape::Partial(version) => {
                let metadata = value.get("metadata").cloned().unwrap_or_else(|| json!({}));
                self.whole(accepted, code, partial(version, &metadata).to_string().into())
            }
            Shape::Table(version) => {
                let form = self.table_form(version)?;
                let object = match form.include {
                    IncludeObjectPolicy::Nothing => Value::Null,
                    IncludeObjectPolicy::Metadata => partial(version, &value["metadata"]),
                    IncludeObjectPolicy::Object => value.clone(),
                };
                chunks(
                    accepted,
                    code,
                    form.of_rows(&self.rows_of(value), object.to_string().as_bytes()),
                )
            }
        }
    }

    /// Renders the `Status` of a successful request.
    pub(super) fn status(&self, accepted: MediaType, status: &Status) -> Result<Response<Body>, Status> {
        let json = serde_json::to_vec(status).map_err(|problem| Status::internal(problem.to_string()))?;
        self.whole(accepted, StatusCode::OK, json.into())
    }

    /// Renders a document of the program.
    fn document(
        &self,
        accepted: MediaType,
        code: StatusCode,
        document: &dyn Document,
    ) -> Result<Response<Body>, Status> {
        match accepted.shape {
            Shape::Full => self.whole(accepted, code, document.json()?.into()),
            Shape::Partial(version) => {
                let partial = partial(version, &document.metadata());
                self.whole(accepted, code, partial.to_string().into())
            }
            Shape::Table(version) => {
                let form = self.table_form(version)?;
                let object = match form.include {
                    IncludeObjectPolicy::Nothing => b"null".to_vec(),
                    IncludeObjectPolicy::Metadata => {
                        partial(version, &document.metadata()).to_string().into_bytes()
                    }
                    IncludeObjectPolicy::Object => document.json()?,
                };
                chunks(accepted, code, form.of_rows(&document.rows(), &object))
            }
        }
    }

    /// Returns the table rows of an object from a handler of the program. An object of the resource's own
    /// kind has the columns of this kind.
    fn rows_of(&self, value: &Value) -> Rows {
        let kind = self.served.kind();
        let is_own_kind = value["kind"].as_str() == Some(self.served.info().kind);
        match Object::new(value, Revision(0)) {
            Ok(object) if is_own_kind => Rows {
                columns: kind.columns().to_vec(),
                rows: vec![kind.row(&object)],
            },
            _ => table::name_and_age(value),
        }
    }

    /// Renders a list.
    pub(super) async fn list(&self, accepted: MediaType, page: Page) -> Result<Response<Body>, Status> {
        let metadata = page.metadata();
        let revision = page.revision;
        match accepted.shape {
            Shape::Table(version) => {
                let form = self.table_form(version)?;
                let objects = page.items.iter().map(|object| &**object);
                let body = form.of_objects(self.served, &metadata, objects);
                self.chunked(accepted, body).await
            }
            shape => {
                let form = ObjectForm::of(shape);
                let json = |items| {
                    let head = self.list_head(form, &metadata);
                    ListBody::json(Arc::clone(self.served), form, head, items)
                };
                let messages = self.messages(form);
                let body = match messages.filter(|_| accepted.encoding == Encoding::Protobuf) {
                    Some(messages) => {
                        let items = || page.items.clone();
                        self.request
                            .annotations
                            .record_response_body(|| json(items()).into_bytes());
                        let metadata =
                            messages
                                .codec
                                .message(LIST_META.0, LIST_META.1, &parse(metadata.as_bytes())?);
                        ListBody::messages(messages, &metadata.unwrap_or_default(), page.items)
                    }
                    None => json(page.items),
                };
                self.list_body(accepted, revision, body).await
            }
        }
    }

    /// Returns the JSON of a list up to the first item.
    fn list_head(&self, form: ObjectForm, metadata: &str) -> Bytes {
        let (kind, api_version) = match form {
            ObjectForm::Full => (
                format!("{}List", self.served.info().kind),
                &*self.served.api_version,
            ),
            ObjectForm::Partial(version) => ("PartialObjectMetadataList".to_owned(), version.api_version()),
        };
        format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{metadata},"items":["#).into()
    }

    /// Returns the response with the list `body`. Compact JSON and protobuf are compressed if they are large
    /// and the client accepts gzip.
    async fn list_body(
        &self,
        accepted: MediaType,
        revision: Revision,
        mut body: ListBody,
    ) -> Result<Response<Body>, Status> {
        if matches!(accepted.encoding, Encoding::Pretty | Encoding::Yaml) {
            return whole(accepted, StatusCode::OK, body.into_bytes().into());
        }
        if self.compresses(body.len()) {
            let key = self.body_key(accepted, revision);
            let chunks = self.state.compressed.body(key, move || body.next_chunk()).await?;
            return Ok(gzipped(accepted, chunks));
        }
        let length = body.len();
        let mut response = sized(accepted, StatusCode::OK, length, Body::new(body));
        response.extensions_mut().insert(JoinedList);
        Ok(response)
    }

    /// Renders the list of `page`, whose `items` are already serialized.
    pub(super) async fn serialized_list(
        &self,
        accepted: MediaType,
        page: &Page,
        items: Chunks,
    ) -> Result<Response<Body>, Status> {
        let head = self.list_head(ObjectForm::Full, &page.metadata());
        self.chunked(accepted, items.within(head, list_body::TAIL)).await
    }

    /// Returns the cache key of the list that the request reads at `revision`; `None` if other requests
    /// cannot share the compressed body. A computed list may differ between users, and from one request to
    /// the next, at the same revision. The answer to a deletecollection has only the deleted objects.
    fn body_key(&self, accepted: MediaType, revision: Revision) -> Option<BodyKey> {
        let info = &self.request.info;
        if info.verb != "list" || matches!(self.served.resource.backing, Backing::Computed(_)) {
            return None;
        }
        let query: Vec<_> = info.query.pairs().collect();
        Some(BodyKey {
            path_and_query: format!("{}?{query:?}", info.path),
            accepted,
            revision,
        })
    }

    /// Sends a complete body: a table, or a serialized computed list. Other requests cannot share the
    /// compressed body, since the ages in a table change every second, and a computed list may differ between
    /// users.
    async fn chunked(&self, accepted: MediaType, body: Chunks) -> Result<Response<Body>, Status> {
        if accepted.encoding != Encoding::Json {
            return chunks(accepted, StatusCode::OK, body);
        }
        let mut body = ChunkBody::new(body.into_list());
        if self.compresses(body.len()) {
            let compressed = &self.state.compressed;
            let list = compressed.body(None, move || body.next_chunk()).await?;
            return Ok(gzipped(accepted, list));
        }
        Ok(sized(accepted, StatusCode::OK, body.len(), Body::new(body)))
    }

    fn compresses(&self, length: u64) -> bool {
        length > THRESHOLD && negotiation::accepts_gzip(&self.request.headers)
    }
}

/// The apiVersion and kind that identify the message of a list's metadata.
const LIST_META: (&str, &str) = ("meta.k8s.io/v1", "ListMeta");

impl ApiState {
    /// Returns the forms of the answer to a request for a resource or a subresource.
    pub(super) fn forms(&self, served: &ServedVersion, info: &RequestInfo) -> Forms {
        let own = || (Cow::Borrowed(&*served.api_version), served.info().kind);
        let (api_version, kind) = match served.subresource(&info.subresource) {
            Some(subresource) => (served.api_version_of(subresource), subresource.kind),
            None => own(),
        };
        let codec = self.codec.as_ref();
        Forms {
            tables: served.kind().has_rows(),
            messages: codec.is_some_and(|codec| codec.has_message(&api_version, kind)),
        }
    }

    /// Encodes `value` as a protobuf message in its envelope; `None` if no codec knows the message.
    pub(super) fn envelope(&self, value: &Value) -> Option<Bytes> {
        let (api_version, kind) = (value["apiVersion"].as_str()?, value["kind"].as_str()?);
        let message = self.codec.as_ref()?.message(api_version, kind, value)?;
        Some(protobuf::envelope(api_version, kind, &message).into())
    }

    /// Renders a `Status` as the answer to `request`: as protobuf if the resource has messages and the client
    /// prefers them.
    pub(super) fn refusal(&self, request: &RequestCx, status: &Status) -> Response<Body> {
        let mut response = respond::status(status);
        let served = self.served(&request.info);
        let has_messages = served.is_some_and(|served| self.forms(served, &request.info).messages);
        if has_messages && negotiation::wants_protobuf(&request.headers) {
            let envelope = serde_json::to_value(status).ok();
            if let Some(envelope) = envelope.and_then(|value| self.envelope(&value)) {
                respond::replace_body(&mut response, Encoding::Protobuf.content_type(), envelope);
            }
        }
        response
    }
}

/// Returns the PartialObjectMetadata with `metadata`.
fn partial(version: MetaVersion, metadata: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": metadata})
}

/// Renders a body in one piece, in the negotiated encoding, except that JSON replaces protobuf.
fn whole(accepted: MediaType, code: StatusCode, json: Bytes) -> Result<Response<Body>, Status> {
    let bytes = match accepted.encoding {
        // A value without a message is sent as JSON, which every client accepts.
        Encoding::Json | Encoding::Protobuf => json,
        Encoding::Pretty => {
            let value = parse(&json)?;
            let mut text =
                serde_json::to_vec_pretty(&value).map_err(|problem| Status::internal(problem.to_string()))?;
            text.push(b'\n');
            text.into()
        }
        Encoding::Yaml => {
            let value = parse(&json)?;
            yaml::write(&value)?
        }
    };
    let content_type = match accepted.encoding {
        Encoding::Protobuf => Encoding::Json.content_type(),
        encoding => encoding.content_type(),
    };
    Ok(respond::bytes(code, content_type, bytes))
}

fn parse(json: &[u8]) -> Result<Value, Status> {
    serde_json::from_slice(json).map_err(|problem| Status::internal(problem.to_string()))
}

/// Renders a body in chunks: as JSON, or in one piece in another encoding.
fn chunks(accepted: MediaType, code: StatusCode, chunks: Chunks) -> Result<Response<Body>, Status> {
    let list = chunks.into_list();
    if accepted.encoding == Encoding::Json {
        let body = ChunkBody::new(list);
        return Ok(sized(accepted, code, body.len(), Body::new(body)));
    }
    let mut all = Vec::new();
    list.iter().for_each(|chunk| all.extend_from_slice(chunk));
    whole(accepted, code, all.into())
}

/// Returns the response with a body of `length` bytes.
fn sized(accepted: MediaType, code: StatusCode, length: u64, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static(accepted.encoding.content_type()),
    );
    headers.insert(CONTENT_LENGTH, length.into());
    if length > THRESHOLD {
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    response
}

/// Returns the response with a compressed body.
fn gzipped(accepted: MediaType, chunks: std::collections::VecDeque<Bytes>) -> Response<Body> {
    let body = ChunkBody::new(chunks);
    let mut response = sized(accepted, StatusCode::OK, body.len(), Body::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}
