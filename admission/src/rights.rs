//! Rights that a write needs in addition to the right to the write itself. The authorizer of requests checks
//! them: Berth's own RBAC, or the hub.

use std::future::Future;
use std::pin::Pin;

use crate::request::{Denial, UserInfo};

/// A right on a resource, with the attributes of a SubjectAccessReview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Right {
    /// Verb: `update`, `create`, …
    pub verb: String,
    /// API group of the resource; empty for the core group.
    pub group: String,
    /// Plural name of the resource.
    pub resource: String,
    /// Subresource, which may be one that no server serves; or the empty string.
    pub subresource: String,
    /// Namespace of the object; empty for a cluster-scoped object.
    pub namespace: String,
    /// Name of the object; empty for every object.
    pub name: String,
}

/// A right that the user of a write must have.
#[derive(Clone, Debug, PartialEq)]
pub struct RequiredRight {
    /// The required right.
    pub right: Right,
    /// Refusal when the right is missing, which states the attempted change and the remedy.
    pub refusal: Denial,
}

impl RequiredRight {
    /// Creates a requirement of `right`. Without the right, the write is forbidden with the message
    /// `refusal`.
    #[must_use]
    pub fn or_forbidden(right: Right, refusal: impl Into<String>) -> Self {
        Self {
            right,
            refusal: Denial::Forbidden(refusal.into()),
        }
    }
}

/// Reason why a right could not be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RightCheckError(pub String);

/// Future result of checking a right: whether the user has it.
pub type RightCheck<'a> = Pin<Box<dyn Future<Output = Result<bool, RightCheckError>> + Send + 'a>>;

/// Checker of the rights that plugins require.
pub trait RightChecker: Send + Sync + 'static {
    /// Whether `user` has `right`.
    fn has<'a>(&'a self, user: &'a UserInfo, right: &'a Right) -> RightCheck<'a>;
}

impl Right {
    /// Returns the right in the form of `kubectl auth can-i`, such as `update
    /// shoots.core.gardener.cloud/binding`.
    #[must_use]
    pub fn to_kubectl_text(&self) -> String {
        let Self {
            verb,
            group,
            resource,
            subresource,
            ..
        } = self;
        let slash = if subresource.is_empty() { "" } else { "/" };
        let dot = if group.is_empty() { "" } else { "." };
        format!("{verb} {resource}{dot}{group}{slash}{subresource}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_has_the_form_of_kubectl_auth_can_i() {
        let mut right = Right {
            verb: "update".to_owned(),
            group: "g.example".to_owned(),
            resource: "foos".to_owned(),
            subresource: "bar".to_owned(),
            ..Right::default()
        };
        assert_eq!(right.to_kubectl_text(), "update foos.g.example/bar");
        right.subresource.clear();
        right.group.clear();
        assert_eq!(right.to_kubectl_text(), "update foos");
    }
}
