//! Shapes: the resources and the sizes of nodes in the report of a cluster, by which room is counted. Many
//! clusters have the same shape, and the share of the room that one replica takes is computed once per shape.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::models::Grades;
use super::{Amount, Request, RoomLimit};

/// The resources of a cluster and the sizes of its nodes, without free amounts and numbers of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// The allocatable resources, in the order of names.
    resources: Vec<String>,
    /// The sizes of nodes; `None` if room is counted by the resource summary.
    grades: Option<Grades>,
}

/// The share of the room that one replica takes, on clusters of one shape.
#[derive(Clone, Debug)]
pub(crate) enum Measure {
    /// One pod and no other resource.
    Pod,
    /// There is no room, because of this limit.
    NoRoom(RoomLimit),
    /// Amounts of resources.
    Resources(Vec<Part>),
    /// Number of replicas that one node takes, for each size.
    PerNode(Vec<i64>),
}

/// The amount of one resource that a replica takes.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The index of the resource in the shape.
    pub(super) place: usize,
    /// The name of the resource.
    pub(super) name: Arc<str>,
    /// The amount of the resource.
    pub(super) amount: Amount,
}

impl Shape {
    /// Creates the shape of a cluster with the `free` resources and these sizes of nodes.
    pub(super) fn of(free: &BTreeMap<String, Amount>, grades: Option<Grades>) -> Self {
        Self {
            resources: free.keys().cloned().collect(),
            grades,
        }
    }

    /// The share of the room that one replica with `request` takes. A template without requirements has no
    /// request.
    pub(crate) fn measure(&self, request: Option<&Request>) -> Measure {
        let Some(request) = request else {
            return Measure::Pod;
        };
        if let Some(grades) = &self.grades {
            return match grades.per_node(request) {
                Ok(replicas) => Measure::PerNode(replicas),
                Err(limit) => Measure::NoRoom(limit),
            };
        }
        let mut parts = Vec::new();
        for (name, amount) in request.nonzero() {
            let place = self.resources.binary_search_by(|known| (**known).cmp(&**name));
            let Ok(place) = place else {
                return Measure::NoRoom(RoomLimit::Missing(Arc::clone(name)));
            };
            let name = Arc::clone(name);
            parts.push(Part { place, name, amount });
        }
        match parts.is_empty() {
            true => Measure::Pod,
            false => Measure::Resources(parts),
        }
    }
}
