//! Get and list: selectors, pages, resource versions.

use super::*;

async fn seven(client: &Client) {
    for index in 0..7 {
        client.widget(&format!("w{index}")).await;
    }
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

async fn follow(client: &Client, list: &Value) -> Answer {
    let token = list["metadata"]["continue"].as_str().unwrap();
    client.get(&format!("{WIDGETS}?limit=3&continue={token}")).await
}

#[tokio::test]
async fn an_empty_list_is_a_list() {
    let client = Client::new();
    let answer = client.get(WIDGETS).await;
    let text = r#"{"kind":"WidgetList","apiVersion":"toys.example.com/v1","metadata":{"resourceVersion":"100"},"items":[]}"#;
    assert_eq!(answer.text(), text);
    assert_eq!(answer.header("content-length"), text.len().to_string());
    assert_eq!(answer.header("content-type"), "application/json");
}

#[tokio::test]
async fn pages_show_the_revision_of_the_first() {
    let client = Client::new();
    seven(&client).await;
    let first = client.get(&format!("{WIDGETS}?limit=3")).await.expect(200);
    assert_eq!(names(&first), ["w0", "w1", "w2"]);
    assert_eq!(
        (
            &first["metadata"]["remainingItemCount"],
            &first["metadata"]["resourceVersion"]
        ),
        (&json!(4), &json!("107"))
    );
    client.delete(&at("w4")).await.expect(200);
    client.widget("w3x").await;
    let second = follow(&client, &first).await.expect(200);
    assert_eq!(
        (names(&second), &second["metadata"]["remainingItemCount"]),
        (vec!["w3", "w4", "w5"], &json!(1))
    );
    let third = follow(&client, &second).await.expect(200);
    assert_eq!(
        (names(&third), &third["metadata"]["resourceVersion"]),
        (vec!["w6"], &json!("107"))
    );
    assert_eq!(third["metadata"].get("continue"), None);
}

#[tokio::test]
async fn each_page_tells_how_many_objects_follow_in_its_namespace_and_in_all() {
    let client = Client::new();
    seven(&client).await;
    for path in [WIDGETS, "/apis/toys.example.com/v1/widgets"] {
        let mut list = client.get(&format!("{path}?limit=2")).await.expect(200);
        for left in [5, 3, 1] {
            assert_eq!(list["metadata"]["remainingItemCount"], left, "{path}");
            let token = list["metadata"]["continue"].as_str().unwrap();
            list = client
                .get(&format!("{path}?limit=2&continue={token}"))
                .await
                .expect(200);
        }
        assert_eq!(list["metadata"].get("remainingItemCount"), None);
        assert_eq!(names(&list), ["w6"]);
    }
}

#[tokio::test]
async fn an_expired_token_says_how_to_go_on() {
    let client = Client::new();
    seven(&client).await;
    let token = crate::paging::Token::after(&berth_storage::Name::new("default", "w2"), Revision(3)).encode();
    let path = format!("{WIDGETS}?limit=3&continue=");
    let answer = client.get(&format!("{path}{token}")).await;
    answer.refusal(410, "Expired");
    let next = answer.json()["metadata"]["continue"].as_str().unwrap().to_owned();
    assert_eq!(
        names(&client.get(&format!("{path}{next}")).await.expect(200)),
        ["w3", "w4", "w5"]
    );
    client
        .get(&format!("{path}garbage"))
        .await
        .refusal(400, "BadRequest");
    client
        .get(&format!("{path}{token}&resourceVersion=5"))
        .await
        .refusal(400, "BadRequest");
}

#[tokio::test]
async fn selectors_choose_by_label_name_and_field() {
    let client = Client::new();
    seven(&client).await;
    client
        .merge(
            &at("w1"),
            &json!({"metadata": {"labels": {"a": "b"}}, "spec": {"color": "blue"}}),
        )
        .await
        .expect(200);
    for (query, found) in [
        ("labelSelector=a%3Db", vec!["w1"]),
        ("labelSelector=a,a%20notin%20(b)", vec![]),
        ("fieldSelector=metadata.name%3Dw3", vec!["w3"]),
        (
            "fieldSelector=metadata.name%3Dw3,metadata.namespace%3Dother",
            vec![],
        ),
        ("fieldSelector=spec.color%3Dblue", vec!["w1"]),
        ("fieldSelector=spec.color!%3Dred&limit=2", vec!["w1"]),
        ("labelSelector=!a&limit=2", vec!["w0", "w2"]),
    ] {
        let list = client.get(&format!("{WIDGETS}?{query}")).await.expect(200);
        assert_eq!(names(&list), found, "{query}");
        assert_eq!(list["metadata"].get("remainingItemCount"), None, "{query}");
    }
    let message = client
        .get(&format!("{WIDGETS}?fieldSelector=spec.nope%3D1"))
        .await
        .refusal(400, "BadRequest");
    assert_eq!(
        message,
        "\"spec.nope\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\", \"spec.color\""
    );
    let message = client
        .get(&format!("{GADGETS}?fieldSelector=spec.nope%3D1"))
        .await
        .refusal(400, "BadRequest");
    assert_eq!(
        message,
        "\"spec.nope\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    );
    client
        .get(&format!("{WIDGETS}?labelSelector=a%20b%20c"))
        .await
        .refusal(400, "BadRequest");
    client
        .get(&format!("{WIDGETS}?fieldSelector=metadata.name"))
        .await
        .refusal(400, "BadRequest");
}

#[tokio::test]
async fn all_namespaces_are_listed_in_order() {
    let client = Client::new();
    client.widget("b").await;
    let mut other = widget("a");
    other["metadata"]["namespace"] = json!("zoo");
    client
        .post(&WIDGETS.replace("default", "zoo"), &other)
        .await
        .expect(201);
    assert_eq!(names(&client.get(ALL_WIDGETS).await.expect(200)), ["b", "a"]);
    let page = client.get(&format!("{ALL_WIDGETS}?limit=1")).await.expect(200);
    let token = page["metadata"]["continue"].as_str().unwrap();
    assert_eq!(
        names(
            &client
                .get(&format!("{ALL_WIDGETS}?limit=1&continue={token}"))
                .await
                .expect(200)
        ),
        ["a"]
    );
    let one = client
        .get(&format!("{ALL_WIDGETS}?fieldSelector=metadata.name%3Da"))
        .await
        .expect(200);
    assert_eq!(names(&one), ["a"]);
}

#[tokio::test]
async fn resource_versions_of_reads_are_honoured_or_refused() {
    let client = Client::new();
    seven(&client).await;
    for (query, code) in [
        ("resourceVersion=0", 200),
        ("resourceVersion=103", 200),
        ("resourceVersion=103&resourceVersionMatch=NotOlderThan", 200),
        ("resourceVersion=107&resourceVersionMatch=Exact", 200),
        ("resourceVersion=0&resourceVersionMatch=NotOlderThan", 200),
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422),
        ("resourceVersion=103&resourceVersionMatch=Sideways", 422),
        ("sendInitialEvents=true", 422),
        ("resourceVersion=2&resourceVersionMatch=Exact", 410),
        ("resourceVersion=abc", 400),
        ("limit=abc", 400),
    ] {
        let answer = client.get(&format!("{WIDGETS}?{query}")).await;
        assert_eq!(answer.code, code, "{query}: {}", answer.text());
    }
    let status = client
        .get(&format!("{WIDGETS}?resourceVersionMatch=Exact"))
        .await
        .expect(422);
    assert_eq!(status["details"]["kind"], "ListOptions");
}

#[tokio::test(start_paused = true)]
async fn a_resource_version_from_the_future_is_waited_for_and_then_times_out() {
    let client = Client::new();
    client.widget("a").await;
    for path in [WIDGETS.to_owned(), at("a")] {
        let answer = client.get(&format!("{path}?resourceVersion=999999999999")).await;
        answer.refusal(504, "Timeout");
        let status = answer.json();
        assert_eq!(
            status["details"]["causes"][0]["reason"],
            "ResourceVersionTooLarge"
        );
        assert_eq!(
            (
                answer.header("retry-after"),
                &status["details"]["retryAfterSeconds"]
            ),
            ("1", &json!(1))
        );
    }
}
