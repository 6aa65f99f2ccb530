//! When a hub must ask about policy snapshots and bindings: whenever anybody but the scheduler writes one. They hold
//! decisions and nothing else.

use admission::{Operation, Phase};
use dialect_contract::{Condition, HubRule};

use crate::names::{ACTOR, BINDINGS, SNAPSHOTS};

/// The rules.
pub(crate) fn all() -> Vec<HubRule> {
    vec![HubRule {
        name: "decisions",
        resources: vec![SNAPSHOTS, BINDINGS],
        subresources: &["", "status"],
        operations: &[Operation::Create, Operation::Update, Operation::Delete],
        phase: Phase::Validate,
        conditions: vec![Condition::not_by(ACTOR), Condition::not_collected()],
        must_answer: true,
    }]
}
