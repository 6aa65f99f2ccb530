//! The example of an aggregated server, behind a real kube-apiserver.

#[path = "../../../../apiserver/aggregation/examples/aggregated_flunders.rs"]
mod aggregated_flunders;

use berth_aggregation::options::Options;
use berth_tests::eventually;
use berth_tests::hub::Hub;
use clap::Parser as _;
use serde_json::json;

#[test]
#[ignore = "needs a control plane: make e2e"]
fn the_example_of_an_aggregated_server_registers_itself_and_asks_the_hub_for_rights() {
    let hub = Hub::shared();
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "flunders", "namespace": "default"},
        "spec": {"type": "ExternalName", "externalName": "localhost"}});
    hub.kubectl("apply -f -").input(service.to_string()).succeeds();
    let folder = tempfile::tempdir().unwrap();
    let port = berth_tests::ports::free().to_string();
    let (certificates, kubeconfig) = (folder.path().join("certificates"), hub.admin());
    let flags: [&std::ffi::OsStr; 10] = [
        "flunders".as_ref(),
        "--kubeconfig".as_ref(),
        kubeconfig.as_os_str(),
        "--cert-dir".as_ref(),
        certificates.as_os_str(),
        "--bind-address=127.0.0.1".as_ref(),
        "--service-port".as_ref(),
        port.as_ref(),
        "--secure-port".as_ref(),
        port.as_ref(),
    ];
    let arguments = Options::try_parse_from(flags).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let running = runtime
        .block_on(arguments.start(aggregated_flunders::program()))
        .unwrap();

    eventually("the APIService to be available", || {
        let condition = hub
            .kubectl("get apiservice v1.wardle.example.com -o jsonpath={.status.conditions[0].status}")
            .run();
        (condition.out == "True").then_some(())
    });
    let flunder = json!({"apiVersion": "wardle.example.com/v1", "kind": "Flunder", "metadata": {"name": "fin"}, "size": 3});
    hub.kubectl("create -f -").input(flunder.to_string()).succeeds();
    assert!(hub.kubectl("get flunders").succeeds().contains("fin"));
    let bob = hub.kubeconfig_for("bob", &[]);
    let refused = hub.kubectl_as(&bob, &["get", "flunders"]).fails();
    assert!(
        refused.contains("User \"bob\" cannot list resource \"flunders\""),
        "{refused}"
    );

    hub.kubectl("delete apiservice v1.wardle.example.com").succeeds();
    runtime.block_on(running.stop()).unwrap();
}
