//! Tools' requests to a server, apart from those for their main kinds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_tests::{Server, raw};
use http::Method;
use serde_json::{Value, json};

use super::within;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[tokio::test(flavor = "multi_thread")]
async fn definitions_can_be_looked_up_and_watched_and_a_new_one_is_refused_with_the_reason() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let missing = raw::get(&client, &format!("{DEFINITIONS}/widgets.example.com")).await;
    assert_eq!(
        (missing.code, &missing.json()["reason"]),
        (404, &json!("NotFound"))
    );
    let query = "watch=true&timeoutSeconds=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let events = raw::get(&client, &format!("{DEFINITIONS}?{query}")).await.lines();
    assert!(
        !events.is_empty() && events.iter().all(|event| event["type"] == "BOOKMARK"),
        "{events:?}"
    );
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n\
        spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: []}\n";
    for arguments in ["create -f -", "apply -f -", "apply --server-side -f -"] {
        let refusal = server.kubectl(arguments).input(definition).fails();
        assert!(
            refusal.contains("every kind that this server serves is built in"),
            "{arguments}: {refusal}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_a_create_has_no_resource_version_whatever_is_placed() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    for (path, object) in [
        (
            "/api/v1/namespaces",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}),
        ),
        (
            "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placements",
            json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "metadata": {"name": "x"}, "spec": {}}),
        ),
        (
            "/apis/placement.kubernetes-fleet.io/v1/clusterresourceplacements",
            json!({
                "apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ClusterResourcePlacement", "metadata": {"name": "x"},
                "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "default"}]},
            }),
        ),
    ] {
        let answer = raw::write(&client, Method::POST, &format!("{path}?dryRun=All"), &object).await;
        let made = answer.json();
        assert_eq!(answer.code, 201, "{made}");
        assert_eq!(made["metadata"].get("resourceVersion"), None, "{made}");
        assert!(made["metadata"]["uid"].is_string(), "{made}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scale_takes_the_patches_that_openapi_offers_and_leaves_a_zero_out() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let web = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    });
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    assert_eq!(
        raw::write(&client, Method::POST, deployments, &web).await.code,
        201
    );
    let scale = format!("{deployments}/web/scale");
    for (kind, replicas) in [("strategic-merge-patch+json", 3), ("merge-patch+json", 0)] {
        let media = format!("application/{kind}");
        let patch = json!({"spec": {"replicas": replicas}}).to_string();
        let headers = [("content-type", media.as_str())];
        let answer = raw::send(&client, Method::PATCH, &scale, &headers, patch.as_bytes()).await;
        assert_eq!(answer.code, 200, "{}", answer.json());
        let shown = answer.json()["spec"]["replicas"].as_i64();
        assert_eq!(shown.unwrap_or_default(), replicas);
        assert_eq!(shown.is_some(), replicas > 0);
    }
    // Protobuf omits zeros.
    let without =
        json!({"metadata": {"name": "web"}, "spec": {"replicas": 2}, "status": {"selector": "a=b"}});
    let answer = raw::write(&client, Method::PUT, &scale, &without).await;
    assert_eq!(answer.code, 200, "{}", answer.json());
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregated_roles_show_the_rules_that_they_stand_for() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view";
    let rules = within("the rules of view", async {
        loop {
            let rules = raw::get(&client, path).await.json()["rules"].clone();
            if rules.as_array().is_some_and(|rules| !rules.is_empty()) {
                return rules;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let reads = |rule: &Value| {
        rule["resources"]
            .as_array()
            .is_some_and(|all| all.contains(&json!("configmaps")))
    };
    assert!(rules.as_array().unwrap().iter().any(reads), "{rules}");
}

#[test]
fn a_kubeconfig_is_what_old_readers_take() {
    let server = Server::start();
    let text = std::fs::read_to_string(server.kubeconfig()).unwrap();
    let value = |field: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(field));
        line.unwrap_or_else(|| panic!("no {field}")).trim()
    };
    // On one line, with the key as SEC 1.
    assert!(STANDARD.decode(value("client-certificate-data:")).is_ok());
    assert!(STANDARD.decode(value("certificate-authority-data:")).is_ok());
    let key = STANDARD.decode(value("client-key-data:")).unwrap();
    assert!(key.starts_with(b"-----BEGIN EC PRIVATE KEY-----"));
    assert!(server.kubectl("get namespaces").succeeds().contains("default"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_owned_by_what_is_placed_and_does_not_pass_for_an_applications_own() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let labels =
        json!({"app.kubernetes.io/instance": "shop", "argocd.argoproj.io/instance": "shop", "team": "a"});
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "x", "labels": labels}, "spec": {},
    });
    let placements = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placements";
    let made = raw::write(&client, Method::POST, placements, &placement)
        .await
        .json();
    let decision = "/apis/scheduling.berth.dev/v1alpha1/namespaces/default/decisions/x.ocm";
    let metadata = raw::get(&client, decision).await.json()["metadata"].clone();
    assert_eq!(metadata["labels"], json!({"team": "a"}));
    let owner = &metadata["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"]),
        (&json!("Placement"), &json!("x"))
    );
    assert_eq!(owner["uid"], made["metadata"]["uid"]);
    // The deletion does not wait for the decision, which is deleted with its placement.
    let options = json!({"propagationPolicy": "Foreground"});
    let deleted = raw::write(&client, Method::DELETE, &format!("{placements}/x"), &options).await;
    assert_eq!(deleted.code, 200, "{}", deleted.json());
    within("the decision to go", async {
        while raw::get(&client, decision).await.code != 404 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_a_wrong_type_are_refused_by_the_decoder_and_nothing_is_dropped() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let map = |metadata: Value, more: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        object
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        ("/api/v1/namespaces/default/configmaps", object.to_string())
    };
    let placement = |metadata: Value| {
        let object = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "metadata": metadata});
        (
            "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placements",
            object.to_string(),
        )
    };
    let deployment = |replicas: &str| {
        let text = format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d"}},"spec":{{"replicas":{replicas},
            "selector":{{"matchLabels":{{"a":"b"}}}},"template":{{"metadata":{{"labels":{{"a":"b"}}}},
            "spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}"#
        );
        ("/apis/apps/v1/namespaces/default/deployments", text)
    };
    for (path, body) in [
        map(json!({"name": "a", "labels": []}), json!({})),
        map(json!({"name": "a", "ownerReferences": {}}), json!({})),
        map(json!({"name": "a", "finalizers": {}}), json!({})),
        map(json!({"name": "a", "managedFields": "x"}), json!({})),
        map(json!({"name": "a", "managedFields": [{"time": "x"}]}), json!({})),
        map(json!({"name": "a"}), json!({"data": []})),
        map(json!({"name": "a"}), json!({"data": {"k": 1}})),
        map(json!({"name": "a"}), json!({"immutable": "yes"})),
        map(json!({"name": "a", "generation": 1.0}), json!({})),
        placement(json!({"name": "a", "labels": []})),
        placement(json!({"name": "a", "annotations": ["x"]})),
        placement(json!({"name": "a", "ownerReferences": {}})),
        placement(json!({"name": "a", "managedFields": "x"})),
        deployment("1.0"),
        deployment("1e2"),
        deployment("\"1\""),
    ] {
        let headers = [("content-type", "application/json")];
        let answer = raw::send(&client, Method::POST, path, &headers, body.as_bytes()).await;
        assert_eq!(answer.code, 400, "{body}: {}", answer.json());
        let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains("cannot be handled as a"), "{message}");
    }
    for (path, body) in [
        map(
            json!({"name": "fine", "labels": null, "finalizers": [], "annotations": {}}),
            json!({"data": null}),
        ),
        deployment("2"),
    ] {
        let headers = [("content-type", "application/json")];
        let answer = raw::send(&client, Method::POST, path, &headers, body.as_bytes()).await;
        assert_eq!(answer.code, 201, "{body}: {}", answer.json());
    }
}
