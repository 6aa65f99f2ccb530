//! Names and types of `admission.k8s.io/v1` that both sides of a webhook use.

/// API group and version `admission.k8s.io/v1`.
pub const API_VERSION: &str = "admission.k8s.io/v1";
/// Kind `AdmissionReview`.
pub const KIND: &str = "AdmissionReview";

/// A group, a version and a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupVersionKind {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Name of the kind.
    pub kind: String,
}

/// A group, a version and a plural resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupVersionResource {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural name of the resource.
    pub resource: String,
}
