//! Bodies in audit events: JSON on one line, without the fields that the policy omits. Bodies that may have
//! credentials are never written.

use std::io::Read;

use axum::body::Body;
use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::policy::PolicyAttributes;
use crate::response_facts::JoinedList;

/// Size of the largest body that is written, in bytes. An event is one line, and with the body of a list the
/// line could be as large as the store.
const MAX_BODY_BYTES: usize = 1024 * 1024;

/// Reason why a body that is too large is not in its event.
pub(crate) const TOO_LARGE: &str = "larger than 1 MiB, or of unknown size";
/// Reason why a body that may have credentials is not in its event.
pub(crate) const CONFIDENTIAL: &str = "it holds credentials";
/// Reason why a body that has no JSON form is not in its event.
pub(crate) const UNREADABLE: &str = "it cannot be read as JSON";

/// Whether the bodies of a request may have credentials: Secrets, and tokens that are issued or reviewed.
/// Such bodies are written at no level, even if a policy requires them. Neither are error messages of the
/// request, which may quote the bodies.
pub(crate) fn are_confidential(attributes: PolicyAttributes<'_>) -> bool {
    match (attributes.group, attributes.resource) {
        ("", "secrets") | ("authentication.k8s.io", "tokenreviews") => true,
        ("", "serviceaccounts") => attributes.subresource == "token",
        _ => false,
    }
}

/// Returns a body as JSON on one line.
///
/// # Errors
/// Reason why the body is not written.
pub(crate) fn json_line(
    media_type: &str,
    body: &[u8],
    omit_managed_fields: bool,
) -> Result<Vec<u8>, &'static str> {
    if body.len() > MAX_BODY_BYTES {
        return Err(TOO_LARGE);
    }
    let text = std::str::from_utf8(body).map_err(|_| UNREADABLE)?;
    let is_one_line = media_type.contains("json") && !omit_managed_fields && !text.contains(['\n', '\r']);
    if is_one_line {
        serde_json::from_str::<IgnoredAny>(text).map_err(|_| UNREADABLE)?;
        return Ok(body.to_vec());
    }
    let mut value: Value = match media_type.contains("yaml") {
        true => crate::yaml::document(text).map_err(|_| UNREADABLE)?.value,
        false => serde_json::from_str(text).map_err(|_| UNREADABLE)?,
    };
    if omit_managed_fields {
        remove_managed_fields(&mut value);
    }
    Ok(value.to_string().into_bytes())
}

/// Removes the managed fields of an object, or of the objects of a list.
fn remove_managed_fields(value: &mut Value) {
    let strip = |object: &mut Value| {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    };
    let items = value.get_mut("items").and_then(Value::as_array_mut);
    items.into_iter().flatten().for_each(strip);
    strip(value);
}

/// Reads the body of a response. Returns the unchanged response, and the body as JSON on one line, or the
/// reason why the body is not written.
pub(crate) async fn read_response(
    response: Response<Body>,
    omit_managed_fields: bool,
) -> (Response<Body>, Result<Vec<u8>, &'static str>) {
    let size = http_body::Body::size_hint(response.body()).exact();
    if size.is_none_or(|size| usize::try_from(size).map_or(true, |size| size > MAX_BODY_BYTES)) {
        return (response, Err(TOO_LARGE));
    }
    let (mut parts, body) = response.into_parts();
    // The collected body is a copy, and no longer shared with other requests: its bytes must be charged.
    parts.extensions.remove::<JoinedList>();
    let bytes = match body.collect().await {
        Ok(whole) => whole.to_bytes(),
        // The response ends with the error with which it would have ended without auditing.
        Err(problem) => {
            let broken = Body::from_stream(futures::stream::once(async move { Err::<Bytes, _>(problem) }));
            return (Response::from_parts(parts, broken), Err(UNREADABLE));
        }
    };
    let written = decompressed(&parts.headers, &bytes).and_then(|plain| {
        let media_type = text(&parts.headers, CONTENT_TYPE);
        json_line(media_type, &plain, omit_managed_fields)
    });
    (Response::from_parts(parts, Body::from(bytes)), written)
}

/// Returns the body before compression.
fn decompressed(headers: &HeaderMap, bytes: &Bytes) -> Result<Bytes, &'static str> {
    match text(headers, CONTENT_ENCODING) {
        "" => Ok(bytes.clone()),
        "gzip" => {
            let mut plain = Vec::new();
            let limit = u64::try_from(MAX_BODY_BYTES).unwrap_or(u64::MAX) + 1;
            let mut reader = GzDecoder::new(&**bytes).take(limit);
            reader.read_to_end(&mut plain).map_err(|_| UNREADABLE)?;
            Ok(plain.into())
        }
        _ => Err(UNREADABLE),
    }
}

fn text(headers: &HeaderMap, name: http::HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(media_type: &str, body: &str, omit: bool) -> Result<String, &'static str> {
        json_line(media_type, body.as_bytes(), omit).map(|line| String::from_utf8(line).unwrap())
    }

    #[test]
    fn bodies_are_json_on_one_line() {
        assert_eq!(
            written("application/json", "{\"a\":1}", false).unwrap(),
            "{\"a\":1}"
        );
        assert_eq!(
            written("application/json", "{\n \"a\": 1\n}", false).unwrap(),
            "{\"a\":1}"
        );
        assert_eq!(
            written("application/apply-patch+yaml", "a: [1]\n", false).unwrap(),
            "{\"a\":[1]}"
        );
        assert_eq!(written("application/json", "{\"a\":", false), Err(UNREADABLE));
        assert_eq!(
            written("application/vnd.kubernetes.protobuf", "k8s\0", false),
            Err(UNREADABLE)
        );
        let large = format!("\"{}\"", "x".repeat(MAX_BODY_BYTES));
        assert_eq!(written("application/json", &large, false), Err(TOO_LARGE));
    }

    #[test]
    fn managed_fields_are_left_out_of_objects_and_lists() {
        let object = r#"{"metadata":{"managedFields":[{}],"name":"a"}}"#;
        let list = format!(r#"{{"items":[{object}],"metadata":{{}}}}"#);
        assert_eq!(
            written("application/json", object, true).unwrap(),
            r#"{"metadata":{"name":"a"}}"#
        );
        let list = written("application/json", &list, true).unwrap();
        assert_eq!(list, r#"{"items":[{"metadata":{"name":"a"}}],"metadata":{}}"#);
    }

    #[tokio::test]
    async fn a_read_response_is_unchanged() {
        use std::io::Write as _;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"{\"a\":1}").unwrap();
        let zipped = encoder.finish().unwrap();
        let response = Response::builder()
            .header(CONTENT_TYPE, "application/json")
            .header(CONTENT_ENCODING, "gzip")
            .body(Body::from(zipped.clone()))
            .unwrap();
        let (response, written) = read_response(response, false).await;
        assert_eq!(written.unwrap(), b"{\"a\":1}");
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), zipped);
    }
}
