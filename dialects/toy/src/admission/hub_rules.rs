//! The writes of Toys for which a hub must call the webhook: writes that change the box.

use berth_admission::{Operation, Phase};
use berth_dialect_contract::hub_rule::cel;
use berth_dialect_contract::{Condition, HubRule};

use crate::names::{ACTOR, TOYS};

/// All rules for a hub.
pub(crate) fn all() -> Vec<HubRule> {
    vec![HubRule {
        name: "toys",
        resources: vec![TOYS],
        subresources: &[""],
        operations: &[Operation::Create, Operation::Update],
        phase: Phase::Validate,
        conditions: vec![
            Condition::not_by(ACTOR),
            Condition::new("box", cel::differs(&["spec", "box"])),
        ],
    }]
}
