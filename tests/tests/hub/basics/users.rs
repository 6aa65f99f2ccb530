//! Rights of users through the aggregator, which the hub's RBAC decides.

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_tests::hub::berth::Berth;
use berth_tests::hub::{FRONT_PROXY, Hub};
use berth_tests::raw::send;
use http::Method;
use serde_json::Value;

/// Binds a cluster role to a subject (`--user=…`, `--serviceaccount=…`).
fn bind(hub: &Hub, name: &str, role: &str, subject: &str) {
    let role = format!("--clusterrole={role}");
    hub.ensure(&["create", "clusterrolebinding", name, &role, subject]);
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_user_does_what_a_role_of_the_hub_allows_and_nothing_else() {
    let (hub, _) = Berth::shared();
    bind(hub, "viewer", "berth:target-viewer", "--user=vera");
    let vera = hub.kubeconfig_for("vera", &["dev"]);
    let table = hub.kubectl_as(&vera, &["get", "targets"]).succeeds();
    assert!(table.contains("aws-eu1.gardener"), "{table}");
    let refused = hub.kubectl_as(&vera, &["get", "decisions", "-A"]).fails();
    assert!(
        refused.contains(
            "decisions.scheduling.berth.dev is forbidden: User \"vera\" cannot list resource \"decisions\" in API \
             group \"scheduling.berth.dev\" at the cluster scope"
        ),
        "{refused}"
    );
    let may = |what: &str| {
        let words: Vec<&str> = ["auth", "can-i"].into_iter().chain(what.split(' ')).collect();
        hub.kubectl_as(&vera, &words).run().out.trim().to_owned()
    };
    assert_eq!(may("watch targets.scheduling.berth.dev"), "yes");
    assert_eq!(
        may("create decisions.scheduling.berth.dev --subresource=binding"),
        "no"
    );
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn binding_is_a_right_of_its_own() {
    let (hub, _) = Berth::shared();
    bind(hub, "binder", "berth:binder", "--user=bo");
    let bo = hub.kubeconfig_for("bo", &[]);
    let question = [
        "auth",
        "can-i",
        "create",
        "decisions.scheduling.berth.dev",
        "--subresource=binding",
    ];
    assert_eq!(hub.kubectl_as(&bo, &question).succeeds().trim(), "yes");
    let refused = hub
        .kubectl_as(
            &bo,
            &["get", "decision", "x.gardener", "--subresource=scheduling"],
        )
        .fails();
    assert!(
        refused.contains("cannot get resource \"decisions/scheduling\""),
        "{refused}"
    );
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn service_accounts_and_impersonated_users_are_who_the_hub_says() {
    let (hub, _) = Berth::shared();
    let robot = hub.kubeconfig_for_service_account("robots", "reader");
    bind(
        hub,
        "robot",
        "berth:target-viewer",
        "--serviceaccount=robots:reader",
    );
    let table = hub.kubectl_as(&robot, &["get", "targets"]).succeeds();
    assert!(table.contains("cluster1.ocm"), "{table}");
    let refused = hub.kubectl("get targets --as=nobody").fails();
    assert!(
        refused.contains(
            "targets.scheduling.berth.dev is forbidden: User \"nobody\" cannot list resource \"targets\" in API group \
             \"scheduling.berth.dev\" at the cluster scope"
        ),
        "{refused}"
    );
    let group = hub
        .kubectl("get targets --as=somebody --as-group=system:masters")
        .succeeds();
    assert!(group.contains("cluster1.ocm"), "{group}");
}

/// The events of the hub's audit log in which Berth created a `resource`.
fn review_events(hub: &Hub, resource: &str) -> Vec<Value> {
    let log = std::fs::read_to_string(hub.audit_log()).expect("the audit log is there");
    log.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| {
            event["objectRef"]["resource"] == resource
                && event["user"]["username"] == "system:serviceaccount:berth-system:berth"
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn a_token_shown_to_berth_itself_is_asked_about_once() {
    let shared = tokio::task::spawn_blocking(Berth::shared).await;
    let (hub, berth) = shared.expect("it starts");
    let token = hub.token("robots", "direct");
    bind(
        hub,
        "direct",
        "berth:target-viewer",
        "--serviceaccount=robots:direct",
    );
    let client = berth.client(None).await;
    let before = review_events(hub, "tokenreviews").len();
    let bearer = format!("Bearer {token}");
    let path = "/apis/scheduling.berth.dev/v1alpha1/targets";
    for _ in 0..3 {
        let answer = send(&client, Method::GET, path, &[("authorization", &bearer)], b"").await;
        assert_eq!(answer.code, 200, "{}", answer.json());
    }
    assert_eq!(review_events(hub, "tokenreviews").len() - before, 1);
    let bad = [("authorization", "Bearer nonsense")];
    let answer = send(&client, Method::GET, path, &bad, b"").await;
    assert_eq!(
        (answer.code, answer.json()["reason"].as_str()),
        (401, Some("Unauthorized"))
    );
    let answer = send(&client, Method::GET, path, &[], b"").await;
    assert_eq!(answer.code, 403, "{}", answer.json());
    let answer = send(&client, Method::GET, "/readyz", &[], b"").await;
    assert_eq!(answer.code, 200);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn berth_asks_for_itself_and_remembers_a_refusal() {
    let shared = tokio::task::spawn_blocking(Berth::shared).await;
    let (hub, berth) = shared.expect("it starts");
    // kube-apiserver would refuse first; Berth does not rely on its front proxy for that.
    let proxy = hub
        .front_proxy_ca()
        .issue_client(FRONT_PROXY, &[], SystemClock.now());
    let client = berth
        .client(Some(&proxy.expect("a certificate can be made")))
        .await;
    let path = "/apis/scheduling.berth.dev/v1alpha1/targets?labelSelector=tier%3Dgold";
    for _ in 0..2 {
        let answer = send(&client, Method::GET, path, &[("x-remote-user", "twice")], b"").await;
        assert_eq!(answer.code, 403);
        assert_eq!(
            answer.json()["message"],
            "targets.scheduling.berth.dev is forbidden: User \"twice\" cannot list resource \"targets\" in API group \
             \"scheduling.berth.dev\" at the cluster scope"
        );
    }
    let events = review_events(hub, "subjectaccessreviews");
    let questions: Vec<&Value> = events
        .iter()
        .map(|event| &event["requestObject"]["spec"])
        .filter(|spec| spec["user"] == "twice")
        .collect();
    assert_eq!(questions.len(), 1, "{questions:?}");
    let attributes = &questions[0]["resourceAttributes"];
    assert_eq!(
        attributes["labelSelector"]["requirements"][0]["key"], "tier",
        "{attributes}"
    );
}
