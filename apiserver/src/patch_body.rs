//! The three patch formats, each with the limits and answers of kube-apiserver (docs/reference.md, "Writes
//! and patches").

use berth_apimachinery::budget::BudgetExceeded;
use berth_apimachinery::nesting::{DEPTH_LIMIT, is_shallow};
use berth_apimachinery::patch::{OPERATIONS_LIMIT, Problem, too_many};
use berth_apimachinery::{Schema, Status, strategic};
use json_patch::{Patch, PatchOperation};
use serde::Deserialize;
use serde_json::Value;

use crate::decode::{self, DecodedBody};

/// A patch in one of the formats.
#[derive(Debug)]
pub(crate) enum PatchBody {
    /// RFC 6902; or the error of a malformed operation, which is reported when the patch is applied, like the
    /// error of a failing operation.
    Json(Result<Patch, Box<Status>>),
    /// RFC 7396.
    Merge(Value),
    /// Kubernetes' strategic merge patch, for kinds with merge rules for lists.
    Strategic(Value),
}

/// Applies the patch in `bytes` to `value`, in the format that `media_type` names. Strategic merge patches
/// need the merge rules of `schema` for lists.
///
/// # Errors
/// 400 for a body that is not a patch or has a wrong directive, 413 for too many operations, 415 for an
/// unknown format, 422 when an operation fails, the patch exceeds its budget, or the result is not an object
/// or nested too deeply, 504 when the client no longer waits.
pub fn patched(
    media_type: &str,
    bytes: &[u8],
    schema: Option<&Schema>,
    value: Value,
) -> Result<Value, Status> {
    let formats = Formats {
        strategic: schema.is_some(),
        apply: false,
    };
    let (patch, _) = PatchBody::parse(media_type, bytes, formats)?;
    patch.apply(schema, value)
}

// Media types of patches.
const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// Formats that a resource accepts in addition to JSON patch and merge patch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formats {
    pub(crate) strategic: bool,
    /// Whether server-side apply is supported, whose bodies `handlers::apply` parses.
    pub(crate) apply: bool,
}

impl PatchBody {
    /// Parses a patch of `media_type`, and returns the problems that field validation reports: duplicate
    /// fields, and unknown fields of operations.
    ///
    /// # Errors
    /// 415 for a format that is not accepted, 413 for too many operations, 400 for a body that is not a
    /// patch.
    pub(crate) fn parse(
        media_type: &str,
        bytes: &[u8],
        formats: Formats,
    ) -> Result<(Self, Vec<String>), Status> {
        match media_type {
            JSON => operations(bytes).map(|(patch, problems)| (Self::Json(patch), problems)),
            MERGE => object(bytes).map(|(value, problems)| (Self::Merge(value), problems)),
            STRATEGIC if formats.strategic => {
                object(bytes).map(|(value, problems)| (Self::Strategic(value), problems))
            }
            _ => Err(Status::unsupported_media_type(&formats.accepted())),
        }
    }

    /// Whether the patch may read or change `metadata.managedFields`.
    pub(crate) fn is_about_managers(&self) -> bool {
        match self {
            Self::Json(Err(_)) => false,
            Self::Json(Ok(Patch(operations))) => {
                let whole = ["", "/metadata"];
                let about = |path: &str| whole.contains(&path) || path.starts_with("/metadata/managedFields");
                operations.iter().any(|operation| match operation {
                    PatchOperation::Copy(copy) => about(copy.from.as_str()) || about(copy.path.as_str()),
                    PatchOperation::Move(moved) => about(moved.from.as_str()) || about(moved.path.as_str()),
                    other => about(other.path().as_str()),
                })
            }
            Self::Merge(patch) => match patch.get("metadata") {
                Some(Value::Object(metadata)) => metadata.contains_key("managedFields"),
                metadata => metadata.is_some(),
            },
            // Directives are fields that begin with `$`: `$patch`, `$setElementOrder/managedFields` and
            // others.
            Self::Strategic(patch) => match patch.get("metadata") {
                Some(Value::Object(metadata)) => metadata
                    .keys()
                    .any(|name| name.starts_with('$') || name.ends_with("managedFields")),
                metadata => metadata.is_some() || patch.get("$patch").is_some(),
            },
        }
    }

    /// Applies the patch to `value`.
    ///
    /// # Errors
    /// 422 when an operation or a test fails, the patch exceeds its budget, or the result is not an object or
    /// nested too deeply; 400 when a directive is wrong; 415 for a strategic merge patch without `schema`;
    /// 504 when the client no longer waits.
    pub(crate) fn apply(&self, schema: Option<&Schema>, mut value: Value) -> Result<Value, Status> {
        match self {
            Self::Json(patch) => {
                let patch = patch.as_ref().map_err(|status| (**status).clone())?;
                berth_apimachinery::patch::apply(patch, &mut value, &mut berth_apimachinery::patch::budget())
                    .map_err(of_json)?;
            }
            Self::Merge(patch) => json_patch::merge(&mut value, patch),
            Self::Strategic(patch) => match schema {
                Some(schema) => {
                    let mut budget = strategic::budget();
                    strategic::apply(schema, &mut value, patch, &mut budget).map_err(of_strategic)?;
                }
                None => return Err(Status::unsupported_media_type(&[JSON, MERGE])),
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
            Err(unprocessable(
                "the result of the patch must be an object".to_owned(),
            ))
        }
    }
}

impl Formats {
    fn accepted(self) -> Vec<&'static str> {
        let further = [(self.strategic, STRATEGIC), (self.apply, APPLY)];
        let further = further.into_iter().filter(|(is_accepted, _)| *is_accepted);
        [JSON, MERGE]
            .into_iter()
            .chain(further.map(|(_, format)| format))
            .collect()
    }
}

/// Returns the error 422, without an object: kube-apiserver's answer to a patch that cannot be applied.
fn unprocessable(problem: String) -> Status {
    let text = "the server rejected our request due to an error in our request";
    Status::failure(422, "Invalid", format!("{text}: {problem}")).with_cause(
        "UnexpectedServerResponse",
        problem,
        "",
    )
}

fn of_json(problem: Problem) -> Status {
    match problem {
        Problem::Exceeded(BudgetExceeded::Abandoned) => BudgetExceeded::Abandoned.into(),
        problem => unprocessable(problem.to_string()),
    }
}

fn of_strategic(problem: Problem) -> Status {
    match problem {
        Problem::Failed(problem) | Problem::TestFailed(problem) => {
            Status::bad_request(format!("unable to apply the strategic merge patch: {problem}"))
        }
        Problem::Exceeded(exceeded) => exceeded.into(),
    }
}

/// Fields of an operation of a JSON patch.
const FIELDS: [&str; 4] = ["op", "path", "from", "value"];

type Operations = Result<Patch, Box<Status>>;

fn operations(bytes: &[u8]) -> Result<(Operations, Vec<String>), Status> {
    let refuse = |problem: &dyn std::fmt::Display| {
        Status::bad_request(format!("error decoding JSON patch: {problem}"))
    };
    let DecodedBody { value, duplicates } = decode::json(bytes)?;
    let Some(list) = value.as_array() else {
        // The body `null` has no operations.
        return match value {
            Value::Null => Ok((Ok(Patch(Vec::new())), Vec::new())),
            _ => Err(refuse(&"a JSON patch must be an array of operations")),
        };
    };
    if list.len() > OPERATIONS_LIMIT {
        let mut status = Status::too_large(OPERATIONS_LIMIT);
        status.message = too_many(list.len());
        return Err(status);
    }
    if let Some(index) = list.iter().position(|operation| !operation.is_object()) {
        return Err(refuse(&format!("operation {index} must be an object")));
    }
    let operations = list.iter().enumerate().map(|(index, operation)| {
        PatchOperation::deserialize(operation)
            .map_err(|problem| Box::new(unprocessable(format!("operation {index}: {problem}"))))
    });
    let operations = operations.collect::<Result<_, _>>().map(Patch);
    Ok((operations, strict_problems(list, &duplicates)))
}

/// Returns the duplicate and unknown fields of operations, for field validation; at most
/// [`decode::MAX_REPORTED`].
fn strict_problems(list: &[Value], duplicates: &[String]) -> Vec<String> {
    let unknown = list.iter().enumerate().flat_map(|(index, operation)| {
        let names = operation.as_object().into_iter().flatten().map(|(name, _)| name);
        let unknown = names.filter(|name| !FIELDS.contains(&name.as_str()));
        unknown.map(move |name| format!("unknown field \"[{index}].{name}\""))
    });
    let problems = decode::duplicate_fields(duplicates).into_iter().chain(unknown);
    problems
        .take(decode::MAX_REPORTED)
        .map(|problem| format!("json patch {problem}"))
        .collect()
}

fn object(bytes: &[u8]) -> Result<(Value, Vec<String>), Status> {
    let decoded = decode::json(bytes)?;
    if decoded.value.is_object() {
        return Ok((decoded.value, decode::duplicate_fields(&decoded.duplicates)));
    }
    Err(Status::bad_request(
        "error decoding patch: the patch must be a JSON object",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Formats = Formats {
        strategic: false,
        apply: false,
    };

    fn patch(text: &str, value: Value) -> Result<Value, Status> {
        PatchBody::parse(JSON, text.as_bytes(), PLAIN)?
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
        for text in ["{}", "[1]", "[", "5"] {
            assert_eq!(patch(text, json!({})).unwrap_err().code, 400, "{text}");
        }
        assert_eq!(PatchBody::parse(MERGE, b"[]", PLAIN).unwrap_err().code, 400);
    }

    #[test]
    fn an_operation_that_is_none_is_unprocessable_and_null_is_no_operation() {
        for text in [
            r#"[{"op":"jump","path":"/a"}]"#,
            r#"[{"op":"add","path":"a","value":1}]"#,
            "[{}]",
        ] {
            let status = patch(text, json!({})).unwrap_err();
            assert_eq!(status.code, 422, "{text}");
            assert!(status.message.contains("operation 0: "), "{}", status.message);
        }
        let value = json!({"spec": {"x": "yes"}});
        assert_eq!(patch("null", value.clone()).unwrap(), value);
    }

    #[test]
    fn fields_that_operations_do_not_have_or_have_twice_are_told_where_they_stand() {
        let text = r#"[{"op":"add","path":"/a","value":{"x":1,"x":2,"y":3}},
            {"op":"remove","op":"test","path":"/a","nope":1,"OP":"x"}]"#;
        let (_, problems) = PatchBody::parse(JSON, text.as_bytes(), PLAIN).unwrap();
        let expected = [
            r#"json patch duplicate field "[0].value.x""#,
            r#"json patch duplicate field "[1].op""#,
            r#"json patch unknown field "[1].OP""#,
            r#"json patch unknown field "[1].nope""#,
        ];
        assert_eq!(problems, expected);
        let many = vec![r#"{"op":"test","path":"","value":{},"nope":1}"#; 1000].join(",");
        let (_, problems) = PatchBody::parse(JSON, format!("[{many}]").as_bytes(), PLAIN).unwrap();
        assert_eq!(problems.len(), decode::MAX_REPORTED);
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
        let status = PatchBody::parse(STRATEGIC, b"{}", PLAIN).unwrap_err();
        assert_eq!(status.code, 415);
        assert!(
            status.message.contains(MERGE) && !status.message.contains(STRATEGIC),
            "{}",
            status.message
        );
        let all = Formats {
            strategic: true,
            apply: true,
        };
        let status = PatchBody::parse("application/apply-patch+cbor", b"{}", all).unwrap_err();
        assert_eq!(status.code, 415);
        assert!(status.message.contains(APPLY), "{}", status.message);
    }
}
