//! The pipeline, request by request, without a network.

use std::time::Duration;

use http::StatusCode;
use http::header::{CONTENT_LENGTH, RETRY_AFTER};
use http_body_util::BodyExt;

use super::*;
use crate::testing::{Ca, Toy, chain_config};

mod audited;
mod effort;
mod metrics;
mod shares;

const FOOS: &str = "/apis/g.io/v1/namespaces/ns/foos";

struct Bench {
    chain: Arc<Chain>,
    api: Arc<Toy>,
    clients: Ca,
    closing: CancellationToken,
}

fn bench(adjust: impl FnOnce(&mut ChainConfig)) -> Bench {
    let (clients, proxies, api) = (Ca::new("clients"), Ca::new("proxies"), Arc::new(Toy::default()));
    let mut config = chain_config(api.clone(), &clients, &proxies);
    adjust(&mut config);
    let closing = CancellationToken::new();
    let chain = Arc::new(Chain::new(config, closing.clone()).unwrap());
    Bench {
        chain,
        api,
        clients,
        closing,
    }
}

impl Bench {
    fn connection(&self, user: &str, groups: &[&str]) -> Arc<Connection> {
        let certificates = match user {
            "" => Vec::new(),
            user => vec![self.clients.client(user, groups).certificate],
        };
        Arc::new(Connection::new("192.0.2.1:1000".parse().unwrap(), certificates))
    }

    async fn ask(&self, user: &str, method: &str, target: &str) -> Response<Body> {
        self.chain
            .handle(
                &self.connection(user, &[]),
                request(method, target, Body::empty()),
            )
            .await
    }

    /// Starts `count` requests to `slow` and waits until all are in the handler.
    async fn occupy(&self, user: &str, count: usize) -> Vec<tokio::task::JoinHandle<Response<Body>>> {
        let connection = self.connection(user, &[]);
        let tasks = (0..count)
            .map(|_| {
                let (chain, connection) = (self.chain.clone(), connection.clone());
                let request = request("GET", &format!("{FOOS}/slow"), Body::empty());
                tokio::spawn(async move { chain.handle(&connection, request).await })
            })
            .collect();
        self.api.arrived(count).await;
        tasks
    }
}

fn request(method: &str, target: &str, body: Body) -> Request<Body> {
    Request::builder().method(method).uri(target).body(body).unwrap()
}

async fn text(response: Response<Body>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// The code and the message of a `Status` answer.
async fn refusal(response: Response<Body>) -> (u16, String) {
    let code = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/json");
    let status: Status = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!((status.kind.as_str(), status.code), ("Status", code));
    (code, status.message)
}

#[tokio::test]
async fn whatever_refuses_does_so_in_yaml_where_that_was_asked_for() {
    let bench = bench(|_| {});
    for (user, method, target, code) in [
        ("", "GET", FOOS, 403),
        ("alice", "GET", "/nope", 404),
        ("alice", "GET", "/apis/g.io/v1/bars", 404),
        ("alice", "BREW", FOOS, 405),
        ("alice", "GET", "/apis/g.io/v1/foos/%zz", 400),
        ("alice", "GET", "/apis/g.io/v1/foos/panic", 500),
    ] {
        let mut request = request(method, target, Body::empty());
        request
            .headers_mut()
            .insert("accept", HeaderValue::from_static("application/yaml"));
        let response = bench.chain.handle(&bench.connection(user, &[]), request).await;
        assert_eq!(response.status(), code, "{user} {method} {target}");
        assert_eq!(response.headers()["content-type"], "application/yaml", "{target}");
        let length = response.headers()["content-length"].to_str().unwrap().to_owned();
        let text = text(response).await;
        assert_eq!(length, text.len().to_string());
        let status = crate::decode::read_yaml(text.as_bytes()).unwrap().value;
        assert_eq!(
            (&status["kind"], &status["code"]),
            (&"Status".into(), &code.into())
        );
    }
}

#[tokio::test]
async fn authorized_requests_reach_the_api() {
    let bench = bench(|_| {});
    let response = bench.ask("alice", "GET", FOOS).await;
    assert_eq!(
        (response.status(), text(response).await),
        (StatusCode::OK, "alice 0".to_owned())
    );
}

#[tokio::test]
async fn every_answer_has_the_common_headers() {
    let bench = bench(|_| {});
    for target in [FOOS, "/nope", "/readyz", "/apis/g.io/v1/foos/panic"] {
        let mut request = request("GET", target, Body::empty());
        request.headers_mut().insert("audit-id", "1234".parse().unwrap());
        let response = bench.chain.handle(&bench.connection("alice", &[]), request).await;
        assert_eq!(response.headers()["audit-id"], "1234", "{target}");
        assert_eq!(response.headers()["cache-control"], "no-cache, private");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    }
    let generated = bench.ask("alice", "GET", FOOS).await.headers()["audit-id"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(generated.len(), 36);
}

#[tokio::test]
async fn refusals_are_statuses() {
    let bench = bench(|_| {});
    for (user, method, target, code) in [
        ("", "GET", FOOS, 403),
        ("", "GET", "/metrics", 403),
        ("alice", "GET", "/nope", 404),
        ("alice", "GET", "/apis/g.io/v1/bars", 404),
        ("alice", "POST", "/version", 405),
        ("alice", "DELETE", "/readyz", 405),
        ("alice", "BREW", FOOS, 405),
        ("alice", "BREW", "/version", 405),
        ("alice", "OPTIONS", FOOS, 405),
        ("alice", "GET", "/apis/g.io/v1/foos/%zz", 400),
        ("alice", "GET", "/api/v1/watch", 400),
        ("alice", "GET", "/apis/g.io/v1/foos?timeout=banana", 400),
    ] {
        let response = bench.ask(user, method, target).await;
        assert_eq!(refusal(response).await.0, code, "{user} {method} {target}");
    }
    let (_, message) = refusal(bench.ask("bob", "GET", FOOS).await).await;
    assert_eq!(
        message,
        "foos.g.io is forbidden: User \"bob\" cannot list resource \"foos\" in API group \"g.io\" in the namespace \
         \"ns\""
    );
    let (_, message) = refusal(bench.ask("", "GET", "/metrics").await).await;
    assert_eq!(
        message,
        "forbidden: User \"system:anonymous\" cannot get path \"/metrics\""
    );
}

#[tokio::test]
async fn a_certificate_nobody_knows_is_401() {
    let bench = bench(|_| {});
    let stranger = Ca::new("strangers").client("alice", &[]);
    let connection = Connection::new("192.0.2.1:1000".parse().unwrap(), vec![stranger.certificate]);
    for target in [FOOS, "/readyz"] {
        let response = bench
            .chain
            .handle(&connection, request("GET", target, Body::empty()))
            .await;
        assert_eq!(refusal(response).await, (401, "Unauthorized".to_owned()));
    }
}

#[tokio::test]
async fn a_panic_is_a_500_and_the_next_request_is_answered() {
    let bench = bench(|_| {});
    let response = bench.ask("alice", "GET", &format!("{FOOS}/panic")).await;
    assert_eq!(refusal(response).await.0, 500);
    let late = bench.ask("alice", "GET", &format!("{FOOS}/panic-late")).await;
    assert!(late.into_body().collect().await.is_err());
    assert_eq!(bench.ask("alice", "GET", FOOS).await.status(), 200);
}

#[tokio::test]
async fn impersonation_changes_who_asks() {
    let bench = bench(|_| {});
    let mut request = request("GET", FOOS, Body::empty());
    request
        .headers_mut()
        .insert("impersonate-user", "bob".parse().unwrap());
    let (code, message) = refusal(bench.chain.handle(&bench.connection("alice", &[]), request).await).await;
    assert_eq!(code, 403);
    assert!(message.contains("User \"bob\" cannot list"), "{message}");
}

#[tokio::test]
async fn reads_beyond_the_limit_are_429_and_administrators_probes_and_watches_get_in() {
    let bench = bench(|config| config.limits.reads = 2);
    let held = bench.occupy("alice", 2).await;
    let response = bench.ask("alice", "GET", FOOS).await;
    assert_eq!(response.headers()[RETRY_AFTER], "1");
    assert_eq!(
        refusal(response).await,
        (429, "Too many requests, please try again later.".to_owned())
    );
    assert_eq!(bench.ask("alice", "POST", FOOS).await.status(), 200);
    assert_eq!(bench.ask("", "GET", "/healthz").await.status(), 200);
    assert_eq!(
        bench
            .ask("alice", "GET", &format!("{FOOS}?watch=1"))
            .await
            .status(),
        200
    );
    let master = bench.connection("root", &["system:masters"]);
    assert_eq!(
        bench
            .chain
            .handle(&master, request("GET", FOOS, Body::empty()))
            .await
            .status(),
        200
    );
    bench.api.gate.notify_waiters();
    for task in held {
        assert_eq!(text(task.await.unwrap()).await, "at last");
    }
    assert_eq!(bench.ask("alice", "GET", FOOS).await.status(), 200);
}

#[tokio::test]
async fn a_place_is_free_as_soon_as_the_answer_is_there_read_or_not() {
    let bench = bench(|config| config.limits.reads = 1);
    let unread = bench.ask("alice", "GET", FOOS).await;
    assert_eq!(bench.ask("alice", "GET", FOOS).await.status(), 200);
    drop(unread);
    let held = bench.occupy("alice", 1).await;
    assert_eq!(bench.ask("alice", "GET", FOOS).await.status(), 429);
    assert_eq!(
        bench.ask("bob", "GET", FOOS).await.status(),
        403,
        "a refusal takes no place"
    );
    bench.api.gate.notify_waiters();
    for task in held {
        text(task.await.unwrap()).await;
    }
}

#[tokio::test]
async fn strangers_who_do_not_read_their_refusals_keep_out_themselves_alone() {
    let bench = bench(|config| {
        config.memory = crate::memory::ByteLimiter::new(1 << 20);
        config.limits.reads = 4;
    });
    let mut unread = Vec::new();
    let refused = loop {
        let response = bench.ask("", "GET", FOOS).await;
        if response.status() == 429 {
            break response;
        }
        assert_eq!(response.status(), 403);
        unread.push(response);
        assert!(unread.len() < 100, "a sixteenth of a mebibyte holds few answers");
    };
    assert_eq!(refused.headers()[RETRY_AFTER], "1");
    drop(refused);
    assert_eq!(
        bench.ask("", "GET", "/version").await.status(),
        429,
        "theirs is used up"
    );
    assert_eq!(bench.ask("", "GET", "/healthz").await.status(), 200);
    assert_eq!(bench.ask("alice", "GET", FOOS).await.status(), 200);
    assert_eq!(bench.ask("alice", "POST", FOOS).await.status(), 200);
    drop(unread);
    assert_eq!(bench.ask("", "GET", FOOS).await.status(), 403);
    assert_eq!(bench.chain.memory.held(), 0);
}

#[tokio::test]
async fn bodies_are_charged_while_they_are_worked_on_and_refused_beyond_the_share() {
    let bench = bench(|config| config.memory = crate::memory::ByteLimiter::new(1 << 20));
    let connection = bench.connection("alice", &[]);
    let dense = || request("POST", FOOS, Body::from("[1,".repeat(20_000)));
    let refused = bench.chain.handle(&connection, dense()).await;
    let (code, message) = refusal(refused).await;
    assert_eq!(code, 413);
    assert!(message.contains("--max-bytes-inflight"), "{message}");
    let master = bench.connection("root", &["system:masters"]);
    assert_eq!(bench.chain.handle(&master, dense()).await.status(), 200);
    assert_eq!(bench.chain.memory.held(), 0);
}

#[tokio::test]
async fn requests_that_take_too_long_are_504() {
    let bench = bench(|config| config.limits.request_timeout = Duration::from_millis(200));
    for (query, least, most) in [
        ("?timeout=20ms", 20, 200),
        ("", 200, 5000),
        ("?timeout=5h", 200, 5000),
    ] {
        let started = std::time::Instant::now();
        let response = bench.ask("alice", "GET", &format!("{FOOS}/slow{query}")).await;
        let took = started.elapsed().as_millis();
        assert!((least..most).contains(&took), "{query} took {took} ms");
        let (code, message) = refusal(response).await;
        assert_eq!(
            (code, message.as_str()),
            (
                504,
                "Timeout: request did not complete within the allotted timeout"
            )
        );
    }
}

#[tokio::test]
async fn bodies_are_bounded_announced_or_not() {
    let bench = bench(|config| config.limits.body = 10);
    let connection = bench.connection("alice", &[]);
    let fits = bench
        .chain
        .handle(&connection, request("POST", FOOS, Body::from("0123456789")))
        .await;
    assert_eq!(text(fits).await, "alice 10");
    let chunks = ["01234", "56789", "x"].map(Ok::<_, std::io::Error>);
    let streamed = Body::from_stream(futures::stream::iter(chunks));
    let mut announced = request("POST", FOOS, Body::empty());
    announced
        .headers_mut()
        .insert(CONTENT_LENGTH, "11".parse().unwrap());
    for request in [request("POST", FOOS, streamed), announced] {
        let (code, message) = refusal(bench.chain.handle(&connection, request).await).await;
        assert_eq!(
            (code, message.as_str()),
            (413, "Request entity too large: limit is 10")
        );
    }
}

#[tokio::test]
async fn warnings_become_headers() {
    let bench = bench(|_| {});
    let response = bench.ask("alice", "GET", &format!("{FOOS}/warn")).await;
    assert_eq!(response.headers()[WARNING], "299 - \"mind the gap\"");
}

#[tokio::test]
async fn watches_end_cleanly_when_the_server_closes() {
    let bench = bench(|_| {});
    let response = bench.ask("alice", "GET", &format!("{FOOS}?watch=1")).await;
    let mut body = response.into_body();
    assert!(body.frame().await.unwrap().unwrap().is_data());
    bench.closing.cancel();
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn paths_of_the_server_itself_are_served() {
    let bench = bench(|_| {});
    let version: serde_json::Value =
        serde_json::from_str(&text(bench.ask("alice", "GET", "/version").await).await).unwrap();
    assert_eq!(version["gitVersion"], "v1.2.3");
    let index = text(bench.ask("alice", "GET", "/").await).await;
    assert!(index.contains("/readyz"), "{index}");
    assert_eq!(text(bench.ask("", "GET", "/readyz").await).await, "ok");
}

#[tokio::test]
async fn a_body_that_stalls_is_cut_off() {
    let bench = bench(|_| {});
    let ending = |metrics: &Arc<Metrics>| {
        let connection = bench.connection("", &[]);
        let (parts, ()) = Request::get("/").body(()).unwrap().into_parts();
        let tracker = RequestTracker::start(
            &parts,
            &connection,
            crate::testing::now(),
            crate::Annotations::default(),
        );
        Completion::new(tracker, metrics.clone(), crate::testing::clock(), None)
    };
    let stalled = Body::from_stream(futures::stream::pending::<Result<bytes::Bytes, std::io::Error>>());
    let followed = body::TrackedBody::new(
        stalled,
        ending(&bench.chain.metrics),
        None,
        None,
        Some(Duration::from_millis(20)),
        BodyReservation::new(
            bench.chain.memory.empty_charge("ann", Share::USER),
            ProgressLimit::of_task(),
        ),
    );
    assert!(Body::new(followed).collect().await.is_err());
}

/// Requests that are combined from pieces with a meaning for some part of the pipeline, in any order.
#[tokio::test]
async fn no_request_brings_the_pipeline_down() {
    const PIECES: [&str; 24] = [
        "/apis",
        "/api",
        "/g.io",
        "/v1",
        "/namespaces",
        "/ns",
        "/foos",
        "/x",
        "/status",
        "/proxy",
        "/watch",
        "//",
        "/%2e%2e",
        "/%2F",
        "/%zz",
        "/%ff",
        "/..",
        "/readyz",
        "/version",
        "?watch=1",
        "&timeout=1m",
        "&timeout=-",
        "&fieldSelector=metadata.name%3Dx",
        "&dryRun=All",
    ];
    const METHODS: [&str; 10] = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW",
    ];
    const HEADERS: [(&str, &[u8]); 9] = [
        ("authorization", b"Bearer"),
        ("authorization", b"Bearer \xff"),
        ("accept", b";;q=x,,*/*;as=\"Table\""),
        ("impersonate-group", b"system:masters"),
        ("impersonate-user", b"\xfe"),
        ("impersonate-extra-%zz", b"y"),
        ("audit-id", b"\xff\xff"),
        ("content-length", b"99999999999999999999"),
        ("x-forwarded-for", b"no, address, 1.2.3.4"),
    ];
    let bench = bench(|_| {});
    let connections = [bench.connection("alice", &[]), bench.connection("", &[])];
    let mut state: u64 = 7;
    let mut pick = move |count: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % count
    };
    for _ in 0..5000 {
        let target: String = (0..pick(9)).map(|_| PIECES[pick(PIECES.len())]).collect();
        let target = format!("/{}", target.trim_start_matches('/'));
        let mut builder = Request::builder()
            .method(METHODS[pick(METHODS.len())])
            .uri(&target);
        for _ in 0..pick(3) {
            let (name, value) = HEADERS[pick(HEADERS.len())];
            builder = builder.header(name, value);
        }
        let Ok(request) = builder.body(Body::from("{}")) else {
            continue;
        };
        let described = format!("{request:?}");
        let response = bench.chain.handle(&connections[pick(2)], request).await;
        assert!(
            response.status().as_u16() < 500,
            "{described} answered {response:?}"
        );
    }
}
