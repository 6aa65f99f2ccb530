//! What a system shows beyond scheduling, as data.

use meta::GroupResource;
use serde_json::Value;

use crate::facts::{Facts, Producer};

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// What of its kinds ordinary users may read, beside what wants a place.
    pub readable: &'static [GroupResource],
    /// Kinds with namespaces that describe clusters: whoever may read a decision may be told their names, in any namespace.
    pub of_clusters: &'static [GroupResource],
    /// What a cluster-like object says of its cluster.
    pub facts: fn(&Value) -> Facts,
    /// Who publishes the system's clusters as ClusterProfiles, where the system does so itself.
    pub producer: Option<Producer>,
}

impl Default for Shown {
    fn default() -> Self {
        Self {
            readable: &[],
            of_clusters: &[],
            facts: |_| Facts::default(),
            producer: None,
        }
    }
}
