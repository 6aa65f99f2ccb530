//! The writes for which a hub must call Berth's webhook: updates of `spec.seedName` of a Shoot, deletions of
//! a Shoot whose control plane moves, and changes of the tolerations that a Project allows.

use berth_admission::{Operation, Phase};
use berth_dialect_contract::hub_rule::cel;
use berth_dialect_contract::{Condition, HubRule};

use crate::names::{ACTOR, PROJECTS, SHOOTS};

/// The rules by which a hub calls the webhook.
pub(crate) fn all() -> Vec<HubRule> {
    let operation = |field| cel::field("oldObject", &["status", "lastOperation", field], "''");
    let (kind, state) = (operation("type"), operation("state"));
    vec![
        HubRule {
            name: "shoots-move",
            resources: vec![SHOOTS],
            subresources: &[""],
            operations: &[Operation::Update],
            phase: Phase::Mutate,
            conditions: vec![
                Condition::not_by(ACTOR),
                Condition::new("seed-name", cel::differs(&["spec", "seedName"])),
            ],
        },
        HubRule {
            name: "shoots-moving",
            resources: vec![SHOOTS],
            subresources: &[""],
            operations: &[Operation::Delete],
            phase: Phase::Validate,
            conditions: vec![Condition::new(
                "moving",
                format!("{kind} == 'Migrate' || ({kind} == 'Restore' && {state} != 'Succeeded')"),
            )],
        },
        HubRule {
            name: "projects-tolerations",
            resources: vec![PROJECTS],
            subresources: &[""],
            operations: &[Operation::Create, Operation::Update],
            phase: Phase::Validate,
            conditions: vec![Condition::new(
                "whitelist",
                cel::differs(&["spec", "tolerations", "whitelist"]),
            )],
        },
    ]
}
