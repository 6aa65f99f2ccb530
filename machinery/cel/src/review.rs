//! Access reviews, as expressions name them.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Question of an access review: may this user do that?
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Review {
    /// The service account, by namespace and name; the user of the request when it is absent.
    pub account: Option<(Arc<str>, Arc<str>)>,
    /// The verb.
    pub verb: Arc<str>,
    /// Object of the check.
    pub on: ReviewSubject,
}

/// Object or path of the review.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReviewSubject {
    /// A non-resource path.
    Path(Arc<str>),
    /// A resource.
    Resource {
        /// Its API group.
        group: Arc<str>,
        /// The plural.
        resource: Arc<str>,
        /// The subresource, or the empty string.
        subresource: Arc<str>,
        /// The namespace, or the empty string.
        namespace: Arc<str>,
        /// The name, or the empty string.
        name: Arc<str>,
        /// A field selector, or the empty string.
        fields: Arc<str>,
        /// A label selector, or the empty string.
        labels: Arc<str>,
    },
}

impl Default for ReviewSubject {
    fn default() -> Self {
        Self::Path("".into())
    }
}

impl ReviewSubject {
    /// A resource of a group, without further properties.
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

/// Outcome of a review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// The reason.
    pub reason: String,
    /// Reason why there is no answer.
    pub error: Option<String>,
}

/// The reviews that were made.
pub type Decisions = BTreeMap<Review, Arc<Decision>>;
