//! Answers of webhooks to an AdmissionReview, and their validation (docs/admission.md, "Policies and webhooks
//! of the hub").

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::{Details, Status};
use serde_json::{Map, Value};

use super::WebhookType;
use crate::wire::{API_VERSION, KIND};

/// The only supported `patchType`.
const JSON_PATCH: &str = "JSONPatch";

/// A valid answer of a webhook.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Whether the write is allowed.
    pub allowed: bool,
    /// Status that explains a refusal; fields of the status may be empty.
    pub status: Option<Status>,
    /// JSON Patch of a mutating webhook that allows the write; `None` if it has no operations.
    pub patch: Option<Vec<u8>>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit log, by key without a prefix.
    pub annotations: Vec<(String, String)>,
}

/// Reason why an answer is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAnswer(String);

/// Reads the body of the answer to the AdmissionReview with `uid`.
///
/// # Errors
/// When the answer is invalid: the first problem.
pub fn read(webhook_type: WebhookType, uid: &str, body: &[u8]) -> Result<Answer, BadAnswer> {
    parse(webhook_type, uid, body).map_err(BadAnswer)
}

fn parse(webhook_type: WebhookType, uid: &str, body: &[u8]) -> Result<Answer, String> {
    let review: Value =
        serde_json::from_slice(body).map_err(|problem| format!("it is not JSON: {problem}"))?;
    let (api_version, kind) = (text(&review["apiVersion"]), text(&review["kind"]));
    if (api_version, kind) != (API_VERSION, KIND) {
        return Err(format!(
            "it is {kind:?} of {api_version:?}, not the {KIND} of {API_VERSION} that was sent"
        ));
    }
    let response = &review["response"];
    if !response.is_object() {
        return Err("it has no response".to_owned());
    }
    let answer_uid = text(&response["uid"]);
    if answer_uid != uid {
        return Err(format!(
            "response.uid is {answer_uid:?}, not {uid:?} as in the request"
        ));
    }
    let Some(allowed) = response.get("allowed").map_or(Some(false), Value::as_bool) else {
        return Err("response.allowed is neither true nor false".to_owned());
    };
    let patch = match patch(webhook_type, response)? {
        Some(patch) if allowed => with_operations(patch)?,
        _ => None,
    };
    Ok(Answer {
        allowed,
        status: status(&response["status"])?,
        patch,
        warnings: warnings(&response["warnings"])?,
        annotations: annotations(&response["auditAnnotations"])?,
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Reads the patch. Only a mutating webhook may send one, together with its type.
fn patch(webhook_type: WebhookType, response: &Value) -> Result<Option<Vec<u8>>, String> {
    let (patch, r#type) = (&response["patch"], &response["patchType"]);
    if webhook_type == WebhookType::Validating {
        return match (patch.is_null(), r#type.is_null()) {
            (true, true) => Ok(None),
            (false, _) => {
                Err("it has a response.patch, but a validating webhook must not change the object".to_owned())
            }
            _ => Err(
                "it has a response.patchType, but a validating webhook must not change the object".to_owned(),
            ),
        };
    }
    let encoded = match patch {
        Value::Null => "",
        Value::String(text) => text,
        _ => return Err("response.patch is not a base64 string".to_owned()),
    };
    match (encoded.is_empty(), r#type) {
        (true, Value::Null) => Ok(None),
        (true, _) => Err("it has a response.patchType and no response.patch".to_owned()),
        (false, Value::Null) => Err("it has a response.patch and no response.patchType".to_owned()),
        (false, Value::String(known)) if known == JSON_PATCH => STANDARD
            .decode(encoded)
            .map(Some)
            .map_err(|problem| format!("response.patch is not base64: {problem}")),
        (false, other) => Err(format!(
            "response.patchType {other} is not supported, only {JSON_PATCH:?} is"
        )),
    }
}

/// Returns `patch` if it is a list of operations; `None` if the list is empty. As in kube-apiserver, unknown
/// operations are a problem of applying the patch, not of the answer.
fn with_operations(patch: Vec<u8>) -> Result<Option<Vec<u8>>, String> {
    let operations: Option<Vec<Map<String, Value>>> = serde_json::from_slice(&patch)
        .map_err(|problem| format!("response.patch is not a JSON Patch: {problem}"))?;
    let is_empty = operations.is_none_or(|operations| operations.is_empty());
    Ok((!is_empty).then_some(patch))
}

fn status(value: &Value) -> Result<Option<Status>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Object(fields) => {
            let details = match fields.get("details") {
                None | Some(Value::Null) => None,
                Some(details) => {
                    let read = serde_json::from_value::<Details>(details.clone());
                    Some(read.map_err(|problem| format!("response.status.details: {problem}"))?)
                }
            };
            let code = fields.get("code").and_then(Value::as_u64).unwrap_or_default();
            let code = u16::try_from(code)
                .map_err(|_| format!("response.status.code {code} is not an HTTP status code"))?;
            let message = text(&value["message"]);
            let mut status = Status::failure(code, text(&value["reason"]), message);
            status.details = details;
            Ok(Some(status))
        }
        _ => Err("response.status is not an object".to_owned()),
    }
}

fn warnings(value: &Value) -> Result<Vec<String>, String> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        _ => return Err("response.warnings must be a list of strings".to_owned()),
    };
    let texts: Option<Vec<String>> = list.iter().map(|one| one.as_str().map(str::to_owned)).collect();
    texts.ok_or_else(|| "response.warnings must be a list of strings".to_owned())
}

fn annotations(value: &Value) -> Result<Vec<(String, String)>, String> {
    let fields = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Object(fields) => fields,
        _ => return Err("response.auditAnnotations must be a map of strings".to_owned()),
    };
    let pairs = fields
        .iter()
        .map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    let pairs: Option<Vec<_>> = pairs.collect();
    pairs.ok_or_else(|| "response.auditAnnotations must be a map of strings".to_owned())
}
