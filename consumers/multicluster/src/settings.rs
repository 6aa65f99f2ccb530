//! Settings of publishing in one namespace, from a Publication.

use std::collections::BTreeMap;

/// Rule that names a ClusterProfile after its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameRule {
    /// The name of the Target: `<cluster>.<system>`, which is unique.
    #[default]
    Qualified,
    /// The name of the cluster, which is unique only within one system.
    Bare,
}

impl NameRule {
    /// Every rule.
    pub const ALL: [Self; 2] = [Self::Qualified, Self::Bare];

    /// The value in a Publication.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Qualified => "Qualified",
            Self::Bare => "Bare",
        }
    }
}

/// Settings that all objects of one namespace share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The name of the Publication.
    pub publication: String,
    /// The namespace.
    pub namespace: String,
    /// `spec.clusterManager.name`, and the label that repeats it.
    pub manager: String,
    /// Rule for the names of profiles.
    pub names: NameRule,
    /// The ClusterSet of the profiles; may be empty.
    pub cluster_set: String,
    /// Further labels of every object.
    pub labels: BTreeMap<String, String>,
}
