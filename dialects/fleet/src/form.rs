//! The two forms of a placement, cluster-scoped and namespaced, with the kinds of each
//! (docs/systems/fleet.md, "API objects"). Both are decided by the same rules.

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key};

use crate::names::{
    BINDINGS, PLACEMENTS, RESOURCE_BINDINGS, RESOURCE_PLACEMENTS, RESOURCE_SNAPSHOTS, SNAPSHOTS,
};

/// One form of a placement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// The resource of placements.
    pub(crate) placements: GroupResource,
    /// The kind of placements.
    pub(crate) placement: &'static str,
    /// The resource of policy snapshots.
    pub(crate) snapshots: GroupResource,
    /// The kind of policy snapshots.
    pub(crate) snapshot: &'static str,
    /// The resource of bindings.
    pub(crate) bindings: GroupResource,
    /// The kind of bindings.
    pub(crate) binding: &'static str,
    /// The type of a placement's condition that mirrors the condition of its snapshot.
    pub(crate) scheduled: &'static str,
}

/// The form of cluster-scoped placements.
pub(crate) static HUB: Form = Form {
    placements: PLACEMENTS,
    placement: "ClusterResourcePlacement",
    snapshots: SNAPSHOTS,
    snapshot: "ClusterSchedulingPolicySnapshot",
    bindings: BINDINGS,
    binding: "ClusterResourceBinding",
    scheduled: "ClusterResourcePlacementScheduled",
};

/// The form of namespaced placements, which place objects of their namespace.
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
    /// The form with placements, snapshots or bindings of `resource`.
    pub(crate) fn of(resource: GroupResource) -> &'static Self {
        match resource {
            RESOURCE_PLACEMENTS | RESOURCE_SNAPSHOTS | RESOURCE_BINDINGS => &NAMESPACE,
            _ => &HUB,
        }
    }

    /// The key of the placement `name`, to which the snapshot or binding at `key` belongs.
    pub(crate) fn parent(key: &Key, name: &str) -> Key {
        Key {
            resource: Self::of(key.resource).placements,
            namespace: Arc::clone(&key.namespace),
            name: name.into(),
        }
    }

    /// The key of the policy snapshot `name` of `placement`.
    pub(crate) fn snapshot_of(placement: &Key, name: &str) -> Key {
        Key {
            resource: Self::of(placement.resource).snapshots,
            namespace: Arc::clone(&placement.namespace),
            name: name.into(),
        }
    }

    /// The key of the binding `name` of `placement`.
    pub(crate) fn binding_of(placement: &Key, name: &str) -> Key {
        Key {
            resource: Self::of(placement.resource).bindings,
            namespace: Arc::clone(&placement.namespace),
            name: name.into(),
        }
    }
}
