//! Subject of a review, parsed without parsing its objects.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{API_VERSION, KIND};

/// Subject of a review: the `uid` of the review, and the written resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Identifier of the review, which the answer must repeat.
    uid: String,
    /// API group of the resource; empty for the core group.
    pub group: String,
    /// Plural name of the resource.
    pub resource: String,
}

/// Fields of a review that are parsed; the parser skips all others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    api_version: String,
    kind: String,
    request: ReviewRequest,
}

#[derive(Deserialize)]
struct ReviewRequest {
    uid: String,
    resource: RequestResource,
}

#[derive(Deserialize)]
struct RequestResource {
    #[serde(default)]
    group: String,
    resource: String,
}

impl Subject {
    /// Parses the subject of the review in `body`. `None` where the review is malformed or has another
    /// version: [`read`](super::read) returns the reason.
    #[must_use]
    pub fn of(body: &[u8]) -> Option<Self> {
        let envelope: Envelope = serde_json::from_slice(body).ok()?;
        let ReviewRequest { uid, resource } = envelope.request;
        let is_valid = envelope.api_version == API_VERSION && envelope.kind == KIND && !uid.is_empty();
        is_valid.then_some(Self {
            uid,
            group: resource.group,
            resource: resource.resource,
        })
    }

    /// Returns the answer that allows the write, for a write that no plugin handles.
    #[must_use]
    pub fn allow(&self) -> Value {
        let response = json!({"uid": self.uid, "allowed": true});
        json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
    }
}
