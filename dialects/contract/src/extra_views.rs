//! Views that a system offers beyond scheduling, as data.

use berth_apimachinery::GroupResource;
use serde_json::Value;

use crate::facts::{Facts, Producer};

/// Views that a system offers beyond scheduling.
#[derive(Clone, Copy, Debug)]
pub struct ExtraViews {
    /// Resources of the system that ordinary users may read, in addition to the demands.
    pub readable: &'static [GroupResource],
    /// Namespaced kinds that describe clusters: a user who may read a decision may see the names of these
    /// objects, in any namespace.
    pub of_clusters: &'static [GroupResource],
    /// Function that reads the facts of a cluster from a cluster-like object.
    pub facts: fn(&Value) -> Facts,
    /// Publisher of the system's clusters as ClusterProfiles, where the system does so itself.
    pub producer: Option<Producer>,
}

impl Default for ExtraViews {
    fn default() -> Self {
        Self {
            readable: &[],
            of_clusters: &[],
            facts: |_| Facts::default(),
            producer: None,
        }
    }
}
