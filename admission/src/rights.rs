//! Additional rights for a write. The authorizer of requests checks them, so they work both with Berth's own
//! RBAC objects and behind a hub.

use std::future::Future;
use std::pin::Pin;

use crate::request::{Denial, UserInfo};

/// A right on a resource, with the attributes of a SubjectAccessReview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Right {
    /// Verb: `update`, `create`, …
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The plural resource.
    pub resource: String,
    /// The subresource, which need not be served; or the empty string.
    pub subresource: String,
    /// The namespace, or the empty string.
    pub namespace: String,
    /// The object's name, or the empty string for any.
    pub name: String,
}

/// A right that the writer must have.
#[derive(Clone, Debug, PartialEq)]
pub struct RequiredRight {
    /// The right.
    pub right: Right,
    /// Refusal when the right is missing: it states the attempted change and the remedy.
    pub refusal: Denial,
}

impl RequiredRight {
    /// Requires `right`, without which the write is forbidden with the message `refusal`.
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
pub struct Unknown(pub String);

/// Future result of a check: whether the user has the right.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<bool, Unknown>> + Send + 'a>>;

/// Authorizer of additional rights.
pub trait Authority: Send + Sync + 'static {
    /// Whether `user` has `right`.
    fn has<'a>(&'a self, user: &'a UserInfo, right: &'a Right) -> Answer<'a>;
}

impl Right {
    /// The right in kubectl's form, such as `update shoots.core.gardener.cloud/binding`.
    #[must_use]
    pub fn spoken(&self) -> String {
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
    fn a_right_is_spoken_as_kubectl_asks_for_it() {
        let mut right = Right {
            verb: "update".to_owned(),
            group: "g.example".to_owned(),
            resource: "foos".to_owned(),
            subresource: "bar".to_owned(),
            ..Right::default()
        };
        assert_eq!(right.spoken(), "update foos.g.example/bar");
        right.subresource.clear();
        right.group.clear();
        assert_eq!(right.spoken(), "update foos");
    }
}
