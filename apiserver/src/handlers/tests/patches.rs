//! Patches.

use super::*;

#[tokio::test]
async fn the_three_formats_change_what_they_say() {
    let client = Client::new();
    client.widget("a").await;
    let patched = client
        .merge(&at("a"), &json!({"spec": {"size": 2, "color": null}}))
        .await
        .expect(200);
    assert_eq!(patched["spec"], json!({"size": 2, "shape": "round"}));
    let text =
        r#"[{"op":"test","path":"/spec/size","value":2},{"op":"replace","path":"/spec/size","value":3}]"#;
    assert_eq!(
        client.patch(&at("a"), "json-patch+json", text).await.expect(200)["spec"]["size"],
        3
    );
    assert_eq!(client.get(&at("a")).await.json()["metadata"]["generation"], 3);

    let gadget = json!({
        "apiVersion": "toys.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"},
        "parts": [{"name": "a", "count": 1}, {"name": "b"}],
    });
    client.post(GADGETS, &gadget).await.expect(201);
    let text = r#"{"parts":[{"name":"a","count":2}]}"#;
    let path = format!("{GADGETS}/g");
    let patched = client
        .patch(&path, "strategic-merge-patch+json", text)
        .await
        .expect(200);
    assert_eq!(
        patched["parts"],
        json!([{"name": "a", "count": 2}, {"name": "b"}])
    );
}

#[tokio::test]
async fn a_patch_that_does_not_apply_or_fit_is_refused_and_changes_nothing() {
    let client = Client::new();
    let made = client.widget("a").await;
    let many = format!(
        "[{}]",
        vec![r#"{"op":"remove","path":"/spec/x"}"#; 10_001].join(",")
    );
    let cases = [
        (
            "json-patch+json",
            r#"[{"op":"test","path":"/spec/x","value":"no"}]"#,
            422,
        ),
        (
            "json-patch+json",
            r#"[{"op":"replace","path":"/metadata","value":7}]"#,
            422,
        ),
        (
            "json-patch+json",
            r#"[{"op":"remove","path":"/metadata/name"}]"#,
            400,
        ),
        ("json-patch+json", "{}", 400),
        ("json-patch+json", many.as_str(), 413),
        ("merge-patch+json", r#"{"metadata":{"name":"b"}}"#, 400),
        ("merge-patch+json", r#"{"metadata":{"uid":"b"}}"#, 422),
        (
            "merge-patch+json",
            r#"{"metadata":{"resourceVersion":"99"}}"#,
            409,
        ),
        ("merge-patch+json", r#"{"kind":"Gadget"}"#, 422),
        ("merge-patch+json", r#"{"apiVersion":"nope/v1"}"#, 422),
        ("json-patch+json", r#"[{"op":"jump","path":"/spec"}]"#, 422),
        ("merge-patch+json", r#"{"spec":{"size":11}}"#, 422),
        ("merge-patch+json", "[]", 400),
        ("merge-patch+json", "", 400),
        ("strategic-merge-patch+json", "{}", 415),
        ("apply-patch+cbor", "{}", 415),
        ("json", "{}", 415),
    ];
    for (kind, body, code) in cases {
        let answer = client.patch(&at("a"), kind, body).await;
        assert_eq!(
            answer.code,
            code,
            "{kind} {}: {}",
            &body[..body.len().min(80)],
            answer.text()
        );
    }
    assert_eq!(client.get(&at("a")).await.json(), made);
    client
        .merge(&at("nobody"), &json!({}))
        .await
        .refusal(404, "NotFound");
    let message = client
        .merge(&format!("{}?force=true", at("a")), &json!({}))
        .await
        .refusal(422, "Invalid");
    assert!(
        message.contains("may not be specified for non-apply patch"),
        "{message}"
    );
}

#[tokio::test]
async fn a_patch_answers_only_for_the_unknown_fields_it_brings() {
    let client = Client::new();
    let mut body = widget("a");
    body["spec"]["old"] = json!(1);
    client.post(WIDGETS, &body).await.expect(201);
    let path = format!("{}?fieldValidation=Strict", at("a"));
    client
        .merge(&path, &json!({"spec": {"size": 2}}))
        .await
        .expect(200);
    let message = client
        .merge(&path, &json!({"spec": {"new": 2}}))
        .await
        .refusal(422, "Invalid");
    assert!(
        message.contains("patch: Invalid value") && message.contains("unknown field \"spec.new\""),
        "{message}"
    );
    let twice = client
        .patch(&path, "merge-patch+json", r#"{"spec":{"size":2,"size":3}}"#)
        .await;
    assert!(
        twice
            .refusal(422, "Invalid")
            .contains("duplicate field \"spec.size\"")
    );
}

#[tokio::test]
async fn a_patch_that_makes_no_object_is_refused_of_none() {
    let client = Client::new();
    client.widget("a").await;
    let path = format!("{}?fieldValidation=Strict", at("a"));
    for (kind, patch) in [
        ("merge-patch+json", r#"{"spec":{"nope":1}}"#),
        ("merge-patch+json", r#"{"metadata":{"labels":["a"]}}"#),
        (
            "json-patch+json",
            r#"[{"op":"add","path":"/spec/nope","value":1}]"#,
        ),
    ] {
        let answer = client.patch(&path, kind, patch).await;
        let status = answer.expect(422);
        let details = &status["details"];
        for field in ["name", "group", "kind"] {
            assert_eq!(details[field], Value::Null, "{patch}: {status}");
        }
        assert_eq!(details["causes"][0]["field"], "patch", "{status}");
        // The message still identifies the operation.
        let message = status["message"].as_str().unwrap_or_default();
        assert!(message.contains("\"a\" is invalid"), "{message}");
    }
    // If the patched object is invalid, the message is about that object.
    let status = client
        .merge(&at("a"), &json!({"metadata": {"uid": "other"}}))
        .await
        .expect(422);
    assert_eq!(status["details"]["name"], "a", "{status}");
}

#[tokio::test]
async fn fields_that_json_patch_operations_do_not_have_are_refused_told_or_passed_over_as_asked() {
    let client = Client::new();
    client.widget("a").await;
    let operations = r#"[{"op":"add","path":"/spec/size","value":3,"nope":1,"op":"add"}]"#;
    let send = async |query: &str| {
        let path = format!("{}{query}", at("a"));
        client.patch(&path, "json-patch+json", operations).await
    };
    let message = send("?fieldValidation=Strict").await.refusal(422, "Invalid");
    let told =
        "strict decoding error: json patch duplicate field \"[0].op\", json patch unknown field \"[0].nope\"";
    assert!(message.contains(told), "{message}");
    for query in ["", "?fieldValidation=Warn"] {
        let answer = send(query).await;
        assert_eq!(
            answer.warnings,
            [
                "json patch duplicate field \"[0].op\"",
                "json patch unknown field \"[0].nope\""
            ],
            "{query}"
        );
        assert_eq!(answer.expect(200)["spec"]["size"], 3);
    }
    let silent = send("?fieldValidation=Ignore").await;
    assert!(silent.warnings.is_empty(), "{:?}", silent.warnings);
    silent.expect(200);
}

#[tokio::test]
async fn an_operation_that_is_none_is_told_of_objects_that_are_there() {
    let client = Client::new();
    let operations = r#"[{"op":"nope","path":"/spec/size"}]"#;
    let missing = client.patch(&at("a"), "json-patch+json", operations).await;
    missing.refusal(404, "NotFound");
    client.widget("a").await;
    let message = client
        .patch(&at("a"), "json-patch+json", operations)
        .await
        .refusal(422, "Invalid");
    assert!(message.contains("operation 0: "), "{message}");
}

#[tokio::test]
async fn parallel_patches_of_one_object_all_succeed() {
    let client = Client::new();
    client.widget("a").await;
    let patch = async |index: usize| {
        let labels = json!({"metadata": {"labels": {format!("l{index}"): "x"}}});
        client.merge(&at("a"), &labels).await.expect(200);
    };
    futures::future::join_all((0..20).map(patch)).await;
    let labels = client.get(&at("a")).await.json()["metadata"]["labels"].clone();
    assert_eq!(labels.as_object().unwrap().len(), 20);
}

#[tokio::test]
async fn a_json_patch_of_null_is_one_without_operations() {
    let client = Client::new();
    let made = client.widget("a").await;
    let patched = client.patch(&at("a"), "json-patch+json", "null").await;
    assert_eq!(patched.expect(200), made);
}
