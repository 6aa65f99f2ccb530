//! Answers to AdmissionReviews.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::{GroupResource, Status};
use serde_json::{Map, Value, json};

use super::{API_VERSION, KIND, Review};
use crate::chain::Chain;

/// Verdict of the plugins about a write.
struct Verdict {
    result: Result<(), Status>,
    /// JSON Patch (RFC 6902), if the plugins changed the object.
    patch: Option<Vec<u8>>,
    warnings: Vec<String>,
    annotations: Vec<(&'static str, String)>,
}

impl Review {
    /// Returns the answer of a mutating webhook: the changes of the plugins as a JSON Patch. Operations that
    /// store no object (delete and connect) are allowed.
    ///
    /// # Errors
    /// 500 when the patch cannot be serialized, which should not happen.
    pub fn mutate(&self, chain: &Chain, resource: GroupResource) -> Result<Value, Status> {
        let request = self.request(resource);
        if !self.stores_object() {
            return Ok(self.answer(Verdict::of(Ok(()))));
        }
        let mut object = self.object.clone();
        let mut warnings = Vec::new();
        let plugins = chain.plugins_for(&request);
        let result = plugins.mutate(&mut object, &mut warnings);
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

    /// Returns the answer of a validating webhook.
    #[must_use]
    pub fn validate(&self, chain: &Chain, resource: GroupResource) -> Value {
        let request = self.request(resource);
        let object = Some(&self.object).filter(|object| !object.is_null());
        let mut warnings = Vec::new();
        let plugins = chain.plugins_for(&request);
        let result = plugins.validate(object, &mut warnings);
        let annotations = match result {
            Ok(()) => plugins.annotations(object),
            Err(_) => Vec::new(),
        };
        self.answer(Verdict {
            warnings,
            annotations,
            ..Verdict::of(result)
        })
    }

    /// Returns the answer that allows the write, for a write that no plugin handles.
    #[must_use]
    pub fn allow(&self) -> Value {
        self.answer(Verdict::of(Ok(())))
    }

    /// Returns the answer that refuses the write with `status`, when the plugins could not run.
    #[must_use]
    pub fn refuse(&self, status: Status) -> Value {
        self.answer(Verdict::of(Err(status)))
    }

    fn stores_object(&self) -> bool {
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
        // kube-apiserver rejects an answer that has only one of patch and patchType.
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

/// Returns the JSON Patch that changes `before` to `after`; `None` when they are equal.
fn patch(before: &Value, after: &Value) -> Result<Option<Vec<u8>>, Status> {
    let patch = json_patch::diff(before, after);
    if patch.is_empty() {
        return Ok(None);
    }
    serde_json::to_vec(&patch)
        .map(Some)
        .map_err(|problem| Status::internal(problem.to_string()))
}

/// Returns the refusal of a review in an unsupported version. The answer has that version, so that the sender
/// can parse it.
#[must_use]
pub fn refused_version(api_version: &str, uid: &str) -> Value {
    let text = format!(
        "AdmissionReviews of {api_version} are not supported: set admissionReviewVersions of the webhook to [v1]"
    );
    json!({
        "apiVersion": api_version,
        "kind": KIND,
        "response": {"uid": uid, "allowed": false, "status": Status::bad_request(text)},
    })
}
