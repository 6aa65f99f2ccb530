//! Comparison of admission policies on kube-apiserver, which has Placements as a CustomResourceDefinition,
//! and on a Berth that owns them: equal writes have equal verdicts, messages, warnings and resulting objects.

mod cases;
mod known_differences;
mod rights;
mod types;

use std::path::Path;
use std::time::Duration;

use berth_tests::hub::{Hub, berth};
use berth_tests::raw::{self, Answer};
use berth_tests::{Kubectl, Server};
use cases::{BOB, Case, GROUP, LABEL, Requests};
use http::Method;
use kube::Client;
use serde_json::{Value, json};

const NAMESPACE: &str = "policies";
/// Numbers of requested clusters in the writes of a case.
const NUMBERS: std::ops::Range<i64> = 0..7;

/// One of the two servers.
struct Side<'a> {
    client: Client,
    kubectl: &'a (dyn Fn(&str) -> Kubectl + Sync),
}

impl<'a> Side<'a> {
    async fn new(kubeconfig: &Path, kubectl: &'a (dyn Fn(&str) -> Kubectl + Sync)) -> Self {
        Self {
            client: raw::client(kubeconfig).await,
            kubectl,
        }
    }

    fn apply(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        (self.kubectl)("apply --server-side -f -")
            .input(list.to_string())
            .succeeds();
    }

    /// Creates the objects of the cases, and then all policies at once, so that the last one is in force when
    /// the others are.
    async fn prepare(&self, cases: &[Case]) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {"tier": "gold"}}});
        self.apply(&[namespace]);
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "writes-placements"},
            "rules": [{"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]}]});
        let bound = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "writes-placements"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "writes-placements"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": BOB}]});
        let mut first = cases::parameters(NAMESPACE);
        first.extend([role, bound]);
        // Before the first policy about them.
        for case in cases {
            if !matches!(case.requests, Requests::Creates | Requests::CreatesOfBob) {
                first.push(placement(case, &format!("{}-0", case.name), 3));
            }
        }
        self.apply(&first);
        let policies: Vec<Value> = cases.iter().flat_map(Case::objects).collect();
        self.apply(&policies);
        self.until_in_force(cases).await;
    }

    /// Waits until the policies are in force: kube-apiserver reads them some time after their write,
    /// and parameters after them.
    async fn until_in_force(&self, cases: &[Case]) {
        for name in ["plain", "labels", "param-named", "param-selected"] {
            let case = cases.iter().find(|case| case.name == name).expect("it is there");
            let end = tokio::time::Instant::now() + berth_tests::DEADLINE;
            loop {
                let answer = self.send(case, 6).await;
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                let is_in_force = match name {
                    "labels" => text.contains("\"made\""),
                    _ => answer.code == 422 && !text.contains("not yet synced"),
                };
                if is_in_force {
                    break;
                }
                assert!(
                    tokio::time::Instant::now() < end,
                    "{name} is not in force: {text}"
                );
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Sends one write of a case, as a dry run.
    async fn send(&self, case: &Case, number: i64) -> Answer {
        let base = format!("/apis/{GROUP}/v1beta1/namespaces/{NAMESPACE}/placements");
        let own = format!("{base}/{}-0", case.name);
        let merge = "application/merge-patch+json";
        let (method, path, content, body) = match case.requests {
            Requests::Creates | Requests::CreatesOfBob => {
                let object = placement(case, &format!("{}-{number}", case.name), number);
                (Method::POST, base, "application/json", object)
            }
            Requests::Updates => {
                let body = json!({"spec": {"numberOfClusters": number}});
                (Method::PATCH, own, merge, body)
            }
            Requests::Statuses => {
                let body = json!({"status": {"numberOfSelectedClusters": number}});
                (Method::PATCH, format!("{own}/status"), merge, body)
            }
            Requests::Deletes => (Method::DELETE, own, "application/json", json!({})),
        };
        let mut headers = vec![("content-type", content), ("accept", "application/json")];
        if case.requests == Requests::CreatesOfBob {
            headers.push(("impersonate-user", BOB));
        }
        let body = match case.requests {
            Requests::Deletes => String::new(),
            _ => body.to_string(),
        };
        raw::send(
            &self.client,
            method,
            &format!("{path}?dryRun=All"),
            &headers,
            body.as_bytes(),
        )
        .await
    }
}

fn placement(case: &Case, name: &str, number: i64) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {LABEL: case.name}},
        "spec": {"numberOfClusters": number}})
}

/// The parts of an answer that clients use.
fn outcome(answer: &Answer) -> Value {
    let body = answer.json();
    let mut warnings: Vec<&str> = answer
        .headers
        .get_all("warning")
        .iter()
        .map(|value| value.to_str().expect("it is text"))
        .collect();
    warnings.sort_unstable();
    if answer.code >= 300 {
        return json!({"code": answer.code, "reason": body["reason"], "message": body["message"],
            "causes": body["details"]["causes"], "warnings": warnings});
    }
    let metadata = &body["metadata"];
    json!({"code": answer.code, "warnings": warnings, "labels": metadata["labels"], "annotations": metadata["annotations"],
        "spec": body["spec"], "status": body["status"]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn policies_say_of_placements_what_kube_apiserver_says_of_them_as_custom_resources() {
    let hub = Hub::start();
    berth::apply_definitions(&hub);
    hub.kubectl("wait --for=condition=Established crd --all --timeout=60s")
        .succeeds();
    let server = Server::start_with(&["--controllers=-ocm"]);
    server.bind_by_hand(&["ocm"]);
    let (of_hub, of_berth) = (|text: &str| hub.kubectl(text), |text: &str| server.kubectl(text));
    let reference = Side::new(&hub.admin(), &of_hub).await;
    let other = Side::new(&server.kubeconfig(), &of_berth).await;
    let cases = cases::all();
    reference.prepare(&cases).await;
    other.prepare(&cases).await;
    let (mut sent, mut equal, mut known) = (0, 0, Vec::new());
    let mut differences = Vec::new();
    for case in &cases {
        let numbers = match case.requests {
            Requests::Deletes => 0..1,
            _ => NUMBERS,
        };
        for number in numbers {
            let right = outcome(&reference.send(case, number).await);
            let ours = outcome(&other.send(case, number).await);
            sent += 1;
            if right == ours {
                equal += 1;
            } else if let Some(why) = known_differences::why(case.name) {
                known.push(format!("{}: {why}", case.name));
            } else {
                differences.push(format!(
                    "{} with {number}:\n  kube-apiserver {right}\n  Berth          {ours}",
                    case.name
                ));
            }
        }
    }
    known.dedup();
    println!(
        "{} policies, {sent} requests to each, {equal} equal\n{}",
        cases.len(),
        known.join("\n")
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
