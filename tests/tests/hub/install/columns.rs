//! Output of `kubectl get` for the systems' kinds on a hub with their definitions, without Berth.

use berth_tests::hub::Hub;
use serde_json::json;

use crate::install::installation::{define_systems, shoot};

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn on_a_hub_the_systems_kinds_show_their_columns_and_are_selected_by_their_fields() {
    let hub = Hub::start();
    define_systems(&hub);
    hub.ensure(&["create", "namespace", "garden-dev"]);
    let mut placed = shoot("placed");
    placed["spec"]["seedName"] = json!("aws-eu1");
    let placement = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "p", "namespace": "garden-dev"}, "spec": {}});
    let member = json!({"apiVersion": "cluster.kubernetes-fleet.io/v1", "kind": "MemberCluster",
        "metadata": {"name": "m"}, "spec": {"identity": {"kind": "User", "name": "agent"}}});
    for object in [placed, shoot("waiting"), placement, member] {
        hub.kubectl("create -f -").input(object.to_string()).succeeds();
    }

    for (wanted, columns, cells) in [
        (
            "shoots -n garden-dev -o wide",
            "CLOUDPROFILE PROVIDER REGION SEED K8S VERSION HIBERNATION LAST OPERATION STATUS PURPOSE",
            ["aws", "eu-west-1", "aws-eu1", "1.34.1", "evaluation"].as_slice(),
        ),
        (
            "placements.cluster.open-cluster-management.io -n garden-dev",
            "SUCCEEDED REASON SELECTEDCLUSTERS",
            &["p"],
        ),
        (
            "memberclusters",
            "JOINED AGE MEMBER-AGENT-LAST-SEEN NODE-COUNT AVAILABLE-CPU AVAILABLE-MEMORY",
            &["m"],
        ),
    ] {
        let table = hub.kubectl(&format!("get {wanted}")).succeeds();
        let words: Vec<&str> = table
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        assert!(words.join(" ").contains(columns), "{table}");
        assert!(cells.iter().all(|cell| table.contains(cell)), "{table}");
    }
    let of_seed = "get shoots -A --field-selector spec.seedName=aws-eu1 -o name";
    assert_eq!(
        hub.kubectl(of_seed).succeeds(),
        "shoot.core.gardener.cloud/placed\n"
    );
}
