//! The two forms of a placement, of the whole hub and of one namespace, with the kinds of each
//! (docs/systems/fleet.md, "API objects"). They are decided alike.

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key};

use crate::names::{
    BINDINGS, PLACEMENTS, RESOURCE_BINDINGS, RESOURCE_PLACEMENTS, RESOURCE_SNAPSHOTS, SNAPSHOTS,
};

/// One form of a placement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// The placements.
    pub(crate) placements: GroupResource,
    /// Kind of the placements.
    pub(crate) placement: &'static str,
    /// The policy snapshots.
    pub(crate) snapshots: GroupResource,
    /// Kind of the policy snapshots.
    pub(crate) snapshot: &'static str,
    /// The bindings.
    pub(crate) bindings: GroupResource,
    /// Kind of the bindings.
    pub(crate) binding: &'static str,
    /// The condition of a placement that mirrors that of its snapshot.
    pub(crate) scheduled: &'static str,
}

/// Placements of the whole hub.
pub(crate) static HUB: Form = Form {
    placements: PLACEMENTS,
    placement: "ClusterResourcePlacement",
    snapshots: SNAPSHOTS,
    snapshot: "ClusterSchedulingPolicySnapshot",
    bindings: BINDINGS,
    binding: "ClusterResourceBinding",
    scheduled: "ClusterResourcePlacementScheduled",
};

/// Placements of objects in their namespace.
pub(crate) static NAMESPACE: Form = Form {
    placements: RESOURCE_PLACEMENTS,
    placement: "ResourcePlacement",
    snapshots: RESOURCE_SNAPSHOTS,
    snapshot: "SchedulingPolicySnapshot",
    bindings: RESOURCE_BINDINGS,
    binding: "ResourceBinding",
    scheduled: "ResourcePlacementScheduled",
};

impl Form {
    /// The form of placements, snapshots or bindings of `resource`.
    pub(crate) fn of(resource: GroupResource) -> &'static Self {
        match resource {
            RESOURCE_PLACEMENTS | RESOURCE_SNAPSHOTS | RESOURCE_BINDINGS => &NAMESPACE,
            _ => &HUB,
        }
    }

    /// The placement `name` of the snapshot or binding at `key`.
    pub(crate) fn parent(key: &Key, name: &str) -> Key {
        Key {
            resource: Self::of(key.resource).placements,
            namespace: Arc::clone(&key.namespace),
            name: name.into(),
        }
    }

    /// The policy snapshot `name` of `placement`.
    pub(crate) fn snapshot_of(placement: &Key, name: &str) -> Key {
        Key {
            resource: Self::of(placement.resource).snapshots,
            namespace: Arc::clone(&placement.namespace),
            name: name.into(),
        }
    }

    /// The binding `name` of `placement`.
    pub(crate) fn binding_of(placement: &Key, name: &str) -> Key {
        Key {
            resource: Self::of(placement.resource).bindings,
            namespace: Arc::clone(&placement.namespace),
            name: name.into(),
        }
    }
}
