//! Parser of AdmissionReviews. It is written by hand, so that it reports all mistakes of a review, with their
//! paths.

use std::collections::BTreeMap;

use berth_apimachinery::{FieldError, Status, field};
use serde_json::{Map, Value};

use super::{API_VERSION, Body, GroupVersionKind, GroupVersionResource, KIND, Review};
use crate::request::{Operation, UserInfo};

/// Parses the body of a request with an AdmissionReview.
///
/// # Errors
/// 400 with all mistakes in the body.
pub fn read(body: &[u8]) -> Result<Body, Status> {
    let review: Value = serde_json::from_slice(body)
        .map_err(|problem| Status::bad_request(format!("the body is not JSON: {problem}")))?;
    let text = |field: &str| review.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let not_a_review = || {
        Status::bad_request(format!(
            "the body is not an AdmissionReview: apiVersion {API_VERSION} and kind {KIND} are expected, not {api_version:?} \
             and {kind:?}"
        ))
    };
    if kind != KIND {
        return Err(not_a_review());
    }
    if api_version != API_VERSION {
        if !api_version.starts_with("admission.k8s.io/") {
            return Err(not_a_review());
        }
        let uid = review["request"]["uid"].as_str().unwrap_or_default();
        return Ok(Body::OtherVersion {
            api_version: api_version.to_owned(),
            uid: uid.to_owned(),
        });
    }
    v1(review).map(|review| Body::V1(Box::new(review)))
}

fn v1(mut review: Value) -> Result<Review, Status> {
    let mut reader = Reader::default();
    let request = match review.get_mut("request").map(Value::take) {
        Some(Value::Object(fields)) => reader.request(fields),
        Some(Value::Null) | None => {
            reader.missing("request", "an AdmissionReview must have a request");
            None
        }
        Some(other) => {
            reader.wrong("request", other, "an object");
            None
        }
    };
    match request {
        Some(request) if reader.0.is_empty() => Ok(request),
        _ => Err(malformed(&reader.0)),
    }
}

fn malformed(errors: &[FieldError]) -> Status {
    let text = format!("the AdmissionReview is invalid: {}", field::aggregate(errors));
    errors.iter().fold(Status::bad_request(text), |status, error| {
        status.with_cause(error.kind.reason(), error.message(), &error.path)
    })
}

/// Reader of the fields of a review, which collects all mistakes.
#[derive(Default)]
struct Reader(Vec<FieldError>);

impl Reader {
    fn missing(&mut self, path: &str, detail: &str) {
        self.0.push(FieldError::required(path, detail));
    }

    fn wrong(&mut self, path: &str, value: Value, expected: &str) {
        self.0.push(FieldError::type_invalid(
            path,
            value,
            format!("{expected} is expected"),
        ));
    }

    fn request(&mut self, mut from: Map<String, Value>) -> Option<Review> {
        let uid = self.text(&mut from, "request", "uid");
        if uid.is_empty() {
            self.missing("request.uid", "the answer must repeat it");
        }
        let kind = self.group_version(&mut from, "kind", "kind", true);
        let resource = self.group_version(&mut from, "resource", "resource", true);
        let operation = self.operation(&mut from);
        let review = Review {
            uid,
            kind: gvk(kind.unwrap_or_default()),
            resource: gvr(resource.unwrap_or_default()),
            subresource: self.text(&mut from, "request", "subResource"),
            request_kind: self
                .group_version(&mut from, "requestKind", "kind", false)
                .map(gvk),
            request_resource: self
                .group_version(&mut from, "requestResource", "resource", false)
                .map(gvr),
            name: self.text(&mut from, "request", "name"),
            namespace: self.text(&mut from, "request", "namespace"),
            user: self.user(&mut from),
            object: self.object(&mut from, "object"),
            old_object: self.object(&mut from, "oldObject"),
            dry_run: self.flag(&mut from, "dryRun"),
            options: self.object(&mut from, "options"),
            operation: operation?,
        };
        self.check_objects(&review);
        Some(review)
    }

    /// Checks that `review` has the objects that its operation requires, and no new object on delete.
    fn check_objects(&mut self, review: &Review) {
        let operation = review.operation;
        let needs_new = matches!(operation, Operation::Create | Operation::Update);
        let needs_old = matches!(operation, Operation::Update | Operation::Delete);
        let detail = format!("must be set for operation {}", operation.as_str());
        if needs_new && review.object.is_null() {
            self.missing("request.object", &detail);
        }
        if needs_old && review.old_object.is_null() {
            self.missing("request.oldObject", &detail);
        }
        if operation == Operation::Delete && !review.object.is_null() {
            self.0.push(FieldError::forbidden(
                "request.object",
                "must not be set for operation DELETE",
            ));
        }
    }

    fn operation(&mut self, from: &mut Map<String, Value>) -> Option<Operation> {
        let text = self.text(from, "request", "operation");
        let known = Operation::ALL
            .into_iter()
            .find(|operation| operation.as_str() == text);
        if known.is_none() {
            let names = Operation::ALL.map(Operation::as_str);
            self.0
                .push(FieldError::not_supported("request.operation", text, &names));
        }
        known
    }

    /// Reads the fields `group`, `version` and `third` of the kind or resource in the field `name`.
    fn group_version(
        &mut self,
        from: &mut Map<String, Value>,
        name: &str,
        third: &str,
        required: bool,
    ) -> Option<[String; 3]> {
        let path = format!("request.{name}");
        let mut parts = match from.remove(name) {
            Some(Value::Object(fields)) => fields,
            None | Some(Value::Null) => {
                if required {
                    self.missing(&path, "");
                }
                return None;
            }
            Some(other) => {
                self.wrong(&path, other, "an object");
                return None;
            }
        };
        let texts = ["group", "version", third].map(|part| self.text(&mut parts, &path, part));
        if texts[2].is_empty() {
            self.missing(&format!("{path}.{third}"), "");
        }
        Some(texts)
    }

    fn user(&mut self, from: &mut Map<String, Value>) -> UserInfo {
        let mut parts = match from.remove("userInfo") {
            Some(Value::Object(fields)) => fields,
            None | Some(Value::Null) => Map::new(),
            Some(other) => {
                self.wrong("request.userInfo", other, "an object");
                Map::new()
            }
        };
        let path = "request.userInfo";
        UserInfo {
            name: self.text(&mut parts, path, "username"),
            uid: self.text(&mut parts, path, "uid"),
            groups: self.texts(parts.remove("groups"), "request.userInfo.groups"),
            extra: self.extra(parts.remove("extra")),
        }
    }

    fn extra(&mut self, value: Option<Value>) -> BTreeMap<String, Vec<String>> {
        let fields = match value {
            Some(Value::Object(fields)) => fields,
            None | Some(Value::Null) => return BTreeMap::new(),
            Some(other) => {
                self.wrong("request.userInfo.extra", other, "an object");
                return BTreeMap::new();
            }
        };
        let entries = fields.into_iter().map(|(key, list)| {
            let texts = self.texts(Some(list), &format!("request.userInfo.extra[{key}]"));
            (key, texts)
        });
        entries.collect()
    }

    fn texts(&mut self, value: Option<Value>, path: &str) -> Vec<String> {
        let list = match value {
            Some(Value::Array(list)) => list,
            None | Some(Value::Null) => return Vec::new(),
            Some(other) => {
                self.wrong(path, other, "a list of strings");
                return Vec::new();
            }
        };
        let mut texts = Vec::with_capacity(list.len());
        for (index, entry) in list.into_iter().enumerate() {
            match entry {
                Value::String(text) => texts.push(text),
                other => self.wrong(&format!("{path}[{index}]"), other, "a string"),
            }
        }
        texts
    }

    fn text(&mut self, from: &mut Map<String, Value>, path: &str, name: &str) -> String {
        match from.remove(name) {
            Some(Value::String(text)) => text,
            None | Some(Value::Null) => String::new(),
            Some(other) => {
                self.wrong(&format!("{path}.{name}"), other, "a string");
                String::new()
            }
        }
    }

    fn flag(&mut self, from: &mut Map<String, Value>, name: &str) -> bool {
        match from.remove(name) {
            Some(Value::Bool(flag)) => flag,
            None | Some(Value::Null) => false,
            Some(other) => {
                self.wrong(&format!("request.{name}"), other, "true or false");
                false
            }
        }
    }

    fn object(&mut self, from: &mut Map<String, Value>, name: &str) -> Value {
        match from.remove(name) {
            Some(object @ Value::Object(_)) => object,
            None | Some(Value::Null) => Value::Null,
            Some(other) => {
                self.wrong(&format!("request.{name}"), other, "an object");
                Value::Null
            }
        }
    }
}

fn gvk([group, version, kind]: [String; 3]) -> GroupVersionKind {
    GroupVersionKind { group, version, kind }
}

fn gvr([group, version, resource]: [String; 3]) -> GroupVersionResource {
    GroupVersionResource {
        group,
        version,
        resource,
    }
}
