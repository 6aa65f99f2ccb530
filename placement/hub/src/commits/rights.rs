//! Check whether the hub refused a write because of a missing right. A refusal by admission has the same code
//! and reason, so that an access review about the rights of the writer has to tell the two apart.

use berth_apimachinery::StatusReason;
use berth_apimachinery::write::{CommitError, Write, WriteRefusal};
use http::Method;
use serde_json::json;

use super::HubCommitter;
use crate::wire::HubRequest;

/// Path of access reviews about the rights of the requesting user.
const SELF_REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

impl HubCommitter {
    /// Returns `refusal`, the hub's answer to `write` by `actor`. Where a right is missing, the reason
    /// becomes [`WriteRefusal::Forbidden`].
    pub(super) async fn explain_refusal(
        &self,
        actor: &str,
        write: &Write,
        refusal: CommitError,
    ) -> CommitError {
        if refusal.reason == WriteRefusal::Refused
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
        let request = HubRequest {
            method: Method::POST,
            path: SELF_REVIEWS,
            actor,
            body: Some(&review),
        };
        match self.wire.send(request).await {
            Ok(answer) => answer["status"]["allowed"] == false,
            // Every authenticated user may create this review, so that the refusal means that Berth may
            // not impersonate `actor`.
            Err(status) => status.is(StatusReason::Forbidden),
        }
    }
}
