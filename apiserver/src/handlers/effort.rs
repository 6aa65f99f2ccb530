//! Estimated effort of answering a request, in addition to the size of its body. The unit is the number of
//! bytes that could be parsed in the same time. The effort decides on which threads the request runs
//! ([`crate::heavy`]).

use berth_admission::client::{ObjectKind, VersionedWrite};
use berth_admission::{Operation, Request, UserInfo};
use berth_apimachinery::Object;
use berth_storage::Collection;
use http::HeaderMap;

use super::{ApiState, list};
use crate::heavy::LIGHT;
use crate::negotiation::{self, Answer, Encoding, MediaType, Shape};
use crate::request_info::RequestInfo;
use crate::resource::Backing;
use crate::served::ServedVersion;

/// Effort of reading an object and adding it to a list.
const OBJECT: usize = 8;
/// Effort of comparing one term of a selector with one object's labels.
const TERM: usize = 4;
/// Effort of parsing an object for a field selector, once for all fields.
const FIELDS: usize = 64;
/// Effort of a row of a table.
const ROW: usize = 100;
/// Effort of converting an object for a view.
const VIEWED: usize = 500;
/// Effort of a byte that is parsed and serialized again, as indented JSON, YAML or protobuf.
const REWRITTEN: usize = 4;

/// Returns the estimated effort of the request with `info` and `headers`.
pub(super) fn estimate(state: &ApiState, info: &RequestInfo, headers: &HeaderMap) -> usize {
    let Some(served) = state.served(info) else {
        return 0;
    };
    let inner_effort = info
        .inner
        .as_ref()
        .map_or(0, |inner| through_view(state, inner, headers));
    served
        .resource
        .effort_of(info)
        .saturating_add(read_effort(state, served, info, headers))
        .saturating_add(admission_effort(state, served, info))
        .saturating_add(inner_effort)
}

/// The effort of `inner`, a request through a view to objects that this server also serves directly.
fn through_view(state: &ApiState, inner: &RequestInfo, headers: &HeaderMap) -> usize {
    let Some(served) = state.served(inner) else {
        return 0;
    };
    let view_effort = match inner.verb {
        "list" | "watch" => VIEWED.saturating_mul(compared_objects(served, inner, VIEWED).0),
        _ => 0,
    };
    // Without a store there are only copies, and a write is admitted where the objects are stored.
    let policies = match served.store() {
        Some(_) => admission_effort(state, served, inner),
        None => 0,
    };
    read_effort(state, served, inner, headers)
        .saturating_add(view_effort)
        .saturating_add(policies)
}

/// The effort of reading the requested objects and serializing them.
fn read_effort(state: &ApiState, served: &ServedVersion, info: &RequestInfo, headers: &HeaderMap) -> usize {
    if let Backing::Computed(_) = served.resource.backing {
        // The effort of computing the objects is the handler's; the server only compares them.
        return info.selector_bytes().saturating_mul(TERM * OBJECT);
    }
    if !matches!(info.subresource.as_str(), "" | "status") {
        return 0;
    }
    let forms = state.forms(served, info);
    let accepts = |answer| negotiation::negotiate(headers, &info.query, answer, forms).ok();
    match info.verb {
        "list" | "deletecollection" => list_effort(served, info, accepts(Answer::List)),
        "watch" if begins_with_objects(info) => list_effort(served, info, accepts(Answer::Watch)),
        "get" if accepts(Answer::Object).is_some_and(is_rewritten) => {
            let all = served.source().map(|source| source.cached(served.stored));
            let object = all.as_ref().and_then(|all| all.get(&info.namespace, &info.name));
            let accepted = accepts(Answer::Object);
            object.map_or(0, |object| rewritten_bytes(object, accepted) * REWRITTEN)
        }
        _ => 0,
    }
}

fn is_rewritten(accepted: MediaType) -> bool {
    accepted.encoding != Encoding::Json
}

/// Number of bytes of `object` that are serialized again; 0 for protobuf if the message is already cached.
fn rewritten_bytes(object: &Object, accepted: Option<MediaType>) -> usize {
    let is_message = accepted.is_some_and(|accepted| accepted.encoding == Encoding::Protobuf);
    match is_message && object.has_message() {
        true => 0,
        false => object.len(),
    }
}

fn begins_with_objects(info: &RequestInfo) -> bool {
    let text = |name: &str| info.query.first(name).unwrap_or_default();
    matches!(text("resourceVersion"), "" | "0") || text("sendInitialEvents") == "true"
}

/// The effort of a list: of each object that is compared or added, and of each byte that is serialized again.
/// A selector increases this effort instead of reducing it: no object is skipped, and each is compared.
fn list_effort(served: &ServedVersion, info: &RequestInfo, accepted: Option<MediaType>) -> usize {
    let text = |name: &str| info.query.first(name).unwrap_or_default();
    let terms = |text: &str| match text {
        "" => 0,
        text => 1 + text.bytes().filter(|byte| *byte == b',').count(),
    };
    let (labels, fields) = (text("labelSelector"), text("fieldSelector"));
    let mut each = OBJECT + TERM * (terms(labels) + terms(fields));
    if !fields.is_empty() {
        each += FIELDS;
    }
    if matches!(
        accepted,
        Some(MediaType {
            shape: Shape::Table(_),
            ..
        })
    ) {
        each += ROW;
    }
    let (mut count, all) = compared_objects(served, info, each);
    let limit = text("limit").parse().unwrap_or(0);
    if limit > 0 && info.selector_bytes() == 0 && !list::is_whole(limit) {
        count = count.min(limit);
    }
    let rewritten = match accepted.is_some_and(is_rewritten) {
        true => REWRITTEN * bytes(&all, info, count, accepted),
        false => 0,
    };
    count.saturating_mul(each).saturating_add(rewritten) + info.selector_bytes()
}

/// Number of objects that a list compares, each at the cost `each`, and the collection of the resource.
/// Counting the objects of a namespace ends when the request is heavy.
fn compared_objects(served: &ServedVersion, info: &RequestInfo, each: usize) -> (usize, Collection) {
    let Some(source) = served.source() else {
        return (0, Collection::default());
    };
    let all = source.cached(served.stored);
    let is_one = !info.name.is_empty() && (!served.info().namespaced() || !info.namespace.is_empty());
    let count = match info.namespace.as_str() {
        _ if is_one => 1,
        "" => all.items.len(),
        namespace => all.iter(Some(namespace), None).take(LIGHT / each + 1).count(),
    };
    (count, all)
}

/// Number of bytes that are serialized again for the first `count` objects of a list. Counting ends when the
/// request is heavy.
fn bytes(all: &Collection, info: &RequestInfo, count: usize, accepted: Option<MediaType>) -> usize {
    let namespace = Some(info.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let mut sum = 0;
    for (_, object) in all.iter(namespace, None).take(count) {
        sum += rewritten_bytes(object, accepted);
        if sum > LIGHT {
            break;
        }
    }
    sum
}

/// The effort of the admission policies that may apply to a write.
fn admission_effort(state: &ApiState, served: &ServedVersion, info: &RequestInfo) -> usize {
    let operations: &[Operation] = match info.verb {
        "create" => &[Operation::Create],
        "update" => &[Operation::Update],
        // An apply may create the object.
        "patch" => &[Operation::Update, Operation::Create],
        "delete" | "deletecollection" => &[Operation::Delete],
        _ => return 0,
    };
    let user = UserInfo::default();
    let cost = |operation: &Operation| {
        let request = Request {
            operation: *operation,
            resource: served.name,
            kind: served.info().kind,
            subresource: &info.subresource,
            namespace: &info.namespace,
            name: &info.name,
            user: &user,
            old: None,
            dry_run: false,
        };
        let write = VersionedWrite {
            request: &request,
            version: served.version,
            versions: served.info().versions,
            object_kind: ObjectKind::Own {
                kind: served.kind(),
                object_version: served.version,
            },
        };
        state.registry.chain().effort(&write)
    };
    let one = operations.iter().map(cost).max().unwrap_or_default();
    match info.verb {
        "deletecollection" if one > 0 => one.saturating_mul(compared_objects(served, info, OBJECT).0),
        _ => one,
    }
}
