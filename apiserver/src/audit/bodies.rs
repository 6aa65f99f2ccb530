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
use crate::respond::JoinedList;

/// Size of the largest body that is written. An event is one line, and lines of lists could be as large as
/// the store.
const LARGEST: usize = 1024 * 1024;

/// Reason why a body that is too large is not in its event.
pub(crate) const TOO_LARGE: &str = "larger than 1 MiB, or of unknown size";
/// Reason why a body that may have credentials is not in its event.
pub(crate) const CONFIDENTIAL: &str = "it holds credentials";
/// Reason why a body that has no JSON form is not in its event.
pub(crate) const UNREADABLE: &str = "it cannot be read as JSON";

/// Whether bodies of the request may have credentials: Secrets, and tokens that are issued or reviewed. Such
/// bodies are written at no level, even if a policy requires it; nor are the request's error messages, which
/// may quote the bodies.
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
pub(crate) fn line(
    media_type: &str,
    body: &[u8],
    omit_managed_fields: bool,
) -> Result<Vec<u8>, &'static str> {
    if body.len() > LARGEST {
        return Err(TOO_LARGE);
    }
    let text = std::str::from_utf8(body).map_err(|_| UNREADABLE)?;
    let as_it_is = media_type.contains("json") && !omit_managed_fields && !text.contains(['\n', '\r']);
    if as_it_is {
        serde_json::from_str::<IgnoredAny>(text).map_err(|_| UNREADABLE)?;
        return Ok(body.to_vec());
    }
    let mut value: Value = match media_type.contains("yaml") {
        true => crate::yaml::document(text).map_err(|_| UNREADABLE)?.value,
        false => serde_json::from_str(text).map_err(|_| UNREADABLE)?,
    };
    if omit_managed_fields {
        without_managed_fields(&mut value);
    }
    Ok(value.to_string().into_bytes())
}

/// Removes the managed fields of an object, or of the objects of a list.
fn without_managed_fields(value: &mut Value) {
    let strip = |object: &mut Value| {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    };
    let items = value.get_mut("items").and_then(Value::as_array_mut);
    items.into_iter().flatten().for_each(strip);
    strip(value);
}

/// Returns the unchanged response, and the logged form of its body.
pub(crate) async fn of_response(
    response: Response<Body>,
    omit_managed_fields: bool,
) -> (Response<Body>, Result<Vec<u8>, &'static str>) {
    let size = http_body::Body::size_hint(response.body()).exact();
    if size.is_none_or(|size| usize::try_from(size).map_or(true, |size| size > LARGEST)) {
        return (response, Err(TOO_LARGE));
    }
    let (mut parts, body) = response.into_parts();
    // The body is no longer shared but a copy, and is charged as one.
    parts.extensions.remove::<JoinedList>();
    let bytes = match body.collect().await {
        Ok(whole) => whole.to_bytes(),
        // Without auditing, the connection to the client would have broken in the same place, so this
        // response ends in the same way.
        Err(problem) => {
            let broken = Body::from_stream(futures::stream::once(async move { Err::<Bytes, _>(problem) }));
            return (Response::from_parts(parts, broken), Err(UNREADABLE));
        }
    };
    let written = plain(&parts.headers, &bytes).and_then(|plain| {
        let media_type = text(&parts.headers, CONTENT_TYPE);
        line(media_type, &plain, omit_managed_fields)
    });
    (Response::from_parts(parts, Body::from(bytes)), written)
}

/// Returns the body before compression.
fn plain(headers: &HeaderMap, bytes: &Bytes) -> Result<Bytes, &'static str> {
    match text(headers, CONTENT_ENCODING) {
        "" => Ok(bytes.clone()),
        "gzip" => {
            let mut plain = Vec::new();
            let most = u64::try_from(LARGEST).unwrap_or(u64::MAX) + 1;
            let mut reader = GzDecoder::new(&**bytes).take(most);
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
        line(media_type, body.as_bytes(), omit).map(|line| String::from_utf8(line).unwrap())
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
        let large = format!("\"{}\"", "x".repeat(LARGEST));
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
    async fn the_answer_goes_out_as_it_was() {
        use std::io::Write as _;
        let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        zipped.write_all(b"{\"a\":1}").unwrap();
        let zipped = zipped.finish().unwrap();
        let response = Response::builder()
            .header(CONTENT_TYPE, "application/json")
            .header(CONTENT_ENCODING, "gzip")
            .body(Body::from(zipped.clone()))
            .unwrap();
        let (response, written) = of_response(response, false).await;
        assert_eq!(written.unwrap(), b"{\"a\":1}");
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), zipped);
    }
}
