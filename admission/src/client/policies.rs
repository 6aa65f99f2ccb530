//! Interface between the chain and external policies: admission policies and webhooks.

use std::future::Future;
use std::pin::Pin;

use berth_apimachinery::Status;
use serde_json::Value;

use super::rounds::Rounds;
use super::subject::Subject;

/// Future result of consulting external policies about a write.
pub type PolicyObjections<'a> = Pin<Box<dyn Future<Output = Result<(), Status>> + Send + 'a>>;

/// Additions to an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyNotes {
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit log, by full key.
    pub annotations: Vec<(String, String)>,
}

/// Policies that are consulted about writes after Berth's own rules: admission policies, and the webhooks of
/// a hub.
pub trait Policies: Send + Sync + 'static {
    /// Names of kube-apiserver's plugins for these policies, for mutation and for validation.
    fn names(&self) -> (&'static str, &'static str) {
        ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    }

    /// Whether any policy or webhook may concern writes of this subject. The check is cheap; true may be a
    /// false positive.
    fn concern(&self, subject: &Subject<'_>) -> bool;

    /// Cost to this server of consulting these policies about a write of this subject, before its object is
    /// known. The unit is the number of bytes that could be parsed in the same time. The estimate is cheap.
    fn effort(&self, _subject: &Subject<'_>) -> usize {
        0
    }

    /// Lets policies change `object`, in its stored form; `object` is null on delete, which policies can only
    /// refuse.
    fn mutate<'a>(
        &'a self,
        subject: &'a Subject<'a>,
        object: &'a mut Value,
        rounds: &'a mut Rounds,
        notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a>;

    /// Lets policies judge the final object, in its stored form; `object` is `None` on delete.
    fn validate<'a>(
        &'a self,
        subject: &'a Subject<'a>,
        object: Option<&'a Value>,
        notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a>;
}
