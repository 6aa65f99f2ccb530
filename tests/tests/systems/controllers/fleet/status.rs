//! The status of a placement in the namespace that it selects.

use super::*;

const REPORTED: &str = "ClusterResourcePlacementStatusSynced";

#[test]
fn the_namespace_of_a_placement_shows_its_status() {
    let server = server();
    member(&server, "m1", "site: a");
    let text = "apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ClusterResourcePlacement\nmetadata: {name: p}\n\
                spec:\n  resourceSelectors: [{group: \"\", version: v1, kind: Namespace, name: shop}]\n  \
                statusReportingScope: NamespaceAccessible\n  policy: {placementType: PickAll}\n";
    server.kubectl("apply -f -").input(text.to_owned()).succeeds();
    let condition_of = |wanted: &str| {
        eventually(&format!("{REPORTED} to be {wanted}"), || {
            let placement = server.kubectl("get crp p -o json").json();
            condition(&placement, REPORTED).filter(|[status, ..]| status == wanted)
        })
    };
    let [_, reason, message] = condition_of("False");
    assert_eq!(reason, "StatusSyncFailed");
    assert!(message.contains("there is no namespace shop"), "{message}");

    server.kubectl("create namespace shop").succeeds();
    condition_of("True");
    let report = eventually("the status to have the decision", || {
        let report = server.kubectl("-n shop get crps p -o json").json();
        let scheduled = &report["sourceStatus"]["conditions"][0];
        (scheduled["type"] == "ClusterResourcePlacementScheduled" && scheduled["status"] == "True")
            .then_some(report)
    });
    assert_eq!(
        report["sourceStatus"]["conditions"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );
    let ann = server.kubeconfig_for("ann", &[]);
    let resource = "clusterresourceplacementstatuses.placement.kubernetes-fleet.io";
    server
        .kubectl(&format!(
            "-n shop create role reader --verb=get --resource={resource}"
        ))
        .succeeds();
    server
        .kubectl("-n shop create rolebinding ann --role=reader --user=ann")
        .succeeds();
    let read = |words: &[&str]| server.kubectl_as(&ann, words).run();
    assert!(!read(&["get", "crp", "p"]).success, "it is not hers");
    eventually("her right to count", || {
        read(&["-n", "shop", "get", "crps", "p"]).success.then_some(())
    });

    server.kubectl("delete crp p").succeeds();
    eventually("the status to go with its placement", || {
        let left = server.kubectl("-n shop get crps -o json").json();
        left["items"].as_array().is_some_and(Vec::is_empty).then_some(())
    });
}
