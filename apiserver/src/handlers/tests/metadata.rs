//! Metadata and options from clients: cases of kube-apiserver that are easy to get wrong.

use super::*;

/// The widget `name` with `more` in its metadata.
fn with(name: &str, more: Value) -> Value {
    let mut body = widget(name);
    body["metadata"]["name"] = name.into();
    let fields = more.as_object().unwrap().clone();
    body["metadata"].as_object_mut().unwrap().extend(fields);
    body
}

#[tokio::test]
async fn an_empty_dry_run_is_refused_and_writes_nothing() {
    let client = Client::new();
    for query in ["dryRun=", "dryRun=All&dryRun=", "dryRun=None"] {
        let answer = client.post(&format!("{WIDGETS}?{query}"), &widget("a")).await;
        let message = answer.refusal(422, "Invalid");
        assert!(message.contains("dryRun: Unsupported value: ["), "{message}");
    }
    client.get(&at("a")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn a_dry_run_of_a_create_answers_no_resource_version() {
    let client = Client::new();
    let answer = client.post(&format!("{WIDGETS}?dryRun=All"), &widget("a")).await;
    let made = answer.expect(201);
    let metadata = made["metadata"].as_object().unwrap();
    assert!(!metadata.contains_key("resourceVersion"), "{made}");
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert_eq!(made["spec"]["shape"], "round");
    client.get(&at("a")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn force_is_an_option_of_patches_only() {
    let client = Client::new();
    let made = client
        .post(&format!("{WIDGETS}?force=true"), &widget("a"))
        .await
        .expect(201);
    client
        .put(&format!("{}?force=true", at("a")), &made)
        .await
        .expect(200);
    let forced = format!("{}?force=true", at("a"));
    client.merge(&forced, &json!({})).await.refusal(422, "Invalid");
}

#[tokio::test]
async fn resource_version_zero_is_none_on_create() {
    let client = Client::new();
    let made = client
        .post(WIDGETS, &with("a", json!({"resourceVersion": "0"})))
        .await
        .expect(201);
    assert_eq!(made["metadata"]["resourceVersion"], "101");
}

#[tokio::test]
async fn whole_numbers_may_be_written_as_doubles() {
    let client = Client::new();
    for (name, size) in [("a", "1.0"), ("b", "1e1"), ("c", "2.0e0")] {
        let body =
            format!(r#"{{"metadata": {{"name": "{name}"}}, "spec": {{"color": "red", "size": {size}}}}}"#);
        let made = client
            .send(
                "POST",
                WIDGETS,
                &[("content-type", "application/json")],
                body.as_bytes(),
            )
            .await
            .expect(201);
        assert!(made["spec"]["size"].is_i64(), "{size}: {made}");
    }
    let body = br#"{"metadata": {"name": "d"}, "spec": {"size": 1.5}}"#.to_vec();
    client
        .send("POST", WIDGETS, &[("content-type", "application/json")], &body)
        .await
        .refusal(422, "Invalid");
}

#[tokio::test]
async fn the_marks_of_a_deletion_are_set_by_deletions_only() {
    let client = Client::new();
    let made = client.widget("a").await;
    for (field, value) in [
        ("deletionTimestamp", json!("2001-02-03T04:05:06Z")),
        ("deletionGracePeriodSeconds", json!(9)),
    ] {
        let patch = json!({"metadata": {field: value}});
        let message = client.merge(&at("a"), &patch).await.refusal(422, "Invalid");
        assert!(
            message.contains(&format!("metadata.{field}: Invalid value")),
            "{message}"
        );
        assert!(message.contains("field is immutable"), "{message}");
        let mut body = made.clone();
        body["metadata"][field] = value;
        client.put(&at("a"), &body).await.refusal(422, "Invalid");
    }
    // An object that is being deleted keeps its deletion metadata, even if a client sends an earlier copy.
    client
        .merge(&at("a"), &json!({"metadata": {"finalizers": ["a.b/c"]}}))
        .await
        .expect(200);
    let deleted = client.delete(&at("a")).await.expect(200);
    let mark = deleted["metadata"]["deletionTimestamp"].clone();
    assert!(mark.is_string(), "{deleted}");
    let unmarked = client
        .merge(
            &at("a"),
            &json!({"metadata": {"deletionTimestamp": null, "labels": {"x": "y"}}}),
        )
        .await
        .expect(200);
    assert_eq!(unmarked["metadata"]["deletionTimestamp"], mark);
}

#[tokio::test]
async fn a_patch_of_the_uid_is_invalid_and_an_update_with_another_a_conflict() {
    let client = Client::new();
    let mut made = client.widget("a").await;
    let patch = json!({"metadata": {"uid": "abc"}});
    let message = client.merge(&at("a"), &patch).await.refusal(422, "Invalid");
    assert!(
        message.contains("metadata.uid: Invalid value: \"abc\": field is immutable"),
        "{message}"
    );
    made["metadata"]["uid"] = "abc".into();
    client.put(&at("a"), &made).await.refusal(409, "Conflict");
}

#[tokio::test]
async fn duplicate_finalizers_are_kept_and_duplicate_owners_told_and_dropped() {
    let client = Client::new();
    let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "Nope", "name": "a", "uid": uid});
    let body = with(
        "a",
        json!({"finalizers": ["a.b/c", "a.b/c"], "ownerReferences": [owner("1"), owner("2"), owner("1")]}),
    );
    let answer = client.post(WIDGETS, &body).await;
    let made = answer.expect(201);
    assert_eq!(made["metadata"]["finalizers"], json!(["a.b/c", "a.b/c"]));
    assert_eq!(
        made["metadata"]["ownerReferences"],
        json!([owner("1"), owner("2")])
    );
    assert!(
        answer
            .warnings
            .iter()
            .any(|text| text.contains("duplicate UID(s) observed: {\"1\"}")),
        "{:?}",
        answer.warnings
    );
}

#[tokio::test]
async fn owners_of_one_uid_that_differ_elsewhere_are_kept_and_nothing_is_told() {
    let client = Client::new();
    let owner = |name: &str| json!({"apiVersion": "v1", "kind": "Nope", "name": name, "uid": "1"});
    let owners = json!([owner("a"), owner("b")]);
    let answer = client
        .post(WIDGETS, &with("a", json!({"ownerReferences": owners})))
        .await;
    assert_eq!(answer.expect(201)["metadata"]["ownerReferences"], owners);
    assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
    let patch = json!({"metadata": {"ownerReferences": [owner("a"), owner("c"), owner("c")]}});
    let answer = client.merge(&at("a"), &patch).await;
    assert_eq!(
        answer.expect(200)["metadata"]["ownerReferences"],
        json!([owner("a"), owner("c")])
    );
    assert_eq!(answer.warnings.len(), 1, "{:?}", answer.warnings);
}

#[tokio::test]
async fn an_owner_has_a_version_that_can_be_looked_up() {
    let client = Client::new();
    for (version, problem) in [
        ("apps/", "version must not be empty"),
        ("a/b/c", "unexpected GroupVersion string: a/b/c"),
    ] {
        let owner = json!([{"apiVersion": version, "kind": "Nope", "name": "a", "uid": "1"}]);
        let body = with("a", json!({"ownerReferences": owner}));
        let message = client.post(WIDGETS, &body).await.refusal(422, "Invalid");
        assert!(message.contains(problem), "{message}");
    }
}

#[tokio::test]
async fn a_prefix_of_names_must_be_one() {
    let client = Client::new();
    for bad in ["a.", "Ab-", "a_b", "-"] {
        let mut body = widget("a");
        body["metadata"] = json!({"generateName": bad});
        let message = client.post(WIDGETS, &body).await.refusal(422, "Invalid");
        assert!(
            message.contains("metadata.generateName: Invalid value"),
            "{bad}: {message}"
        );
    }
    let mut body = widget("a");
    body["metadata"] = json!({"generateName": "a-"});
    client.post(WIDGETS, &body).await.expect(201);
}

#[tokio::test]
async fn empty_lists_and_maps_of_metadata_are_absent() {
    let client = Client::new();
    let empty = json!({"finalizers": [], "ownerReferences": [], "labels": {}});
    let made = client.post(WIDGETS, &with("a", empty)).await.expect(201);
    for field in ["finalizers", "ownerReferences", "labels"] {
        assert!(made["metadata"].get(field).is_none(), "{field}: {made}");
    }
}

#[tokio::test]
async fn finalizers_without_a_domain_draw_a_warning_or_a_refusal() {
    let client = Client::new();
    let answer = client
        .post(
            WIDGETS,
            &with("a", json!({"finalizers": ["abc", "orphan", "a.b/c"]})),
        )
        .await;
    answer.expect(201);
    let told: Vec<&String> = answer
        .warnings
        .iter()
        .filter(|text| text.contains("domain-qualified"))
        .collect();
    assert_eq!(told.len(), 1, "{:?}", answer.warnings);
    assert!(told[0].contains("\"abc\""), "{told:?}");
    // The toy that accepts strategic merges stands for Kubernetes' own kinds.
    let body = json!({"metadata": {"name": "g", "finalizers": ["abc"]}});
    let message = client.post(GADGETS, &body).await.refusal(422, "Invalid");
    assert!(
        message.contains("neither a standard finalizer name nor is it fully qualified"),
        "{message}"
    );
}

#[tokio::test]
async fn a_patch_that_leaves_metadata_of_wrong_types_is_invalid() {
    let client = Client::new();
    client.widget("a").await;
    let message = client
        .merge(&at("a"), &json!({"metadata": {"labels": {"a": 1}}}))
        .await
        .refusal(422, "Invalid");
    assert!(
        message.contains("patch: Invalid value") && message.contains("metadata.labels.a"),
        "{message}"
    );
}

#[tokio::test]
async fn a_deletion_with_preconditions_in_the_query_deletes_only_what_was_meant() {
    let client = Client::new();
    let made = client.widget("a").await;
    for other in ["uid=abc", "resourceVersion=1"] {
        let path = format!("{}?{other}", at("a"));
        client.delete(&path).await.refusal(409, "Conflict");
    }
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let revision = made["metadata"]["resourceVersion"].as_str().unwrap();
    let path = format!("{}?uid={uid}&resourceVersion={revision}", at("a"));
    client.delete(&path).await.expect(200);
    client.get(&at("a")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn a_generation_is_kept_as_given_where_nothing_counts_it() {
    let client = Client::new();
    let given = json!({"generation": 7, "selfLink": "/x"});
    let mut gadget = json!({"apiVersion": "toys.example.com/v1", "kind": "Gadget", "metadata": given});
    gadget["metadata"]["name"] = "g".into();
    let made = client.post(GADGETS, &gadget).await.expect(201);
    assert_eq!(made["metadata"]["generation"], 7);
    assert_eq!(made["metadata"]["selfLink"], Value::Null);
    let changed = json!({"metadata": {"generation": 9}, "parts": [{"name": "a"}]});
    let changed = client.merge(&format!("{GADGETS}/g"), &changed).await.expect(200);
    assert_eq!(changed["metadata"]["generation"], 7, "no update changes it");
    gadget["metadata"] = json!({"name": "h", "generation": -1});
    let message = client.post(GADGETS, &gadget).await.refusal(422, "Invalid");
    assert!(
        message.contains("metadata.generation: Invalid value: -1: must be greater than or equal to 0"),
        "{message}"
    );
    let mut counted = widget("a");
    counted["metadata"]["generation"] = 7.into();
    let counted = client.post(WIDGETS, &counted).await.expect(201);
    assert_eq!(counted["metadata"]["generation"], 1);
}

#[tokio::test]
async fn an_owner_without_a_uid_is_invalid_however_it_is_sent() {
    let client = Client::new();
    client.widget("a").await;
    let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o"}]);
    let mut body = widget("b");
    body["metadata"]["ownerReferences"] = owners.clone();
    let posted = client.post(WIDGETS, &body).await;
    body["metadata"]["name"] = "a".into();
    body["metadata"]["resourceVersion"] =
        client.get(&at("a")).await.expect(200)["metadata"]["resourceVersion"].clone();
    let put = client.put(&at("a"), &body).await;
    let merged = client
        .merge(&at("a"), &json!({"metadata": {"ownerReferences": owners}}))
        .await;
    let operations = json!([{"op": "add", "path": "/metadata/ownerReferences", "value": owners}]);
    let patched = client
        .patch(&at("a"), "json-patch+json", &operations.to_string())
        .await;
    for answer in [posted, put, merged, patched] {
        let message = answer.refusal(422, "Invalid");
        assert!(
            message.contains("metadata.ownerReferences[0].uid: Invalid value: \"\": must not be empty"),
            "{message}"
        );
    }
}
