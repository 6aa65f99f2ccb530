//! Create, update and status.

use super::*;

#[tokio::test]
async fn create_sets_what_is_the_servers_and_wipes_what_is_not_the_clients() {
    let client = Client::new();
    let mut body = widget("a");
    body["metadata"] = json!({
        "name": "a", "uid": "mine", "generation": 7, "creationTimestamp": null, "selfLink": "/x", "labels": null,
        "deletionTimestamp": "2021-10-28T08:31:39Z", "managedFields": [{}],
    });
    body["status"] = json!({"phase": "Mine"});
    body["spec"]["unheard"] = json!({"of": 1});
    let answer = client.post(WIDGETS, &body).await;
    let made = answer.expect(201);
    let metadata = made["metadata"].as_object().unwrap();
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["generation"], 1);
    assert_eq!(metadata["creationTimestamp"], "2026-11-21T12:00:00Z");
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert_eq!(metadata["resourceVersion"], "101");
    assert_eq!(metadata["annotations"]["creator"], "alice");
    for gone in ["selfLink", "deletionTimestamp", "labels"] {
        assert!(!metadata.contains_key(gone), "{gone}");
    }
    assert_eq!(metadata["managedFields"][0]["manager"], "unknown");
    assert_eq!(made["status"]["phase"], "Pending");
    assert_eq!(made["spec"]["shape"], "round");
    assert_eq!(
        made["spec"]["unheard"],
        json!({"of": 1}),
        "unknown fields are kept"
    );
    assert_eq!(client.get(&at("a")).await.json(), made);
}

#[tokio::test]
async fn create_refuses_what_does_not_fit_the_request() {
    let client = Client::new();
    let with = |path: &str, value: Value| {
        let mut body = widget("a");
        *body.pointer_mut(path).unwrap() = value;
        body
    };
    let cases = [
        (
            with("/apiVersion", json!("toys.example.com/v2")),
            400,
            "does not match the expected API version",
        ),
        (
            with("/kind", json!("Gadget")),
            400,
            "does not match the expected kind",
        ),
        (with("/kind", json!(1)), 400, "kind must be a string"),
        (
            with("/metadata", json!({"name": "a", "namespace": "other"})),
            400,
            "does not match the namespace sent",
        ),
        (
            with("/metadata", json!({"name": "a", "resourceVersion": "1"})),
            400,
            "resourceVersion should not be set",
        ),
        (
            with("/metadata", json!({"name": "a", "labels": {"a": 1}})),
            400,
            "metadata.labels.a",
        ),
        (with("/metadata", json!("x")), 400, "metadata"),
        (
            with("/metadata", json!({"name": "A_b"})),
            422,
            "metadata.name: Invalid value: \"A_b\"",
        ),
        (
            with("/metadata", json!({"name": "a", "labels": {"a b": "c"}})),
            422,
            "metadata.labels",
        ),
        (
            with("/metadata", json!({})),
            422,
            "name or generateName is required",
        ),
        (with("/spec/size", json!(11)), 422, "spec.size"),
        (with("/spec/size", json!("big")), 422, "spec.size"),
        (
            with("/metadata", json!({"name": "forbidden"})),
            403,
            "that name is taboo",
        ),
    ];
    for (body, code, text) in cases {
        let answer = client.post(WIDGETS, &body).await;
        assert_eq!(answer.code, code, "{body}: {}", answer.text());
        assert!(
            answer.json()["message"].as_str().unwrap().contains(text),
            "{text}: {}",
            answer.text()
        );
    }
    assert_eq!(client.get(WIDGETS).await.json()["items"], json!([]));
    client.widget("a").await;
    let message = client
        .post(WIDGETS, &widget("a"))
        .await
        .refusal(409, "AlreadyExists");
    assert_eq!(message, "widgets.toys.example.com \"a\" already exists");
}

#[tokio::test]
async fn every_validation_error_is_told_at_once() {
    let client = Client::new();
    let mut body = widget("A");
    body["spec"] = json!({"color": "ultraviolet", "size": 0});
    let status = client.post(WIDGETS, &body).await.expect(422);
    let fields: Vec<&str> = status["details"]["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| cause["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["metadata.name", "spec.size", "spec.color"]);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .starts_with("Widget.toys.example.com \"A\" is invalid: [")
    );
}

#[tokio::test]
async fn field_validation_is_strict_or_warns_or_ignores() {
    let client = Client::new();
    let text = r#"{"apiVersion":"toys.example.com/v1","kind":"Widget","metadata":{"name":"NAME","nmae":"x"},
        "spec":{"color":"red","color":"blue","colour":"red"}}"#;
    let send = async |name: &str, query: &str| {
        let body = text.replace("NAME", name);
        client
            .send("POST", &format!("{WIDGETS}{query}"), &[], body.as_bytes())
            .await
    };
    let message = send("a", "?fieldValidation=Strict")
        .await
        .refusal(400, "BadRequest");
    assert_eq!(
        message,
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: \
         duplicate field \"spec.color\", unknown field \"metadata.nmae\", unknown field \"spec.colour\""
    );
    for (name, query) in [("b", ""), ("c", "?fieldValidation=Warn")] {
        let answer = send(name, query).await;
        assert_eq!(answer.expect(201)["spec"]["colour"], "red");
        let warnings = [
            "duplicate field \"spec.color\"",
            "unknown field \"metadata.nmae\"",
            "unknown field \"spec.colour\"",
        ];
        assert_eq!(answer.warnings, warnings);
    }
    assert_eq!(send("d", "?fieldValidation=Ignore").await.warnings, [""; 0]);
    send("e", "?fieldValidation=Maybe").await.refusal(422, "Invalid");
}

#[tokio::test]
async fn bodies_come_as_json_yaml_or_in_a_format_of_the_programs() {
    let client = Client::new();
    let yaml =
        "apiVersion: toys.example.com/v1\nkind: Widget\nmetadata: {name: written-as-yaml}\nspec: {size: 2}\n";
    let send = async |kind: &str, body: &[u8]| {
        client
            .send("POST", WIDGETS, &[("content-type", kind)], body)
            .await
    };
    assert_eq!(
        send("application/yaml", yaml.as_bytes()).await.expect(201)["spec"]["size"],
        2
    );
    let reversed: String = widget("p").to_string().chars().rev().collect();
    send("application/vnd.kubernetes.protobuf", reversed.as_bytes())
        .await
        .expect(201);
    send("application/vnd.kubernetes.protobuf", b"?")
        .await
        .refusal(415, "UnsupportedMediaType");
    send("application/vnd.kubernetes.protobuf", b"?{")
        .await
        .refusal(400, "BadRequest");
    send(
        "application/json; charset=utf-8",
        widget("j").to_string().as_bytes(),
    )
    .await
    .expect(201);
    let message = send("text/csv", b"a,b")
        .await
        .refusal(415, "UnsupportedMediaType");
    assert!(message.contains("application/json"), "{message}");
    for (kind, body) in [
        ("application/json", "{"),
        ("application/json", ""),
        ("application/json", "[]"),
        ("application/yaml", "a: b\n---\nc: d\n"),
        ("application/yaml", "a: ["),
        ("application/yaml", ""),
    ] {
        send(kind, body.as_bytes()).await.refusal(400, "BadRequest");
    }
}

#[tokio::test]
async fn generated_names_are_unique_however_many_ask() {
    let client = Client::new();
    let mut body = widget("");
    body["metadata"] = json!({"generateName": "w-"});
    let answers = futures::future::join_all((0..200).map(|_| client.post(WIDGETS, &body))).await;
    let names: std::collections::BTreeSet<String> = answers
        .iter()
        .map(|answer| {
            answer.expect(201)["metadata"]["name"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(names.len(), 200);
    assert!(names.iter().all(|name| name.len() == 7 && name.starts_with("w-")));
}

#[tokio::test]
async fn update_checks_name_uid_and_resource_version() {
    let client = Client::new();
    let made = client.widget("a").await;
    let mut body = made.clone();
    body["spec"]["size"] = json!(2);
    let updated = client.put(&at("a"), &body).await.expect(200);
    assert_eq!(updated["metadata"]["generation"], 2);

    let message = client.put(&at("a"), &body).await.refusal(409, "Conflict");
    assert!(message.ends_with(
        "the object has been modified; please apply your changes to the latest version and try again"
    ));
    let refused = async |field: &str, value: Value, code, reason| {
        let mut body = updated.clone();
        body["metadata"][field] = value;
        client.put(&at("a"), &body).await.refusal(code, reason)
    };
    assert!(
        refused("resourceVersion", json!(""), 422, "Invalid")
            .await
            .contains("must be specified for an update")
    );
    refused("resourceVersion", json!("x"), 422, "Invalid").await;
    refused("name", json!("b"), 400, "BadRequest").await;
    refused("namespace", json!("b"), 400, "BadRequest").await;
    assert!(
        refused("uid", json!("other"), 409, "Conflict")
            .await
            .contains("Precondition failed: UID")
    );
    client
        .put(&at("nobody"), &widget("nobody"))
        .await
        .refusal(404, "NotFound");
    assert_eq!(client.get(&at("a")).await.json(), updated);
}

#[tokio::test]
async fn an_update_that_changes_nothing_writes_nothing() {
    let client = Client::new();
    let mut body = client.widget("a").await;
    body["metadata"]["generation"] = json!(77);
    body["metadata"]["creationTimestamp"] = json!("2001-01-01T00:00:00Z");
    body["status"] = json!({"phase": "Ignored here"});
    let again = client.put(&at("a"), &body).await.expect(200);
    assert_eq!(again, client.get(&at("a")).await.json());
    assert_eq!(again["metadata"]["resourceVersion"], "101");
    assert_eq!(
        client.get(WIDGETS).await.json()["metadata"]["resourceVersion"],
        "101"
    );
}

#[tokio::test]
async fn an_unconditional_update_takes_the_object_as_it_is() {
    let client = Client::new();
    let body = json!({"apiVersion": "toys.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "parts": []});
    client.post(GADGETS, &body).await.expect(201);
    let path = format!("{GADGETS}/g");
    assert_eq!(
        client.put(&path, &body).await.expect(200)["metadata"].get("generation"),
        None
    );
}

#[tokio::test]
async fn status_is_written_only_through_its_subresource() {
    let client = Client::new();
    let mut body = client.widget("a").await;
    body["status"] = json!({"phase": "Ready"});
    body["spec"]["size"] = json!(9);
    body["metadata"]["labels"] = json!({"x": "y"});
    let path = format!("{}/status", at("a"));
    let updated = client.put(&path, &body).await.expect(200);
    assert_eq!(
        (&updated["status"]["phase"], &updated["spec"]["size"]),
        (&json!("Ready"), &json!(1))
    );
    assert_eq!(updated["metadata"].get("labels"), None);
    assert_eq!(updated["metadata"]["generation"], 1);
    assert_eq!(client.get(&path).await.expect(200), updated);
    let patched = client
        .merge(&path, &json!({"status": {"phase": "Done"}, "spec": {"size": 3}}))
        .await
        .expect(200);
    assert_eq!(
        (&patched["status"]["phase"], &patched["spec"]["size"]),
        (&json!("Done"), &json!(1))
    );
    client.delete(&path).await.refusal(405, "MethodNotAllowed");
    client
        .get(&format!("{GADGETS}/g/status"))
        .await
        .refusal(404, "NotFound");
}

#[tokio::test]
async fn a_dry_run_answers_as_if_and_stores_nothing() {
    let client = Client::new();
    let answer = client.post(&format!("{WIDGETS}?dryRun=All"), &widget("a")).await;
    assert_eq!(answer.expect(201)["spec"]["shape"], "round");
    client.get(&at("a")).await.refusal(404, "NotFound");
    let made = client.widget("a").await;
    client
        .post(&format!("{WIDGETS}?dryRun=All"), &widget("a"))
        .await
        .refusal(409, "AlreadyExists");
    let patch = json!({"spec": {"size": 5}});
    let path = format!("{}?dryRun=All", at("a"));
    assert_eq!(client.merge(&path, &patch).await.expect(200)["spec"]["size"], 5);
    client.delete(&path).await.expect(200);
    assert_eq!(client.get(&at("a")).await.json(), made);
    let message = client
        .post(&format!("{WIDGETS}?dryRun=Some"), &widget("b"))
        .await
        .refusal(422, "Invalid");
    assert!(message.contains("supported values: \"All\""), "{message}");
}

#[tokio::test]
async fn another_served_version_differs_in_api_version_only() {
    let client = Client::new();
    let path = WIDGETS.replace("/v1/", "/v1beta1/");
    let mut body = widget("a");
    client.post(&path, &body).await.refusal(400, "BadRequest");
    body["apiVersion"] = json!("toys.example.com/v1beta1");
    let beta = client.post(&path, &body).await.expect(201);
    assert_eq!(beta["apiVersion"], "toys.example.com/v1beta1");
    let mut stable = client.get(&at("a")).await.json();
    assert_eq!(stable["apiVersion"], "toys.example.com/v1");
    stable["apiVersion"] = beta["apiVersion"].clone();
    assert_eq!(stable, beta);
    let list = client.get(&path).await.json();
    assert_eq!(
        (&list["apiVersion"], &list["items"][0]),
        (&beta["apiVersion"], &beta)
    );
}

#[tokio::test]
async fn admission_warns_and_verbs_that_are_not_served_are_refused() {
    let client = Client::new();
    let mut body = widget("a");
    body["spec"]["color"] = json!("pink");
    assert_eq!(client.post(WIDGETS, &body).await.warnings, ["pink fades"]);
    client
        .patch(WIDGETS, "merge-patch+json", "{}")
        .await
        .refusal(405, "MethodNotAllowed");
    client
        .post(&at("a"), &body)
        .await
        .refusal(405, "MethodNotAllowed");
    client
        .post(ALL_WIDGETS, &body)
        .await
        .refusal(405, "MethodNotAllowed");
    client
        .send("OPTIONS", WIDGETS, &[], b"")
        .await
        .refusal(405, "MethodNotAllowed");
    client
        .get(&format!("{}/nothing", at("a")))
        .await
        .refusal(404, "NotFound");
    client
        .get("/apis/toys.example.com/v1/sprockets")
        .await
        .refusal(404, "NotFound");
    client
        .get("/apis/toys.example.com/v3/widgets")
        .await
        .refusal(404, "NotFound");
    client
        .get("/apis/toys.example.com/v1/namespaces/default/gadgets")
        .await
        .refusal(404, "NotFound");
    client
        .get(&format!("{WIDGETS}/%2E%2E"))
        .await
        .refusal(400, "BadRequest");
}

#[tokio::test]
async fn an_update_creates_what_is_not_there_where_the_kind_lets_it() {
    let client = Client::new();
    let path = format!("{GADGETS}/g");
    let mut gadget = json!({
        "apiVersion": "toys.example.com/v1", "kind": "Gadget",
        "metadata": {"name": "g", "resourceVersion": "7"}, "parts": [{"name": "a"}],
    });
    let mut bad = gadget.clone();
    bad["metadata"]["resourceVersion"] = json!("x");
    let message = client.put(&path, &bad).await.refusal(422, "Invalid");
    assert!(
        message.contains("metadata.resourceVersion: Invalid value: \"x\""),
        "{message}"
    );
    let dry = client.put(&format!("{path}?dryRun=All"), &gadget).await;
    assert_eq!(dry.expect(201)["parts"], gadget["parts"]);
    client.get(&path).await.refusal(404, "NotFound");
    let made = client.put(&path, &gadget).await.expect(201);
    assert_eq!(made["parts"], gadget["parts"]);
    gadget["metadata"] = json!({"name": "g"});
    let kept = client.put(&path, &gadget).await.expect(200);
    assert_eq!(kept["metadata"]["uid"], made["metadata"]["uid"]);
    client.delete(&path).await.expect(200);
    gadget["metadata"]["uid"] = made["metadata"]["uid"].clone();
    let message = client.put(&path, &gadget).await.refusal(409, "Conflict");
    assert!(message.contains("uid mismatch"), "{message}");
    client.put(&at("a"), &widget("a")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn an_update_that_creates_takes_the_right_to_create() {
    let client = Client::new();
    let gadget = json!({"apiVersion": "toys.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}});
    let path = format!("{GADGETS}/g");
    let mut request = Client::request("PUT", &path, &[], gadget.to_string().as_bytes());
    request.authorizer = Arc::new(testing::FunctionAuthorizer(
        |attributes: &crate::auth::Attributes| {
            Ok(match attributes.verb.as_str() {
                "create" => Access::NoOpinion(String::new()),
                _ => Access::Allow(String::new()),
            })
        },
    ));
    let response = client.api.dispatch(AuthorizedRequest::new(request)).await;
    assert_eq!(response.status(), 403);
    client.get(&path).await.refusal(404, "NotFound");
}
