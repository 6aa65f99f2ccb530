//! SelfSubjectAccessReview, SubjectAccessReview and LocalSubjectAccessReview.

use std::collections::BTreeMap;

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::{FieldError, Status};
use berth_apiserver::{Access, Attributes, Call, Computed, Reply, RequestInfo};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::reviews::AUTHORIZATION;

/// The fields of a SelfSubjectAccessReview.
#[derive(JsonSchema)]
pub struct SelfSubjectAccessReviewFields {
    /// The request to check.
    pub spec: SelfSubjectAccessReviewSpec,
    /// The answer; set by the server.
    pub status: Option<AccessStatus>,
}

/// The fields of a SubjectAccessReview and a LocalSubjectAccessReview.
#[derive(JsonSchema)]
pub struct SubjectAccessReviewFields {
    /// The request to check, and its user.
    pub spec: SubjectAccessReviewSpec,
    /// The answer; set by the server.
    pub status: Option<AccessStatus>,
}

/// A request of the caller. Exactly one of resourceAttributes and nonResourceAttributes must be set.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SelfSubjectAccessReviewSpec {
    /// A request for a resource.
    pub resource_attributes: Option<ResourceAttributes>,
    /// A request for a path that is not a resource.
    pub non_resource_attributes: Option<NonResourceAttributes>,
}

/// A request of a user. Exactly one of resourceAttributes and nonResourceAttributes must be set.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SubjectAccessReviewSpec {
    /// A request for a resource.
    pub resource_attributes: Option<ResourceAttributes>,
    /// A request for a path that is not a resource.
    pub non_resource_attributes: Option<NonResourceAttributes>,
    /// The name of the user.
    pub user: Option<String>,
    /// The groups of the user. If omitted, the user is in no group.
    pub groups: Option<Vec<String>>,
    /// The user's extra attributes.
    pub extra: Option<BTreeMap<String, Vec<String>>>,
    /// The user's uid.
    pub uid: Option<String>,
}

/// A request for a resource. Omitted fields are empty.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceAttributes {
    /// The namespace; empty for cluster-scoped resources and for all namespaces.
    pub namespace: Option<String>,
    /// The verb: get, list, watch, create, update, patch, delete, deletecollection or a special one.
    pub verb: Option<String>,
    /// The API group; '*' means all groups.
    pub group: Option<String>,
    /// The API version.
    pub version: Option<String>,
    /// The resource, in the plural.
    pub resource: Option<String>,
    /// The subresource.
    pub subresource: Option<String>,
    /// The object's name; empty for all names.
    pub name: Option<String>,
    /// The field selector of a list; does not affect the answer.
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub field_selector: Option<BTreeMap<String, Value>>,
    /// The label selector of a list; does not affect the answer.
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub label_selector: Option<BTreeMap<String, Value>>,
}

/// A request for a path that is not a resource.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NonResourceAttributes {
    /// The path.
    pub path: Option<String>,
    /// The HTTP method in lower case.
    pub verb: Option<String>,
}

/// The answer to an access review.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessStatus {
    /// Whether the request is allowed.
    pub allowed: Option<bool>,
    /// Whether the request is denied, also if another authorizer would allow it.
    pub denied: Option<bool>,
    /// The reason why the request is allowed or denied.
    pub reason: Option<String>,
    /// Error during the evaluation of the request.
    pub evaluation_error: Option<String>,
}

/// Handler of SelfSubjectAccessReview, which answers about the caller.
pub(crate) struct SelfSubjectAccessReview;

/// Handler of SubjectAccessReview, which answers about any user and any namespace.
pub(crate) struct SubjectAccessReview;

/// Handler of LocalSubjectAccessReview, which answers about any user in one namespace.
pub(crate) struct LocalSubjectAccessReview;

#[async_trait]
impl Computed for SelfSubjectAccessReview {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn create(&self, call: &Call, object: Value) -> Result<Reply, Status> {
        let kind = "SelfSubjectAccessReview";
        let spec: SelfSubjectAccessReviewSpec = spec(&object)?;
        let attributes = attributes(spec.resource_attributes, spec.non_resource_attributes)
            .map_err(|error| invalid(kind, &[error]))?;
        answer(
            call,
            object,
            Attributes {
                user: call.user.clone(),
                ..attributes
            },
        )
        .await
    }
}

#[async_trait]
impl Computed for SubjectAccessReview {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn create(&self, call: &Call, object: Value) -> Result<Reply, Status> {
        let attributes = subject_attributes("SubjectAccessReview", &object)?;
        answer(call, object, attributes).await
    }
}

#[async_trait]
impl Computed for LocalSubjectAccessReview {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn create(&self, call: &Call, object: Value) -> Result<Reply, Status> {
        let kind = "LocalSubjectAccessReview";
        let attributes = subject_attributes(kind, &object)?;
        let mut errors = Vec::new();
        if !attributes.is_resource {
            errors.push(FieldError::forbidden(
                "spec.nonResourceAttributes",
                "disallowed on this kind of request",
            ));
        } else if attributes.namespace != call.namespace {
            let detail = "must match metadata.namespace";
            errors.push(FieldError::invalid(
                "spec.resourceAttributes.namespace",
                attributes.namespace.as_str(),
                detail,
            ));
        }
        if !errors.is_empty() {
            return Err(invalid(kind, &errors));
        }
        answer(call, object, attributes).await
    }
}

fn invalid(kind: &str, errors: &[FieldError]) -> Status {
    Status::invalid(AUTHORIZATION, kind, "", errors)
}

fn spec<T: for<'de> Deserialize<'de> + Default>(object: &Value) -> Result<T, Status> {
    match object.get("spec") {
        None | Some(Value::Null) => Ok(T::default()),
        Some(spec) => T::deserialize(spec).map_err(|problem| Status::bad_request(format!("spec: {problem}"))),
    }
}

/// Returns the request in a SubjectAccessReview or LocalSubjectAccessReview.
fn subject_attributes(kind: &str, object: &Value) -> Result<Attributes, Status> {
    let spec: SubjectAccessReviewSpec = spec(object)?;
    let user = UserInfo {
        name: spec.user.unwrap_or_default(),
        uid: spec.uid.unwrap_or_default(),
        groups: spec.groups.unwrap_or_default(),
        extra: spec.extra.unwrap_or_default(),
    };
    let mut errors = Vec::new();
    if user.name.is_empty() && user.groups.is_empty() {
        errors.push(FieldError::invalid(
            "spec.user",
            "",
            "at least one of user or group must be specified",
        ));
    }
    match attributes(spec.resource_attributes, spec.non_resource_attributes) {
        Ok(attributes) if errors.is_empty() => return Ok(Attributes { user, ..attributes }),
        Ok(_) => {}
        Err(error) => errors.insert(0, error),
    }
    Err(invalid(kind, &errors))
}

fn attributes(
    resource: Option<ResourceAttributes>,
    path: Option<NonResourceAttributes>,
) -> Result<Attributes, FieldError> {
    match (resource, path) {
        (Some(_), Some(_)) => Err(FieldError::forbidden(
            "spec.nonResourceAttributes",
            "cannot be specified in combination with resourceAttributes",
        )),
        (None, None) => Err(FieldError::required(
            "spec.resourceAttributes",
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
        (Some(request), None) => Ok(Attributes {
            verb: request.verb.unwrap_or_default(),
            is_resource: true,
            group: request.group.unwrap_or_default(),
            version: request.version.unwrap_or_default(),
            resource: request.resource.unwrap_or_default(),
            subresource: request.subresource.unwrap_or_default(),
            namespace: request.namespace.unwrap_or_default(),
            name: request.name.unwrap_or_default(),
            ..Attributes::default()
        }),
        (None, Some(request)) => Ok(Attributes {
            verb: request.verb.unwrap_or_default(),
            path: request.path.unwrap_or_default(),
            ..Attributes::default()
        }),
    }
}

async fn answer(call: &Call, mut object: Value, attributes: Attributes) -> Result<Reply, Status> {
    let mut status = json!({"allowed": false});
    match call.authorizer.authorize(&attributes).await {
        Ok(Access::Allow(reason)) => {
            status["allowed"] = true.into();
            set_reason(&mut status, reason);
        }
        Ok(Access::Deny(reason)) => {
            status["denied"] = true.into();
            set_reason(&mut status, reason);
        }
        Ok(Access::NoOpinion(reason)) => set_reason(&mut status, reason),
        Err(problem) => status["evaluationError"] = problem.to_string().into(),
    }
    object["status"] = status;
    Ok(Reply::Value(object))
}

fn set_reason(status: &mut Value, reason: String) {
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
}
