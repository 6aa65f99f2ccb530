//! Permissions that changes need, and messages about missing ones.

use berth_admission::{Denial, UserInfo};
use berth_apimachinery::GroupResource;
use serde_json::json;

use super::*;
use crate::names::SETS;

fn needs(resource: GroupResource, old: Option<&Value>, new: &Value) -> Vec<RequiredRight> {
    let user = UserInfo {
        name: "jane".to_owned(),
        ..UserInfo::default()
    };
    let request = Request {
        operation: old.map_or(Operation::Create, |_| Operation::Update),
        resource,
        kind: "",
        subresource: "",
        namespace: if resource == BINDINGS { "team-a" } else { "" },
        name: "c1",
        user: &user,
        old,
        dry_run: false,
    };
    assert!(ClusterMembership.handles(&request));
    assert!(
        ClusterMembership
            .validate(&request, Some(new), &mut Vec::new())
            .is_ok()
    );
    ClusterMembership.needs(&request, Some(new))
}

fn forbidden(text: &str) -> Denial {
    Denial::Forbidden(text.to_owned())
}

fn spoken(needs: &[RequiredRight]) -> Vec<String> {
    needs
        .iter()
        .map(|needed| format!("{} {}", needed.right.to_kubectl_text(), needed.right.name))
        .collect()
}

fn cluster(accepted: bool, set: Option<&str>) -> Value {
    let mut cluster = json!({"metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": accepted}});
    if let Some(set) = set {
        cluster["metadata"]["labels"] = json!({SET_LABEL: set});
    }
    cluster
}

const ACCEPT: &str = "update managedclusters.register.open-cluster-management.io/accept c1";
const JOIN_A: &str = "create managedclustersets.cluster.open-cluster-management.io/join a";
const JOIN_B: &str = "create managedclustersets.cluster.open-cluster-management.io/join b";
const JOIN_DEFAULT: &str = "create managedclustersets.cluster.open-cluster-management.io/join default";

#[test]
fn every_change_of_a_cluster_takes_its_rights() {
    let table: [(Option<Value>, Value, &[&str]); 12] = [
        (None, cluster(false, None), &[]),
        (None, cluster(false, Some("default")), &[]),
        (None, cluster(true, None), &[ACCEPT]),
        (None, cluster(true, Some("a")), &[ACCEPT, JOIN_A]),
        (Some(cluster(false, None)), cluster(true, None), &[ACCEPT]),
        (Some(cluster(true, None)), cluster(true, None), &[]),
        (Some(cluster(true, None)), cluster(false, None), &[]),
        (
            Some(cluster(true, Some("a"))),
            cluster(true, Some("b")),
            &[JOIN_A, JOIN_B],
        ),
        (
            Some(cluster(true, Some("a"))),
            cluster(true, Some("default")),
            &[JOIN_A, JOIN_DEFAULT],
        ),
        (Some(cluster(true, Some("a"))), cluster(true, None), &[JOIN_A]),
        (Some(cluster(true, None)), cluster(true, Some("b")), &[JOIN_B]),
        (Some(cluster(true, Some("a"))), cluster(true, Some("a")), &[]),
    ];
    for (old, new, expected) in table {
        let needs = needs(CLUSTERS, old.as_ref(), &new);
        assert_eq!(spoken(&needs), expected, "{old:?} to {new}");
    }
}

#[test]
fn a_binding_takes_the_right_on_its_set() {
    let binding = json!({"metadata": {"name": "a"}, "spec": {"clusterSet": "a"}});
    let needs = needs(BINDINGS, None, &binding);
    assert_eq!(
        spoken(&needs),
        ["create managedclustersets.cluster.open-cluster-management.io/bind a"]
    );
    assert_eq!(
        needs[0].refusal,
        forbidden(
            "it lets the placements of namespace \"team-a\" use ManagedClusterSet \"a\", but user \"jane\" may not create \
         managedclustersets.cluster.open-cluster-management.io/bind \"a\": ask an administrator for this \
         permission"
        )
    );
}

#[test]
fn a_missing_right_is_told_with_what_it_was_wanted_for() {
    let needs = needs(CLUSTERS, None, &cluster(true, Some("a")));
    assert_eq!(
        needs[0].refusal,
        forbidden(
            "spec.hubAcceptsClient accepts cluster \"c1\" on the hub, but user \"jane\" may not update \
         managedclusters.register.open-cluster-management.io/accept \"c1\": leave it false, and ask a user with this \
         permission to accept the cluster"
        )
    );
    assert_eq!(
        needs[1].refusal,
        forbidden(
            "label cluster.open-cluster-management.io/clusterset moves the cluster into or out of ManagedClusterSet \"a\", \
         but user \"jane\" may not create managedclustersets.cluster.open-cluster-management.io/join \"a\": leave the \
         label as it is, or ask an administrator for this permission"
        )
    );
}

#[test]
fn sets_statuses_and_deletions_take_no_such_right() {
    let user = UserInfo::default();
    let request = Request {
        operation: Operation::Update,
        resource: CLUSTERS,
        kind: "ManagedCluster",
        subresource: "status",
        namespace: "",
        name: "c1",
        user: &user,
        old: None,
        dry_run: false,
    };
    assert!(!ClusterMembership.handles(&request));
    for (operation, resource) in [
        (Operation::Delete, CLUSTERS),
        (Operation::Update, BINDINGS),
        (Operation::Create, SETS),
    ] {
        assert!(!ClusterMembership.handles(&Request {
            operation,
            resource,
            subresource: "",
            ..request.clone()
        }));
    }
}
