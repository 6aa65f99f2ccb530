//! SelfSubjectReview (the caller's identity) and SelfSubjectRulesReview (the caller's rights).

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::{FieldError, Status};
use berth_apiserver::{Call, Computed, Reply, RequestInfo, heavy};
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::core::rbac::PolicyRule;
use crate::rbac::Rbac;
use crate::reviews::AUTHORIZATION;

/// The fields of a SelfSubjectReview.
#[derive(JsonSchema)]
pub struct SelfSubjectReviewFields {
    /// The identity of the caller; set by the server.
    pub status: Option<SelfSubjectReviewStatus>,
}

/// Identity of the caller.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelfSubjectReviewStatus {
    /// The caller, after impersonation.
    pub user_info: Option<User>,
}

/// A user, as authenticated.
#[derive(JsonSchema)]
pub struct User {
    /// The name of the user.
    pub username: Option<String>,
    /// The uid of the user.
    pub uid: Option<String>,
    /// The groups of the user.
    pub groups: Option<Vec<String>>,
    /// Extra attributes of the user.
    pub extra: Option<BTreeMap<String, Vec<String>>>,
}

/// The fields of a SelfSubjectRulesReview.
#[derive(JsonSchema)]
pub struct SelfSubjectRulesReviewFields {
    /// The namespace in which the caller's rules are listed.
    pub spec: RulesSpec,
    /// The rules; set by the server.
    pub status: Option<RulesStatus>,
}

/// The namespace in which the caller's rules are listed.
#[derive(JsonSchema)]
pub struct RulesSpec {
    /// The name of the namespace. Required.
    pub namespace: Option<String>,
}

/// The rules that apply to the caller.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RulesStatus {
    /// Rules about resources.
    pub resource_rules: Option<Vec<PolicyRule>>,
    /// Rules about paths that are not resources.
    pub non_resource_rules: Option<Vec<PolicyRule>>,
    /// Whether the list of rules may be incomplete.
    pub incomplete: Option<bool>,
    /// Error during the evaluation of the rules.
    pub evaluation_error: Option<String>,
}

/// Handler of SelfSubjectReview, which answers with the caller's identity.
pub(crate) struct SelfSubjectReview;

#[async_trait]
impl Computed for SelfSubjectReview {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn create(&self, call: &Call, mut object: Value) -> Result<Reply, Status> {
        let mut user = json!({"username": call.user.name});
        if !call.user.uid.is_empty() {
            user["uid"] = call.user.uid.as_str().into();
        }
        if !call.user.groups.is_empty() {
            user["groups"] = json!(call.user.groups);
        }
        if !call.user.extra.is_empty() {
            user["extra"] = json!(call.user.extra);
        }
        object["status"] = json!({"userInfo": user});
        Ok(Reply::Value(object))
    }
}

/// Handler of SelfSubjectRulesReview, which answers with the caller's rights.
pub(crate) struct SelfSubjectRulesReview {
    rbac: Arc<Rbac>,
}

impl SelfSubjectRulesReview {
    pub(crate) fn new(rbac: Arc<Rbac>) -> Self {
        Self { rbac }
    }
}

#[async_trait]
impl Computed for SelfSubjectRulesReview {
    /// The effort cannot be estimated: the answer has the rules of every role that is granted to the caller.
    fn effort(&self, _: &RequestInfo) -> usize {
        heavy::UNKNOWN
    }

    async fn create(&self, call: &Call, mut object: Value) -> Result<Reply, Status> {
        let namespace = object["spec"]["namespace"].as_str().unwrap_or_default();
        if namespace.is_empty() {
            let error = FieldError::required("spec.namespace", "no namespace on request");
            return Err(Status::invalid(
                AUTHORIZATION,
                "SelfSubjectRulesReview",
                "",
                &[error],
            ));
        }
        let rules = self.rbac.rules_for(&call.user, namespace);
        let (paths, resources): (Vec<_>, Vec<_>) = rules
            .into_iter()
            .partition(|rule| !rule.non_resource_urls.is_empty());
        object["status"] =
            json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false});
        Ok(Reply::Value(object))
    }
}
