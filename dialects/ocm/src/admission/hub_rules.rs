//! The writes of clusters and bindings for which a hub must call the webhook: writes that need a separate
//! permission.

use berth_admission::{Operation, Phase};
use berth_dialect_contract::hub_rule::cel;
use berth_dialect_contract::{Condition, HubRule};

use crate::names::{BINDINGS, CLUSTERS, SET_LABEL};

/// The rules by which a hub calls the webhook for these writes.
pub(crate) fn all() -> Vec<HubRule> {
    let accepted = cel::turned_on(&["spec", "hubAcceptsClient"]);
    let set_changes = cel::entry_differs(
        &["metadata", "labels"],
        &format!("key == {}", cel::text(SET_LABEL)),
    );
    let rule = |name, resource, operations, conditions| HubRule {
        name,
        resources: vec![resource],
        subresources: &[""],
        operations,
        phase: Phase::Validate,
        conditions,
    };
    vec![
        rule(
            "membership",
            CLUSTERS,
            &[Operation::Create, Operation::Update],
            vec![Condition::new(
                "accepted-or-moved",
                cel::any(&[accepted, set_changes]),
            )],
        ),
        rule(
            "set-bindings",
            BINDINGS,
            &[Operation::Create],
            vec![Condition::new(
                "names-a-set",
                cel::filled(&["spec", "clusterSet"]),
            )],
        ),
    ]
}
