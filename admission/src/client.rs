//! The calling side of admission webhooks: the webhook configurations of a hub, for writes of objects that
//! Berth owns. kube-apiserver forwards those writes before its own admission (docs/admission.md, "Policies
//! and webhooks of the hub"), so the server of these objects has to call the webhooks.
//!
//! This module does no I/O: [`Hook`] is one webhook of a configuration, [`Hook::matching_version`] decides
//! whether the webhook must be called for a write ([`VersionedWrite`]), [`review`] builds the body of the
//! call, [`read`] turns the response into an [`Answer`], and [`Rounds`] tracks the webhooks to be called
//! again. The program watches the configurations, sends the requests and implements [`Policies`], which a
//! [`Chain`](crate::Chain) consults.

mod answer;
mod hook;
mod patch;
mod policies;
mod refusal;
mod review;
mod rounds;
mod rules;
mod versioned_write;

pub use answer::{Answer, BadAnswer, read};
pub use hook::{Condition, Endpoint, Hook};
pub use patch::{PatchError, apply};
pub use policies::{Policies, PolicyNotes, PolicyObjections};
pub use refusal::{condition_failed, denied, dry_run_unsupported, failed, patch_failed};
pub use review::{request, review};
pub use rounds::{HookId, Rounds};
pub use rules::Rule;
pub use versioned_write::{ObjectKind, VersionedWrite};

/// The two kinds of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WebhookType {
    /// A mutating webhook may change the object; such webhooks are called one after the other.
    Mutating,
    /// A validating webhook may only refuse the write; such webhooks are called in parallel.
    Validating,
}

impl WebhookType {
    /// The `type` label of kube-apiserver's metrics about webhooks.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Mutating => "admit",
            Self::Validating => "validating",
        }
    }
}

#[cfg(test)]
mod tests;
