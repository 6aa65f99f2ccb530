//! Views that a system offers beyond scheduling, as data.

use berth_apimachinery::GroupResource;
use serde_json::Value;

use crate::facts::{Facts, Producer};

/// Views that a system offers beyond scheduling.
#[derive(Clone, Copy, Debug)]
pub struct ExtraViews {
    /// Resources of the system that ordinary users may read, in addition to the demands.
    pub readable: &'static [GroupResource],
    /// Namespaced resources with objects that describe clusters: a user who may read a decision may see the
    /// names of such objects in any namespace.
    pub cluster_kinds: &'static [GroupResource],
    /// Function that reads the facts of a cluster from a cluster-like object.
    pub facts: fn(&Value) -> Facts,
    /// The producer of ClusterProfiles that belongs to the system, where the system has one.
    pub producer: Option<Producer>,
}

impl Default for ExtraViews {
    fn default() -> Self {
        Self {
            readable: &[],
            cluster_kinds: &[],
            facts: |_| Facts::default(),
            producer: None,
        }
    }
}
