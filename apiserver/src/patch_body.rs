//! The three patch formats, each with the limits and answers of kube-apiserver (facts/apiserver.md section 1.4).

use json_patch::jsonptr::Pointer;
use json_patch::{Patch, PatchOperation};
use meta::{Schema, Status};
use serde_json::Value;

use crate::decode::{self, DEPTH_LIMIT, depth, is_shallow};

/// More operations than this are refused.
const OPERATIONS_LIMIT: usize = 10_000;

/// All copied values of one patch together, in bytes.
const COPY_LIMIT: usize = 3 * 1024 * 1024;

/// A patch in one of the formats.
#[derive(Debug)]
pub(crate) enum PatchBody {
    /// RFC 6902.
    Json(Patch),
    /// RFC 7396.
    Merge(Value),
    /// Kubernetes' own, for kinds that say how lists merge.
    Strategic(Value),
}

/// What the patch in `bytes` makes of `value`, in the format that `media_type` names. Strategic merge patches need the
/// `schema` that says how lists merge.
///
/// # Errors
/// 400 for what is no patch, 413 for too many operations or too much that is copied, 415 for a format that is not taken,
/// 422 when an operation fails or the outcome is no object or nested too deeply.
pub fn patched(
    media_type: &str,
    bytes: &[u8],
    schema: Option<&Schema>,
    value: Value,
) -> Result<Value, Status> {
    let (patch, _) = PatchBody::parse(media_type, bytes, schema.is_some())?;
    patch.apply(schema, value)
}

/// The media types of patches.
const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: [&str; 2] = ["application/apply-patch+yaml", "application/apply-patch+cbor"];

impl PatchBody {
    /// Reads a patch of `media_type`, with the paths of fields that stand twice in it.
    ///
    /// # Errors
    /// 415 for a format that is not taken here, 413 for too many operations, 400 for what is no patch.
    pub(crate) fn parse(
        media_type: &str,
        bytes: &[u8],
        strategic: bool,
    ) -> Result<(Self, Vec<String>), Status> {
        match media_type {
            JSON => Ok((Self::Json(operations(bytes)?), Vec::new())),
            MERGE => object(bytes).map(|(value, duplicates)| (Self::Merge(value), duplicates)),
            STRATEGIC if strategic => {
                object(bytes).map(|(value, duplicates)| (Self::Strategic(value), duplicates))
            }
            apply if APPLY.contains(&apply) => Err(no_apply(strategic)),
            _ => Err(Status::unsupported_media_type(accepted(strategic))),
        }
    }

    /// `value` patched.
    ///
    /// # Errors
    /// 422 when an operation or a test fails, 400 when a directive is wrong.
    pub(crate) fn apply(&self, schema: Option<&Schema>, mut value: Value) -> Result<Value, Status> {
        match self {
            Self::Json(patch) => apply_operations(patch, &mut value)?,
            Self::Merge(patch) => json_patch::merge(&mut value, patch),
            Self::Strategic(patch) => match schema {
                Some(schema) => meta::strategic::apply(schema, &mut value, patch).map_err(|problem| {
                    Status::bad_request(format!("unable to apply the strategic merge patch: {problem}"))
                })?,
                None => return Err(Status::unsupported_media_type(accepted(false))),
            },
        }
        if !is_shallow(&value) {
            return Err(unprocessable(format!(
                "the patched object is nested deeper than {DEPTH_LIMIT} levels"
            )));
        }
        if value.is_object() {
            Ok(value)
        } else {
            Err(unprocessable("the patched object is no object".to_owned()))
        }
    }
}

fn accepted(strategic: bool) -> &'static [&'static str] {
    if strategic {
        &[JSON, MERGE, STRATEGIC]
    } else {
        &[JSON, MERGE]
    }
}

fn no_apply(strategic: bool) -> Status {
    let mut status = Status::unsupported_media_type(accepted(strategic));
    status.message = format!(
        "server-side apply is not supported by this server; use client-side apply (kubectl apply without \
         --server-side, helm with --server-side=false). {}",
        status.message
    );
    status
}

/// 422 without an object to blame, as kube-apiserver answers a patch that does not apply.
fn unprocessable(problem: String) -> Status {
    let text = "the server rejected our request due to an error in our request";
    Status::failure(422, "Invalid", format!("{text}: {problem}")).with_cause(
        "UnexpectedServerResponse",
        problem,
        "",
    )
}

fn operations(bytes: &[u8]) -> Result<Patch, Status> {
    let refuse = |problem: &dyn std::fmt::Display| {
        Status::bad_request(format!("error decoding JSON patch: {problem}"))
    };
    let value = decode::json(bytes)?.value;
    let Some(list) = value.as_array() else {
        return Err(refuse(&"a JSON patch must be an array of operations"));
    };
    if list.len() > OPERATIONS_LIMIT {
        let mut status = Status::too_large(OPERATIONS_LIMIT);
        status.message = format!(
            "The allowed maximum operations in a JSON patch is {OPERATIONS_LIMIT}, got {}",
            list.len()
        );
        return Err(status);
    }
    for (index, operation) in list.iter().enumerate() {
        serde::Deserialize::deserialize(operation)
            .map(|_: PatchOperation| ())
            .map_err(|problem| refuse(&format!("operation {index}: {problem}")))?;
    }
    serde_json::from_value(value).map_err(|problem| refuse(&problem))
}

fn object(bytes: &[u8]) -> Result<(Value, Vec<String>), Status> {
    let decoded = decode::json(bytes)?;
    if decoded.value.is_object() {
        return Ok((decoded.value, decoded.duplicates));
    }
    Err(Status::bad_request("error decoding patch: it must be an object"))
}

fn apply_operations(patch: &Patch, value: &mut Value) -> Result<(), Status> {
    let mut copied = 0;
    // An upper bound of the nesting, raised by what each operation could add and measured only when it seems too much:
    // copying a value into itself doubles the nesting, and deep values overflow the stack of whoever walks them.
    let mut bound = depth(value, DEPTH_LIMIT + 1);
    for (index, operation) in patch.0.iter().enumerate() {
        if let PatchOperation::Copy(copy) = operation {
            let size = value
                .pointer(copy.from.as_str())
                .map_or(0, |value| value.to_string().len());
            copied += size;
            if copied > COPY_LIMIT {
                return Err(unprocessable(format!(
                    "operation {index}: the values copied are over the limit of {COPY_LIMIT} bytes"
                )));
            }
        }
        if tests_absence(operation, value) {
            continue;
        }
        json_patch::patch_unsafe(value, std::slice::from_ref(operation)).map_err(|error| {
            unprocessable(format!(
                "operation {index} at {:?}: {}",
                error.path.as_str(),
                error.kind
            ))
        })?;
        bound = bound.max(depth_after(operation, bound));
        if bound > DEPTH_LIMIT {
            bound = depth(value, DEPTH_LIMIT + 1);
            if bound > DEPTH_LIMIT {
                return Err(unprocessable(format!(
                    "operation {index}: the object would be nested deeper than {DEPTH_LIMIT} levels"
                )));
            }
        }
    }
    Ok(())
}

/// Whether `operation` tests that a field is not there, and it is not: `null` stands for an absent field in a test, so
/// that a patch can add a map only where there is none.
fn tests_absence(operation: &PatchOperation, value: &Value) -> bool {
    let PatchOperation::Test(test) = operation else {
        return false;
    };
    let Some((parent, field)) = test.path.split_back() else {
        return false;
    };
    let parent = value.pointer(parent.as_str()).and_then(Value::as_object);
    test.value.is_null() && parent.is_some_and(|fields| !fields.contains_key(field.decoded().as_ref()))
}

/// How deep the object may be nested after `operation`, when it was `before` at most.
fn depth_after(operation: &PatchOperation, before: usize) -> usize {
    let steps = |pointer: &Pointer| pointer.count();
    match operation {
        PatchOperation::Add(add) => steps(&add.path) + depth_of(&add.value),
        PatchOperation::Replace(replace) => steps(&replace.path) + depth_of(&replace.value),
        PatchOperation::Move(from_to) => steps(&from_to.path) + before - steps(&from_to.from).min(before),
        PatchOperation::Copy(from_to) => steps(&from_to.path) + before - steps(&from_to.from).min(before),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => before,
    }
}

fn depth_of(value: &Value) -> usize {
    depth(value, DEPTH_LIMIT + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patch(text: &str, value: Value) -> Result<Value, Status> {
        PatchBody::parse(JSON, text.as_bytes(), false)?
            .0
            .apply(None, value)
    }

    #[test]
    fn a_failed_test_or_operation_is_unprocessable() {
        let value = json!({"spec": {"x": "yes"}});
        for text in [
            r#"[{"op":"test","path":"/spec/x","value":"no"}]"#,
            r#"[{"op":"remove","path":"/spec/y"}]"#,
            r#"[{"op":"add","path":"/a/b/c","value":1}]"#,
            r#"[{"op":"replace","path":"","value":1}]"#,
        ] {
            assert_eq!(patch(text, value.clone()).unwrap_err().code, 422, "{text}");
        }
        let text =
            r#"[{"op":"test","path":"/spec/x","value":"yes"},{"op":"add","path":"/spec/z","value":1}]"#;
        assert_eq!(patch(text, value).unwrap()["spec"]["z"], 1);
    }

    #[test]
    fn a_test_for_null_passes_where_the_field_is_absent() {
        let value = json!({"spec": {"x": "yes", "nothing": null}});
        for path in ["/spec/y", "/y", "/spec/nothing"] {
            let text = format!(r#"[{{"op":"test","path":"{path}","value":null}}]"#);
            assert!(patch(&text, value.clone()).is_ok(), "{path}");
        }
        for path in ["/spec/x", "/no/y", "/spec/x/y"] {
            let text = format!(r#"[{{"op":"test","path":"{path}","value":null}}]"#);
            assert_eq!(patch(&text, value.clone()).unwrap_err().code, 422, "{path}");
        }
    }

    #[test]
    fn what_is_no_patch_is_a_bad_request() {
        for text in [
            "{}",
            "[1]",
            r#"[{"op":"jump","path":"/a"}]"#,
            "[",
            r#"[{"op":"add","path":"a","value":1}]"#,
        ] {
            assert_eq!(patch(text, json!({})).unwrap_err().code, 400, "{text}");
        }
        assert_eq!(PatchBody::parse(MERGE, b"[]", false).unwrap_err().code, 400);
    }

    #[test]
    fn operations_copies_and_nesting_are_bounded() {
        let many = format!(
            "[{}]",
            vec![r#"{"op":"test","path":"","value":{}}"#; 10_001].join(",")
        );
        assert_eq!(patch(&many, json!({})).unwrap_err().code, 413);
        let doubling = vec![r#"{"op":"copy","from":"/a","path":"/a/-"}"#; 40].join(",");
        assert_eq!(
            patch(&format!("[{doubling}]"), json!({"a": ["x".repeat(1000)]}))
                .unwrap_err()
                .code,
            422
        );
        let deeper = vec![r#"{"op":"copy","from":"/a","path":"/a/0"}"#; 30].join(",");
        assert_eq!(
            patch(&format!("[{deeper}]"), json!({"a": []})).unwrap_err().code,
            422
        );
    }

    #[test]
    fn formats_that_are_not_taken_are_named() {
        let status = PatchBody::parse(STRATEGIC, b"{}", false).unwrap_err();
        assert_eq!(status.code, 415);
        assert!(
            status.message.contains(MERGE) && !status.message.contains(STRATEGIC),
            "{}",
            status.message
        );
        let status = PatchBody::parse(APPLY[0], b"{}", true).unwrap_err();
        assert_eq!(status.code, 415);
        assert!(
            status.message.contains("server-side apply is not supported"),
            "{}",
            status.message
        );
    }
}
