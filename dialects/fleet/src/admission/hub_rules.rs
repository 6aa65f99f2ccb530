//! When a hub must ask about policy snapshots and bindings: whenever a user other than the scheduler
//! writes one, since they hold only decisions. It must ask about placements whenever the scheduler's
//! finalizer is added or removed.

use berth_admission::{Operation, Phase};
use berth_dialect_contract::hub_rule::cel;
use berth_dialect_contract::{Condition, HubRule};

use crate::names::{
    ACTOR, BINDINGS, PLACEMENT_FINALIZER, PLACEMENTS, RESOURCE_BINDINGS, RESOURCE_PLACEMENTS,
    RESOURCE_SNAPSHOTS, SNAPSHOTS,
};

/// The rules.
pub(crate) fn all() -> Vec<HubRule> {
    let held = cel::element_differs(
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
            conditions: vec![Condition::not_by(ACTOR), Condition::new("hold", held)],
        },
    ]
}
