//! A real kube-apiserver's calls of the webhooks: about protected objects, while Berth runs and while it does
//! not.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::load;
use serde_json::{Value, json};

use crate::install::installation::{Installation, ON_HUB, available, define_systems, shoot, trusted};

const PLACEMENT: &str = r#"scheduling.kcp.dev/placement={"root:compute+default+x":"Pending"}"#;

/// A ConfigMap that is marked as a configuration of Gardener's scheduler, with other data.
fn wrong_configuration(name: &str) -> String {
    let file = "apiVersion: scheduler.config.gardener.cloud/v1alpha1\nkind: SchedulerConfiguration\n\
                schedulers: {shoot: {concurrentSyncs: -1}}\n";
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"scheduling.berth.dev/config": "gardener"}},
        "data": {"scheduler.yaml": file},
    })
    .to_string()
}

fn seed(object: &Value) -> Option<&str> {
    object["spec"]["seedName"].as_str()
}

fn annotate(hub: &Hub, namespace: &str) -> berth_tests::Output {
    hub.kubectl_args(&["annotate", "--overwrite", "namespace", namespace, PLACEMENT])
        .run()
}

/// Checks refusals and defaults.
fn check_calls(hub: &Hub) {
    let refused = annotate(hub, "default");
    assert!(
        !refused.success && refused.err.contains("namespaces.kcp.berth.dev"),
        "{}",
        refused.err
    );
    assert!(
        refused.err.contains("berth:placement-controller"),
        "{}",
        refused.err
    );
    hub.kubectl("annotate --overwrite namespace default example.com/other=x")
        .succeeds();
    // Berth's own namespace is exempt, so that Berth can always be repaired.
    assert!(annotate(hub, "berth-system").success);

    let refused = hub
        .kubectl("create -f -")
        .input(wrong_configuration("wrong"))
        .fails();
    for wanted in [
        "ConfigMap \"wrong\" is invalid",
        "data[scheduler.yaml]",
        "schedulers.shoot.concurrentSyncs",
    ] {
        assert!(refused.contains(wanted), "{wanted:?} is not in {refused}");
    }

    let dry = hub
        .kubectl("create --dry-run=server -f -")
        .input(shoot("one").to_string())
        .run();
    assert!(dry.success && !dry.err.contains("aws-eu"), "{}", dry.err);
    hub.kubectl("get shoot one -n garden-dev").fails();
    hub.kubectl("create -f -")
        .input(shoot("one").to_string())
        .succeeds();
    let picked = eventually("the shoot to be placed", || {
        let shoot = hub.kubectl("get shoot one -n garden-dev -o json").json();
        seed(&shoot).map(str::to_owned)
    });
    assert!(picked.starts_with("aws-eu"), "{picked}");
    eventually("the event of the binding", || {
        let list = hub
            .kubectl("get events -n garden-dev --field-selector reason=SchedulingSuccessful -o json")
            .json();
        let mut events = list["items"].as_array()?.iter();
        events
            .find(|event| event["involvedObject"]["name"] == "one")
            .map(drop)
    });

    let patch = r#"{"spec":{"seedName":"aws-us1"}}"#;
    let refused = hub
        .kubectl_args(&[
            "patch",
            "shoot",
            "one",
            "-n",
            "garden-dev",
            "--type=merge",
            "-p",
            patch,
        ])
        .fails();
    assert!(refused.contains("shoots-move.gardener.berth.dev"), "{refused}");
    hub.kubectl("label shoot one -n garden-dev a=b").succeeds();
    let refused = hub.kubectl(&format!("delete seed {picked}")).fails();
    assert!(refused.contains("it is used by"), "{refused}");
    // The same applies to the deletion of a whole collection.
    let refused = hub.kubectl("delete cloudprofiles --all").fails();
    assert!(refused.contains("it is used by"), "{refused}");
    let collection =
        format!("/apis/core.gardener.cloud/v1beta1/seeds?fieldSelector=metadata.name%3D{picked}");
    let refused = hub.kubectl_args(&["delete", "--raw", &collection]).fails();
    assert!(refused.contains("it is used by"), "{refused}");
    assert!(hub.kubectl(&format!("get seed {picked}")).run().success);
}

/// Checks that all writes pass while Berth does not answer.
fn alone(hub: &Hub) {
    let passed = annotate(hub, "passed");
    assert!(passed.success, "{}", passed.err);
    hub.kubectl("annotate --overwrite namespace default example.com/other=y")
        .succeeds();
    hub.kubectl("create -f -")
        .input(wrong_configuration("unjudged"))
        .succeeds();
    for command in [
        "create configmap plain",
        "create secret generic plain",
        "create serviceaccount plain",
        "create namespace passing",
        "label shoot one -n garden-dev a=c --overwrite",
        "delete secret plain",
    ] {
        hub.kubectl(command).succeeds();
    }
    let made = hub
        .kubectl("create -o json -f -")
        .input(shoot("two").to_string())
        .json();
    assert_eq!(seed(&made), None, "it gets its seed later");
    let moved = r#"{"spec":{"seedName":"aws-us1"}}"#;
    hub.kubectl_args(&[
        "patch",
        "shoot",
        "one",
        "-n",
        "garden-dev",
        "--type=merge",
        "-p",
        moved,
    ])
    .succeeds();
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn what_is_protected_is_asked_about_and_nothing_waits_for_berth() {
    let mut hub = Hub::start();
    hub.start_controllers();
    define_systems(&hub);
    let installation = Installation::new(&ON_HUB);
    let mut berth = installation.install(&hub, &[]);
    trusted(&hub);
    load(&hub, "../examples/gardener/fleet.yaml");
    eventually("the fleet to be known", || {
        hub.kubectl("get targets")
            .succeeds()
            .contains("aws-eu2.gardener")
            .then_some(())
    });
    check_calls(&hub);

    hub.kubectl("create namespace passed").succeeds();
    berth.kill();
    alone(&hub);
    eventually("the hub to notice that Berth is away", || {
        let services = berth_tests::hub::berth::availability(&hub);
        services
            .iter()
            .any(|(_, message)| message != "all checks passed")
            .then_some(())
    });
    hub.kubectl("delete namespace passing --wait=false").succeeds();
    eventually("the namespace to wait", || {
        let namespace = hub.kubectl("get namespace passing -o json").json();
        let conditions = namespace["status"]["conditions"].to_string();
        conditions
            .contains("NamespaceDeletionDiscoveryFailure")
            .then_some(())
    });

    let berth = installation.start(&hub, "berth", installation.port, &[]);
    available(&hub);
    eventually("the namespace to be gone", || {
        hub.kubectl("get namespace passing")
            .run()
            .err
            .contains("NotFound")
            .then_some(())
    });
    eventually("Berth to be asked again", || {
        annotate(&hub, "default")
            .err
            .contains("berth:placement-controller")
            .then_some(())
    });
    hub.kubectl("delete shoot one -n garden-dev").succeeds();
    drop(berth);
}
