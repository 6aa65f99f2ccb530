//! Nodes by their sizes: a node is taken to have the least of its size free, and 110 pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::quantity::QuantityError;

use super::{Amount, Bound, CPU, MOST, PODS, Request, Room};
use crate::kind::cluster::{Modeling, ResourceModel};

/// Pods that a node takes, of any size.
const PODS_PER_NODE: i64 = 110;

/// Nodes of a cluster by size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grades {
    grades: Vec<Grade>,
    /// Every resource that some size names.
    named: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Grade {
    nodes: i64,
    /// The least of each resource, by name.
    least: BTreeMap<String, Amount>,
}

impl Grades {
    /// Reads the sizes in `models` with the numbers of nodes in `counted`. `None` where either is
    /// empty, or a number of nodes is negative: then the summary counts.
    ///
    /// # Errors
    /// The figure that is not a quantity.
    pub(crate) fn read(models: &[ResourceModel], counted: &[Modeling]) -> Result<Option<Self>, String> {
        if models.is_empty() || counted.is_empty() || counted.iter().any(|entry| entry.count < 0) {
            return Ok(None);
        }
        let mut grades: BTreeMap<u32, Grade> = BTreeMap::new();
        for (index, model) in models.iter().enumerate() {
            let mut least = BTreeMap::new();
            for (place, range) in model.ranges.iter().enumerate() {
                let at = |error: QuantityError| {
                    format!("spec.resourceModels[{index}].ranges[{place}].min: {error}")
                };
                least.insert(range.name.clone(), Amount::of(range.min.get().map_err(at)?));
            }
            grades.insert(model.grade, Grade { nodes: 0, least });
        }
        for entry in counted {
            if let Some(grade) = grades.get_mut(&entry.grade) {
                grade.nodes = grade.nodes.saturating_add(entry.count);
            }
        }
        let mut named: Vec<String> = grades
            .values()
            .flat_map(|grade| grade.least.keys().cloned())
            .collect();
        named.sort_unstable();
        named.dedup();
        Ok(Some(Self {
            grades: grades.into_values().collect(),
            named,
        }))
    }

    /// The room on all nodes.
    pub(crate) fn room(&self, request: &Request) -> Option<Room> {
        let asked: Vec<(&Arc<str>, Amount)> = request.asked().filter(|(name, _)| is_counted(name)).collect();
        if let Some((name, _)) = asked.iter().find(|(name, _)| !self.names(name)) {
            return Some(Room {
                replicas: 0,
                bound: Bound::NotModelled(Arc::clone(name)),
            });
        }
        let room = self.grades.iter().fold(0_i64, |sum, grade| {
            sum.saturating_add(grade.nodes.saturating_mul(grade.per_node(&asked)))
        });
        Some(Room {
            replicas: room.min(MOST),
            bound: Bound::Models,
        })
    }

    fn names(&self, resource: &str) -> bool {
        self.named
            .binary_search_by(|name| name.as_str().cmp(resource))
            .is_ok()
    }
}

impl Grade {
    fn per_node(&self, asked: &[(&Arc<str>, Amount)]) -> i64 {
        asked.iter().fold(PODS_PER_NODE, |least, (name, wanted)| {
            let has = self.least.get(&***name).copied().unwrap_or_default();
            least.min(has.counted(name).max(0) / wanted.counted(name))
        })
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
