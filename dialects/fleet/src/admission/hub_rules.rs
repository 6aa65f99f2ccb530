//! The rules for a hub: the writes, by users other than the scheduler, for which the hub must call the
//! webhooks. These are writes of policy snapshots and bindings, since these objects contain decisions, and
//! updates of placements that add or remove the scheduler's finalizer.

use berth_admission::{Operation, Phase};
use berth_dialect_contract::hub_rule::cel;
use berth_dialect_contract::{Condition, HubRule};

use crate::names::{
    ACTOR, BINDINGS, PLACEMENT_FINALIZER, PLACEMENTS, RESOURCE_BINDINGS, RESOURCE_PLACEMENTS,
    RESOURCE_SNAPSHOTS, SNAPSHOTS,
};

/// All rules for a hub.
pub(crate) fn all() -> Vec<HubRule> {
    let finalizer_changes = cel::element_differs(
        &["metadata", "finalizers"],
        &format!("item == {}", cel::text(PLACEMENT_FINALIZER)),
    );
    vec![
        HubRule {
            name: "decisions",
            resources: vec![SNAPSHOTS, BINDINGS, RESOURCE_SNAPSHOTS, RESOURCE_BINDINGS],
            subresources: &["", "status"],
            operations: &[Operation::Create, Operation::Update, Operation::Delete],
            phase: Phase::Validate,
            conditions: vec![Condition::not_by(ACTOR), Condition::not_collected()],
        },
        HubRule {
            name: "holds",
            resources: vec![PLACEMENTS, RESOURCE_PLACEMENTS],
            subresources: &["", "status"],
            operations: &[Operation::Update],
            phase: Phase::Validate,
            conditions: vec![
                Condition::not_by(ACTOR),
                Condition::new("hold", finalizer_changes),
            ],
        },
    ]
}
