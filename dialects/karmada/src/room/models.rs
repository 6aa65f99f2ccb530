//! Nodes by their sizes: a node is taken to have the least of its size free, and 110 pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::quantity::QuantityError;

use super::{Amount, CPU, PODS, Request, RoomLimit};
use crate::kind::cluster::{GradeCount, ResourceModel};

/// Pods that a node takes, of any size.
const PODS_PER_NODE: i64 = 110;

/// Sizes of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Grades {
    /// The least of each resource, by name; for each size.
    least: Vec<BTreeMap<String, Amount>>,
    /// Every resource that some size names.
    named: Vec<String>,
}

impl Grades {
    /// Reads the sizes that `models` give, and of each the number of nodes that `counted` says there are;
    /// `None` where either is empty, or a number of nodes is negative: then the summary counts.
    ///
    /// # Errors
    /// The figure that is not a quantity.
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
                let at = |error: QuantityError| {
                    format!("spec.resourceModels[{index}].ranges[{place}].min: {error}")
                };
                least.insert(range.name.clone(), Amount::of(range.min.get().map_err(at)?));
            }
            grades.insert(model.grade, (least, 0));
        }
        for entry in counted {
            if let Some((_, nodes)) = grades.get_mut(&entry.grade) {
                *nodes = nodes.saturating_add(entry.count);
            }
        }
        let (least, nodes): (Vec<_>, Vec<i64>) = grades.into_values().unzip();
        let mut named: Vec<String> = least.iter().flat_map(BTreeMap::keys).cloned().collect();
        named.sort_unstable();
        named.dedup();
        Ok(Some((Self { least, named }, nodes)))
    }

    /// Replicas of `request` that a node takes, by size.
    ///
    /// # Errors
    /// Why no node takes any.
    pub(super) fn per_node(&self, request: &Request) -> Result<Vec<i64>, RoomLimit> {
        let asked: Vec<(&Arc<str>, Amount)> = request.asked().filter(|(name, _)| is_counted(name)).collect();
        if let Some((name, _)) = asked.iter().find(|(name, _)| !self.names(name)) {
            return Err(RoomLimit::NotModelled(Arc::clone(name)));
        }
        let per_node = self.least.iter().map(|least| {
            asked.iter().fold(PODS_PER_NODE, |most, (name, wanted)| {
                let has = least.get(&***name).copied().unwrap_or_default();
                most.min(has.counted(name).max(0) / wanted.counted(name))
            })
        });
        Ok(per_node.collect())
    }

    fn names(&self, resource: &str) -> bool {
        self.named
            .binary_search_by(|name| name.as_str().cmp(resource))
            .is_ok()
    }
}

/// Whether a node is asked for `resource`: those of Kubernetes itself without a domain that nodes do not
/// count are passed over.
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
