//! Nodes by their sizes: a node counts as having the minimum of its size free, and room for 110 pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::quantity::QuantityError;

use super::{Amount, CPU, PODS, Request, RoomLimit};
use crate::kind::cluster::{GradeCount, ResourceModel};

/// Number of pods that a node of any size can run.
const PODS_PER_NODE: i64 = 110;

/// The sizes of nodes in a cluster's resource models.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Grades {
    /// The minimum of each resource by name, for each size.
    least: Vec<BTreeMap<String, Amount>>,
    /// All resources that the sizes name.
    resources: Vec<String>,
}

impl Grades {
    /// Parses the sizes in `models`, and the number of nodes of each size in `counted`. `None` if either is
    /// empty or a number of nodes is negative. Room is then computed from the summary.
    ///
    /// # Errors
    /// When a figure is not a quantity.
    pub(super) fn read(
        models: &[ResourceModel],
        counted: &[GradeCount],
    ) -> Result<Option<(Self, Vec<i64>)>, String> {
        if models.is_empty() || counted.is_empty() || counted.iter().any(|entry| entry.count < 0) {
            return Ok(None);
        }
        let mut grades: BTreeMap<u32, (BTreeMap<String, Amount>, i64)> = BTreeMap::new();
        for (index, model) in models.iter().enumerate() {
            let mut least = BTreeMap::new();
            for (place, range) in model.ranges.iter().enumerate() {
                let path_error = |error: QuantityError| {
                    format!("spec.resourceModels[{index}].ranges[{place}].min: {error}")
                };
                least.insert(
                    range.name.clone(),
                    Amount::of(range.min.get().map_err(path_error)?),
                );
            }
            grades.insert(model.grade, (least, 0));
        }
        for entry in counted {
            if let Some((_, nodes)) = grades.get_mut(&entry.grade) {
                *nodes = nodes.saturating_add(entry.count);
            }
        }
        let (least, nodes): (Vec<_>, Vec<i64>) = grades.into_values().unzip();
        let mut resources: Vec<String> = least.iter().flat_map(BTreeMap::keys).cloned().collect();
        resources.sort_unstable();
        resources.dedup();
        Ok(Some((Self { least, resources }, nodes)))
    }

    /// Number of replicas of `request` that one node takes, by size.
    ///
    /// # Errors
    /// The reason why no node takes any.
    pub(super) fn per_node(&self, request: &Request) -> Result<Vec<i64>, RoomLimit> {
        let requests: Vec<(&Arc<str>, Amount)> =
            request.nonzero().filter(|(name, _)| is_counted(name)).collect();
        if let Some((name, _)) = requests.iter().find(|(name, _)| !self.has_resource(name)) {
            return Err(RoomLimit::NotModelled(Arc::clone(name)));
        }
        let per_node = self.least.iter().map(|least| {
            requests.iter().fold(PODS_PER_NODE, |most, (name, amount)| {
                let free = least.get(&***name).copied().unwrap_or_default();
                most.min(free.counted(name).max(0) / amount.counted(name))
            })
        });
        Ok(per_node.collect())
    }

    fn has_resource(&self, resource: &str) -> bool {
        self.resources
            .binary_search_by(|name| name.as_str().cmp(resource))
            .is_ok()
    }
}

/// Whether nodes are compared by `resource`. Kubernetes' own resources, which have no domain, are skipped
/// unless nodes count them.
fn is_counted(resource: &str) -> bool {
    match resource {
        CPU | "memory" | "ephemeral-storage" => true,
        PODS => false,
        name => {
            name.starts_with("hugepages-")
                || name.starts_with("attachable-volumes-")
                || name.contains("kubernetes.io/")
                || name.contains('/') && !name.starts_with("requests.")
        }
    }
}
