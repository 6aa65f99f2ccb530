//! Access reviews that expressions describe.

use std::collections::BTreeMap;
use std::sync::Arc;

/// An access review: whether a user may perform an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Review {
    /// Namespace and name of the service account; `None` means the user of the request.
    pub account: Option<(Arc<str>, Arc<str>)>,
    /// Verb of the action.
    pub verb: Arc<str>,
    /// Object or path of the action.
    pub subject: ReviewSubject,
}

/// Object or path that an access review is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReviewSubject {
    /// A non-resource path.
    Path(Arc<str>),
    /// A resource.
    Resource {
        /// API group of the resource.
        group: Arc<str>,
        /// Plural name of the resource.
        resource: Arc<str>,
        /// Subresource, or the empty string.
        subresource: Arc<str>,
        /// Namespace, or the empty string.
        namespace: Arc<str>,
        /// Name of the object, or the empty string.
        name: Arc<str>,
        /// Field selector, or the empty string.
        fields: Arc<str>,
        /// Label selector, or the empty string.
        labels: Arc<str>,
    },
}

impl Default for ReviewSubject {
    fn default() -> Self {
        Self::Path("".into())
    }
}

impl ReviewSubject {
    /// Creates the subject for a resource of a group, without further properties.
    #[must_use]
    pub fn resource(group: &str, resource: &str) -> Self {
        let nothing: Arc<str> = "".into();
        Self::Resource {
            group: group.into(),
            resource: resource.into(),
            subresource: Arc::clone(&nothing),
            namespace: Arc::clone(&nothing),
            name: Arc::clone(&nothing),
            fields: Arc::clone(&nothing),
            labels: nothing,
        }
    }
}

/// Answer of an access review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether the action is allowed.
    pub allowed: bool,
    /// Reason of the authorizer for the decision.
    pub reason: String,
    /// Reason why the access review failed, if it did.
    pub error: Option<String>,
}

/// Answers of the access reviews that are made so far.
pub type Decisions = BTreeMap<Review, Arc<Decision>>;
