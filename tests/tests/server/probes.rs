//! Black-box probes of the required functions of an API server, over TLS with a real `berth serve`. Functions
//! that need a front proxy or another CA are tested in `apiserver`.

use berth_tests::raw::{self, get, send, write};
use berth_tests::{DEADLINE, Server};
use http::Method;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"a": "b"}}, "data": {"x": "1"}})
}

async fn create(client: &kube::Client, name: &str) -> Value {
    let answer = write(client, Method::POST, MAPS, &map(name)).await;
    assert_eq!(answer.code, 201, "{}", answer.json());
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregated_discovery_is_negotiated_and_cached_by_etag() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let answer = send(&client, Method::GET, "/apis", &[("accept", DISCOVERY)], b"").await;
    assert_eq!(answer.header("content-type"), DISCOVERY);
    assert_eq!(answer.json()["kind"], "APIGroupDiscoveryList");
    assert!(answer.header("vary").contains("Accept"));
    let etag = answer.header("etag").to_owned();
    let again = send(
        &client,
        Method::GET,
        "/apis",
        &[("accept", DISCOVERY), ("if-none-match", &etag)],
        b"",
    )
    .await;
    assert_eq!((again.code, again.body.len()), (304, 0));
    let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    let fallen = send(&client, Method::GET, "/apis", &[("accept", old)], b"").await;
    assert_eq!(fallen.json()["kind"], "APIGroupList");
    for group in answer.json()["items"].as_array().unwrap() {
        for resource in group["versions"][0]["resources"].as_array().unwrap() {
            assert!(resource["responseKind"].is_object(), "{resource}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn openapi_v3_documents_are_immutable_under_their_hash() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let index = get(&client, "/openapi/v3").await.json();
    let path = "apis/cluster.open-cluster-management.io/v1beta1";
    let url = index["paths"][path]["serverRelativeURL"]
        .as_str()
        .unwrap()
        .to_owned();
    let document = get(&client, &url).await;
    assert_eq!(document.code, 200);
    assert!(document.header("cache-control").contains("immutable"));
    assert!(document.json()["components"]["schemas"].is_object());
    let stale = send(
        &client,
        Method::GET,
        &format!("/openapi/v3/{path}?hash=00"),
        &[],
        b"",
    )
    .await;
    assert_eq!(stale.code, 301);
    assert_eq!(stale.header("location"), url);
    assert_eq!(get(&client, "/openapi/v2").await.json()["swagger"], "2.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_accept_clauses_are_skipped_and_none_is_406() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    create(&client, "a").await;
    let accept = "application/cbor;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                  application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    let list = send(&client, Method::GET, MAPS, &[("accept", accept)], b"")
        .await
        .json();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert!(
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|item| item.get("data").is_none())
    );
    let protobuf = "application/vnd.kubernetes.protobuf";
    let list = send(&client, Method::GET, MAPS, &[("accept", protobuf)], b"").await;
    assert_eq!((list.code, list.header("content-type")), (200, protobuf));
    assert!(list.body.starts_with(b"k8s\0"));
    let refused = send(&client, Method::GET, MAPS, &[("accept", "text/csv")], b"").await;
    assert_eq!(
        (refused.code, refused.json()["reason"].as_str()),
        (406, Some("NotAcceptable"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_share_one_revision_while_the_world_changes() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    for number in 0..7 {
        create(&client, &format!("m{number}")).await;
    }
    let (mut seen, mut revisions, mut next) = (Vec::new(), Vec::new(), String::new());
    for page in 0..3 {
        let list = get(&client, &format!("{MAPS}?limit=3&continue={next}"))
            .await
            .json();
        for item in list["items"].as_array().unwrap() {
            seen.push(item["metadata"]["name"].as_str().unwrap().to_owned());
        }
        revisions.push(list["metadata"]["resourceVersion"].clone());
        if page == 0 {
            assert_eq!(list["metadata"]["remainingItemCount"], 4);
            write(&client, Method::DELETE, &format!("{MAPS}/m5"), &json!({})).await;
            create(&client, "m4x").await;
        }
        next = list["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
    }
    assert_eq!(seen, ["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);
    assert!(
        revisions.iter().all(|revision| *revision == revisions[0]),
        "{revisions:?}"
    );
    assert_eq!(get(&client, &format!("{MAPS}?continue=garbage")).await.code, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_versions_are_judged_as_kubernetes_judges_them() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let future = get(&client, &format!("{MAPS}?resourceVersion=999999999999")).await;
    assert_eq!(future.code, 504);
    let status = future.json();
    assert_eq!(
        status["details"]["causes"][0]["reason"],
        "ResourceVersionTooLarge"
    );
    assert!(!future.header("retry-after").is_empty());
    for query in [
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=Maybe&resourceVersion=1",
        "resourceVersionMatch=Exact&resourceVersion=0",
    ] {
        let refused = get(&client, &format!("{MAPS}?{query}")).await;
        assert_eq!(
            (refused.code, refused.json()["details"]["kind"].as_str()),
            (422, Some("ListOptions")),
            "{query}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_begin_with_what_is_there_and_mark_its_end() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    create(&client, "a").await;
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";
    let events = tokio::time::timeout(DEADLINE, get(&client, &format!("{MAPS}?{query}")))
        .await
        .unwrap()
        .lines();
    let types: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    let bookmark = types
        .iter()
        .position(|kind| *kind == "BOOKMARK")
        .expect("a bookmark ends the initial events");
    assert!(
        types[..bookmark].iter().all(|kind| *kind == "ADDED") && bookmark > 0,
        "{types:?}"
    );
    assert_eq!(
        events[bookmark]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(
        get(&client, &format!("{MAPS}?watch=1&sendInitialEvents=true"))
            .await
            .code,
        422
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_leaves_a_selector_is_deleted_for_its_watcher() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let created = create(&client, "a").await;
    for label in ["c", "b"] {
        let patch = json!({"metadata": {"labels": {"a": label}}});
        let body = serde_json::to_vec(&patch).unwrap();
        let patched = send(
            &client,
            Method::PATCH,
            &format!("{MAPS}/a"),
            &[("content-type", "application/merge-patch+json")],
            &body,
        )
        .await;
        assert_eq!(patched.code, 200);
    }
    let revision = created["metadata"]["resourceVersion"].as_str().unwrap();
    let events = get(
        &client,
        &format!("{MAPS}?watch=1&labelSelector=a%3Db&resourceVersion={revision}&timeoutSeconds=1"),
    )
    .await
    .lines();
    let types: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["DELETED", "ADDED"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_from_before_the_start_expires_inside_the_stream() {
    let mut server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    create(&client, "a").await;
    let before = create(&client, "b").await;
    create(&client, "c").await;
    server.crash();
    server.restart();
    let client = raw::client(&server.kubeconfig()).await;
    let revision = before["metadata"]["resourceVersion"].as_str().unwrap();
    let answer = get(
        &client,
        &format!("{MAPS}?watch=1&resourceVersion={revision}&timeoutSeconds=5"),
    )
    .await;
    assert_eq!(answer.code, 200);
    let events = answer.lines();
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(
        (events[0]["type"].as_str(), events[0]["object"]["code"].as_i64()),
        (Some("ERROR"), Some(410))
    );
    assert_eq!(events[0]["object"]["reason"], "Expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_generated_names_are_all_different() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let one = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}});
    let answers = futures::future::join_all((0..200).map(|_| write(&client, Method::POST, MAPS, &one))).await;
    let names: std::collections::BTreeSet<String> = answers
        .iter()
        .map(|answer| {
            assert_eq!(answer.code, 201);
            answer.json()["metadata"]["name"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(names.len(), 200);
    assert!(names.iter().all(|name| name.len() == 7), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn puts_are_guarded_and_a_put_of_the_same_changes_nothing() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let path = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placements";
    let placement = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "metadata": {"name": "p"}, "spec": {}});
    let stored = write(&client, Method::POST, path, &placement).await.json();
    let put = |value: Value| {
        let client = client.clone();
        async move { write(&client, Method::PUT, &format!("{path}/p"), &value).await }
    };
    let same = put(stored.clone()).await.json();
    assert_eq!(
        same["metadata"]["resourceVersion"],
        stored["metadata"]["resourceVersion"]
    );
    let mut changed = stored.clone();
    changed["spec"]["numberOfClusters"] = 2.into();
    let newer = put(changed.clone()).await.json();
    assert_eq!(newer["metadata"]["generation"], 2);
    let conflict = put(changed.clone()).await;
    assert_eq!(
        (conflict.code, conflict.json()["reason"].as_str()),
        (409, Some("Conflict"))
    );
    assert!(
        conflict.json()["message"]
            .as_str()
            .unwrap()
            .contains("the object has been modified")
    );
    changed["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    assert_eq!(put(changed.clone()).await.code, 422);
    changed["metadata"]["name"] = "q".into();
    assert_eq!(put(changed).await.code, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_patches_at_once_all_succeed() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    create(&client, "a").await;
    let patches = (0..20).map(|number| {
        let client = client.clone();
        async move {
            let body = format!("{{\"data\":{{\"k{number}\":\"v\"}}}}");
            send(
                &client,
                Method::PATCH,
                &format!("{MAPS}/a"),
                &[("content-type", "application/merge-patch+json")],
                body.as_bytes(),
            )
            .await
            .code
        }
    });
    let codes = futures::future::join_all(patches).await;
    assert!(codes.iter().all(|code| *code == 200), "{codes:?}");
    assert_eq!(
        get(&client, &format!("{MAPS}/a")).await.json()["data"]
            .as_object()
            .unwrap()
            .len(),
        21
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_that_cannot_be_applied_are_422_or_415() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    create(&client, "a").await;
    let path = format!("{MAPS}/a");
    let test = br#"[{"op":"test","path":"/data/x","value":"no"}]"#;
    let failed = send(
        &client,
        Method::PATCH,
        &path,
        &[("content-type", "application/json-patch+json")],
        test,
    )
    .await;
    assert_eq!(failed.code, 422);
    let apply = send(
        &client,
        Method::PATCH,
        &format!("{path}?fieldManager=me"),
        &[("content-type", "application/apply-patch+cbor")],
        b"{}",
    )
    .await;
    assert_eq!(
        (apply.code, apply.json()["reason"].as_str()),
        (415, Some("UnsupportedMediaType"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn deletes_honour_preconditions() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let stored = create(&client, "a").await;
    let path = format!("{MAPS}/a");
    let bad = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "bad"}});
    assert_eq!(write(&client, Method::DELETE, &path, &bad).await.code, 409);
    let good = json!({"preconditions": {"uid": stored["metadata"]["uid"]}});
    let gone = write(&client, Method::DELETE, &path, &good).await.json();
    assert_eq!(
        (gone["status"].as_str(), &gone["details"]["uid"]),
        (Some("Success"), &stored["metadata"]["uid"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_requests_get_a_status_each() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    for (method, path, code) in [
        (Method::GET, format!("{MAPS}?timeout=banana"), 400),
        (Method::PATCH, MAPS.to_owned(), 405),
        (Method::GET, "/apis/nobody.example.com/v1/things".to_owned(), 404),
        (Method::GET, "/nowhere".to_owned(), 404),
        (Method::GET, format!("{MAPS}?labelSelector=a%20b"), 400),
        (Method::POST, format!("{MAPS}?dryRun=Some"), 422),
    ] {
        let answer = send(
            &client,
            method.clone(),
            &path,
            &[("content-type", "application/json")],
            b"{}",
        )
        .await;
        assert_eq!(
            answer.code,
            code,
            "{method} {path}: {}",
            String::from_utf8_lossy(&answer.body)
        );
        assert_eq!(answer.json()["kind"], "Status", "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_metrics_say_what_operators_look_for() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    for name in ["healthz", "livez", "readyz"] {
        let answer = get(&client, &format!("/{name}")).await;
        assert_eq!((answer.code, &answer.body[..]), (200, &b"ok"[..]));
    }
    let verbose = get(&client, "/readyz?verbose").await;
    let text = String::from_utf8_lossy(&verbose.body).into_owned();
    assert!(
        text.contains("[+]ping ok") && text.contains("readyz check passed"),
        "{text}"
    );
    create(&client, "counted").await;
    let all = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    get(&client, &format!("{MAPS}?watch=1&timeoutSeconds=1&{all}")).await;
    for number in 0..20 {
        get(&client, &format!("/random/{number}")).await;
    }
    let metrics = get(&client, "/metrics").await;
    let text = String::from_utf8_lossy(&metrics.body).into_owned();
    let watches = text
        .lines()
        .filter(|line| line.starts_with("apiserver_request_total{") && line.contains("verb=\"WATCH\""));
    assert_eq!(watches.count(), 1, "{text}");
    assert!(!text.contains("/random/"), "unknown paths add series");
    for family in [
        "apiserver_request_duration_seconds_bucket{",
        "apiserver_request_sli_duration_seconds_bucket{",
        "apiserver_request_body_size_bytes_count{group=\"\",resource=\"configmaps\",verb=\"create\"} 1\n",
        "apiserver_storage_objects{resource=\"configmaps\"} ",
        "apiserver_storage_objects{resource=\"placements.cluster.open-cluster-management.io\"} 0\n",
        "apiserver_watch_list_duration_seconds_count{group=\"\",version=\"v1\",resource=\"configmaps\"",
        "apiserver_watch_events_sizes_bucket{",
        "authenticated_user_requests{username=",
        "authentication_attempts{result=\"success\"} ",
    ] {
        assert!(text.contains(family), "{family} is missing in\n{text}");
    }
}

#[test]
fn a_termination_signal_ends_the_server_with_0() {
    let mut server = Server::start();
    let status = std::process::Command::new("kill")
        .args(["-TERM", &server.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(server.wait(), Some(0));
}
