//! Wire names of `admission.k8s.io/v1`, for both sides of a webhook.

/// API group and version `admission.k8s.io/v1`.
pub const API_VERSION: &str = "admission.k8s.io/v1";
/// Kind `AdmissionReview`.
pub const KIND: &str = "AdmissionReview";

/// A group, a version and a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupVersionKind {
    /// The API group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// A group, a version and a plural resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupVersionResource {
    /// The API group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The plural resource.
    pub resource: String,
}
