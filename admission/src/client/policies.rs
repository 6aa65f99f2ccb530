//! Interface between the admission chain and external policies: admission policies and webhooks.

use std::future::Future;
use std::pin::Pin;

use berth_apimachinery::Status;
use serde_json::Value;

use super::rounds::Rounds;
use super::versioned_write::VersionedWrite;

/// Future result of consulting policies about a write: a refusal is an error.
pub type PolicyObjections<'a> = Pin<Box<dyn Future<Output = Result<(), Status>> + Send + 'a>>;

/// Warnings and audit annotations that policies add to an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyNotes {
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit log, by full key.
    pub annotations: Vec<(String, String)>,
}

/// Policies that a [`Chain`](crate::Chain) consults after the plugins: admission policies, or the webhooks of
/// a hub.
pub trait Policies: Send + Sync + 'static {
    /// Names of the admission plugins of kube-apiserver that these policies correspond to: for mutation, and
    /// for validation.
    fn names(&self) -> (&'static str, &'static str) {
        ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    }

    /// Whether a policy or webhook may match `write`. The check is cheap, and may return true although
    /// nothing matches.
    fn concern(&self, write: &VersionedWrite<'_>) -> bool;

    /// Estimated time that this server needs to evaluate the policies for `write`, before the object is
    /// known, as the number of bytes that could be parsed in that time. The estimate is cheap.
    fn effort(&self, _write: &VersionedWrite<'_>) -> usize {
        0
    }

    /// Lets policies change `object`, in its stored form, or refuse the write; `object` is null on delete.
    fn mutate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: &'a mut Value,
        rounds: &'a mut Rounds,
        notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a>;

    /// Lets policies validate the final object, in its stored form; `object` is `None` on delete.
    fn validate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: Option<&'a Value>,
        notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a>;
}
