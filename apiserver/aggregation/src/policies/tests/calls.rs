//! Calls of webhooks: order, rounds, Services, certificates, connections, timeouts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_admission::client::Rounds;
use serde_json::json;

use super::server::{allow, patch};
use super::*;

/// Appends the path to a label, so that the order is visible.
fn append(path: &str, request: &Value) -> Reply {
    let before = request["object"]["metadata"]["labels"]["seen"].as_str();
    let seen = format!("{}{}", before.unwrap_or_default(), path.trim_start_matches('/'));
    patch(
        request,
        &json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": seen}}]),
    )
}

#[tokio::test]
async fn mutating_webhooks_are_called_by_configuration_then_place_each_seeing_what_those_before_did() {
    let server = webhook(append).await;
    let at = |path: &str| server.client_config(path);
    let policies = policies(
        &[
            ("b", json!([hook("b1.x", &at("/3"), &json!({}))])),
            (
                "a",
                json!([
                    hook("z.x", &at("/1"), &json!({})),
                    hook("a.x", &at("/2"), &json!({}))
                ]),
            ),
        ],
        &[],
    )
    .await;
    let mut object = object();
    let (result, recorded) = Asker::new().mutate(&policies, &mut object).await;
    result.unwrap();
    assert_eq!(object["metadata"]["labels"]["seen"], "123");
    let (key, note) = &recorded.annotations[0];
    assert_eq!(key, "mutation.webhook.admission.k8s.io/round_0_index_0");
    let note: Value = serde_json::from_str(note).unwrap();
    assert_eq!(
        note,
        json!({"configuration": "a", "webhook": "z.x", "mutated": true})
    );
    let (asked, request) = &server.reviews()[0];
    assert_eq!(asked, "/1?timeout=10s");
    assert_eq!(
        request["userInfo"],
        json!({"username": "alice", "groups": ["dev"]})
    );
}

#[tokio::test]
async fn who_asked_for_it_is_called_once_more_after_a_later_change() {
    let server = webhook(append).await;
    let at = |path: &str| server.client_config(path);
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    let policies = policies(
        &[(
            "a",
            json!([
                hook("1.x", &at("/1"), &again),
                hook("2.x", &at("/2"), &json!({})),
                hook("3.x", &at("/3"), &again)
            ]),
        )],
        &[],
    )
    .await;
    let (asker, mut object, mut rounds) = (Asker::new(), object(), Rounds::default());
    asker.round(&policies, &mut object, &mut rounds).await.0.unwrap();
    assert!(rounds.begin_second_round(&object));
    let (result, recorded) = asker.round(&policies, &mut object, &mut rounds).await;
    result.unwrap();
    assert_eq!(
        server.paths(),
        ["/1", "/2", "/3", "/1", "/3"],
        "the last one only because the first changed it once more"
    );
    assert_eq!(
        recorded.annotations[0].0,
        "mutation.webhook.admission.k8s.io/round_1_index_0"
    );
}

#[tokio::test]
async fn a_service_is_found_through_the_hub_and_verified_by_its_name() {
    // Its certificate has no other name, so an address or `localhost` would be refused.
    let server = Server::start(&["hooks.policies.svc"], SystemClock.now(), |_, request| {
        allow(request)
    })
    .await;
    let config = |name: &str| {
        json!({"caBundle": STANDARD.encode(&server.ca),
               "service": {"namespace": "policies", "name": name, "path": "/v", "port": server.port}})
    };
    let found = policies(&[], &[("a", json!([hook("a.x", &config("hooks"), &json!({}))]))]).await;
    let asker = Asker::new();
    asker.validate(&found, Some(&object())).await.0.unwrap();
    assert_eq!(server.paths(), ["/v"]);
    let missing = policies(&[], &[("a", json!([hook("a.x", &config("other"), &json!({}))]))]).await;
    let refused = asker.validate(&missing, Some(&object())).await.0.unwrap_err();
    assert!(
        refused.message.contains("service \"policies/other\" not found"),
        "{}",
        refused.message
    );
}

#[tokio::test]
async fn a_certificate_of_another_ca_or_name_is_not_believed() {
    let server = webhook(|_, request| allow(request)).await;
    let other = webhook(|_, request| allow(request)).await;
    let url = format!("https://127.0.0.1:{}/", server.port);
    let stranger = json!({"url": url, "caBundle": STANDARD.encode(&other.ca)});
    let nobody = json!({"url": url});
    for config in [stranger, nobody] {
        let policies = policies(&[], &[("a", json!([hook("a.x", &config, &json!({}))]))]).await;
        let refused = Asker::new()
            .validate(&policies, Some(&object()))
            .await
            .0
            .unwrap_err();
        assert_eq!((refused.code, refused.reason.as_str()), (500, "InternalError"));
        assert!(refused.message.contains("certificate"), "{}", refused.message);
    }
    assert_eq!(server.paths(), Vec::<String>::new());
}

#[tokio::test]
async fn connections_are_kept_even_when_the_configuration_changes_elsewhere() {
    let server = webhook(|_, request| allow(request)).await;
    let config = server.client_config("/");
    let policies = policies(&[], &[("a", json!([hook("a.x", &config, &json!({}))]))]).await;
    let asker = Asker::new();
    for _ in 0..3 {
        asker.validate(&policies, Some(&object())).await.0.unwrap();
    }
    let changed = json!([hook("a.x", &config, &json!({"failurePolicy": "Ignore"}))]);
    policies.replace(WebhookType::Validating, &configured(&[("a", changed)]));
    asker.validate(&policies, Some(&object())).await.0.unwrap();
    assert_eq!((server.paths().len(), server.connections()), (4, 1));
}

#[tokio::test]
async fn validating_webhooks_are_called_side_by_side_and_one_that_is_slow_is_not_waited_for() {
    let server = webhook(|path, request| if path == "/slow" { None } else { allow(request) }).await;
    let one_second = json!({"timeoutSeconds": 1});
    let slow: Vec<Value> = (0..5)
        .map(|index| hook(&format!("{index}.x"), &server.client_config("/slow"), &one_second))
        .collect();
    let policies = policies(&[], &[("a", json!(slow))]).await;
    let start = tokio::time::Instant::now();
    let refused = Asker::new()
        .validate(&policies, Some(&object()))
        .await
        .0
        .unwrap_err();
    assert!(
        start.elapsed().as_secs() < 4,
        "one after the other would take five seconds"
    );
    assert!(
        refused.message.starts_with(
            "Internal error occurred: failed calling webhook \"0.x\": failed to call webhook: Post"
        ) && refused.message.contains("context deadline exceeded"),
        "{}",
        refused.message
    );
    assert_eq!(server.paths().len(), 5);
}

#[tokio::test]
async fn what_is_not_an_answer_is_a_failure_and_redirects_are_not_followed() {
    let server = webhook(|path, request| match path {
        "/redirect" => Some((302, json!({}))),
        "/broken" => Some((500, json!("out of order"))),
        "/html" => Some((200, json!("<html>"))),
        "/uid" => server::review(&json!({"uid": "another"}), &json!({"allowed": true})),
        _ => allow(request),
    })
    .await;
    for (path, part) in [
        ("/redirect", "the webhook answered 302"),
        (
            "/broken",
            "the webhook answered 500 Internal Server Error: \"out of order\"",
        ),
        ("/html", "received invalid webhook response"),
        ("/uid", "response.uid is \"another\""),
    ] {
        let asked = json!([hook("a.x", &server.client_config(path), &json!({}))]);
        let policies = policies(&[], &[("a", asked)]).await;
        let refused = Asker::new()
            .validate(&policies, Some(&object()))
            .await
            .0
            .unwrap_err();
        assert!(refused.message.contains(part), "{}", refused.message);
    }
    assert!(!server.paths().contains(&"/elsewhere".to_owned()));
}

#[tokio::test]
async fn an_answer_may_have_the_code_of_any_success_with_a_body() {
    let server = webhook(|path, request| {
        let code = path.trim_start_matches('/').parse().unwrap();
        allow(request).map(|(_, body)| (code, body))
    })
    .await;
    for (code, is_success) in [(201, true), (206, true), (207, false)] {
        let config = server.client_config(&format!("/{code}"));
        let policies = policies(&[], &[("a", json!([hook("a.x", &config, &json!({}))]))]).await;
        let result = Asker::new().validate(&policies, Some(&object())).await.0;
        assert_eq!(result.is_ok(), is_success, "{code}");
    }
}

#[tokio::test]
async fn our_own_webhooks_are_never_called() {
    let own = json!({"service": {"namespace": "berth-system", "name": "berth", "path": "/admission/mutate"}});
    let policies = policies(
        &[("berth", json!([hook("a.x", &own, &json!({}))]))],
        &[("berth", json!([hook("a.x", &own, &json!({}))]))],
    )
    .await;
    let asker = Asker::new();
    let request = asker.request();
    assert!(!policies.concern(&asker.write(&request)));
    asker.validate(&policies, Some(&object())).await.0.unwrap();
}
