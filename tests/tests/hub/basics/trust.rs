//! Berth's trust in direct clients and the front proxy, and its messages when the hub is not ready.

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_certs::{Authority, IssuedCertificate};
use berth_tests::hub::berth::{self, Berth};
use berth_tests::hub::{FRONT_PROXY, Hub};
use berth_tests::raw::{Answer, send};
use berth_tests::{DEADLINE, eventually};
use http::Method;
use kube::Client;
use serde_json::json;

const TARGETS: &str = "/apis/scheduling.berth.dev/v1alpha1/targets";

async fn shared() -> (&'static Hub, &'static Berth) {
    tokio::task::spawn_blocking(Berth::shared)
        .await
        .expect("it starts")
}

/// A client certificate of `authority` for `name`.
fn certificate(authority: &Authority, name: &str) -> IssuedCertificate {
    let issued = authority.issue_client(name, &[], SystemClock.now());
    issued.expect("a certificate can be made")
}

/// Lists targets as an administrator who is named in headers.
async fn named(client: &Client) -> Answer {
    let headers = [("x-remote-user", "root"), ("x-remote-group", "system:masters")];
    send(client, Method::GET, TARGETS, &headers, b"").await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn only_the_hubs_front_proxy_names_users() {
    let (hub, berth) = shared().await;
    let proxy = certificate(hub.front_proxy_ca(), FRONT_PROXY);
    let answer = named(&berth.client(Some(&proxy)).await).await;
    assert_eq!(answer.code, 200, "{}", answer.json());

    let stranger = certificate(hub.stranger_ca(), FRONT_PROXY);
    let misnamed = certificate(hub.front_proxy_ca(), "somebody");
    for shown in [None, Some(&stranger), Some(&misnamed)] {
        let answer = named(&berth.client(shown).await).await;
        assert_eq!(answer.code, 401, "{}", answer.json());
        assert_eq!(answer.json()["kind"], "Status");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn a_new_front_proxy_ca_is_believed_without_a_restart() {
    let (hub, berth) = shared().await;
    let now = SystemClock.now();
    let next = Authority::open(hub.folder(), "next-front-proxy-ca", "next", now).expect("a CA can be made");
    let client = berth.client(Some(&certificate(&next, FRONT_PROXY))).await;
    assert_eq!(named(&client).await.code, 401);
    let both = format!(
        "{}{}",
        hub.front_proxy_ca().certificate_pem(),
        next.certificate_pem()
    );
    let patch = json!({"data": {"requestheader-client-ca-file": both}});
    hub.kubectl_args(&[
        "patch",
        "configmap",
        "extension-apiserver-authentication",
        "-n",
        "kube-system",
        "--type=merge",
        "-p",
        &patch.to_string(),
    ])
    .succeeds();
    let start = std::time::Instant::now();
    while named(&client).await.code != 200 {
        assert!(start.elapsed() < DEADLINE, "the new CA is not believed");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    // The old CA is still valid: rotations overlap.
    let old = certificate(hub.front_proxy_ca(), FRONT_PROXY);
    assert_eq!(named(&berth.client(Some(&old)).await).await.code, 200);
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn without_rights_on_the_hub_berth_says_which_are_missing_and_how_to_give_them() {
    let hub = Hub::shared();
    let kubeconfig = hub.kubeconfig_for_service_account("powerless", "berth");
    let output = berth::serve(&kubeconfig, &hub.folder().join("powerless"), &[])
        .output()
        .expect("berth runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    for wanted in [
        "may not read the ConfigMap kube-system/extension-apiserver-authentication; a RoleBinding is missing",
        "--role=extension-apiserver-authentication-reader --serviceaccount=powerless:berth",
        "may not create tokenreviews.authentication.k8s.io",
        "may not create subjectaccessreviews.authorization.k8s.io",
        "--clusterrole=system:auth-delegator --serviceaccount=powerless:berth",
        "may not list namespaces;",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is not in:\n{text}");
    }
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn the_hub_serves_on_while_berth_is_gone_and_berth_comes_back() {
    let hub = Hub::start();
    let mut first = Berth::install(&hub, &[]);
    let port = first.port().to_string();
    first.kill();
    let refused = hub.kubectl("get targets").fails();
    assert!(
        refused.contains("ServiceUnavailable") || refused.contains("error trying to reach"),
        "{refused}"
    );
    hub.kubectl("create configmap still-served").succeeds();
    let _again = Berth::start(&hub, "berth", &["--secure-port", &port]);
    eventually("targets to be served again", || {
        hub.kubectl("get targets").run().success.then_some(())
    });
}
