//! The writes of namespaces and synced resources for which a hub must call the webhook: writes that change a
//! guarded key, and every write of a syncer.

use berth_admission::{Operation, Phase};
use berth_apimachinery::GroupResource;
use berth_dialect_contract::hub_rule::cel;
use berth_dialect_contract::{Condition, HubRule};

use crate::names::{INTERNAL_SCHEDULING, INTERNAL_WORKLOADS, NAMESPACES, PLACEMENT, SYNCER_FINALIZER};

use super::roles::SYNCER;

/// The rules for a hub: for namespaces, and for the resources in `synced`.
pub(crate) fn of(synced: &[GroupResource]) -> Vec<HubRule> {
    let rule = |name, resources: Vec<GroupResource>, subresources, operations, phase| HubRule {
        name,
        resources,
        subresources,
        operations,
        phase,
        conditions: vec![guarded_keys()],
    };
    let writes: &[Operation] = &[Operation::Create, Operation::Update];
    let all: &[Operation] = &[Operation::Create, Operation::Update, Operation::Delete];
    let of_namespaces: &[&str] = &["", "status", "finalize"];
    let of_synced: &[&str] = &["", "status"];
    vec![
        rule(
            "namespaces",
            vec![NAMESPACES],
            of_namespaces,
            writes,
            Phase::Mutate,
        ),
        rule(
            "namespaces",
            vec![NAMESPACES],
            of_namespaces,
            all,
            Phase::Validate,
        ),
        rule("synced", synced.to_vec(), of_synced, writes, Phase::Mutate),
        rule("synced", synced.to_vec(), of_synced, all, Phase::Validate),
    ]
}

fn guarded_keys() -> Condition {
    let internal = format!("key.contains({})", cel::text(&format!("{INTERNAL_WORKLOADS}/")));
    let annotation = cel::any(&[
        format!("key == {}", cel::text(PLACEMENT)),
        format!("key.startsWith({})", cel::text(INTERNAL_SCHEDULING)),
        internal.clone(),
    ]);
    let label = cel::any(&[
        format!("key.startsWith({})", cel::text(INTERNAL_SCHEDULING)),
        internal,
    ]);
    let edits = cel::any(&[
        cel::entry_differs(&["metadata", "annotations"], &annotation),
        cel::entry_differs(&["metadata", "labels"], &label),
        cel::element_differs(
            &["metadata", "finalizers"],
            &format!("item.startsWith({})", cel::text(SYNCER_FINALIZER)),
        ),
    ]);
    // A deletion removes all keys, and is allowed for every user except syncers.
    Condition::new(
        "guarded-keys",
        format!(
            "request.userInfo.username.startsWith({}) || (request.operation != 'DELETE' && ({edits}))",
            cel::text(SYNCER)
        ),
    )
}
