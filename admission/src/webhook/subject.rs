//! Subject of a review, parsed without building trees of its objects.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{API_VERSION, KIND};

/// Subject of a review: its `uid` and the written resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Identifier that the answer must repeat.
    uid: String,
    /// The API group of the resource.
    pub group: String,
    /// The plural resource.
    pub resource: String,
}

/// The parsed fields of a review; the parser skips all others.
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
    /// Subject of the review in `body`. `None` where the review is malformed or of another version:
    /// [`read`](super::read) finds out which.
    #[must_use]
    pub fn of(body: &[u8]) -> Option<Self> {
        let envelope: Envelope = serde_json::from_slice(body).ok()?;
        let ReviewRequest { uid, resource } = envelope.request;
        let is_plain = envelope.api_version == API_VERSION && envelope.kind == KIND && !uid.is_empty();
        is_plain.then_some(Self {
            uid,
            group: resource.group,
            resource: resource.resource,
        })
    }

    /// The answer when no plugin handles the write.
    #[must_use]
    pub fn allow(&self) -> Value {
        let response = json!({"uid": self.uid, "allowed": true});
        json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
    }
}
