//! Room by resource models: a node counts as having the minimum amounts of its size free, and room for 110
//! pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::quantity::QuantityError;

use super::{Amount, CPU, PODS, Request, RoomLimit};
use crate::kind::cluster::{GradeCount, ResourceModel};

/// Number of pods that a node of any size can run.
const PODS_PER_NODE: i64 = 110;

/// The sizes of nodes (grades) in the resource models of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Grades {
    /// The minimum amount of each resource, by the name of the resource, for each size.
    minimums: Vec<BTreeMap<String, Amount>>,
    /// The resources in any of the sizes, in the order of names.
    resources: Vec<String>,
}

impl Grades {
    /// Parses the sizes in `models`, and the number of nodes of each size in `counted`. `None` if either list
    /// is empty or a number of nodes is negative; room is then computed from the resource summary.
    ///
    /// # Errors
    /// A minimum is not a quantity.
    pub(super) fn read(
        models: &[ResourceModel],
        counted: &[GradeCount],
    ) -> Result<Option<(Self, Vec<i64>)>, String> {
        if models.is_empty() || counted.is_empty() || counted.iter().any(|entry| entry.count < 0) {
            return Ok(None);
        }
        let mut grades: BTreeMap<u64, (BTreeMap<String, Amount>, i64)> = BTreeMap::new();
        for (index, model) in models.iter().enumerate() {
            let mut minimums = BTreeMap::new();
            for (place, range) in model.ranges.iter().enumerate() {
                let path_error = |error: QuantityError| {
                    format!("spec.resourceModels[{index}].ranges[{place}].min: {error}")
                };
                minimums.insert(
                    range.name.clone(),
                    Amount::of(range.min.parse().map_err(path_error)?),
                );
            }
            grades.insert(model.grade, (minimums, 0));
        }
        for entry in counted {
            if let Some((_, nodes)) = grades.get_mut(&entry.grade) {
                *nodes = nodes.saturating_add(entry.count);
            }
        }
        let (minimums, nodes): (Vec<_>, Vec<i64>) = grades.into_values().unzip();
        let mut resources: Vec<String> = minimums.iter().flat_map(BTreeMap::keys).cloned().collect();
        resources.sort_unstable();
        resources.dedup();
        Ok(Some((Self { minimums, resources }, nodes)))
    }

    /// Number of replicas with `request` that one node takes, for each size.
    ///
    /// # Errors
    /// The limit by which no node takes any replica.
    pub(super) fn per_node(&self, request: &Request) -> Result<Vec<i64>, RoomLimit> {
        let requests: Vec<(&Arc<str>, Amount)> =
            request.nonzero().filter(|(name, _)| is_counted(name)).collect();
        if let Some((name, _)) = requests.iter().find(|(name, _)| !self.has_resource(name)) {
            return Err(RoomLimit::NotModelled(Arc::clone(name)));
        }
        let per_node = self.minimums.iter().map(|minimums| {
            requests.iter().fold(PODS_PER_NODE, |most, (name, amount)| {
                let free = minimums.get(&***name).copied().unwrap_or_default();
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

/// Whether `resource` limits the replicas on a node. A resource without a domain only does if it is a
/// resource of nodes, such as memory.
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
