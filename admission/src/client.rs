//! The calling side of admission webhooks: what a hub's webhook configurations say about writes of objects
//! that Berth owns. kube-apiserver passes those writes on before its own admission (docs/admission.md,
//! "Policies and webhooks of the hub"), so whoever serves them has to ask.
//!
//! Everything here is pure: [`Hook`] is one webhook of a configuration, [`Hook::concerns`] says whether it is
//! to be called about a [`Subject`], [`review`] makes the body of the call, [`read`] makes an [`Answer`] of
//! what came back, and [`Rounds`] keeps count of who is to be called again. Who watches the configurations
//! and speaks HTTP implements [`Policies`], and a [`Chain`](crate::Chain) consults it.

mod answer;
mod hook;
mod patch;
mod policies;
mod refusal;
mod review;
mod rounds;
mod rules;
mod subject;

pub use answer::{Answer, BadAnswer, read};
pub use hook::{Condition, Endpoint, Hook};
pub use patch::{Unpatched, apply};
pub use policies::{Consulted, Policies, Recorded};
pub use refusal::{condition_failed, denied, failed, no_dry_run, unusable};
pub use review::{request, review};
pub use rounds::{HookId, Rounds};
pub use rules::Rule;
pub use subject::{Form, Subject};

/// The two kinds of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WebhookType {
    /// They may change the object; called one after the other.
    Mutating,
    /// They may only refuse; called side by side.
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
