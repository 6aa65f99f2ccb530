//! Outcomes of writes: refusals, failures, dry runs, conditions, warnings.

use serde_json::json;

use super::server::{allow, deny, patch, review};
use super::*;

/// Address where no server listens.
fn nowhere() -> Value {
    json!({"url": "https://127.0.0.1:1/"})
}

#[tokio::test]
async fn a_refusal_is_in_kube_apiservers_words_and_the_first_in_order_is_told() {
    let server = webhook(|path, request| match path {
        "/no" => deny(request, 403, "not on Fridays"),
        "/never" => deny(request, 0, ""),
        _ => allow(request),
    })
    .await;
    let at = |path: &str| server.client_config(path);
    let policies = policies(
        &[],
        &[
            (
                "a",
                json!([
                    hook("yes.x", &at("/"), &json!({})),
                    hook("no.x", &at("/no"), &json!({}))
                ]),
            ),
            ("b", json!([hook("never.x", &at("/never"), &json!({}))])),
        ],
    )
    .await;
    let refused = Asker::new()
        .validate(&policies, Some(&object()))
        .await
        .0
        .unwrap_err();
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.message,
        "admission webhook \"no.x\" denied the request: not on Fridays"
    );
    assert_eq!(server.paths().len(), 3, "all were asked");
}

#[tokio::test]
async fn warnings_and_annotations_are_passed_on_even_with_a_refusal() {
    let server = webhook(|_, request| {
        review(
            request,
            &json!({"allowed": false, "warnings": ["careful"], "auditAnnotations": {"why": "because"}}),
        )
    })
    .await;
    let asked = json!([hook("a.x", &server.client_config("/"), &json!({}))]);
    let policies = policies(&[], &[("a", asked)]).await;
    let (result, recorded) = Asker::new().validate(&policies, Some(&object())).await;
    assert_eq!(
        result.unwrap_err().message,
        "admission webhook \"a.x\" denied the request without explanation"
    );
    assert_eq!(recorded.warnings, ["careful"]);
    assert_eq!(
        recorded.annotations,
        [("a.x/why".to_owned(), "because".to_owned())]
    );
}

#[tokio::test]
async fn who_cannot_be_asked_stops_a_write_or_not_as_the_failure_policy_says() {
    let asker = Asker::new();
    let fail = json!([hook("a.x", &nowhere(), &json!({"failurePolicy": "Fail"}))]);
    let refusing = policies(&[("a", fail.clone())], &[("a", fail)]).await;
    let refused = asker.validate(&refusing, Some(&object())).await.0.unwrap_err();
    assert_eq!((refused.code, refused.reason.as_str()), (500, "InternalError"));
    let words = "Internal error occurred: failed calling webhook \"a.x\": failed to call webhook: Post \
                 \"https://127.0.0.1:1/?timeout=10s\": ";
    assert!(refused.message.starts_with(words), "{}", refused.message);
    let mut object = object();
    let refused = asker.mutate(&refusing, &mut object).await.0.unwrap_err();
    assert!(refused.message.starts_with(words), "{}", refused.message);

    let ignore = json!([hook("a.x", &nowhere(), &json!({"failurePolicy": "Ignore"}))]);
    let passing = policies(&[("a", ignore.clone())], &[("a", ignore)]).await;
    let (result, recorded) = asker.mutate(&passing, &mut object).await;
    result.unwrap();
    let key = "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0".to_owned();
    assert_eq!(recorded.annotations[0], (key, "a.x".to_owned()));
    let (result, recorded) = asker.validate(&passing, Some(&object)).await;
    result.unwrap();
    let key = "failed-open.validating.webhook.admission.k8s.io/round_0_index_0".to_owned();
    assert_eq!(recorded.annotations, [(key, "a.x".to_owned())]);
}

#[tokio::test]
async fn a_mutating_webhook_that_changes_nothing_has_an_annotation_whatever_the_reason() {
    let server = webhook(|path, request| match path {
        "/no" => deny(request, 403, "no"),
        _ => allow(request),
    })
    .await;
    let ignore = json!({"failurePolicy": "Ignore"});
    let effects = json!({"sideEffects": "Some"});
    for (config, fields, dry_run) in [
        (server.client_config("/"), json!({}), false),
        (server.client_config("/no"), json!({}), false),
        (server.client_config("/"), effects, true),
        (nowhere(), ignore, false),
        (nowhere(), json!({}), false),
    ] {
        let policies = policies(&[("a", json!([hook("a.x", &config, &fields)]))], &[]).await;
        let asker = Asker {
            dry_run,
            ..Asker::new()
        };
        let recorded = asker.mutate(&policies, &mut object()).await.1;
        let (key, note) = recorded.annotations.last().unwrap();
        assert_eq!(key, "mutation.webhook.admission.k8s.io/round_0_index_0");
        let note: Value = serde_json::from_str(note).unwrap();
        assert_eq!(note["mutated"], false, "{config} {fields}");
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_is_a_webhook_that_cannot_be_asked() {
    for (config, fields, part) in [
        (
            json!({"url": "http://127.0.0.1:1/"}),
            json!({}),
            "must begin with https://",
        ),
        (
            json!({"url": "https://127.0.0.1:1/", "caBundle": "eA=="}),
            json!({}),
            "caBundle",
        ),
        (
            nowhere(),
            json!({"admissionReviewVersions": ["v1beta1"]}),
            "the only version that this server supports",
        ),
    ] {
        let policies = policies(&[], &[("a", json!([hook("a.x", &config, &fields)]))]).await;
        let refused = Asker::new()
            .validate(&policies, Some(&object()))
            .await
            .0
            .unwrap_err();
        assert!(
            refused
                .message
                .starts_with("Internal error occurred: failed calling webhook \"a.x\": ")
                && refused.message.contains(part),
            "{}",
            refused.message
        );
    }
}

#[tokio::test]
async fn a_dry_run_reaches_only_webhooks_without_side_effects() {
    let server = webhook(|_, request| allow(request)).await;
    let dry = Asker {
        dry_run: true,
        ..Asker::new()
    };
    for (side_effects, passes) in [
        ("None", true),
        ("NoneOnDryRun", true),
        ("Some", false),
        ("Unknown", false),
    ] {
        let fields = json!({"sideEffects": side_effects, "failurePolicy": "Ignore"});
        let asked = json!([hook("a.x", &server.client_config("/"), &fields)]);
        let policies = policies(&[], &[("a", asked)]).await;
        match dry.validate(&policies, Some(&object())).await.0 {
            Ok(()) => assert!(passes, "{side_effects}"),
            Err(status) => {
                assert!(!passes, "{side_effects}");
                assert_eq!(status.code, 400);
                assert_eq!(
                    status.message,
                    "admission webhook \"a.x\" does not support dry run"
                );
            }
        }
    }
    assert_eq!(server.reviews().len(), 2);
    assert_eq!(server.reviews()[0].1["dryRun"], true);
}

#[tokio::test]
async fn match_conditions_exclude_and_those_that_cannot_be_evaluated_follow_the_failure_policy() {
    let server = webhook(|_, request| deny(request, 403, "no")).await;
    let ask = async |expression: &str, policy: &str| {
        let fields =
            json!({"failurePolicy": policy, "matchConditions": [{"name": "c", "expression": expression}]});
        let asked = json!([hook("a.x", &server.client_config("/"), &fields)]);
        let policies = policies(&[], &[("a", asked)]).await;
        Asker::new().validate(&policies, Some(&object())).await.0
    };
    ask("request.userInfo.username != 'alice'", "Fail").await.unwrap();
    ask("object.spec.nothing == 1", "Ignore").await.unwrap();
    assert_eq!(server.paths().len(), 0);
    let refused = ask("object.spec.nothing == 1", "Fail").await.unwrap_err();
    assert_eq!((refused.code, refused.reason.as_str()), (403, "Forbidden"));
    assert!(
        refused.message.contains("match condition \"c\""),
        "{}",
        refused.message
    );
    let refused = ask("object.metadata.name == 'p'", "Fail").await.unwrap_err();
    assert_eq!(
        refused.message,
        "admission webhook \"a.x\" denied the request: no"
    );
}

#[tokio::test]
async fn the_expected_effort_of_match_conditions_is_their_cost_for_earlier_writes() {
    let server = webhook(|_, request| allow(request)).await;
    let expensive = "lists.range(400).all(x, lists.range(330).all(y, true))";
    for (expression, expected) in [("true", 0..1_000), (expensive, 400_000..700_000)] {
        let fields = json!({"matchConditions": [{"name": "c", "expression": expression}]});
        let asked = json!([hook("a.x", &server.client_config("/"), &fields)]);
        let policies = policies(&[], &[("a", asked)]).await;
        let asker = Asker::new();
        assert_eq!(asker.effort(&policies), 0, "nothing is known yet");
        asker.validate(&policies, Some(&object())).await.0.unwrap();
        let effort = asker.effort(&policies);
        assert!(expected.contains(&effort), "{expression}: {effort}");
    }
}

#[tokio::test]
async fn namespaces_are_selected_by_the_labels_of_their_copies() {
    let server = webhook(|_, request| deny(request, 403, "no")).await;
    for (tier, asked) in [("gold", true), ("iron", false)] {
        let fields = json!({"namespaceSelector": {"matchLabels": {"tier": tier}}});
        let hooks = json!([hook("a.x", &server.client_config("/"), &fields)]);
        let policies = policies(&[], &[("a", hooks)]).await;
        let result = Asker::new().validate(&policies, Some(&object())).await.0;
        assert_eq!(result.is_err(), asked, "{tier}");
    }
}

#[tokio::test]
async fn a_patch_that_cannot_be_carried_out_refuses_the_write_whatever_the_failure_policy() {
    let server = webhook(|path, request| match path {
        "/name" => patch(
            request,
            &json!([{"op": "replace", "path": "/metadata/name", "value": "q"}]),
        ),
        _ => patch(request, &json!([{"op": "remove", "path": "/spec/nothing"}])),
    })
    .await;
    for (path, part) in [("/name", "/metadata/name"), ("/", "operation 0")] {
        let fields = json!({"failurePolicy": "Ignore"});
        let asked = json!([hook("a.x", &server.client_config(path), &fields)]);
        let policies = policies(&[("a", asked)], &[]).await;
        let mut object = object();
        let refused = Asker::new().mutate(&policies, &mut object).await.0.unwrap_err();
        assert_eq!(refused.code, 500);
        assert!(refused.message.contains(part), "{}", refused.message);
        assert_eq!(object, super::object());
    }
}

#[tokio::test]
async fn a_delete_can_be_refused_and_changes_nothing() {
    let server = webhook(|path, request| match path {
        "/no" => deny(request, 409, "still needed"),
        _ => patch(request, &json!([{"op": "add", "path": "/spec/a", "value": 1}])),
    })
    .await;
    let asker = Asker {
        operation: Operation::Delete,
        old: Some(object()),
        ..Asker::new()
    };
    for (path, part) in [
        ("/no", "denied the request: still needed"),
        ("/", "no object to change"),
    ] {
        let asked = json!([hook("a.x", &server.client_config(path), &json!({}))]);
        let policies = policies(&[("a", asked)], &[]).await;
        let refused = asker.mutate(&policies, &mut Value::Null).await.0.unwrap_err();
        assert!(refused.message.contains(part), "{}", refused.message);
    }
    let request = &server.reviews()[0].1;
    assert_eq!(
        (&request["object"], &request["oldObject"]["metadata"]["name"]),
        (&Value::Null, &json!("p"))
    );
}

#[tokio::test]
async fn an_older_version_is_shown_to_who_registered_for_it() {
    let server = webhook(|_, request| {
        let label = json!({"version": request["object"]["apiVersion"].as_str().map(|version| version.replace('/', "_"))});
        patch(request, &json!([{"op": "add", "path": "/metadata/labels", "value": label}]))
    })
    .await;
    let rules = json!([{"apiGroups": ["*"], "apiVersions": ["v1alpha1"], "resources": ["*"], "operations": ["CREATE"]}]);
    let asked = json!([hook("a.x", &server.client_config("/"), &json!({"rules": rules}))]);
    let policies = policies(&[("a", asked)], &[]).await;
    let mut object = object();
    Asker::new().mutate(&policies, &mut object).await.0.unwrap();
    assert_eq!(
        object["metadata"]["labels"]["version"],
        "toys.example.com_v1alpha1"
    );
    assert_eq!(object["apiVersion"], "toys.example.com/v1beta1", "as it is held");
    let request = &server.reviews()[0].1;
    assert_eq!(request["requestResource"]["version"], "v1beta1");
    assert_eq!(request["resource"]["version"], "v1alpha1");
}
