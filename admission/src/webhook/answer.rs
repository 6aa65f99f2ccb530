//! Answers to an AdmissionReview.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::{GroupResource, Status};
use serde_json::{Map, Value, json};

use super::{API_VERSION, KIND, Review};
use crate::chain::Chain;
use crate::request::Request;

/// Verdict about a write.
struct Verdict {
    result: Result<(), Status>,
    /// RFC 6902 operations, when the object has to change.
    patch: Option<Vec<u8>>,
    warnings: Vec<String>,
    annotations: Vec<(&'static str, String)>,
}

impl Review {
    /// The answer of a mutating webhook: the plugins' changes as a JSON Patch. Operations without an object
    /// of their own to store (delete, connect) are allowed.
    ///
    /// # Errors
    /// 500 when the patch cannot be serialized, which is not known to happen.
    pub fn mutate(&self, chain: &Chain, resource: GroupResource) -> Result<Value, Status> {
        let request = self.request(resource);
        if !self.stores() {
            return Ok(self.answer(Verdict::of(Ok(()))));
        }
        let mut object = self.object.clone();
        let mut warnings = Vec::new();
        let result = chain.mutate(&request, &mut object, &mut warnings);
        let patch = match result {
            Ok(()) => patch(&self.object, &object)?,
            Err(_) => None,
        };
        Ok(self.answer(Verdict {
            patch,
            warnings,
            ..Verdict::of(result)
        }))
    }

    /// The answer of a validating webhook.
    #[must_use]
    pub fn validate(&self, chain: &Chain, resource: GroupResource) -> Value {
        let request = self.request(resource);
        let object = Some(&self.object).filter(|object| !object.is_null());
        let mut warnings = Vec::new();
        let result = chain.validate(&request, object, &mut warnings);
        let annotations = annotations(chain, &request, object, &result);
        self.answer(Verdict {
            warnings,
            annotations,
            ..Verdict::of(result)
        })
    }

    /// The answer when no plugin handles the write.
    #[must_use]
    pub fn allow(&self) -> Value {
        self.answer(Verdict::of(Ok(())))
    }

    /// The answer when the review could not be judged.
    #[must_use]
    pub fn refuse(&self, status: Status) -> Value {
        self.answer(Verdict::of(Err(status)))
    }

    fn stores(&self) -> bool {
        use crate::request::Operation::{Create, Update};
        matches!(self.operation, Create | Update)
    }

    fn answer(&self, verdict: Verdict) -> Value {
        let mut response = Map::new();
        response.insert("uid".to_owned(), self.uid.as_str().into());
        response.insert("allowed".to_owned(), verdict.result.is_ok().into());
        if let Err(status) = verdict.result {
            response.insert("status".to_owned(), json!(status));
        }
        // A patch and its type come together: a patch without a type, or in a validating answer, fails the
        // call.
        if let Some(patch) = verdict.patch {
            response.insert("patchType".to_owned(), "JSONPatch".into());
            response.insert("patch".to_owned(), STANDARD.encode(patch).into());
        }
        if !verdict.warnings.is_empty() {
            response.insert("warnings".to_owned(), verdict.warnings.into());
        }
        if !verdict.annotations.is_empty() {
            let map: Map<String, Value> = verdict
                .annotations
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.into()))
                .collect();
            response.insert("auditAnnotations".to_owned(), map.into());
        }
        json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
    }
}

impl Verdict {
    fn of(result: Result<(), Status>) -> Self {
        Self {
            result,
            patch: None,
            warnings: Vec::new(),
            annotations: Vec::new(),
        }
    }
}

fn annotations(
    chain: &Chain,
    request: &Request<'_>,
    object: Option<&Value>,
    result: &Result<(), Status>,
) -> Vec<(&'static str, String)> {
    match result {
        Ok(()) => chain.annotations(request, object),
        Err(_) => Vec::new(),
    }
}

/// The operations from `before` to `after`; `None` when they are equal.
fn patch(before: &Value, after: &Value) -> Result<Option<Vec<u8>>, Status> {
    let patch = json_patch::diff(before, after);
    if patch.is_empty() {
        return Ok(None);
    }
    serde_json::to_vec(&patch)
        .map(Some)
        .map_err(|problem| Status::internal(problem.to_string()))
}

/// The answer to a review of an unsupported version, in that version, so that the sender can parse it.
#[must_use]
pub fn refused_version(api_version: &str, uid: &str) -> Value {
    let text = format!(
        "AdmissionReviews of {api_version} are not understood here: admissionReviewVersions of the webhook must be [v1]"
    );
    json!({
        "apiVersion": api_version,
        "kind": KIND,
        "response": {"uid": uid, "allowed": false, "status": Status::bad_request(text)},
    })
}
