//! The two forms of a placement, cluster-scoped and namespaced, with the resources and kinds of each form
//! (docs/systems/fleet.md, "API objects"). The rules of scheduling are equal for both forms.

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key};

use crate::names::{
    BINDINGS, PLACEMENTS, RESOURCE_BINDINGS, RESOURCE_PLACEMENTS, RESOURCE_SNAPSHOTS, SNAPSHOTS,
};

/// The form of a placement: the resources and kinds of a placement and its objects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// The resource of placements.
    pub(crate) placements: GroupResource,
    /// The kind of placements.
    pub(crate) placement_kind: &'static str,
    /// The resource of policy snapshots.
    pub(crate) snapshots: GroupResource,
    /// The kind of policy snapshots.
    pub(crate) snapshot_kind: &'static str,
    /// The resource of bindings.
    pub(crate) bindings: GroupResource,
    /// The kind of bindings.
    pub(crate) binding_kind: &'static str,
    /// The type of the condition of a placement that mirrors the condition of the current snapshot.
    pub(crate) scheduled_condition: &'static str,
}

/// The form of cluster-scoped placements.
pub(crate) static CLUSTER_SCOPED: Form = Form {
    placements: PLACEMENTS,
    placement_kind: "ClusterResourcePlacement",
    snapshots: SNAPSHOTS,
    snapshot_kind: "ClusterSchedulingPolicySnapshot",
    bindings: BINDINGS,
    binding_kind: "ClusterResourceBinding",
    scheduled_condition: "ClusterResourcePlacementScheduled",
};

/// The form of namespaced placements, which place objects of their own namespace.
pub(crate) static NAMESPACED: Form = Form {
    placements: RESOURCE_PLACEMENTS,
    placement_kind: "ResourcePlacement",
    snapshots: RESOURCE_SNAPSHOTS,
    snapshot_kind: "SchedulingPolicySnapshot",
    bindings: RESOURCE_BINDINGS,
    binding_kind: "ResourceBinding",
    scheduled_condition: "ResourcePlacementScheduled",
};

impl Form {
    /// The form to which `resource`, a resource of placements, snapshots or bindings, belongs. For any other
    /// resource, the form of cluster-scoped placements.
    pub(crate) fn of(resource: GroupResource) -> &'static Self {
        match resource {
            RESOURCE_PLACEMENTS | RESOURCE_SNAPSHOTS | RESOURCE_BINDINGS => &NAMESPACED,
            _ => &CLUSTER_SCOPED,
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
