//! Audit events of requests.

use super::*;
use crate::audit::AuditConfig;

#[tokio::test]
async fn the_audit_log_tells_who_did_what_and_how_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let config = AuditConfig::to_file(path.to_str().unwrap());
    let audit = Audit::open(config, Arc::new(Metrics::new()), &crate::testing::clock()).unwrap();
    let kept = audit.clone();
    let bench = bench(|config| config.audit = Some(audit));
    text(bench.ask("alice", "PUT", &format!("{FOOS}/x")).await).await;
    text(bench.ask("bob", "GET", &format!("{FOOS}/x")).await).await;
    text(bench.ask("alice", "GET", &format!("{FOOS}/panic")).await).await;
    drop(bench.ask("alice", "GET", &format!("{FOOS}?watch=1")).await);
    kept.flush().await;
    let lines: Vec<serde_json::Value> = std::fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let stages: Vec<_> = lines.iter().map(|line| line["stage"].as_str().unwrap()).collect();
    assert_eq!(
        stages,
        [
            "ResponseComplete",
            "ResponseComplete",
            "Panic",
            "ResponseStarted",
            "ResponseComplete"
        ]
    );
    assert_eq!(lines[0]["apiVersion"], "audit.k8s.io/v1");
    assert_eq!(
        (&lines[0]["verb"], &lines[0]["user"]["username"]),
        (&"update".into(), &"alice".into())
    );
    assert_eq!(
        lines[0]["objectRef"],
        serde_json::json!({"resource": "foos", "namespace": "ns", "name": "x", "apiGroup": "g.io", "apiVersion": "v1"})
    );
    assert_eq!(lines[0]["annotations"]["authorization.k8s.io/decision"], "allow");
    assert_eq!(lines[0]["sourceIPs"], serde_json::json!(["192.0.2.1"]));
    assert_eq!(
        (
            &lines[1]["responseStatus"]["code"],
            &lines[1]["responseStatus"]["reason"]
        ),
        (&403.into(), &"Forbidden".into())
    );
    assert_eq!(lines[1]["annotations"]["authorization.k8s.io/decision"], "forbid");
    assert_eq!(lines[3]["auditID"], lines[4]["auditID"]);
}

#[test]
fn a_client_cannot_fill_the_audit_log_with_its_name() {
    let connection = Connection::new("192.0.2.1:1000".parse().unwrap(), Vec::new());
    let agent = |name: &str| {
        let (parts, ()) = Request::get("/")
            .header("user-agent", name)
            .body(())
            .unwrap()
            .into_parts();
        let now = crate::testing::now();
        RequestTracker::start(&parts, &connection, now, crate::Annotations::default()).user_agent
    };
    assert_eq!(agent("kubectl/v1.34"), "kubectl/v1.34");
    assert_eq!(
        agent(&"x".repeat(60_000)),
        format!("{}...TRUNCATED", "x".repeat(1024))
    );
}

/// The events that `ask` leaves in a log with the policy `rules`.
async fn audited(rules: &str, ask: impl AsyncFnOnce(&Bench)) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let text = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: {rules}\n");
    let config = AuditConfig {
        policy: crate::audit::Policy::read(&text).unwrap(),
        domain: "berth.dev".to_owned(),
        ..AuditConfig::to_file(path.to_str().unwrap())
    };
    let audit = Audit::open(config, Arc::new(Metrics::new()), &crate::testing::clock()).unwrap();
    let kept = audit.clone();
    let bench = bench(|config| config.audit = Some(audit));
    ask(&bench).await;
    kept.flush().await;
    let lines = std::fs::read_to_string(&path).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn an_audit_policy_says_of_each_request_which_stages_and_bodies_are_written() {
    let rules = "[{level: None, verbs: [get]}, {level: RequestResponse, verbs: [create]}, \
                 {level: Request, verbs: [update], omitStages: [RequestReceived]}]";
    let events = audited(rules, async |bench| {
        let body = || Body::from("{\n \"a\": 1}");
        for (method, path) in [("GET", "/x"), ("POST", ""), ("PUT", "/x")] {
            let request = request(method, &format!("{FOOS}{path}"), body());
            text(bench.chain.handle(&bench.connection("alice", &[]), request).await).await;
        }
    })
    .await;
    let told: Vec<_> = events
        .iter()
        .map(|event| (event["verb"].as_str().unwrap(), event["stage"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("create", "RequestReceived"),
            ("create", "ResponseComplete"),
            ("update", "ResponseComplete")
        ]
    );
    assert_eq!(events[0]["level"], "RequestResponse");
    assert!(events[0]["requestObject"].is_null() && events[0]["responseStatus"].is_null());
    assert_eq!(events[1]["requestObject"], serde_json::json!({"a": 1}));
    // The answer of the toy is not JSON.
    assert!(events[1]["annotations"]["audit.berth.dev/omitted-response-object"].is_string());
    assert_eq!(events[2]["requestObject"], serde_json::json!({"a": 1}));
    assert_eq!(events[2]["level"], "Request");
}

#[tokio::test]
async fn a_request_whose_client_leaves_before_the_answer_has_an_event_and_is_counted() {
    let rules = "[{level: Request, verbs: [update, patch], omitStages: [RequestReceived]}]";
    let events = audited(rules, async |bench| {
        for (arrived, method) in [(1, "PUT"), (2, "PATCH")] {
            let (chain, connection) = (bench.chain.clone(), bench.connection("alice", &[]));
            let request = request(method, &format!("{FOOS}/slow"), Body::from("{\"a\":1}"));
            let task = tokio::spawn(async move { chain.handle(&connection, request).await });
            bench.api.arrived(arrived).await;
            // This is what a connection does to its requests when it ends.
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        }
        let page = text(bench.ask("alice", "GET", "/metrics").await).await;
        for verb in ["PUT", "PATCH"] {
            let counts = |line: &str| {
                line.starts_with(&format!("apiserver_request_total{{verb=\"{verb}\""))
                    && line.ends_with("code=\"0\"} 1")
            };
            assert!(page.lines().any(counts), "{page}");
        }
        assert_eq!(bench.chain.memory.held(), 0);
    })
    .await;
    let told: Vec<_> = events
        .iter()
        .map(|event| event["verb"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["update", "patch"]);
    for event in &events {
        assert_eq!(
            (
                &event["stage"],
                &event["user"]["username"],
                &event["requestObject"]
            ),
            (
                &"ResponseComplete".into(),
                &"alice".into(),
                &serde_json::json!({"a": 1})
            ),
        );
        let status = serde_json::json!({"metadata": {}, "message": "Connection closed early"});
        assert_eq!(event["responseStatus"], status);
    }
}

#[tokio::test]
async fn bodies_of_secrets_are_written_at_no_level() {
    let events = audited(
        "[{level: RequestResponse, omitStages: [RequestReceived]}]",
        async |bench| {
            for path in [
                "/api/v1/namespaces/ns/secrets",
                "/apis/g.io/v1/foos/x/proxy/api/v1/namespaces/ns/secrets",
            ] {
                let request = request("POST", path, Body::from("{\"data\":\"hidden\"}"));
                text(bench.chain.handle(&bench.connection("alice", &[]), request).await).await;
            }
        },
    )
    .await;
    assert_eq!(events.len(), 2);
    for event in &events {
        assert!(!event.to_string().contains("hidden"), "{event}");
        assert!(
            event["annotations"]["audit.berth.dev/omitted-bodies"].is_string(),
            "{event}"
        );
    }
}
