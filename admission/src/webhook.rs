//! The webhook side of admission: `AdmissionReview` of `admission.k8s.io/v1` (docs/admission.md,
//! "Admission").
//!
//! Pure functions over bytes: [`read`] parses a body into a [`Review`], [`Review::request`] turns it into a
//! write for a [`Chain`], and [`Review::mutate`] or [`Review::validate`] build the answer. The caller waits
//! for [`Chain::ready`] in between.
//!
//! [`Chain`]: crate::Chain
//! [`Chain::ready`]: crate::Chain::ready

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

/// Highest number of bytes of an object in a review: kube-apiserver's limit for a request.
const OBJECT: usize = 3 * 1024 * 1024;
/// Highest number of bytes of a review: the object before and after, and room for the rest.
pub const MOST_BYTES: usize = 2 * OBJECT + 256 * 1024;

/// A body that is an AdmissionReview.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A review in the supported version.
    V1(Box<Review>),
    /// A review in another version, whose sender needs a readable refusal in that version.
    Other {
        /// API version, such as `admission.k8s.io/v1beta1`.
        api_version: String,
        /// The `request.uid`; empty when it is absent.
        uid: String,
    },
}

/// The `request` of an AdmissionReview.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Identifier that the answer must repeat.
    pub uid: String,
    /// The kind of `object`, after conversion to the resource of the webhook's rule.
    pub kind: GroupVersionKind,
    /// The resource, after the same conversion.
    pub resource: GroupVersionResource,
    /// The subresource, or the empty string.
    pub subresource: String,
    /// The kind in the client's request, which may differ (`matchPolicy: Equivalent`); `None` where the
    /// review omits it.
    pub request_kind: Option<GroupVersionKind>,
    /// The resource in the client's request; `None` where the review omits it.
    pub request_resource: Option<GroupVersionResource>,
    /// The name in the review: empty on a create with `generateName`, and where a collection is deleted
    /// (kube-apiserver calls once for each object of the collection, which is in `old_object`).
    /// [`Review::request`] has the name of the object.
    pub name: String,
    /// The namespace, or the empty string.
    pub namespace: String,
    /// Operation of the write.
    pub operation: Operation,
    /// The user of the write: a claim of the sender.
    pub user: UserInfo,
    /// The new object; null on delete.
    pub object: Value,
    /// The stored object; null on create and connect.
    pub old_object: Value,
    /// Whether the write is a dry run, which stores nothing.
    pub dry_run: bool,
    /// CreateOptions, UpdateOptions or DeleteOptions; null where they are absent.
    pub options: Value,
}

impl Review {
    /// The name of the object that is written; empty while it has none.
    fn object_name(&self) -> &str {
        if !self.name.is_empty() {
            return &self.name;
        }
        let objects = [&self.old_object, &self.object].into_iter();
        let mut names = objects.filter_map(|object| object["metadata"]["name"].as_str());
        names.next().unwrap_or_default()
    }

    /// The review as plugins see a write. `resource` is the program's name of [`Review::resource`].
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
