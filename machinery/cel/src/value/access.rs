//! Values of `authorizer`: rights that an expression can check.

use std::sync::Arc;

use super::Value;
use crate::review::{Decision, ReviewSubject};

/// Rights of a user, or a part of an access review.
#[derive(Clone, Debug)]
pub enum Access {
    /// Rights of a service account, by namespace and name, or of the user of the request: `authorizer`.
    Account(Option<(Arc<str>, Arc<str>)>),
    /// Rights of an account to an API group: `authorizer.group('apps')`.
    Group(Option<(Arc<str>, Arc<str>)>, Arc<str>),
    /// Access review of an account, without the verb.
    Check(Option<(Arc<str>, Arc<str>)>, ReviewSubject),
    /// Answer of an access review.
    Decision(Arc<Decision>),
}

impl Access {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Account(_) => "kubernetes.authorization.Authorizer",
            Self::Group(..) => "kubernetes.authorization.GroupCheck",
            Self::Check(_, ReviewSubject::Path(_)) => "kubernetes.authorization.PathCheck",
            Self::Check(_, ReviewSubject::Resource { .. }) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }
}

impl Value<'_> {
    /// Creates `authorizer`: the rights of the user of the request.
    #[must_use]
    pub fn authorizer() -> Self {
        Self::Access(Arc::new(Access::Account(None)))
    }

    /// Creates `authorizer.requestResource`: the rights of the user of the request to `subject`, the written
    /// object.
    #[must_use]
    pub fn authorizer_of(subject: ReviewSubject) -> Self {
        Self::Access(Arc::new(Access::Check(None, subject)))
    }
}
