//! Watch.

use std::time::Duration;

use axum::body::BodyDataStream;
use futures::StreamExt;

use super::*;

/// A running watch, read event by event.
pub(super) struct Reader {
    stream: BodyDataStream,
    buffer: Vec<u8>,
}

impl Reader {
    /// The next event, which must come soon; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let chunk = tokio::time::timeout(Duration::from_secs(7200), self.stream.next())
                .await
                .unwrap()?;
            self.buffer.extend_from_slice(&chunk.unwrap());
        }
    }

    /// The type, name and resource version of the next event.
    async fn brief(&mut self) -> (String, String, String) {
        let event = self.next().await.expect("the watch goes on");
        let metadata = &event["object"]["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (
            text(&event["type"]),
            text(&metadata["name"]),
            text(&metadata["resourceVersion"]),
        )
    }

    async fn expect(&mut self, kind: &str, name: &str, revision: &str) {
        assert_eq!(
            self.brief().await,
            (kind.to_owned(), name.to_owned(), revision.to_owned())
        );
    }
}

impl Client {
    pub(super) async fn watch_as(&self, path: &str, query: &str, accept: &str) -> Reader {
        let response = self
            .open(&format!("{path}?watch=true&{query}"), &[("accept", accept)])
            .await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/json");
        Reader {
            stream: response.into_body().into_data_stream(),
            buffer: Vec::new(),
        }
    }

    async fn watch(&self, query: &str) -> Reader {
        self.watch_as(WIDGETS, query, "application/json").await
    }
}

#[tokio::test]
async fn changes_come_in_order_each_once() {
    let client = Client::new();
    let mut watch = client.watch("resourceVersion=100").await;
    client.widget("a").await;
    client
        .merge(&at("a"), &json!({"spec": {"size": 2}}))
        .await
        .expect(200);
    client
        .merge(&at("a"), &json!({"spec": {"size": 2}}))
        .await
        .expect(200);
    client.delete(&at("a")).await.expect(200);
    watch.expect("ADDED", "a", "101").await;
    watch.expect("MODIFIED", "a", "102").await;
    watch.expect("DELETED", "a", "103").await;
}

#[tokio::test]
async fn without_a_resource_version_a_watch_begins_with_what_is_there() {
    let client = Client::new();
    client.widget("a").await;
    for query in ["", "resourceVersion=0"] {
        let mut watch = client.watch(query).await;
        watch.expect("ADDED", "a", "101").await;
    }
    let legacy = "/apis/toys.example.com/v1/watch/namespaces/default/widgets/a";
    let mut watch = client.watch_as(legacy, "", "").await;
    client.widget("b").await;
    client
        .merge(&at("a"), &json!({"spec": {"size": 2}}))
        .await
        .expect(200);
    watch.expect("ADDED", "a", "101").await;
    watch.expect("MODIFIED", "a", "103").await;
}

#[tokio::test]
async fn metrics_learn_when_all_initial_events_are_sent() {
    let client = Client::new();
    client.widget("a").await;
    for (query, end) in [
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", true),
        ("", false),
    ] {
        let path = format!("{WIDGETS}?watch=true&allowWatchBookmarks=true&{query}");
        let response = client.open(&path, &[]).await;
        let progress = response
            .extensions()
            .get::<crate::response_facts::WatchProgress>()
            .unwrap()
            .clone();
        assert!(!progress.is_listed());
        response
            .into_body()
            .into_data_stream()
            .next()
            .await
            .unwrap()
            .unwrap();
        assert_eq!(progress.is_listed(), end, "{query}");
        assert_eq!(progress.take_events(), if end { 2 } else { 1 }, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_the_annotated_bookmark_and_the_watch_on_time() {
    let client = Client::new();
    client.widget("a").await;
    client.widget("b").await;
    let query =
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=5";
    let mut watch = client.watch(query).await;
    watch.expect("ADDED", "a", "101").await;
    watch.expect("ADDED", "b", "102").await;
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    let object = &bookmark["object"];
    assert_eq!(
        (&object["kind"], &object["apiVersion"]),
        (&json!("Widget"), &json!("toys.example.com/v1"))
    );
    assert_eq!(
        object["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(object["metadata"]["resourceVersion"], "102");
    client.widget("c").await;
    watch.expect("ADDED", "c", "103").await;
    watch.expect("BOOKMARK", "", "103").await;
    let before = tokio::time::Instant::now();
    assert!(watch.next().await.is_none());
    assert!(before.elapsed() <= Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_each_minute_and_the_default_end_within_the_hour() {
    let client = Client::new();
    let begin = tokio::time::Instant::now();
    let mut watch = client.watch("resourceVersion=100&allowWatchBookmarks=true").await;
    let gadget = json!({"apiVersion": "toys.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}});
    client.post(GADGETS, &gadget).await.expect(201);
    let mut bookmarks = 0;
    while let Some(event) = watch.next().await {
        assert_eq!(event["type"], "BOOKMARK");
        assert_eq!(
            event["object"]["metadata"]["resourceVersion"], "101",
            "changes elsewhere count too"
        );
        bookmarks += 1;
    }
    let minutes = begin.elapsed().as_secs() / 60;
    assert!((30..=60).contains(&minutes), "{minutes}");
    assert!(
        bookmarks >= minutes && bookmarks <= minutes + 2,
        "{bookmarks} in {minutes} minutes"
    );
}

#[tokio::test]
async fn options_of_a_watch_that_make_no_sense_are_refused() {
    let client = Client::new();
    for query in [
        "sendInitialEvents=true",
        "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
        "resourceVersionMatch=NotOlderThan",
    ] {
        let status = client.get(&format!("{WIDGETS}?watch=1&{query}")).await;
        status.refusal(422, "Invalid");
    }
    client
        .get(&format!("{WIDGETS}?watch=1&resourceVersion=x"))
        .await
        .refusal(400, "BadRequest");
    client
        .get(&format!("{WIDGETS}?watch=1&timeoutSeconds=soon"))
        .await
        .refusal(400, "BadRequest");
    client
        .get_as(&format!("{WIDGETS}?watch=1"), "application/yaml")
        .await
        .refusal(406, "NotAcceptable");
}

#[tokio::test(start_paused = true)]
async fn an_impossible_resource_version_is_an_error_event() {
    let client = Client::new();
    client.widget("a").await;
    for (query, code, reason) in [
        ("resourceVersion=1", 410, "Expired"),
        ("resourceVersion=99999", 504, "Timeout"),
    ] {
        let mut watch = client.watch(query).await;
        let event = watch.next().await.unwrap();
        assert_eq!(event["type"], "ERROR");
        let object = &event["object"];
        assert_eq!(
            (&object["kind"], &object["code"], &object["reason"]),
            (&json!("Status"), &json!(code), &json!(reason))
        );
        assert!(watch.next().await.is_none());
    }
}

#[tokio::test]
async fn an_object_that_leaves_the_selection_is_deleted_and_added_when_it_returns() {
    let client = Client::new();
    let label = async |value: Value| {
        client
            .merge(&at("a"), &json!({"metadata": {"labels": {"a": value}}}))
            .await
            .expect(200)
    };
    client.widget("a").await;
    let mut labels = client.watch("resourceVersion=101&labelSelector=a%3Db").await;
    let mut fields = client
        .watch("resourceVersion=101&fieldSelector=spec.color%3Dblue")
        .await;
    label(json!("b")).await;
    client
        .merge(&at("a"), &json!({"spec": {"size": 3}}))
        .await
        .expect(200);
    label(json!("c")).await;
    label(json!("b")).await;
    client
        .merge(&at("a"), &json!({"spec": {"color": "blue"}}))
        .await
        .expect(200);
    client.delete(&at("a")).await.expect(200);
    labels.expect("ADDED", "a", "102").await;
    labels.expect("MODIFIED", "a", "103").await;
    let left = labels.next().await.unwrap();
    assert_eq!(
        (&left["type"], &left["object"]["metadata"]["resourceVersion"]),
        (&json!("DELETED"), &json!("104"))
    );
    assert_eq!(
        left["object"]["metadata"]["labels"]["a"], "b",
        "it is what it was"
    );
    labels.expect("ADDED", "a", "105").await;
    labels.expect("MODIFIED", "a", "106").await;
    labels.expect("DELETED", "a", "107").await;
    fields.expect("ADDED", "a", "106").await;
    fields.expect("DELETED", "a", "107").await;
}

#[tokio::test]
async fn watchers_see_their_namespace_and_version_only() {
    let client = Client::new();
    let mut here = client.watch("resourceVersion=100").await;
    let mut all = client.watch_as(ALL_WIDGETS, "resourceVersion=100", "").await;
    let mut beta = client
        .watch_as(&WIDGETS.replace("/v1/", "/v1beta1/"), "resourceVersion=100", "")
        .await;
    client
        .post(&WIDGETS.replace("default", "zoo"), &widget("z"))
        .await
        .expect(201);
    client.widget("a").await;
    here.expect("ADDED", "a", "102").await;
    all.expect("ADDED", "z", "101").await;
    all.expect("ADDED", "a", "102").await;
    assert_eq!(
        beta.next().await.unwrap()["object"]["apiVersion"],
        "toys.example.com/v1beta1"
    );
}

#[tokio::test]
async fn a_table_watch_says_its_columns_once_and_keeps_the_bookmarks_metadata() {
    let client = Client::new();
    client.widget("a").await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = client
        .watch_as(WIDGETS, query, "application/json;as=Table;v=v1;g=meta.k8s.io")
        .await;
    let first = watch.next().await.unwrap();
    assert_eq!(first["object"]["columnDefinitions"].as_array().unwrap().len(), 3);
    assert_eq!(first["object"]["rows"][0]["cells"][0], "a");
    let bookmark = watch.next().await.unwrap();
    let row = &bookmark["object"]["rows"][0]["object"];
    assert_eq!(
        (&bookmark["type"], &bookmark["object"]["kind"]),
        (&json!("BOOKMARK"), &json!("Table"))
    );
    assert_eq!(
        row["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(row["metadata"]["resourceVersion"], "101");
    client.delete(&at("a")).await.expect(200);
    let last = watch.next().await.unwrap();
    assert_eq!(
        (&last["type"], &last["object"]["columnDefinitions"]),
        (&json!("DELETED"), &Value::Null)
    );
}

#[tokio::test]
async fn a_metadata_watch_shows_metadata() {
    let client = Client::new();
    client.widget("a").await;
    let accept = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                  application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = client.watch_as(WIDGETS, query, accept).await;
    for kind in ["ADDED", "BOOKMARK"] {
        let event = watch.next().await.unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["kind"]),
            (&json!(kind), &json!("PartialObjectMetadata"))
        );
        assert_eq!(event["object"].get("spec"), None);
    }
}

#[tokio::test]
async fn a_watcher_that_stops_reading_holds_nobody_up_and_is_told_when_it_returns() {
    let client = Client::with_limits(berth_storage::Limits {
        events: 64,
        ..berth_storage::Limits::default()
    });
    let mut slow = client.watch("resourceVersion=100").await;
    client.widget("a").await;
    for size in 0..300 {
        client
            .merge(&at("a"), &json!({"spec": {"size": 1 + size % 10}}))
            .await
            .expect(200);
    }
    let mut events = 0;
    let last = loop {
        let event = slow.next().await.expect("an error ends it");
        if event["type"] == "ERROR" {
            break event;
        }
        events += 1;
    };
    assert_eq!(
        (&last["object"]["code"], &last["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
    assert!(events < 300);
    assert!(slow.next().await.is_none());
}

#[tokio::test]
async fn a_thousand_watchers_share_one_frame() {
    let client = Client::new();
    let mut watches = Vec::new();
    for _ in 0..1000 {
        watches.push(client.watch("resourceVersion=100").await);
    }
    client.widget("a").await;
    let mut frames = Vec::new();
    for watch in &mut watches {
        frames.push(watch.stream.next().await.unwrap().unwrap());
    }
    assert!(
        frames.windows(2).all(|pair| pair[0].as_ptr() == pair[1].as_ptr()),
        "the same bytes, not equal ones"
    );
}
