//! The handler as a whole, with a server behind it that shows what arrives.

use std::convert::Infallible;
use std::sync::Mutex;

use axum::body::to_bytes;
use http::{HeaderMap, Method};
use tower::{ServiceExt, service_fn};

use super::*;

type SeenRequests = Arc<Mutex<Vec<(Method, String, HeaderMap)>>>;

fn behind(seen: &SeenRequests) -> kube::Client {
    let seen = Arc::clone(seen);
    let service = service_fn(move |request: http::Request<kube::client::Body>| {
        let seen = Arc::clone(&seen);
        async move {
            let (parts, _) = request.into_parts();
            seen.lock()
                .unwrap()
                .push((parts.method, parts.uri.to_string(), parts.headers));
            let answer = http::Response::builder()
                .header("content-type", "application/json")
                .header("set-cookie", "stolen=1")
                .header("access-control-allow-origin", "*")
                .header("warning", "299 - \"kept\"")
                .body(kube::client::Body::from(b"{}".to_vec()))
                .unwrap();
            Ok::<_, Infallible>(answer)
        }
    });
    kube::Client::new(service, "default")
}

async fn console(client: kube::Client, args: &PageArgs) -> Console {
    let groups = BTreeSet::from(["scheduling.berth.dev".to_owned()]);
    Console::with_client(args, groups, client, json!({"writes": args.allow_writes}))
        .await
        .unwrap()
}

async fn ask(
    console: &Console,
    method: &str,
    path: &str,
    more: &[(&str, &str)],
    body: Vec<u8>,
) -> Response<Body> {
    let mut request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("host", format!("127.0.0.1:{}", console.port))
        .header("x-berth-console-token", console.shared.verifier.token());
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    router(Arc::clone(&console.shared))
        .oneshot(request.body(Body::from(body)).unwrap())
        .await
        .unwrap()
}

const TARGETS: &str = "/cluster/apis/scheduling.berth.dev/v1alpha1/targets";
const REVIEWS: &str = "/cluster/apis/scheduling.berth.dev/v1alpha1/schedulingreviews";

#[tokio::test]
async fn it_listens_on_loopback_at_a_free_port() {
    let console = console(behind(&SeenRequests::default()), &PageArgs::default()).await;
    let addresses = console.addresses().unwrap();
    assert!(
        addresses.iter().all(|address| address.ip().is_loopback()),
        "{addresses:?}"
    );
    assert!(
        addresses.iter().all(|address| address.port() != 0),
        "{addresses:?}"
    );
}

#[tokio::test]
async fn nobody_but_the_kubeconfig_says_who_asks() {
    let seen = SeenRequests::default();
    let console = console(behind(&seen), &PageArgs::default()).await;
    let forged = [
        ("authorization", "Bearer x"),
        ("cookie", "a=b"),
        ("impersonate-user", "admin"),
        ("impersonate-group", "system:masters"),
        ("x-remote-user", "admin"),
        ("forwarded", "for=1.2.3.4"),
        ("x-forwarded-for", "1.2.3.4"),
        ("accept", "application/json"),
    ];
    let answer = ask(&console, "GET", TARGETS, &forged, Vec::new()).await;
    assert_eq!(answer.status(), 200);
    let seen = seen.lock().unwrap();
    let (_, path, headers) = &seen[0];
    assert!(
        path.ends_with("/apis/scheduling.berth.dev/v1alpha1/targets"),
        "{path}"
    );
    let names: Vec<&str> = headers.keys().map(http::HeaderName::as_str).collect();
    assert_eq!(names, ["accept"], "the token stays here, too");
}

#[tokio::test]
async fn of_the_servers_headers_only_those_that_the_page_reads_come_back() {
    let console = console(behind(&SeenRequests::default()), &PageArgs::default()).await;
    let answer = ask(&console, "GET", TARGETS, &[], Vec::new()).await;
    assert!(answer.headers().contains_key("warning"));
    assert!(!answer.headers().contains_key("set-cookie"));
    assert!(!answer.headers().contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn every_answer_carries_the_policy_that_keeps_the_page_to_itself() {
    let console = console(behind(&SeenRequests::default()), &PageArgs::default()).await;
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/app.js"),
        ("GET", "/nothing"),
        ("GET", TARGETS),
        ("GET", "/-/about"),
        ("OPTIONS", TARGETS),
        ("DELETE", TARGETS),
    ] {
        let answer = ask(&console, method, path, &[], Vec::new()).await;
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin");
        assert!(
            !answer
                .headers()
                .keys()
                .any(|name| name.as_str().starts_with("access-control"))
        );
        if path.starts_with("/cluster") || path.starts_with("/-/") {
            assert_eq!(header("cache-control"), "no-store");
        }
    }
}

#[tokio::test]
async fn bodies_are_bounded_and_what_is_refused_never_leaves() {
    let seen = SeenRequests::default();
    let console = console(behind(&seen), &PageArgs::default()).await;
    let json = [("content-type", "application/json")];
    let big = vec![b' '; forward::LARGEST_BODY + 1];
    assert_eq!(ask(&console, "POST", REVIEWS, &json, big).await.status(), 413);
    assert_eq!(
        ask(&console, "DELETE", TARGETS, &[], Vec::new()).await.status(),
        405
    );
    assert!(seen.lock().unwrap().is_empty());
    assert_eq!(
        ask(&console, "POST", REVIEWS, &json, b"{}".to_vec())
            .await
            .status(),
        200
    );
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn too_many_requests_at_once_are_refused() {
    let console = console(behind(&SeenRequests::default()), &PageArgs::default()).await;
    let permits = console
        .shared
        .inflight
        .try_acquire_many(MAX_INFLIGHT as u32)
        .unwrap();
    assert_eq!(ask(&console, "GET", TARGETS, &[], Vec::new()).await.status(), 429);
    drop(permits);
    assert_eq!(ask(&console, "GET", TARGETS, &[], Vec::new()).await.status(), 200);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_said_to() {
    let service = service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("connection refused"))
    });
    let console = console(kube::Client::new(service, "default"), &PageArgs::default()).await;
    let answer = ask(&console, "GET", TARGETS, &[], Vec::new()).await;
    assert_eq!(answer.status(), 502);
    let body = to_bytes(answer.into_body(), 4096).await.unwrap();
    let status: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status["kind"], "Status");
    assert!(
        status["message"].as_str().unwrap().contains("connection refused"),
        "{status}"
    );
}

#[tokio::test]
async fn the_token_is_in_the_fragment_of_the_address() {
    let console = console(behind(&SeenRequests::default()), &PageArgs::default()).await;
    let url = console.url();
    let (address, fragment) = url.split_once('#').unwrap();
    assert!(address.ends_with('/') && !address.contains('?'), "{url}");
    assert_eq!(fragment, format!("token={}", console.shared.verifier.token()));
}
