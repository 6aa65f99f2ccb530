//! Watches by WebSocket.

use futures::{SinkExt, StreamExt};
use tokio_websockets::{ClientBuilder, Message, WebSocketStream};

use super::*;

const EVENT: &str = "{\"type\":\"ADDED\"}";

type Socket = WebSocketStream<TlsStream<TcpStream>>;

async fn open(site: &Site, path: &str) -> Result<Socket, tokio_websockets::Error> {
    let stream = site.tls(b"http/1.1", site.alice()).await;
    let client = ClientBuilder::new()
        .uri(&format!("wss://localhost{path}"))
        .unwrap();
    client.connect_on(stream).await.map(|(socket, _)| socket)
}

/// The next message, which must come soon; `None` at the end.
async fn next(socket: &mut Socket) -> Option<Message> {
    let next = tokio::time::timeout(Duration::from_secs(10), socket.next());
    next.await.expect("a message or the end").map(Result::unwrap)
}

/// Whether the metrics page has a line of `name` that contains `parts`.
async fn counted(site: &Site, name: &str, parts: &[&str]) -> bool {
    let answer = site.http1(site.alice()).await.send_request(get("/metrics")).await;
    let page = text(answer.unwrap()).await;
    page.lines()
        .any(|line| line.starts_with(name) && parts.iter().all(|part| line.contains(part)))
}

#[tokio::test]
async fn a_watch_by_websocket_sends_one_message_per_event_and_answers_pings() {
    let site = site(|_| {}).await;
    let mut socket = open(&site, &format!("{FOOS}?watch=1")).await.unwrap();
    let event = next(&mut socket).await.unwrap();
    assert_eq!(event.as_text(), Some(EVENT));
    socket.send(Message::ping("there?")).await.unwrap();
    let pong = next(&mut socket).await.unwrap();
    assert!(pong.is_pong());
    assert_eq!(pong.as_payload().as_ref(), b"there?");
    // It counts as a running watch, and as an ended one once the client disconnects.
    let running = ("apiserver_longrunning_requests{", ["verb=\"WATCH\"", "} 1"]);
    assert!(counted(&site, running.0, &running.1).await);
    assert!(counted(&site, "apiserver_watch_events_total{", &["} 1"]).await);
    socket.close().await.unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while counted(&site, running.0, &running.1).await {
        assert!(
            std::time::Instant::now() < deadline,
            "the watch goes on without its client"
        );
    }
    assert!(
        counted(
            &site,
            "apiserver_request_total{",
            &["verb=\"WATCH\"", "code=\"101\""]
        )
        .await
    );
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_that_stops_closes_websockets_and_waits_for_nobody() {
    let site = site(|_| {}).await;
    let mut polite = open(&site, &format!("{FOOS}?watch=1")).await.unwrap();
    let mut silent = open(&site, &format!("{FOOS}?watch=1")).await.unwrap();
    assert!(next(&mut polite).await.unwrap().is_text());
    assert!(next(&mut silent).await.unwrap().is_text());
    site.running.stop_handle().cancel();
    let close = next(&mut polite).await.unwrap();
    assert_eq!(
        close.as_close().unwrap().0,
        tokio_websockets::CloseCode::NORMAL_CLOSURE
    );
    assert!(next(&mut polite).await.is_none());
    tokio::time::timeout(Duration::from_secs(20), site.running.wait())
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_client_that_breaks_the_protocol_or_says_too_much_is_closed() {
    let site = site(|_| {}).await;
    for message in [Message::text("x".repeat(5000)), Message::binary(vec![0; 5000])] {
        let mut socket = open(&site, &format!("{FOOS}?watch=1")).await.unwrap();
        assert!(next(&mut socket).await.unwrap().is_text());
        socket.send(message).await.unwrap();
        assert!(next(&mut socket).await.is_none_or(|message| message.is_close()));
    }
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn an_upgrade_of_anything_else_and_half_a_handshake_get_an_answer_that_ends() {
    let site = site(|_| {}).await;
    assert!(open(&site, FOOS).await.is_err(), "a list switches to nothing");
    let mut sender = site.http1(site.alice()).await;
    for (target, code) in [(FOOS.to_owned(), 200), (format!("{FOOS}?watch=1"), 400)] {
        let mut request = get(&target);
        let headers = request.headers_mut();
        headers.insert("upgrade", "websocket".parse().unwrap());
        headers.insert("connection", "upgrade".parse().unwrap());
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), code, "{target}");
        // The connection stays open, and the body ends.
        text(response).await;
    }
    site.running.stop().await.unwrap();
}
