//! Settings of a Publication for the objects that it publishes in its namespace.

use std::collections::BTreeMap;

/// Rule for the name of a ClusterProfile.
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

/// Settings that all published objects of one Publication share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The name of the Publication.
    pub publication: String,
    /// The namespace of the published objects.
    pub namespace: String,
    /// The name of the cluster manager in ClusterProfiles.
    pub manager: String,
    /// Rule for the names of ClusterProfiles.
    pub names: NameRule,
    /// The ClusterSet of the ClusterProfiles; empty without one.
    pub cluster_set: String,
    /// Further labels of every published object.
    pub labels: BTreeMap<String, String>,
}
