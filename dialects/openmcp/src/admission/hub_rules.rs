//! The rules by which a hub calls the webhook: for writes of ClusterRequests and Clusters that change the
//! grant (Cluster and phase), or the finalizers of the scheduler or of requests.

use berth_admission::{Operation, Phase};
use berth_dialect_contract::hub_rule::cel;
use berth_dialect_contract::{Condition, HubRule};

use crate::names::{ACTOR, CLUSTERS, REQUEST_FINALIZER, REQUESTS, USE_FINALIZER};

/// All rules for a hub.
pub(crate) fn all() -> Vec<HubRule> {
    let finalizers = ["metadata", "finalizers"];
    let finalizer_changes =
        cel::element_differs(&finalizers, &format!("item == {}", cel::text(REQUEST_FINALIZER)));
    let grant_changes = cel::any(&[
        cel::differs(&["status", "cluster"]),
        cel::differs(&["status", "phase"]),
    ]);
    let use_changes = cel::element_differs(
        &finalizers,
        &format!("item.startsWith({})", cel::text(USE_FINALIZER)),
    );
    // A creation drops the status.
    let request = cel::any(&[
        finalizer_changes,
        format!("request.operation != 'CREATE' && ({grant_changes})"),
    ]);
    let rule = |name, resource, operations, condition| HubRule {
        name,
        resources: vec![resource],
        subresources: &["", "status"],
        operations,
        phase: Phase::Validate,
        conditions: vec![Condition::not_by(ACTOR), condition],
    };
    vec![
        rule(
            "clusterrequests",
            REQUESTS,
            &[Operation::Create, Operation::Update],
            Condition::new("grant", request),
        ),
        rule(
            "clusters",
            CLUSTERS,
            &[Operation::Update],
            Condition::new("uses", use_changes),
        ),
    ]
}
