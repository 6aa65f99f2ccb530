//! A policy of the hub that changes the scheduler's own decision.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth;
use serde_json::{Value, json};

use crate::systems::by_themselves::shoot;
use crate::systems::install;

const NAME: &str = "bend";

/// An infeasible seed, whose taint the shoot does not tolerate.
const WRONG: &str = "aws-guarded";

/// Creates a policy that changes the seed in all of the scheduler's writes.
fn bend(hub: &Hub) {
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["core.gardener.cloud"], "apiVersions": ["*"], "resources": ["shoots"], "operations": ["UPDATE"]}]},
            "matchConditions": [{
                "name": "places",
                "expression": "request.userInfo.username == 'berth:scheduler' && has(object.spec.seedName)"}],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {
                "expression": format!("[JSONPatch{{op: 'replace', path: '/spec/seedName', value: '{WRONG}'}}]")}}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": NAME}, "spec": {"policyName": NAME},
    });
    for object in [policy, binding] {
        hub.kubectl("create -f -").input(object.to_string()).succeeds();
    }
    eventually("the policy to be in force", || {
        let patch = json!({"spec": {"seedName": "aws-eu1"}}).to_string();
        let words = [
            "patch",
            "shoot",
            "probe",
            "-n",
            "garden-dev",
            "--type=merge",
            "-p",
            &patch,
            "--as=berth:scheduler",
            "--dry-run=server",
            "-o",
            "jsonpath={.spec.seedName}",
        ];
        let output = hub.kubectl_args(&words).run();
        (output.out.trim() == WRONG).then_some(())
    });
}

fn current_shoot(hub: &Hub, name: &str) -> Value {
    hub.kubectl(&format!("get shoot {name} -n garden-dev -o json"))
        .json()
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_decision_that_a_policy_of_the_hub_changes_is_put_back_told_and_made_once_the_policy_is_gone() {
    let hub = Hub::start();
    berth::apply_definitions(&hub);
    berth::load_text(
        &hub,
        "gardener.yaml",
        &berth_tests::example::example("gardener/fleet.yaml"),
    );
    let mut probe = shoot("probe");
    // With another scheduler's name, so that Berth does not decide it.
    probe["spec"]["schedulerName"] = json!("another");
    hub.kubectl("create -f -").input(probe.to_string()).succeeds();
    let _berth = install(&hub);
    bend(&hub);
    hub.kubectl("create -f -")
        .input(shoot("bent").to_string())
        .succeeds();
    let note = eventually("the owner to be told", || {
        let events = hub.kubectl("get events -n garden-dev -o json").json();
        let events = events["items"].as_array().cloned().unwrap_or_default();
        events.into_iter().find_map(|event| {
            let text = event["message"].as_str().unwrap_or_default().to_owned();
            (event["reason"] == "FailedScheduling" && text.contains("MutatingAdmissionPolicy"))
                .then_some(text)
        })
    });
    assert!(
        note.contains("spec.seedName") && note.contains("the object was reverted to its former state"),
        "{note}"
    );
    let before = current_shoot(&hub, "bent");
    assert_eq!(before["spec"]["seedName"], Value::Null, "{before}");
    // Berth does not retry immediately, or it would have written many times until the event of the other
    // shoot.
    hub.kubectl("create -f -")
        .input(shoot("other").to_string())
        .succeeds();
    eventually("the owner of the other to be told", || {
        let events = hub.kubectl("get events -n garden-dev -o json").json();
        let events = events["items"].as_array().cloned().unwrap_or_default();
        let is_told = |event: &Value| {
            event["reason"] == "FailedScheduling" && event["involvedObject"]["name"] == "other"
        };
        events.iter().any(is_told).then_some(())
    });
    let tries = |shoot: &Value| shoot["metadata"]["generation"].as_i64().unwrap_or_default();
    let after = current_shoot(&hub, "bent");
    // Each attempt has two writes: the decision, and its revert.
    assert!(tries(&after) - tries(&before) <= 2, "{before}\n{after}");
    hub.kubectl(&format!("delete mutatingadmissionpolicybinding {NAME}"))
        .succeeds();
    hub.kubectl(&format!("delete mutatingadmissionpolicy {NAME}"))
        .succeeds();
    let seed = eventually("the shoot to be placed", || {
        current_shoot(&hub, "bent")["spec"]["seedName"]
            .as_str()
            .map(str::to_owned)
    });
    assert!(seed.starts_with("aws-eu"), "{seed}");
}
