//! The serving side of admission webhooks: AdmissionReview of `admission.k8s.io/v1` (docs/admission.md,
//! "Admission").
//!
//! This module does no I/O: [`read`] parses a body into a [`Review`], [`Review::request`] turns the review
//! into a request for a [`Chain`], and [`Review::mutate`] or [`Review::validate`] return the answer. Before
//! these, the caller waits for [`SelectedPlugins::ready`].
//!
//! [`Chain`]: crate::Chain
//! [`SelectedPlugins::ready`]: crate::SelectedPlugins::ready

mod answer;
mod read;
mod subject;

use berth_apimachinery::GroupResource;
use serde_json::Value;

use crate::request::{Operation, Request, UserInfo};

pub use crate::wire::{API_VERSION, GroupVersionKind, GroupVersionResource, KIND};
pub use answer::refused_version;
pub use read::read;
pub use subject::Subject;

/// Highest number of bytes of an object in a review: the limit of kube-apiserver for a request.
const MAX_OBJECT_BYTES: usize = 3 * 1024 * 1024;
/// Highest number of bytes of a review: the old and the new object, and 256 KiB for the other fields.
pub const MAX_REVIEW_BYTES: usize = 2 * MAX_OBJECT_BYTES + 256 * 1024;

/// Body of a request with an AdmissionReview.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A review in the supported version.
    V1(Box<Review>),
    /// A review in another version, which [`refused_version`] answers.
    OtherVersion {
        /// API version of the review, such as `admission.k8s.io/v1beta1`.
        api_version: String,
        /// Value of `request.uid`; empty if absent.
        uid: String,
    },
}

/// The `request` of an AdmissionReview.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Identifier of the review, which the answer must repeat.
    pub uid: String,
    /// Kind of `object`, after conversion to the version in the webhook's rule.
    pub kind: GroupVersionKind,
    /// Resource, in the version of the webhook's rule.
    pub resource: GroupVersionResource,
    /// The subresource, or the empty string.
    pub subresource: String,
    /// Kind in the client's request, which may have another version than `kind` (`matchPolicy: Equivalent`);
    /// `None` where the review omits it.
    pub request_kind: Option<GroupVersionKind>,
    /// The resource in the client's request; `None` where the review omits it.
    pub request_resource: Option<GroupVersionResource>,
    /// Name in the review. It is empty on a create with `generateName`, and when a collection is deleted:
    /// kube-apiserver then sends one review for each object. [`Review::request`] has the name of the object.
    pub name: String,
    /// The namespace, or the empty string.
    pub namespace: String,
    /// Operation of the write.
    pub operation: Operation,
    /// User of the write, as the sender of the review claims.
    pub user: UserInfo,
    /// New object; null on delete.
    pub object: Value,
    /// Stored object; null on create and connect.
    pub old_object: Value,
    /// Whether the write is a dry run, which stores nothing.
    pub dry_run: bool,
    /// CreateOptions, UpdateOptions or DeleteOptions; null where they are absent.
    pub options: Value,
}

impl Review {
    /// Name of the written object; empty while the object has no name.
    fn object_name(&self) -> &str {
        if !self.name.is_empty() {
            return &self.name;
        }
        let objects = [&self.old_object, &self.object].into_iter();
        let mut names = objects.filter_map(|object| object["metadata"]["name"].as_str());
        names.next().unwrap_or_default()
    }

    /// Returns the request for plugins. `resource` is [`Review::resource`] without its version, as the
    /// program knows it.
    #[must_use]
    pub fn request(&self, resource: GroupResource) -> Request<'_> {
        Request {
            operation: self.operation,
            resource,
            kind: &self.kind.kind,
            subresource: &self.subresource,
            namespace: &self.namespace,
            name: self.object_name(),
            user: &self.user,
            old: Some(&self.old_object).filter(|old| !old.is_null()),
            dry_run: self.dry_run,
        }
    }
}

#[cfg(test)]
mod tests;
