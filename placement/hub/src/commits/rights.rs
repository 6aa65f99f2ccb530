//! Check whether the hub refused a write because of a missing right. A refusal by admission has the
//! same code and reason, so that an access review about the writer's rights decides.

use berth_apimachinery::StatusReason;
use berth_apimachinery::write::{CommitError, Write, WriteRefusal};
use http::Method;
use serde_json::json;

use super::HubCommitter;
use crate::wire::Ask;

/// Path of access reviews of a user's own rights.
const SELF_REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

impl HubCommitter {
    /// Returns the hub's `refusal` of a `write` by `actor`, with [`WriteRefusal::Forbidden`] as its reason
    /// where a right is missing.
    pub(super) async fn explained(&self, actor: &str, write: &Write, refusal: CommitError) -> CommitError {
        if refusal.why == WriteRefusal::Refused
            && refusal.status.is(StatusReason::Forbidden)
            && self.lacks_right(actor, write).await
        {
            return CommitError::new(WriteRefusal::Forbidden, refusal.status);
        }
        refusal
    }

    /// Whether `actor` has no right to make `write`, or Berth has no right to impersonate `actor`.
    async fn lacks_right(&self, actor: &str, write: &Write) -> bool {
        // A deletion has no object and no apiVersion, which only a subresource would need.
        let api_version = write.object["apiVersion"].as_str().unwrap_or_default();
        let Ok(subresource) = self.subresource_path(api_version, write).await else {
            return false;
        };
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {
                "verb": write.verb.as_str(),
                "group": write.key.resource.group,
                "resource": write.key.resource.resource,
                "subresource": subresource.trim_start_matches('/'),
                "namespace": write.key.namespace,
                "name": write.key.name,
            }},
        });
        let ask = Ask {
            method: Method::POST,
            path: SELF_REVIEWS,
            actor,
            body: Some(&review),
        };
        match self.wire.send(ask).await {
            Ok(answer) => answer["status"]["allowed"] == false,
            // Every authenticated user may create this review, so that the refusal means that Berth may
            // not impersonate `actor`.
            Err(status) => status.is(StatusReason::Forbidden),
        }
    }
}
