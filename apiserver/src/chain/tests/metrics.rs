//! Counters and times of the pipeline.

use super::*;

#[tokio::test]
async fn metrics_count_served_routes_and_never_made_up_ones() {
    let bench = bench(|_| {});
    let series = async || {
        let page = text(bench.ask("alice", "GET", "/metrics").await).await;
        page.lines()
            .filter(|line| !line.starts_with('#'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    text(bench.ask("alice", "GET", FOOS).await).await;
    text(bench.ask("alice", "POST", &format!("{FOOS}?dryRun=All")).await).await;
    let make_up = async |index: usize| {
        let connection = bench.connection("alice", &[]);
        for target in [
            format!("/apis/made/up/{index}"),
            format!("/made/up/{index}"),
            format!("{FOOS}/x/sub{index}"),
        ] {
            text(bench.ask("alice", "GET", &target).await).await;
            let posted = request("POST", &target, Body::from("{}"));
            text(bench.chain.handle(&connection, posted).await).await;
        }
    };
    make_up(0).await;
    series().await;
    let before = series().await;
    assert!(
        before.iter().any(|line| line.contains("verb=\"LIST\"")
            && line.contains(
                "group=\"g.io\",version=\"v1\",resource=\"foos\",subresource=\"\",scope=\"namespace\""
            )
            && line.contains("component=\"apiserver\",code=\"200\"")
            && line.ends_with(" 1")),
        "{before:#?}"
    );
    assert!(
        before
            .iter()
            .any(|line| line.contains("verb=\"POST\",dry_run=\"All\"")),
        "{before:#?}"
    );
    for index in 1..50 {
        make_up(index).await;
    }
    let after = series().await;
    assert_eq!(after.len(), before.len(), "{after:#?}");
    assert!(!after.iter().any(|line| line.contains("made")), "{after:#?}");
    let bodies = |line: &&String| line.starts_with("apiserver_request_body_size_bytes_count");
    assert_eq!(
        after.iter().filter(bodies).collect::<Vec<_>>(),
        [r#"apiserver_request_body_size_bytes_count{group="g.io",resource="foos",verb="create"} 1"#]
    );
}

#[tokio::test]
async fn metrics_have_the_names_dashboards_expect() {
    let bench = bench(|_| {});
    let watch = bench.ask("alice", "GET", &format!("{FOOS}?watch=1")).await;
    let mut events = watch.into_body();
    events.frame().await.unwrap().unwrap();
    text(bench.ask("alice", "GET", FOOS).await).await;
    let posted = request("POST", FOOS, Body::from(vec![b' '; 60_000]));
    text(bench.chain.handle(&bench.connection("alice", &[]), posted).await).await;
    text(bench.ask("someone@example.com", "GET", "/readyz").await).await;
    text(bench.ask("", "GET", "/readyz").await).await;
    let page = text(bench.ask("alice", "GET", "/metrics").await).await;
    for name in [
        "apiserver_request_total{",
        "apiserver_request_duration_seconds_bucket{le=\"0.005\",",
        "apiserver_response_sizes_bucket{",
        "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 1",
        "apiserver_longrunning_requests{verb=\"WATCH\"",
        "apiserver_watch_events_total{group=\"g.io\",version=\"v1\",resource=\"foos\"} 1",
        "apiserver_tls_handshake_errors_total 0",
        "apiserver_client_certificate_expiration_seconds_count",
        "apiserver_audit_event_total 0",
        "authentication_attempts{result=\"success\"}",
        "authenticated_user_requests{username=\"other\"}",
        "authenticated_user_requests{username=\"email_id\"} 1",
        "apiserver_watch_events_sizes_bucket{le=\"1024.0\",group=\"g.io\",version=\"v1\",resource=\"foos\"} 1",
        "apiserver_request_sli_duration_seconds_bucket{le=\"0.05\",verb=\"LIST\",group=\"g.io\",version=\"v1\"",
        "apiserver_request_body_size_bytes_bucket{le=\"50000.0\",group=\"g.io\",resource=\"foos\",verb=\"create\"} 0",
        "apiserver_request_body_size_bytes_bucket{le=\"150000.0\",group=\"g.io\",resource=\"foos\",verb=\"create\"} 1",
        "apiserver_request_body_size_bytes_bucket{le=\"3050000.0\",",
        "kubernetes_healthcheck{name=\"ping\",type=\"readyz\"} 1",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
    ] {
        assert!(page.contains(name), "{name} is missing in\n{page}");
    }
    assert!(page.ends_with("# EOF\n"));
}

#[tokio::test]
async fn metrics_time_watches_up_to_the_end_of_what_there_was() {
    let bench = bench(|_| {});
    let lists = async || {
        let page = text(bench.ask("alice", "GET", "/metrics").await).await;
        page.lines()
            .filter(|line| line.starts_with("apiserver_watch_list_duration_seconds_count"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for (query, expected) in [
        ("?watch=1", [].as_slice()),
        (
            "?watch=1&sendInitialEvents=true",
            &[
                r#"apiserver_watch_list_duration_seconds_count{group="g.io",version="v1",resource="foos",scope="namespace"} 1"#,
            ],
        ),
    ] {
        let mut events = bench
            .ask("alice", "GET", &format!("{FOOS}{query}"))
            .await
            .into_body();
        events.frame().await.unwrap().unwrap();
        assert_eq!(lists().await, expected, "{query}");
    }
}
