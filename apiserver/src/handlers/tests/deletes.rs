//! Delete, deletecollection and finalizers.

use super::*;

async fn delete_with(client: &Client, name: &str, options: &Value) -> Answer {
    client
        .send("DELETE", &at(name), &[], options.to_string().as_bytes())
        .await
}

#[tokio::test]
async fn an_object_without_finalizers_is_gone_at_once() {
    let client = Client::new();
    let made = client.widget("a").await;
    let status = client.delete(&at("a")).await.expect(200);
    assert_eq!(
        (&status["kind"], &status["status"]),
        (&json!("Status"), &json!("Success"))
    );
    let details =
        json!({"name": "a", "group": "toys.example.com", "kind": "widgets", "uid": made["metadata"]["uid"]});
    assert_eq!(status["details"], details);
    client.delete(&at("a")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn finalizers_hold_an_object_back_until_the_last_is_gone() {
    let client = Client::new();
    let mut body = widget("a");
    body["metadata"]["finalizers"] = json!(["example.com/a", "example.com/b"]);
    client.post(WIDGETS, &body).await.expect(201);
    let pending = client.delete(&at("a")).await.expect(200);
    assert_eq!(pending["metadata"]["deletionTimestamp"], "2026-11-21T12:00:00Z");
    assert_eq!(pending["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(pending["metadata"]["generation"], 2);
    assert_eq!(
        client.delete(&at("a")).await.expect(200),
        pending,
        "a second delete changes nothing"
    );

    let more = json!({"metadata": {"finalizers": ["example.com/a", "example.com/c"]}});
    let message = client.merge(&at("a"), &more).await.refusal(422, "Invalid");
    assert!(
        message.contains("no new finalizers can be added if the object is being deleted"),
        "{message}"
    );
    let fewer = json!({"metadata": {"finalizers": ["example.com/b"], "deletionTimestamp": null}});
    let left = client.merge(&at("a"), &fewer).await.expect(200);
    assert_eq!(left["metadata"]["deletionTimestamp"], "2026-11-21T12:00:00Z");
    client
        .merge(&at("a"), &json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
    client.get(&at("a")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn a_kind_may_hold_back_its_own_deletion() {
    let client = Client::new();
    let mut body = widget("a");
    body["spec"]["hold"] = json!(true);
    client.post(WIDGETS, &body).await.expect(201);
    let pending = client.delete(&at("a")).await.expect(200);
    assert_eq!(pending["status"]["phase"], "Terminating");
    client
        .merge(&at("a"), &json!({"metadata": {"labels": {"a": "b"}}}))
        .await
        .expect(200);
    client.get(&at("a")).await.expect(200);
    client
        .merge(&at("a"), &json!({"spec": {"hold": null}}))
        .await
        .expect(200);
    client.get(&at("a")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn the_propagation_policy_becomes_a_finalizer() {
    let client = Client::new();
    for (name, options, finalizers) in [
        (
            "a",
            json!({"propagationPolicy": "Foreground"}),
            json!(["foregroundDeletion"]),
        ),
        (
            "b",
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"}),
            json!(["orphan"]),
        ),
        (
            "c",
            json!({"apiVersion": "toys.example.com/v1", "orphanDependents": true}),
            json!(["orphan"]),
        ),
    ] {
        client.widget(name).await;
        assert_eq!(
            delete_with(&client, name, &options).await.expect(200)["metadata"]["finalizers"],
            finalizers
        );
    }
    assert_eq!(
        delete_with(&client, "a", &json!({"propagationPolicy": "Background"}))
            .await
            .expect(200)["status"],
        "Success"
    );
    client.widget("d").await;
    let path = format!("{}?propagationPolicy=Foreground", at("d"));
    assert_eq!(
        client.delete(&path).await.expect(200)["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
}

#[tokio::test]
async fn options_that_make_no_sense_are_refused() {
    let client = Client::new();
    let made = client.widget("a").await;
    let uid = &made["metadata"]["uid"];
    for (options, code) in [
        (json!({"propagationPolicy": "Sideways"}), 422),
        (
            json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
            422,
        ),
        (json!({"dryRun": ["Some"]}), 422),
        (json!({"dryRun": "All"}), 400),
        (json!({"kind": "Widget"}), 400),
        (json!({"apiVersion": "v7"}), 400),
        (json!({"preconditions": {"uid": "bad"}}), 409),
        (
            json!({"preconditions": {"uid": uid, "resourceVersion": "1"}}),
            409,
        ),
        (json!({"preconditions": 1}), 400),
    ] {
        let answer = delete_with(&client, "a", &options).await;
        assert_eq!(answer.code, code, "{options}: {}", answer.text());
    }
    client
        .send("DELETE", &at("a"), &[], b"{")
        .await
        .refusal(400, "BadRequest");
    assert_eq!(client.get(&at("a")).await.json(), made);
    let options = json!({"preconditions": {"uid": uid, "resourceVersion": "101"}});
    delete_with(&client, "a", &options).await.expect(200);
    client.widget("guarded").await;
    client.delete(&at("guarded")).await.refusal(403, "Forbidden");
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector_and_listed_in_the_answer() {
    let client = Client::new();
    for index in 0..6 {
        let mut body = widget(&format!("w{index}"));
        body["metadata"]["labels"] = json!({"even": (index % 2 == 0).to_string()});
        body["metadata"]["finalizers"] = if index == 0 {
            json!(["example.com/a"])
        } else {
            json!([])
        };
        client.post(WIDGETS, &body).await.expect(201);
    }
    let path = format!("{WIDGETS}?labelSelector=even%3Dtrue");
    let tried = client.delete(&format!("{path}&dryRun=All")).await.expect(200);
    assert_eq!(tried["items"].as_array().unwrap().len(), 3);
    let deleted = client.delete(&path).await.expect(200);
    assert_eq!(deleted["kind"], "WidgetList");
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&deleted), ["w0", "w2", "w4"]);
    assert_eq!(
        names(&client.get(WIDGETS).await.json()),
        ["w0", "w1", "w3", "w5"],
        "w0 waits for its finalizer"
    );
    client.delete(ALL_WIDGETS).await.refusal(405, "MethodNotAllowed");
}

#[tokio::test]
async fn a_deleted_collection_is_answered_as_it_was_before() {
    let client = Client::new();
    let mut body = widget("held");
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let held = client.post(WIDGETS, &body).await.expect(201);
    let free = client.widget("free").await;
    let answer = client.delete(WIDGETS).await.expect(200);
    assert_eq!(answer["items"], json!([free, held]));
    let left = client.get(&at("held")).await.expect(200);
    assert!(left["metadata"]["deletionTimestamp"].is_string());
}
