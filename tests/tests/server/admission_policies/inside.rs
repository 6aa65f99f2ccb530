//! Policies about the server's own writes, and about connections.

use std::path::Path;

use berth_tests::{Server, eventually};
use serde_json::{Value, json};

use super::{apply, mutating, validating};

fn example(system: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(system)
}

#[test]
fn what_a_policy_notes_of_the_servers_own_writes_is_in_their_audit_events() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.log");
    let server = Server::start_with(&[&format!("--audit-log-path={}", log.display())]);
    let rule = json!({"apiGroups": ["cluster.open-cluster-management.io"], "apiVersions": ["*"], "operations": ["CREATE"],
        "resources": ["placementdecisions"]});
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "false", "message": "noted only"}],
        "auditAnnotations": [{"key": "of", "valueExpression": "'by ' + request.userInfo.username"}],
    });
    let noted = json!({"validationActions": ["Audit"]});
    apply(&server, &validating("decisions", &spec, &noted)).succeeds();
    server.load(&example("ocm"));
    let event = eventually("an event of a decision that was written", || {
        let text = std::fs::read_to_string(&log).ok()?;
        let events = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut own = events.filter(|event| {
            event["objectRef"]["resource"] == "placementdecisions"
                && event["verb"] == "create"
                && event["responseStatus"]["code"] == 201
        });
        own.next()
    });
    let annotations = &event["annotations"];
    assert_eq!(annotations["decisions/of"], "by berth:scheduler", "{event}");
    let failure = annotations["validation.policy.admission.k8s.io/validation_failure"]
        .as_str()
        .unwrap();
    assert!(failure.contains("noted only"), "{failure}");
    assert!(annotations["audit.berth.dev/cause"].is_string(), "{event}");
}

#[test]
fn a_policy_about_connections_is_asked_about_every_request_to_a_proxy() {
    let server = Server::start();
    server.load(&example("kcp"));
    let target = "us-1.kcp";
    let path =
        |below: &str| format!("get --raw /apis/scheduling.berth.dev/v1alpha1/targets/{target}/proxy{below}");
    server.kubectl(&path("/version")).succeeds();
    let rule = json!({"apiGroups": ["scheduling.berth.dev"], "apiVersions": ["*"], "operations": ["CONNECT"],
        "resources": ["targets/proxy"]});
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.kind != 'TargetProxyOptions' || object.path != '/version'",
            "messageExpression": "request.operation + ' to ' + request.name + object.path + ' by ' + request.userInfo.username"}],
    });
    apply(&server, &validating("doors", &spec, &json!({}))).succeeds();
    let text = server.kubectl(&path("/version")).fails();
    assert!(
        text.contains(&format!(
            "denied request: CONNECT to {target}/version by berth-admin"
        )),
        "{text}"
    );
    server.kubectl(&path("/api")).succeeds();
}

#[test]
fn a_mutating_policy_cannot_send_the_scheduler_elsewhere() {
    let server = Server::start();
    let rule = |group: &str, resource: &str| json!({"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [resource]});
    let rules = [
        rule("core.gardener.cloud", "shoots"),
        rule("core.gardener.cloud", "shoots/binding"),
    ];
    let bend = |path: &str, value: &str| json!({"patchType": "JSONPatch", "jsonPatch": {"expression": format!("[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]")}});
    let spec = json!({
        "matchConstraints": {"resourceRules": rules},
        "matchConditions": [{"name": "ours", "expression": "request.userInfo.username.startsWith('berth:')"}],
        "mutations": [bend("/spec/seedName", "'aws-guarded'")],
    });
    apply(&server, &mutating("bend", &spec)).succeeds();
    server.load(&example("gardener"));
    let shoot = || server.kubectl("-n garden-dev get shoot web -o json").json();
    let refusal = eventually("an event that names the policy", || {
        let events = server.kubectl("-n garden-dev get events -o json").json();
        let items = events["items"].as_array()?.clone();
        items.into_iter().find(|event| {
            event["message"]
                .as_str()
                .is_some_and(|text| text.contains("MutatingAdmissionPolicy bend by binding bend"))
        })
    });
    assert!(
        refusal["message"].as_str().unwrap().contains("spec.seedName"),
        "{refusal}"
    );
    assert_eq!(shoot()["spec"]["seedName"], Value::Null);
    // Additions that do not affect the decision are accepted.
    let mut spec = spec;
    spec["mutations"] = json!([bend("/metadata/annotations", "{'seen': 'yes'}")]);
    apply(&server, &mutating("bend", &spec)).succeeds();
    let placed = eventually("the Shoot is placed", || {
        Some(shoot()).filter(|shoot| shoot["spec"]["seedName"].is_string())
    });
    assert_ne!(placed["spec"]["seedName"], "aws-guarded");
    assert_eq!(placed["metadata"]["annotations"]["seen"], "yes");
}
