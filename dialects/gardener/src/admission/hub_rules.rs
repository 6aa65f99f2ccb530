//! When a hub must ask about Shoots: whenever an update changes where one is. Creating is asked about anyway.

use admission::{Operation, Phase};
use dialect_contract::hub_rule::cel;
use dialect_contract::{Condition, HubRule};

use crate::names::{ACTOR, SHOOTS};

/// The rules.
pub(crate) fn all() -> Vec<HubRule> {
    vec![HubRule {
        name: "shoots-move",
        resources: vec![SHOOTS],
        subresources: &[""],
        operations: &[Operation::Update],
        phase: Phase::Mutate,
        conditions: vec![
            Condition::not_by(ACTOR),
            Condition::new("seed-name", cel::differs(&["spec", "seedName"])),
        ],
    }]
}
