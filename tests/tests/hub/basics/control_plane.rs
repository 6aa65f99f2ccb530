//! The control plane of the tests itself, on which the other tests rely.

use berth_tests::hub::Hub;

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_real_control_plane_knows_its_users() {
    let hub = Hub::shared();
    let version = hub.kubectl("version -o json").json();
    assert_eq!(version["serverVersion"]["minor"], "36");
    let who = hub.kubectl("auth whoami -o json").json();
    assert_eq!(who["status"]["userInfo"]["username"], "admin");
    let alice = hub.kubeconfig_for("alice", &["dev"]);
    let refused = hub.kubectl_as(&alice, &["get", "secrets"]).fails();
    assert!(
        refused.contains("User \"alice\" cannot list resource \"secrets\""),
        "{refused}"
    );
    let robot = hub.kubeconfig_for_service_account("robots", "r2");
    let who = hub.kubectl_as(&robot, &["auth", "whoami", "-o", "json"]).json();
    assert_eq!(
        who["status"]["userInfo"]["username"],
        "system:serviceaccount:robots:r2"
    );
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn namespaces_go_once_the_controllers_run() {
    let mut hub = Hub::start();
    hub.start_controllers();
    hub.kubectl("create namespace passing").succeeds();
    hub.kubectl("create configmap thing -n passing").succeeds();
    hub.kubectl("delete namespace passing --timeout=25s").succeeds();
}
