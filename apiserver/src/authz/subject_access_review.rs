//! Authorization by another API server, through SubjectAccessReview.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use berth_apimachinery::Clock;
use berth_apimachinery::selector::{Operator, Requirement};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::auth::{Access, Attributes, Authorizer, SelectorScope};
use crate::delegation::{self, AnswerCache, DelegationError, Reviewer};

/// Path for creating SubjectAccessReviews.
pub const PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Size of the largest spec whose answer is cached, in bytes: otherwise a client could fill the memory with
/// long invented names.
const MAX_CACHED_SPEC_BYTES: usize = 10_000;

/// Authorizer that sends SubjectAccessReviews, and caches the answers. Without an answer it returns an error,
/// so that authorization never fails open.
pub struct SubjectAccessReviews {
    reviewer: Arc<dyn Reviewer>,
    answers: AnswerCache<String, Access>,
    allowed_time: Duration,
    refused_time: Duration,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    allowed: bool,
    denied: bool,
    reason: String,
}

impl SubjectAccessReviews {
    /// Creates an authorizer that sends reviews to `reviewer`. It caches permissions for `allowed_time`, and
    /// other answers for `refused_time`.
    pub fn new(
        reviewer: Arc<dyn Reviewer>,
        allowed_time: Duration,
        refused_time: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            reviewer,
            answers: AnswerCache::new(clock),
            allowed_time,
            refused_time,
        }
    }

    /// Sends a review, and returns the answer.
    async fn ask(&self, spec: Value) -> Result<Access, DelegationError> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": spec,
        });
        let answer = delegation::ask(&*self.reviewer, PATH, &review).await?;
        let malformed = |problem: serde_json::Error| DelegationError::Malformed {
            review: "SubjectAccessReview",
            problem: problem.to_string(),
        };
        let status = Status::deserialize(&answer["status"]).map_err(malformed)?;
        match (status.allowed, status.denied) {
            (true, true) => Err(DelegationError::Contradiction),
            (true, false) => Ok(Access::Allow(status.reason)),
            (false, true) => Ok(Access::Deny(status.reason)),
            (false, false) => Ok(Access::NoOpinion(status.reason)),
        }
    }
}

#[async_trait]
impl Authorizer for SubjectAccessReviews {
    async fn authorize(&self, attributes: &Attributes) -> Result<Access, DelegationError> {
        let spec = spec(attributes);
        // Maps are sorted, so equal specs have equal texts.
        let text = spec.to_string();
        if text.len() > MAX_CACHED_SPEC_BYTES {
            return self.ask(spec).await;
        }
        let cache_time = |access: &Access| {
            if access.is_allowed() {
                self.allowed_time
            } else {
                self.refused_time
            }
        };
        self.answers.get(text, cache_time, self.ask(spec)).await
    }
}

/// Returns the spec of the review for `attributes`.
fn spec(attributes: &Attributes) -> Value {
    let user = &attributes.user;
    let mut spec = Map::new();
    spec.insert("user".to_owned(), json!(user.name));
    if !user.uid.is_empty() {
        spec.insert("uid".to_owned(), json!(user.uid));
    }
    if !user.groups.is_empty() {
        spec.insert("groups".to_owned(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        spec.insert("extra".to_owned(), json!(user.extra));
    }
    if !attributes.is_resource {
        let review_attributes = json!({"path": attributes.path, "verb": attributes.verb});
        spec.insert("nonResourceAttributes".to_owned(), review_attributes);
        return Value::Object(spec);
    }
    let mut review_attributes = Map::new();
    for (key, value) in [
        ("namespace", &attributes.namespace),
        ("verb", &attributes.verb),
        ("group", &attributes.group),
        ("version", &attributes.version),
        ("resource", &attributes.resource),
        ("subresource", &attributes.subresource),
        ("name", &attributes.name),
    ] {
        if !value.is_empty() {
            review_attributes.insert(key.to_owned(), json!(value));
        }
    }
    let SelectorScope { fields, labels } = &attributes.selected;
    for (key, requirements) in [("fieldSelector", fields), ("labelSelector", labels)] {
        let requirements: Vec<Value> = requirements.iter().filter_map(requirement).collect();
        if !requirements.is_empty() {
            review_attributes.insert(key.to_owned(), json!({"requirements": requirements}));
        }
    }
    spec.insert("resourceAttributes".to_owned(), Value::Object(review_attributes));
    Value::Object(spec)
}

/// Returns a requirement in the form of reviews; `None` for comparisons, which reviews do not have. Without a
/// requirement, the review is about more objects, so that a permission also holds for the selected objects.
fn requirement(requirement: &Requirement) -> Option<Value> {
    let operator = match requirement.operator {
        Operator::In => "In",
        Operator::NotIn => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        Operator::GreaterThan | Operator::LessThan => return None,
    };
    let mut entry = json!({"key": requirement.key, "operator": operator});
    if !requirement.values.is_empty() {
        entry["values"] = json!(requirement.values);
    }
    Some(entry)
}

#[cfg(test)]
mod tests;
