//! Rights that an expression can check.

use std::sync::Arc;

use super::Value;
use crate::review::{Decision, ReviewSubject};

/// Rights of a user, or a part of an access review.
#[derive(Clone, Debug)]
pub enum Access {
    /// Rights of the request's user or of a service account: `authorizer`.
    Of(Option<(Arc<str>, Arc<str>)>),
    /// Rights to an API group: `authorizer.group('apps')`.
    Group(Option<(Arc<str>, Arc<str>)>, Arc<str>),
    /// Access review without a verb.
    Check(Option<(Arc<str>, Arc<str>)>, ReviewSubject),
    /// Answer of an access review.
    Decided(Arc<Decision>),
}

impl Access {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Of(_) => "kubernetes.authorization.Authorizer",
            Self::Group(..) => "kubernetes.authorization.GroupCheck",
            Self::Check(_, ReviewSubject::Path(_)) => "kubernetes.authorization.PathCheck",
            Self::Check(_, ReviewSubject::Resource { .. }) => "kubernetes.authorization.ResourceCheck",
            Self::Decided(_) => "kubernetes.authorization.Decision",
        }
    }
}

impl Value<'_> {
    /// Creates `authorizer`: the rights of the user of the request.
    #[must_use]
    pub fn authorizer() -> Self {
        Self::Access(Arc::new(Access::Of(None)))
    }

    /// Creates `authorizer.requestResource`: the user's rights to the written object.
    #[must_use]
    pub fn authorizer_of(subject: ReviewSubject) -> Self {
        Self::Access(Arc::new(Access::Check(None, subject)))
    }
}
