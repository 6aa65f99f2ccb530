//! Problems of syncing are reported on the hub.

use std::process::Command;

use berth_tests::berth;

use crate::syncer::world::{World, until};

/// A policy of the workload cluster that refuses config maps named `bad`.
const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-bad}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations:
  - {expression: 'object.metadata.name != "bad"', message: nothing bad here}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-bad}
spec: {policyName: no-bad, validationActions: [Deny]}
"#;

/// Output of `berth` for the hub.
fn berth_output(world: &World, arguments: &[&str]) -> String {
    let output = Command::new(berth())
        .args(arguments)
        .env("KUBECONFIG", world.hub.kubeconfig())
        .output()
        .expect("berth runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn an_unknown_resource_and_an_object_that_is_refused_stop_only_themselves_and_are_told() {
    let world = World::new(&["east"]);
    let east = &world.clusters[0];
    east.server.kubectl("apply -f -").input(POLICY).succeeds();
    let _syncer = world.sync_with(0, &["--resources", "configmaps,widgets.example.com"]);
    let condition = world.condition(0, "Synced", |known| known["status"] == "False");
    assert_eq!(condition["reason"], "UnknownResources");
    assert!(
        condition["message"].to_string().contains("widgets.example.com"),
        "{condition}"
    );
    world.condition(0, "HeartbeatHealthy", |known| known["status"] == "True");
    world.place("app");
    for name in ["bad", "good"] {
        world
            .hub
            .kubectl_args(&["-n", "app", "create", "configmap", name])
            .succeeds();
    }
    east.arrived("configmap", "app", "good");
    let condition = world.condition(0, "Synced", |known| known["reason"] == "ObjectsNotSynced");
    let message = condition["message"].as_str().expect("a message");
    assert!(
        message.contains("configmaps app/bad: ") && message.contains("nothing bad here"),
        "{message}"
    );
    assert!(!message.contains("app/good"), "{message}");
    world.condition(0, "Ready", |known| known["status"] == "True");

    // The commands for troubleshooting report it.
    let why = berth_output(&world, &["why", "app.kcp", "-n", "app"]);
    assert!(
        why.contains("WorkloadCluster east: not everything is synced") && why.contains("app/bad"),
        "{why}"
    );
    let check = berth_output(&world, &["check"]);
    assert!(check.contains("east.kcp") && check.contains("app/bad"), "{check}");

    world.hub.kubectl("-n app delete configmap bad").succeeds();
    let condition = world.condition(0, "Synced", |known| known["reason"] == "UnknownResources");
    until("a heartbeat more", || {
        match condition["message"].to_string().contains("app/bad") {
            false => Ok(()),
            true => Err(condition.to_string()),
        }
    });
}
