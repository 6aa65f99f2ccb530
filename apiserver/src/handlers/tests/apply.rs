//! Server-side apply, and the owners of fields after other writes.

use super::*;

const APPLY: &str = "application/apply-patch+yaml";

/// A configuration of the widget `a`.
fn config(spec: Value) -> Value {
    json!({"apiVersion": "toys.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec})
}

impl Client {
    async fn apply_to(&self, path: &str, query: &str, body: &str) -> Answer {
        let path = format!("{path}?{query}");
        self.send("PATCH", &path, &[("content-type", APPLY)], body.as_bytes())
            .await
    }

    async fn apply(&self, manager: &str, spec: Value) -> Answer {
        let query = format!("fieldManager={manager}");
        self.apply_to(&at("a"), &query, &config(spec).to_string()).await
    }

    async fn force(&self, manager: &str, spec: Value) -> Answer {
        let query = format!("fieldManager={manager}&force=true");
        self.apply_to(&at("a"), &query, &config(spec).to_string()).await
    }
}

/// Fields of `part` in the entry of `manager` (`name`, or `name/subresource`).
fn owned(object: &Value, manager: &str, part: &str) -> Value {
    let (name, subresource) = manager.split_once('/').unwrap_or((manager, ""));
    let list = object["metadata"]["managedFields"].as_array();
    let entry = list.into_iter().flatten().find(|entry| {
        entry["manager"] == name && entry["subresource"].as_str().unwrap_or_default() == subresource
    });
    entry.map_or(Value::Null, |entry| {
        entry["fieldsV1"][format!("f:{part}")].clone()
    })
}

#[tokio::test]
async fn an_apply_creates_what_is_missing_and_owns_what_it_names_and_no_default() {
    let client = Client::new();
    let made = client.apply("a", json!({"color": "red"})).await.expect(201);
    assert_eq!(made["spec"], json!({"color": "red", "shape": "round"}));
    assert_eq!(owned(&made, "a", "spec"), json!({"f:color": {}}));
    let entry = &made["metadata"]["managedFields"][0];
    assert_eq!(
        (&entry["operation"], &entry["apiVersion"], &entry["fieldsType"]),
        (&json!("Apply"), &json!("toys.example.com/v1"), &json!("FieldsV1"))
    );
    // Fields that admission sets have no owner.
    assert_eq!(made["metadata"]["annotations"]["creator"], "alice");
    assert_eq!(made["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    let again = client.apply("a", json!({"color": "red"})).await.expect(200);
    assert_eq!(again, made, "nothing is written");
    assert_eq!(client.get(&at("a")).await.expect(200), made);
}

#[tokio::test]
async fn what_others_own_is_a_conflict_until_it_is_forced() {
    let client = Client::new();
    client
        .apply("a", json!({"color": "red", "size": 1}))
        .await
        .expect(201);
    let before = client.get(&at("a")).await.expect(200);
    let answer = client.apply("b", json!({"color": "blue"})).await;
    let message = answer.refusal(409, "Conflict");
    assert_eq!(
        message,
        r#"Apply failed with 1 conflict: conflict with "a": .spec.color"#
    );
    assert_eq!(
        answer.json()["details"],
        json!({"causes": [{"reason": "FieldManagerConflict", "message": "conflict with \"a\"", "field": ".spec.color"}]})
    );
    let several = client.apply("b", json!({"color": "blue", "size": 2})).await;
    assert_eq!(
        several.refusal(409, "Conflict"),
        "Apply failed with 2 conflicts: conflicts with \"a\":\n- .spec.color\n- .spec.size"
    );
    assert_eq!(client.get(&at("a")).await.expect(200), before);
    let forced = client.force("b", json!({"color": "blue"})).await.expect(200);
    assert_eq!(forced["spec"]["color"], "blue");
    assert_eq!(owned(&forced, "a", "spec"), json!({"f:size": {}}));
    assert_eq!(owned(&forced, "b", "spec"), json!({"f:color": {}}));
    assert_eq!(forced["metadata"]["generation"], 2);
    // A field without owners is removed; its default returns.
    let less = client.apply("a", json!({"shape": "flat"})).await.expect(200);
    assert_eq!(less["spec"], json!({"color": "blue", "shape": "flat"}));
    let least = client.apply("a", json!({})).await.expect(200);
    assert_eq!(least["spec"], json!({"color": "blue", "shape": "round"}));
}

#[tokio::test]
async fn every_other_write_is_an_update_by_whoever_it_says_or_its_user_agent() {
    let client = Client::new();
    let made = client
        .send(
            "POST",
            WIDGETS,
            &[("user-agent", "kubectl/v1.36 (linux)")],
            widget("a").to_string().as_bytes(),
        )
        .await
        .expect(201);
    let entry = &made["metadata"]["managedFields"][0];
    assert_eq!(
        (&entry["manager"], &entry["operation"]),
        (&json!("kubectl"), &json!("Update"))
    );
    assert_eq!(entry["time"], "2026-11-21T12:00:00Z");
    assert_eq!(
        entry["fieldsV1"],
        json!({"f:spec": {".": {}, "f:color": {}, "f:shape": {}, "f:size": {}}})
    );
    let path = format!("{}?fieldManager=hpa", at("a"));
    let patched = client
        .merge(&path, &json!({"spec": {"size": 3}}))
        .await
        .expect(200);
    assert_eq!(owned(&patched, "hpa", "spec"), json!({"f:size": {}}));
    assert_eq!(
        owned(&patched, "kubectl", "spec"),
        json!({".": {}, "f:color": {}, "f:shape": {}})
    );
    let refused = client.apply("flux", json!({"size": 4})).await;
    assert_eq!(
        refused.refusal(409, "Conflict"),
        r#"Apply failed with 1 conflict: conflict with "hpa" using toys.example.com/v1: .spec.size"#
    );
    // The object unchanged: nothing is written, by any manager.
    let put = client
        .put(&format!("{}?fieldManager=other", at("a")), &patched)
        .await
        .expect(200);
    assert_eq!(put, patched);
    let status = format!("{}/status?fieldManager=agent", at("a"));
    let told = client
        .merge(&status, &json!({"status": {"phase": "Ready"}}))
        .await
        .expect(200);
    assert_eq!(owned(&told, "agent/status", "status"), json!({"f:phase": {}}));
    assert_eq!(owned(&told, "agent/status", "spec"), Value::Null);
}

#[tokio::test]
async fn the_status_is_applied_through_its_subresource_alone() {
    let client = Client::new();
    let mut whole = config(json!({"color": "red"}));
    whole["status"] = json!({"phase": "Ready"});
    let missing = client
        .apply_to(
            &format!("{}/status", at("a")),
            "fieldManager=s",
            &whole.to_string(),
        )
        .await;
    missing.refusal(404, "NotFound");
    let made = client
        .apply_to(&at("a"), "fieldManager=a", &whole.to_string())
        .await
        .expect(201);
    assert_eq!(made["status"]["phase"], "Pending");
    assert_eq!(owned(&made, "a", "status"), Value::Null);
    whole["spec"]["color"] = "blue".into();
    let path = format!("{}/status", at("a"));
    let told = client
        .apply_to(&path, "fieldManager=s", &whole.to_string())
        .await
        .expect(200);
    assert_eq!(
        (&told["spec"]["color"], &told["status"]["phase"]),
        (&json!("red"), &json!("Ready"))
    );
    assert_eq!(owned(&told, "s/status", "status"), json!({"f:phase": {}}));
    whole["status"]["phase"] = "Lost".into();
    let refused = client.apply_to(&path, "fieldManager=t", &whole.to_string()).await;
    assert_eq!(
        refused.refusal(409, "Conflict"),
        r#"Apply failed with 1 conflict: conflict with "s" with subresource "status": .status.phase"#
    );
}

#[tokio::test]
async fn what_cannot_be_applied_is_refused_with_the_place_and_nothing_is_stored() {
    let client = Client::new();
    let with = |change: fn(&mut Value)| {
        let mut value = config(json!({"color": "red"}));
        change(&mut value);
        value.to_string()
    };
    let about = "failed to create typed patch object (/a; toys.example.com/v1, Kind=Widget): ";
    for (query, body, code, message) in [
        ("", with(|_| {}), 422, "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch".to_owned()),
        ("fieldManager=a%0Ab", with(|_| {}), 422, "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \"a\\nb\": invalid character U+000A (at position 1)".to_owned()),
        ("fieldManager=a", String::new(), 400, "invalid object type: /, Kind=".to_owned()),
        ("fieldManager=a", "null".to_owned(), 400, "invalid object type: /, Kind=".to_owned()),
        ("fieldManager=a", "kind: Widget".to_owned(), 400, "invalid object type: /, Kind=Widget".to_owned()),
        ("fieldManager=a", "[1]".to_owned(), 400, "error decoding YAML: the configuration must be an object".to_owned()),
        ("fieldManager=a", with(|value| value["apiVersion"] = "toys.example.com/v9".into()), 400, "invalid object type: toys.example.com/v9, Kind=Widget".to_owned()),
        ("fieldManager=a", with(|value| value["metadata"]["managedFields"] = json!([])), 400, "metadata.managedFields must be nil".to_owned()),
        ("fieldManager=a", with(|value| value["metadata"] = json!({})), 400, "the name of the object (a based on URL) was undeterminable: name must be provided".to_owned()),
        ("fieldManager=a", with(|value| value["metadata"]["name"] = "z".into()), 400, "the name of the object (z) does not match the name on the URL (a)".to_owned()),
        ("fieldManager=a", with(|value| value["metadata"]["uid"] = "x".into()), 409, "Operation cannot be fulfilled on widgets.toys.example.com \"a\": uid mismatch: the provided object specified uid x, and no existing object was found".to_owned()),
        ("fieldManager=a&fieldValidation=Ignore", with(|value| value["spec"]["nope"] = 1.into()), 400, format!("{about}.spec.nope: field not declared in schema")),
        ("fieldManager=a", with(|value| value["spec"]["size"] = "1".into()), 400, format!("{about}.spec.size: expected numeric (int or float), got \"1\"")),
    ] {
        let answer = client.apply_to(&at("a"), query, &body).await;
        assert_eq!(answer.code, code, "{query} {body}: {}", answer.text());
        let said = answer.json()["message"].as_str().unwrap().to_owned();
        assert_eq!(said, message, "{query} {body}");
        client.get(&at("a")).await.refusal(404, "NotFound");
    }
    let shape = client.apply("a", json!({"color": "ultraviolet"})).await;
    assert!(shape.refusal(422, "Invalid").contains("must be visible"));
    let elsewhere = "/apis/toys.example.com/v1/namespaces/default/widgets/a/paint?fieldManager=a";
    let paint = client
        .send("PATCH", elsewhere, &[("content-type", APPLY)], b"{}")
        .await;
    assert!(!paint.refusal(415, "UnsupportedMediaType").contains("apply"));
    let cbor = client
        .patch(&format!("{}?fieldManager=a", at("a")), "apply-patch+cbor", "{}")
        .await;
    assert!(cbor.refusal(415, "UnsupportedMediaType").contains(APPLY));
    let collection = client
        .send("POST", WIDGETS, &[("content-type", APPLY)], b"{}")
        .await;
    collection.refusal(415, "UnsupportedMediaType");
}

#[tokio::test]
async fn keys_that_stand_twice_are_refused_or_told_of_as_the_client_asks() {
    let client = Client::new();
    let text = "apiVersion: toys.example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {color: red, color: blue}\n";
    let strict = client
        .apply_to(&at("a"), "fieldManager=a&fieldValidation=Strict", text)
        .await;
    assert_eq!(
        strict.refusal(400, "BadRequest"),
        "error strict decoding YAML: key \"spec.color\" already set in map"
    );
    client.get(&at("a")).await.refusal(404, "NotFound");
    let warned = client.apply_to(&at("a"), "fieldManager=a", text).await;
    assert_eq!(warned.expect(201)["spec"]["color"], "blue");
    assert_eq!(warned.warnings, ["key \"spec.color\" already set in map"]);
    let silent = client
        .apply_to(&at("a"), "fieldManager=a&fieldValidation=Ignore", text)
        .await;
    assert_eq!((silent.code, silent.warnings.len()), (200, 0));
}

#[tokio::test]
async fn the_uid_and_the_resource_version_in_a_configuration_must_be_the_live_ones() {
    let client = Client::new();
    let made = client.apply("a", json!({"color": "red"})).await.expect(201);
    let mut value = config(json!({"color": "red"}));
    value["metadata"]["uid"] = "x".into();
    let answer = client
        .apply_to(&at("a"), "fieldManager=a", &value.to_string())
        .await;
    assert!(
        answer
            .refusal(422, "Invalid")
            .contains("metadata.uid: Invalid value: \"x\": field is immutable")
    );
    value["metadata"] = json!({"name": "a", "resourceVersion": "1"});
    let answer = client
        .apply_to(&at("a"), "fieldManager=a", &value.to_string())
        .await;
    assert!(
        answer
            .refusal(409, "Conflict")
            .contains("the object has been modified")
    );
    value["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    value["spec"]["color"] = "blue".into();
    let changed = client
        .apply_to(&at("a"), "fieldManager=a", &value.to_string())
        .await
        .expect(200);
    assert_eq!(owned(&changed, "a", "metadata"), Value::Null);
    // If the name is missing, the one in the path is used.
    value["metadata"] = json!({});
    client
        .apply_to(&at("a"), "fieldManager=a", &value.to_string())
        .await
        .expect(200);
}

#[tokio::test]
async fn a_dry_run_of_an_apply_stores_nothing() {
    let client = Client::new();
    let text = config(json!({"color": "red"})).to_string();
    let dry = client
        .apply_to(&at("a"), "fieldManager=a&dryRun=All", &text)
        .await
        .expect(201);
    assert_eq!(owned(&dry, "a", "spec"), json!({"f:color": {}}));
    assert!(dry["metadata"]["resourceVersion"].is_null());
    client.get(&at("a")).await.refusal(404, "NotFound");
    client.apply("a", json!({"color": "red"})).await.expect(201);
    let text = config(json!({"color": "blue"})).to_string();
    let dry = client
        .apply_to(&at("a"), "fieldManager=a&dryRun=All", &text)
        .await
        .expect(200);
    assert_eq!(dry["spec"]["color"], "blue");
    assert_eq!(client.get(&at("a")).await.expect(200)["spec"]["color"], "red");
}

#[tokio::test]
async fn creating_by_an_apply_takes_the_right_to_create() {
    let client = Client::new();
    let text = config(json!({"color": "red"})).to_string();
    let path = format!("{}?fieldManager=a", at("a"));
    let send = async |may_create: bool| {
        let mut request = Client::request("PATCH", &path, &[("content-type", APPLY)], text.as_bytes());
        request.authorizer = Arc::new(testing::FunctionAuthorizer(
            move |attributes: &crate::auth::Attributes| {
                Ok(match attributes.verb.as_str() {
                    "create" if !may_create => Access::NoOpinion(String::new()),
                    _ => Access::Allow(String::new()),
                })
            },
        ));
        let response = client.api.dispatch(AuthorizedRequest::new(request)).await;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8_lossy(&body).into_owned())
    };
    let (code, text) = send(false).await;
    assert_eq!(code, 403, "{text}");
    assert!(text.contains(r#"widgets.toys.example.com \"a\" is forbidden: User \"alice\" cannot create resource \"widgets\""#), "{text}");
    client.get(&at("a")).await.refusal(404, "NotFound");
    assert_eq!(send(true).await.0, 201);
    assert_eq!(send(false).await.0, 200);
}

#[tokio::test]
async fn clients_take_managed_fields_back_and_may_take_them_away() {
    let client = Client::new();
    let made = client.apply("a", json!({"color": "red"})).await.expect(201);
    // As csaupgrade does: a JSON patch replaces the list, guarded by the resource version.
    let mut list = made["metadata"]["managedFields"].clone();
    list[0]["manager"] = "b".into();
    let patch = json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": list},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": made["metadata"]["resourceVersion"]},
    ]);
    let renamed = client
        .patch(&at("a"), "json-patch+json", &patch.to_string())
        .await
        .expect(200);
    assert_eq!(owned(&renamed, "b", "spec"), json!({"f:color": {}}));
    assert_eq!(renamed["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    let stale = client
        .patch(&at("a"), "json-patch+json", &patch.to_string())
        .await;
    stale.refusal(409, "Conflict");
    // An unreadable list keeps the live one.
    let mut put = renamed.clone();
    put["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Foo"}]);
    put["spec"]["color"] = "blue".into();
    let kept = client
        .put(&format!("{}?fieldManager=u", at("a")), &put)
        .await
        .expect(200);
    assert_eq!(owned(&kept, "u", "spec"), json!({"f:color": {}}));
    let mut long = kept.clone();
    long["metadata"]["managedFields"][0]["manager"] = "x".repeat(129).into();
    let refused = client.put(&at("a"), &long).await.refusal(422, "Invalid");
    assert!(
        refused.contains("metadata.managedFields[0].manager: Too long"),
        "{refused}"
    );
    // Once removed, it is not tracked again until the next apply.
    for none in [json!([{}]), json!([])] {
        let cleared = client
            .merge(&at("a"), &json!({"metadata": {"managedFields": none}}))
            .await
            .expect(200);
        assert!(cleared["metadata"].get("managedFields").is_none(), "{cleared}");
        let untracked = client
            .merge(&at("a"), &json!({"spec": {"size": 2}}))
            .await
            .expect(200);
        assert!(untracked["metadata"].get("managedFields").is_none());
        let refused = client
            .apply("c", json!({"size": 3}))
            .await
            .refusal(409, "Conflict");
        assert!(refused.contains("before-first-apply"), "{refused}");
        let tracked = client.force("c", json!({"size": 3})).await.expect(200);
        assert_eq!(
            owned(&tracked, "before-first-apply", "spec")["f:color"],
            json!({})
        );
    }
}

#[tokio::test]
async fn kubectl_takes_over_what_it_applied_from_the_client_and_nothing_else() {
    let client = Client::new();
    let before = config(json!({"color": "red", "size": 1}));
    let mut posted = before.clone();
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    posted["metadata"]["annotations"] = json!({annotation: format!("{before}\n")});
    let path = format!("{WIDGETS}?fieldManager=kubectl-client-side-apply");
    client.post(&path, &posted).await.expect(201);
    let others = client.apply("flux", json!({"color": "blue"})).await;
    assert!(
        others
            .refusal(409, "Conflict")
            .contains("kubectl-client-side-apply")
    );
    let taken = client
        .apply("kubectl", json!({"color": "blue", "size": 1}))
        .await
        .expect(200);
    assert_eq!(taken["spec"]["color"], "blue");
    let kept: Value =
        serde_json::from_str(taken["metadata"]["annotations"][annotation].as_str().unwrap()).unwrap();
    assert_eq!(kept, config(json!({"color": "blue", "size": 1})));
    assert_eq!(owned(&taken, "kubectl", "metadata"), Value::Null);
    let scaled = client
        .merge(
            &format!("{}?fieldManager=hpa", at("a")),
            &json!({"spec": {"size": 7}}),
        )
        .await;
    scaled.expect(200);
    let refused = client
        .apply("kubectl", json!({"color": "green", "size": 1}))
        .await;
    assert_eq!(
        refused.refusal(409, "Conflict"),
        r#"Apply failed with 1 conflict: conflict with "hpa" using toys.example.com/v1: .spec.size"#
    );
}

#[tokio::test]
async fn versions_that_differ_in_their_name_only_share_their_managers() {
    let client = Client::new();
    client
        .apply("a", json!({"color": "red", "size": 1}))
        .await
        .expect(201);
    let beta = at("a").replace("/v1/", "/v1beta1/");
    let mut older = config(json!({"color": "red"}));
    older["apiVersion"] = "toys.example.com/v1beta1".into();
    let told = client
        .apply_to(&beta, "fieldManager=a", &older.to_string())
        .await
        .expect(200);
    assert_eq!(told["spec"], json!({"color": "red", "shape": "round"}));
    let list = told["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(
        (list.len(), &list[0]["apiVersion"]),
        (1, &json!("toys.example.com/v1beta1"))
    );
}

#[tokio::test]
async fn lists_metadata_and_tables_carry_managed_fields_and_copies_have_none() {
    let client = Client::new();
    let made = client.apply("a", json!({"color": "red"})).await.expect(201);
    let managed = &made["metadata"]["managedFields"];
    let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let shown = client.get_as(&at("a"), partial).await.expect(200);
    assert_eq!(&shown["metadata"]["managedFields"], managed);
    let list = client.get(WIDGETS).await.expect(200);
    assert_eq!(&list["items"][0]["metadata"]["managedFields"], managed);
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let rows = client.get_as(&at("a"), table).await.expect(200);
    assert_eq!(&rows["rows"][0]["object"]["metadata"]["managedFields"], managed);
}
