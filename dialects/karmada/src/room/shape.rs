//! Shapes of what clusters report: the resources and the sizes of nodes by which room is counted. Many
//! clusters have the same, and for each of these it is worked out once what a replica takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::models::Grades;
use super::{Amount, Request, RoomLimit};

/// Resources of a cluster and sizes of its nodes, without how much and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// The resources that may be given to pods, in the order of names.
    resources: Vec<String>,
    /// The sizes of nodes, where nodes are counted by them.
    grades: Option<Grades>,
}

/// The part of the room that one replica takes, in clusters of one shape.
#[derive(Clone, Debug)]
pub(crate) enum Measure {
    /// Nothing but a pod.
    Pod,
    /// There is no room, for this reason.
    None(RoomLimit),
    /// So much of these resources.
    Resources(Vec<Part>),
    /// A node takes so many replicas, by size.
    PerNode(Vec<i64>),
}

/// Amount of one resource that a replica takes.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The resource, by its place in the shape.
    pub(super) place: usize,
    /// The name.
    pub(super) name: Arc<str>,
    /// The amount.
    pub(super) wanted: Amount,
}

impl Shape {
    /// The shape of a cluster with `free` resources and these sizes of nodes.
    pub(super) fn of(free: &BTreeMap<String, Amount>, grades: Option<Grades>) -> Self {
        Self {
            resources: free.keys().cloned().collect(),
            grades,
        }
    }

    /// The part of the room that one replica of `request` takes. `None` asks for a template that asks for
    /// nothing.
    pub(crate) fn measure(&self, request: Option<&Request>) -> Measure {
        let Some(request) = request else {
            return Measure::Pod;
        };
        if let Some(grades) = &self.grades {
            return match grades.per_node(request) {
                Ok(replicas) => Measure::PerNode(replicas),
                Err(bound) => Measure::None(bound),
            };
        }
        let mut parts = Vec::new();
        for (name, wanted) in request.asked() {
            let place = self.resources.binary_search_by(|known| (**known).cmp(&**name));
            let Ok(place) = place else {
                return Measure::None(RoomLimit::Missing(Arc::clone(name)));
            };
            let name = Arc::clone(name);
            parts.push(Part { place, name, wanted });
        }
        match parts.is_empty() {
            true => Measure::Pod,
            false => Measure::Resources(parts),
        }
    }
}
