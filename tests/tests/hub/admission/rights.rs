//! Authors of policies and bindings with parameters must have the right to read them, and get equal refusals.

use berth_tests::Server;
use berth_tests::hub::Hub;
use berth_tests::raw::{self, Answer};
use http::Method;
use serde_json::{Value, json};

use super::cases::BOB;
use super::{Side, outcome};

const API: &str = "admissionregistration.k8s.io";

/// Bob's writes, which are dry runs: the resource and the object.
fn writes() -> Vec<(&'static str, Value)> {
    let kind = |kind: &str| json!({"apiVersion": "v1", "kind": kind});
    let policy = |name: &str, params: Value| {
        let rule = json!({"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]});
        json!({"apiVersion": format!("{API}/v1"), "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
            "spec": {"paramKind": params, "matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]}})
    };
    let binding = |policy: &str, params: Value| {
        let mut params = params;
        params["parameterNotFoundAction"] = "Deny".into();
        json!({"apiVersion": format!("{API}/v1"), "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "bobs"},
            "spec": {"policyName": policy, "paramRef": params, "validationActions": ["Deny"]}})
    };
    let named = |name: &str, namespace: &str| json!({"name": name, "namespace": namespace});
    vec![
        (POLICIES, policy("maps", kind("ConfigMap"))),
        (POLICIES, policy("secrets", kind("Secret"))),
        (POLICIES, policy("nothing", kind("Nothing"))),
        (BINDINGS, binding("of-maps", named("limits", "default"))),
        (BINDINGS, binding("of-maps", json!({"name": "limits"}))),
        (BINDINGS, binding("of-maps", json!({"selector": {}}))),
        (BINDINGS, binding("of-secrets", named("limits", "default"))),
        (BINDINGS, binding("of-secrets", named("others", "default"))),
        (
            BINDINGS,
            binding("of-secrets", json!({"selector": {}, "namespace": "default"})),
        ),
        (BINDINGS, binding("of-nothing", json!({"name": "limits"}))),
        (BINDINGS, binding("absent", json!({"name": "limits"}))),
    ]
}

const POLICIES: &str = "validatingadmissionpolicies";
const BINDINGS: &str = "validatingadmissionpolicybindings";

fn prepare(side: &Side<'_>) {
    let group = "rbac.authorization.k8s.io";
    let role = |kind: &str, name: &str, rules: Value| {
        let mut role = json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name}, "rules": rules});
        let mut bound = json!({"apiVersion": format!("{group}/v1"), "kind": format!("{kind}Binding"), "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": kind, "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": BOB}]});
        if kind == "Role" {
            role["metadata"]["namespace"] = "default".into();
            bound["metadata"]["namespace"] = "default".into();
        }
        [role, bound]
    };
    let policies = role(
        "ClusterRole",
        "policies",
        json!([{"apiGroups": [API], "resources": ["*"], "verbs": ["*"]}]),
    );
    let maps = role(
        "ClusterRole",
        "maps",
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]),
    );
    let limits = role(
        "Role",
        "limits",
        json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["limits"], "verbs": ["get"]}]),
    );
    side.apply(&[policies, maps, limits].concat());
    let of = |name: &str, of: &str| {
        let mut policy = writes()[0].1.clone();
        policy["metadata"]["name"] = name.into();
        policy["spec"]["paramKind"]["kind"] = of.into();
        policy
    };
    side.apply(&[
        of("of-maps", "ConfigMap"),
        of("of-secrets", "Secret"),
        of("of-nothing", "Nothing"),
    ]);
}

async fn send(side: &Side<'_>, resource: &str, object: &Value) -> Answer {
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json"),
        ("impersonate-user", BOB),
    ];
    let path = format!("/apis/{API}/v1/{resource}?dryRun=All");
    raw::send(
        &side.client,
        Method::POST,
        &path,
        &headers,
        object.to_string().as_bytes(),
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn naming_parameters_takes_the_rights_that_kube_apiserver_asks_for() {
    let hub = Hub::start();
    let server = Server::start();
    let (of_hub, of_berth) = (|text: &str| hub.kubectl(text), |text: &str| server.kubectl(text));
    let reference = Side::new(&hub.admin(), &of_hub).await;
    let other = Side::new(&server.kubeconfig(), &of_berth).await;
    prepare(&reference);
    prepare(&other);
    let (mut refused, mut passed) = (0, 0);
    for (resource, object) in writes() {
        let right = outcome(&send(&reference, resource, &object).await);
        let ours = outcome(&send(&other, resource, &object).await);
        match right["code"].as_u64() {
            Some(422) => refused += 1,
            _ => passed += 1,
        }
        assert_eq!(
            (&right["code"], &right["message"], &right["causes"]),
            (&ours["code"], &ours["message"], &ours["causes"]),
            "{object}"
        );
    }
    assert!(refused >= 6 && passed >= 3, "{refused} {passed}");
}
