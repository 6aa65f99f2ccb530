//! Decoding of request bodies to JSON values: from JSON, YAML, and the protobuf that the program's [`Codec`]
//! supports.

mod check;

use berth_apimachinery::json::Document;
use berth_apimachinery::nesting::{DEPTH_LIMIT, is_shallow};
use berth_apimachinery::{Status, UnknownFields};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use crate::{memory, yaml};

pub(crate) use berth_apimachinery::json::Doubles;
pub(crate) use check::{
    ExpectedType, MAX_REPORTED, check_fields, duplicate_fields, identify, metadata_types, own_types,
};

/// Codec for Kubernetes' protobuf, for the kinds whose messages a program knows: it decodes bodies, and
/// encodes the messages of answers.
pub trait Codec: Send + Sync + 'static {
    /// Decodes the object in `bytes`, with `apiVersion` and `kind`; `None` when the message is unknown, which
    /// is answered with 415.
    ///
    /// # Errors
    /// The syntax error and its place, which the client receives with a 400.
    fn decode(&self, bytes: &[u8]) -> Option<Result<Value, String>>;

    /// Returns the approximate size in bytes of the tree of values that [`Codec::decode`] makes from `bytes`,
    /// without making it: the size is charged to the sender first. [`crate::memory::Values`] counts the values
    /// of the tree.
    fn tree_size(&self, bytes: &[u8]) -> usize;

    /// Whether the codec knows the message of the objects of `kind`, so that clients may request protobuf.
    fn has_message(&self, api_version: &str, kind: &str) -> bool;

    /// Returns the fields of `object` that the kind does not have, and that `before` does not have at the
    /// same path: the paths of the first fields, at most `limit`, and the number of the others. `None` when
    /// the codec does not know the kind's fields; the kind's schema is then used.
    fn unknown_fields(
        &self,
        _api_version: &str,
        _kind: &str,
        _object: &Value,
        _before: &Value,
        _limit: usize,
    ) -> Option<UnknownFields> {
        None
    }

    /// Encodes the message of `object`, without an envelope; `None` when the message is unknown. The first
    /// field of the message is the metadata.
    fn message(&self, api_version: &str, kind: &str, object: &Value) -> Option<Vec<u8>>;
}

/// Media type of Kubernetes' protobuf.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A decoded body.
#[derive(Debug, PartialEq)]
pub(crate) struct DecodedBody {
    /// The decoded value. Of duplicate fields, the last counts.
    pub(crate) value: Value,
    /// The paths of duplicate fields.
    pub(crate) duplicates: Vec<String>,
}

/// Media types that a 415 lists, with protobuf if `protobuf` is set.
fn accepted(protobuf: bool) -> Vec<&'static str> {
    let types = [
        ("application/json", true),
        ("application/yaml", yaml::SUPPORTED),
        (PROTOBUF, protobuf),
    ];
    types
        .into_iter()
        .filter_map(|(name, is_supported)| is_supported.then_some(name))
        .collect()
}

/// The media type of a body, without parameters; JSON if the header is missing.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let text = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = text
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if essence.is_empty() {
        "application/json".to_owned()
    } else {
        essence
    }
}

/// Returns the approximate size in bytes of the tree of values that a body is decoded to.
pub(crate) fn tree_size(codec: Option<&dyn Codec>, headers: &HeaderMap, bytes: &[u8]) -> usize {
    match codec {
        Some(codec) if media_type(headers) == PROTOBUF => codec.tree_size(bytes),
        _ => memory::tree_size(bytes),
    }
}

/// Decodes the body of a create, an update or a delete. `doubles` applies only to JSON, and decides whether
/// whole numbers in double notation (`1.0`) stay doubles.
pub(crate) fn body(
    codec: Option<&dyn Codec>,
    headers: &HeaderMap,
    bytes: &[u8],
    doubles: Doubles,
) -> Result<DecodedBody, Status> {
    let decoded = match media_type(headers).as_str() {
        "application/json" => json_with(bytes, doubles),
        "application/yaml" | "application/x-yaml" | "text/yaml" if yaml::SUPPORTED => read_yaml(bytes),
        PROTOBUF => {
            let value = codec.and_then(|codec| codec.decode(bytes));
            let value = value.ok_or_else(|| Status::unsupported_media_type(&accepted(false)))?;
            let value = value.map_err(|problem| {
                Status::bad_request(format!("unable to decode the body as protobuf: {problem}"))
            })?;
            if !is_shallow(&value) {
                return Err(Status::bad_request(too_deep()));
            }
            Ok(DecodedBody {
                value,
                duplicates: Vec::new(),
            })
        }
        _ => return Err(Status::unsupported_media_type(&accepted(codec.is_some()))),
    }?;
    if decoded.value.is_object() {
        return Ok(decoded);
    }
    Err(Status::bad_request(
        "the body must be an object with apiVersion, kind and metadata",
    ))
}

/// Parses JSON; syntax errors have the line and column.
pub(crate) fn json(bytes: &[u8]) -> Result<DecodedBody, Status> {
    json_with(bytes, Doubles::AsInteger)
}

fn json_with(bytes: &[u8], doubles: Doubles) -> Result<DecodedBody, Status> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Status::bad_request("the body is empty; an object is required"));
    }
    let Document { value, duplicates } = berth_apimachinery::json::document(bytes, doubles)
        .map_err(|problem| Status::bad_request(format!("unable to decode the body as JSON: {problem}")))?;
    Ok(DecodedBody { value, duplicates })
}

/// Parses the configuration of an apply: YAML, which includes JSON. An empty body and `null` count as
/// an object without fields.
pub(crate) fn apply_configuration(bytes: &[u8]) -> Result<DecodedBody, Status> {
    let refuse = |problem: &str| Status::bad_request(format!("error decoding YAML: {problem}"));
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    // JSON is valid YAML, but the YAML parser is many times slower.
    let decoded = match first {
        None => DecodedBody {
            value: Value::Object(serde_json::Map::new()),
            duplicates: Vec::new(),
        },
        Some(b'{') => json(bytes)
            .or_else(|problem| {
                if yaml::SUPPORTED {
                    read_yaml(bytes)
                } else {
                    Err(problem)
                }
            })
            .map_err(|status| refuse(&status.message))?,
        Some(_) => read_yaml(bytes).map_err(|status| refuse(&status.message))?,
    };
    match decoded.value {
        Value::Object(_) => Ok(decoded),
        Value::Null => Ok(DecodedBody {
            value: Value::Object(serde_json::Map::new()),
            ..decoded
        }),
        _ => Err(refuse("the configuration must be an object")),
    }
}

/// Parses one YAML document; syntax errors have the line and column.
pub(crate) fn read_yaml(bytes: &[u8]) -> Result<DecodedBody, Status> {
    let refuse =
        |problem: String| Status::bad_request(format!("unable to decode the body as YAML: {problem}"));
    let text = std::str::from_utf8(bytes).map_err(|problem| refuse(problem.to_string()))?;
    let Document { value, duplicates } = yaml::document(text).map_err(refuse)?;
    Ok(DecodedBody { value, duplicates })
}

fn too_deep() -> String {
    format!("the object is nested deeper than {DEPTH_LIMIT} levels")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicate_fields_are_found_with_their_paths() {
        let decoded = json(br#"{"a":1,"b":[{"c":1,"c":2}],"a":{"x":0}}"#).unwrap();
        assert_eq!(decoded.value, json!({"a": {"x": 0}, "b": [{"c": 2}]}));
        assert_eq!(decoded.duplicates, ["b[0].c", "a"]);
        let decoded = read_yaml(b"a: 1\nb:\n- c: 1\n  c: 2\na: {x: 0}\n").unwrap();
        assert_eq!(decoded.value, json!({"a": {"x": 0}, "b": [{"c": 2}]}));
        assert_eq!(decoded.duplicates, ["b[0].c", "a"]);
    }

    #[test]
    fn malformed_text_says_where() {
        let text = json(b"{\"a\": 1,\n oops}").unwrap_err().message;
        assert!(text.contains("line 2 column 2"), "{text}");
        let text = read_yaml(b"a: 1\n  b: [\n").unwrap_err().message;
        assert!(text.contains("line"), "{text}");
        assert!(json(b"").unwrap_err().message.contains("empty"));
        assert!(json(b"{} x").unwrap_err().message.contains("trailing"));
    }

    #[test]
    fn one_document_only_and_no_bombs() {
        assert!(read_yaml(b"a: 1\n---\nb: 2\n").is_err());
        assert!(read_yaml(b"a: 1\n---\nb: [\n").is_err());
        let bomb = format!(
            "a: &a [{}]\nb: &b [{}]\nc: &c [{}]\nd: &d [{}]\ne: &e [{}]\nf: [{}]\n",
            "x,".repeat(50),
            "*a,".repeat(50),
            "*b,".repeat(50),
            "*c,".repeat(50),
            "*d,".repeat(50),
            "*e,".repeat(50)
        );
        assert!(read_yaml(bomb.as_bytes()).is_err());
        let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
        assert!(json(deep.as_bytes()).unwrap_err().message.contains("nested"));
        assert!(read_yaml(deep.as_bytes()).is_err());
        let deeper = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(json(deeper.as_bytes()).is_err());
        assert!(read_yaml(deeper.as_bytes()).is_err());
    }

    #[test]
    fn scalars_keep_the_types_kubernetes_gives_them() {
        let decoded = read_yaml(
            b"a: yes\nb: true\nc: 1.5\nd: 2021-10-28T08:31:39Z\ne: \"1\"\nf: ~\n1: x\ng: 0x10\nh: 017\n",
        )
        .unwrap();
        assert_eq!(decoded.value["a"], true);
        assert_eq!(decoded.value["b"], true);
        assert_eq!(decoded.value["c"], 1.5);
        assert_eq!(decoded.value["d"], "2021-10-28T08:31:39Z");
        assert_eq!(decoded.value["e"], "1");
        assert_eq!(decoded.value["f"], Value::Null);
        assert_eq!(decoded.value["1"], "x");
        assert_eq!(decoded.value["g"], 16);
        assert_eq!(decoded.value["h"], 15);
    }
}
