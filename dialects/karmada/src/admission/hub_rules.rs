//! The writes of bindings for which a hub must call the webhook: changes of a decision, and of the name of
//! the scheduler that decides, by users other than the scheduler.

use berth_admission::{Operation, Phase};
use berth_dialect_contract::hub_rule::cel;
use berth_dialect_contract::{Condition, HubRule};

use super::SCHEDULER_FIELDS;
use crate::names::{ACTOR, APPLIED_PLACEMENT, BINDINGS, CLUSTER_BINDINGS, SCHEDULED};

/// The rules by which a hub calls the webhook for changes of decisions.
pub(crate) fn all() -> Vec<HubRule> {
    let key = format!("key == {}", cel::text(APPLIED_PLACEMENT));
    let condition = format!("item.type == {}", cel::text(SCHEDULED));
    // A binding is handed over by an update. At a create, the name differs from none.
    let hands_over = format!(
        "oldObject != null && {}",
        cel::differs(&["spec", "schedulerName"])
    );
    let mut parts = vec![
        cel::differs(&["spec", "clusters"]),
        hands_over,
        cel::entry_differs(&["metadata", "annotations"], &key),
        cel::element_differs(&["status", "conditions"], &condition),
    ];
    parts.extend(
        SCHEDULER_FIELDS
            .iter()
            .map(|field| cel::differs(&["status", field])),
    );
    let changes_decision = parts
        .iter()
        .map(|part| format!("({part})"))
        .collect::<Vec<_>>()
        .join(" || ");
    vec![HubRule {
        name: "decisions",
        resources: vec![BINDINGS, CLUSTER_BINDINGS],
        subresources: &["", "status"],
        operations: &[Operation::Create, Operation::Update],
        phase: Phase::Validate,
        conditions: vec![
            Condition::not_by(ACTOR),
            Condition::new("decided", changes_decision),
        ],
    }]
}
