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
    /// The namespace of the rules.
    pub spec: RulesSpec,
    /// The rules; set by the server.
    pub status: Option<RulesStatus>,
}

/// The namespace of the rules.
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

/// The kind SelfSubjectReview, which answers with the caller's identity.
pub(crate) struct WhoAmI;

#[async_trait]
impl Computed for WhoAmI {
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

/// The kind SelfSubjectRulesReview, which answers with the caller's rights.
pub(crate) struct Rules {
    rbac: Arc<Rbac>,
}

impl Rules {
    pub(crate) fn new(rbac: Arc<Rbac>) -> Self {
        Self { rbac }
    }
}

#[async_trait]
impl Computed for Rules {
    /// Unknown effort: the answer has every rule of every binding that may concern the caller.
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
