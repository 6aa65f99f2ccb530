//! Effects for users and controllers of the hub.

use berth_tests::eventually;
use serde_json::{Value, json};

use super::server::{allow, deny, patch, review};
use super::{GROUP, Scene};

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_mutating_webhook_of_the_hub_labels_an_owned_placement() {
    let scene = Scene::new("labels", |_, request| {
        patch(
            request,
            &json!([{"op": "add", "path": "/metadata/labels", "value": {"policy": "seen"}}]),
        )
    });
    scene.configure("MutatingWebhookConfiguration", &json!({}));
    let mut number = 0;
    let labelled = eventually("a placement to be labelled", || {
        number += 1;
        let placement = scene.placement(&format!("p{number}"));
        let made = scene.hub.kubectl("create -f - -o json").input(placement).json();
        (made["metadata"]["labels"]["policy"] == "seen").then_some(made)
    });
    let name = labelled["metadata"]["name"].as_str().expect("it has a name");
    let stored = format!("get placement {name} -n labels -o json");
    assert_eq!(
        scene.hub.kubectl(&stored).json()["metadata"],
        labelled["metadata"]
    );
    let (_, request) = scene.server.reviews().pop().expect("it was asked");
    assert_eq!(
        (&request["operation"], &request["namespace"]),
        (&json!("CREATE"), &json!("labels"))
    );
    assert_eq!(request["resource"]["resource"], "placements");
    let groups = request["userInfo"]["groups"].as_array().expect("groups");
    assert!(
        groups.contains(&json!("system:masters")),
        "the user of kubectl: {groups:?}"
    );
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_validating_webhook_of_the_hub_denies_in_kube_apiservers_words_and_warns() {
    let scene = Scene::new("denies", |_, request| match request["name"].as_str() {
        Some("tried") => deny(request, 403, "no placements here on Fridays"),
        _ => review(request, &json!({"allowed": true, "warnings": ["think twice"]})),
    });
    scene.configure("ValidatingWebhookConfiguration", &json!({}));
    let refused = scene.refusal("");
    assert!(
        refused.contains(
            "admission webhook \"denies.policies.example\" denied the request: no placements here on Fridays"
        ),
        "{refused}"
    );
    let made = scene
        .hub
        .kubectl("create -f -")
        .input(scene.placement("other"))
        .run();
    assert!(
        made.success && made.err.contains("Warning: think twice"),
        "{}",
        made.err
    );
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_webhook_that_is_down_stops_writes_unless_its_failure_policy_says_ignore() {
    let scene = Scene::new("down", |_, request| allow(request));
    let down = json!({"url": "https://127.0.0.1:1/policy"});
    scene.configure(
        "ValidatingWebhookConfiguration",
        &json!({"clientConfig": down, "failurePolicy": "Fail"}),
    );
    let refused = scene.refusal("");
    assert!(
        refused.contains("Internal error occurred: failed calling webhook \"down.policies.example\": failed to call webhook"),
        "{refused}"
    );
    scene.configure(
        "ValidatingWebhookConfiguration",
        &json!({"clientConfig": down, "failurePolicy": "Ignore"}),
    );
    eventually("writes to go on", || {
        let made = scene
            .hub
            .kubectl("create -f -")
            .input(scene.placement("passes"))
            .run();
        made.success.then_some(())
    });
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_dry_run_reaches_only_webhooks_without_side_effects() {
    let scene = Scene::new("dry", |_, request| deny(request, 403, "seen"));
    scene.configure(
        "ValidatingWebhookConfiguration",
        &json!({"sideEffects": "NoneOnDryRun"}),
    );
    let refused = scene.refusal("--dry-run=server");
    assert!(refused.contains("denied the request: seen"), "{refused}");
    assert!(
        scene
            .server
            .reviews()
            .iter()
            .all(|(_, request)| request["dryRun"] == true)
    );
    // The conditions match no request, so the webhook is not called, in dry runs as well.
    let excluded = json!([{"name": "nobody", "expression": "request.userInfo.username == 'nobody'"}]);
    scene.configure(
        "ValidatingWebhookConfiguration",
        &json!({"matchConditions": excluded}),
    );
    eventually("the conditions to exclude it", || {
        let made = scene
            .hub
            .kubectl("create -f - --dry-run=server")
            .input(scene.placement("tried"))
            .run();
        made.success.then_some(())
    });
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn controllers_are_asked_about_by_the_name_they_act_under() {
    let scene = Scene::new("actors", |_, request| allow(request));
    let rules = json!([{"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["*"],
                        "resources": ["placementdecisions", "placementdecisions/status", "placements/status"]}]);
    scene.configure("ValidatingWebhookConfiguration", &json!({"rules": rules}));
    let binding = json!({"apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "fleet", "namespace": "actors"}, "spec": {"clusterSet": "fleet"}});
    scene
        .hub
        .kubectl("apply -f -")
        .input(binding.to_string())
        .succeeds();
    let mut number = 0;
    let (_, request) = eventually("a controller's write to be asked about", || {
        number += 1;
        let placement = scene.placement(&format!("p{number}"));
        scene.hub.kubectl("create -f -").input(placement).succeeds();
        let of_berth = |request: &Value| {
            let name = request["userInfo"]["username"].as_str();
            name.is_some_and(|name| name.starts_with("berth:"))
        };
        scene
            .server
            .reviews()
            .into_iter()
            .find(|(_, request)| of_berth(request))
    });
    assert_eq!(request["userInfo"]["username"], "berth:scheduler", "{request}");
}
