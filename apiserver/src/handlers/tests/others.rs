//! Projections, computed resources and custom subresources.

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, Key};
use berth_storage::{Expect, Step};

use super::*;

const SHADOWS: &str = "/apis/toys.example.com/v1/namespaces/default/shadows";
const REVIEWS: &str = "/apis/toys.example.com/v1/reviews";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn cast(client: &Client, name: &str) {
    let value = json!({
        "apiVersion": "toys.example.com/v1", "kind": "Shadow", "spec": {"color": "grey"},
        "metadata": {"name": name, "namespace": "default"},
    });
    let step = Step {
        verb: Verb::Create,
        key: Key::new(GroupResource::new(toys::GROUP, "shadows"), "default", name),
        subresource: "",
        object: Some(Draft::new(&value).unwrap()),
        expect: Expect::Absent,
        guards: Vec::new(),
    };
    client.toys.shadows.commit(&[step]).unwrap();
}

#[tokio::test]
async fn a_projection_is_read_like_a_store_and_never_written() {
    let client = Client::new();
    for name in ["a", "b", "c"] {
        cast(&client, name);
    }
    assert_eq!(
        client.get(&format!("{SHADOWS}/a")).await.expect(200)["spec"]["color"],
        "grey"
    );
    let page = client.get(&format!("{SHADOWS}?limit=2")).await.expect(200);
    assert_eq!(
        (
            &page["metadata"]["resourceVersion"],
            &page["metadata"]["remainingItemCount"]
        ),
        (&json!("1003"), &json!(1))
    );
    cast(&client, "d");
    let token = page["metadata"]["continue"].as_str().unwrap();
    let rest = client
        .get(&format!("{SHADOWS}?limit=2&continue={token}"))
        .await
        .expect(200);
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let path = if method == "POST" {
            SHADOWS.to_owned()
        } else {
            format!("{SHADOWS}/a")
        };
        client
            .send(method, &path, &[], b"{}")
            .await
            .refusal(405, "MethodNotAllowed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_version_of_another_replica_is_expired_not_waited_for() {
    let client = Client::new();
    cast(&client, "a");
    client
        .get(&format!("{SHADOWS}?resourceVersion=5000"))
        .await
        .refusal(410, "Expired");
    let event = client
        .get(&format!("{SHADOWS}?watch=1&resourceVersion=5000"))
        .await
        .expect(200);
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
}

#[tokio::test]
async fn computed_lists_are_selected_paged_and_shown_by_the_server() {
    let client = Client::new();
    let all = client.get(REVIEWS).await.expect(200);
    assert_eq!(
        (
            all["items"].as_array().unwrap().len(),
            &all["metadata"]["resourceVersion"]
        ),
        (10, &json!("7"))
    );
    let mut seen = Vec::new();
    let mut path = format!("{REVIEWS}?limit=4");
    loop {
        let page = client.get(&path).await.expect(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 4);
        seen.extend(
            items
                .iter()
                .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()),
        );
        let Some(token) = page["metadata"]["continue"].as_str() else {
            break;
        };
        path = format!("{REVIEWS}?limit=4&continue={token}");
    }
    assert_eq!(seen, (0..10).map(|index| format!("r{index}")).collect::<Vec<_>>());
    let next = |page: &Value| {
        let token = page["metadata"]["continue"].as_str().unwrap();
        format!("{REVIEWS}?limit=4&continue={token}")
    };
    let first = client.get(&format!("{REVIEWS}?limit=4")).await.expect(200);
    assert_eq!(first["metadata"]["remainingItemCount"], 6);
    let second = client.get(&next(&first)).await.expect(200);
    let lists = |page: &Value| page["items"][0]["spec"]["lists"].clone();
    assert_eq!(lists(&first), lists(&second), "one list serves all its pages");
    let even = client
        .get(&format!("{REVIEWS}?labelSelector=even%3Dtrue&limit=3"))
        .await
        .expect(200);
    assert_eq!(even["items"][2]["metadata"]["name"], "r4");
    // The token of another list, or of an evicted one, needs a new list.
    let other = next(&first) + "&labelSelector=even%3Dtrue";
    let refused = client.get(&other).await.expect(410);
    let anew = refused["metadata"]["continue"].as_str().unwrap();
    let anew = client
        .get(&format!("{REVIEWS}?limit=4&continue={anew}"))
        .await
        .expect(200);
    assert_eq!(anew["items"][0]["metadata"]["name"], "r4");
    assert_ne!(lists(&first), lists(&anew));
    let one = client
        .get(&format!("{REVIEWS}?fieldSelector=metadata.name%3Dr3"))
        .await
        .expect(200);
    assert_eq!(one["items"].as_array().unwrap().len(), 1);
    client
        .get(&format!("{REVIEWS}?fieldSelector=spec.color%3Dx"))
        .await
        .expect(200);
    client
        .get(&format!("{REVIEWS}?fieldSelector=spec.nope%3Dx"))
        .await
        .refusal(400, "BadRequest");
    assert_eq!(
        client.get_as(REVIEWS, TABLE).await.expect(200)["rows"][9]["cells"][0],
        "r9"
    );
    assert_eq!(
        client.get(&format!("{REVIEWS}/r3")).await.expect(200)["spec"]["size"],
        3
    );
    client
        .get(&format!("{REVIEWS}/r99"))
        .await
        .refusal(404, "NotFound");
    client
        .get(&format!("{REVIEWS}?watch=1"))
        .await
        .refusal(405, "MethodNotAllowed");
}

#[tokio::test]
async fn a_posted_review_is_validated_answered_and_not_kept() {
    let client = Client::new();
    let mut body = json!({"apiVersion": "toys.example.com/v1", "kind": "Review", "spec": {"size": 2}});
    let answer = client.post(REVIEWS, &body).await.expect(201);
    assert_eq!(
        (&answer["status"]["phase"], &answer["spec"]["shape"]),
        (&json!("alice"), &json!("round"))
    );
    body["spec"]["size"] = json!(0);
    client.post(REVIEWS, &body).await.refusal(422, "Invalid");
    body["spec"] = json!({"sizw": 1});
    client
        .post(&format!("{REVIEWS}?fieldValidation=Strict"), &body)
        .await
        .refusal(400, "BadRequest");
}

#[tokio::test]
async fn a_refusal_of_what_a_subresource_writes_has_the_warnings_of_admission() {
    let client = Client::new();
    client.widget("a").await;
    let pink = json!({"spec": {"color": "pink", "size": 2}});
    let refused = client.merge(&format!("{}/paint", at("a")), &pink).await;
    refused.refusal(422, "Invalid");
    assert_eq!(refused.warnings, ["pink fades"]);
}

#[tokio::test]
async fn a_subresource_of_the_programs_has_its_own_rules_and_rows() {
    let client = Client::new();
    let made = client.widget("a").await;
    let paint = format!("{}/paint", at("a"));
    assert_eq!(client.get(&paint).await.expect(200), made);
    let painted = client
        .merge(&paint, &json!({"spec": {"color": "blue"}}))
        .await
        .expect(200);
    assert_eq!(
        (&painted["spec"]["color"], &painted["metadata"]["generation"]),
        (&json!("blue"), &json!(2))
    );
    let message = client
        .merge(&paint, &json!({"spec": {"size": 2}}))
        .await
        .refusal(422, "Invalid");
    assert!(message.contains("painting does not change the size"), "{message}");
    client.put(&paint, &made).await.refusal(409, "Conflict");
    let dry = client
        .merge(
            &format!("{paint}?dryRun=All"),
            &json!({"spec": {"color": "green"}}),
        )
        .await
        .expect(200);
    assert_eq!(dry["spec"]["color"], "green");
    assert_eq!(client.get(&paint).await.expect(200), painted);
    client.post(&paint, &made).await.refusal(405, "MethodNotAllowed");

    let report = format!("{}/report", at("a"));
    let table = client.get_as(&report, TABLE).await.expect(200);
    assert_eq!(
        (
            &table["columnDefinitions"][0]["name"],
            table["rows"].as_array().unwrap().len()
        ),
        (&json!("Part"), 2)
    );
    assert_eq!(table["rows"][1]["object"]["metadata"]["name"], "a");
    assert_eq!(client.get(&report).await.expect(200)["kind"], "Report");
    let answer = client.post(&report, &json!({"spec": {}})).await.expect(201);
    assert_eq!(
        answer["metadata"],
        json!({"name": "a", "namespace": "default", "annotations": {"creator": "alice"}}),
        "admission saw it"
    );
    assert_eq!(
        (&answer["kind"], &answer["spec"]["shape"]),
        (&json!("Report"), &json!("round"))
    );
    client
        .post(&report, &json!({"kind": "Widget"}))
        .await
        .refusal(400, "BadRequest");
    client
        .post(&report, &json!({"metadata": {"name": "b"}}))
        .await
        .refusal(400, "BadRequest");
    client
        .post(&report, &json!({"spec": {"size": 0}}))
        .await
        .refusal(422, "Invalid");
}

#[tokio::test]
async fn routes_are_named_only_for_what_is_served() {
    let client = Client::new();
    let route = |path: &str| client.api.route(&Client::request("GET", path, &[], b"").info);
    assert_eq!(route(WIDGETS).unwrap().resource, "widgets");
    assert_eq!(
        route(&format!("{}/status", at("a"))).unwrap().subresource,
        "status"
    );
    assert_eq!(route(&format!("{}/paint", at("a"))).unwrap().subresource, "paint");
    assert_eq!(route(&format!("{}/made-up", at("a"))), None);
    assert_eq!(route(&format!("{GADGETS}/g/status")), None);
    assert_eq!(route("/apis/made/v1/ups"), None);
}

#[tokio::test]
async fn metrics_count_the_objects_of_every_stored_resource() {
    let client = Client::new();
    client.widget("a").await;
    client.widget("b").await;
    let metrics = crate::metrics::Metrics::new();
    metrics.count_stored(crate::resource::stored(
        &client.toys.groups(client.api.registry()),
    ));
    let counts = || {
        let page = metrics.render().unwrap();
        let lines = page
            .lines()
            .filter(|line| line.contains("apiserver_storage_objects"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let expected = |widgets: usize| {
        [
            "# HELP apiserver_storage_objects Stored objects by resource".to_owned(),
            "# TYPE apiserver_storage_objects gauge".to_owned(),
            "apiserver_storage_objects{resource=\"gadgets.toys.example.com\"} 0".to_owned(),
            format!("apiserver_storage_objects{{resource=\"widgets.toys.example.com\"}} {widgets}"),
        ]
    };
    assert_eq!(counts(), expected(2));
    client.widget("c").await;
    assert_eq!(counts(), expected(3));
}
