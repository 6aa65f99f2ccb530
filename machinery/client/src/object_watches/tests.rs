//! Watches of an object on a server of the test, with tokio's paused clock.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use kube::client::Body;
use kube::core::ApiResource;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use tower::service_fn;

use super::*;

const PAUSES: Pauses = Pauses {
    least: Duration::from_secs(1),
    unwatched: Duration::from_secs(60),
    watched: Duration::from_secs(600),
};

/// A server with at most one object.
#[derive(Default)]
struct Server {
    /// Version of the object; `None` if there is none.
    version: Option<u64>,
    /// Version of the server's last write.
    revision: u64,
    is_forbidden: bool,
    /// Whether watches stay open without an event, as on a lost connection.
    is_silent: bool,
    requests: usize,
}

impl Server {
    /// The answer to a list, or to a watch: the last change if it is newer than the watch's version, and then
    /// the end of the watch.
    fn answer(&mut self, query: &str) -> (u16, String) {
        self.requests += 1;
        assert!(query.contains("fieldSelector=metadata.name%3Dlock"), "{query}");
        let object =
            |version: u64| json!({"metadata": {"name": "lock", "resourceVersion": version.to_string()}});
        if self.is_forbidden {
            let status = json!({"status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"});
            return (403, status.to_string());
        }
        if !query.contains("watch=true") {
            let items: Vec<Value> = self.version.map(object).into_iter().collect();
            let list = json!({"metadata": {"resourceVersion": self.revision.to_string()}, "items": items});
            return (200, list.to_string());
        }
        let since = query
            .split('&')
            .find_map(|part| part.strip_prefix("resourceVersion="));
        let since: u64 = since.expect("a watch has a version").parse().expect("a number");
        let event = match self.version {
            _ if since >= self.revision => return (200, String::new()),
            Some(version) => json!({"type": "MODIFIED", "object": object(version)}),
            None => json!({"type": "DELETED", "object": object(self.revision)}),
        };
        (200, format!("{event}\n"))
    }

    /// Writes the object, or deletes it.
    fn write(&mut self, is_present: bool) {
        self.revision += 1;
        self.version = is_present.then_some(self.revision);
    }
}

fn watches(server: &Arc<Mutex<Server>>) -> ObjectWatches {
    let server = Arc::clone(server);
    let service = service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let mut server = server.lock().unwrap();
        let is_silent = server.is_silent && query.contains("watch=true");
        let (code, body) = server.answer(query);
        let body = match is_silent {
            true => {
                StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, Infallible>>()).boxed_unsync()
            }
            false => Full::from(body).boxed_unsync(),
        };
        let response = Response::builder().status(code).body(body);
        async { Ok::<_, Infallible>(response.unwrap()) }
    });
    let client = kube::Client::new(service, "default");
    let kind = GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease");
    let api = Api::namespaced_with(client, "ns", &ApiResource::from_gvk(&kind));
    ObjectWatches::start([(api, "lock".to_owned())])
}

/// Seconds that a call of `wait` takes, rounded down.
async fn seconds(watches: &mut ObjectWatches) -> u64 {
    let start = Instant::now();
    watches.wait(PAUSES).await;
    start.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_change_ends_the_pause_and_otherwise_it_is_long() {
    let server = Arc::new(Mutex::new(Server::default()));
    let mut watches = watches(&server);
    assert_eq!(
        seconds(&mut watches).await,
        1,
        "the first answer counts as a change"
    );
    assert!(watches.are_absent());
    assert_eq!(seconds(&mut watches).await, 600);
    for is_present in [true, true, false] {
        let writer = Arc::clone(&server);
        let write = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(20)).await;
            writer.lock().unwrap().write(is_present);
        });
        let waited = seconds(&mut watches).await;
        assert!((20..23).contains(&waited), "{waited}");
        assert_eq!(watches.are_absent(), !is_present);
        write.await.unwrap();
    }
    assert_eq!(seconds(&mut watches).await, 600);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_lost_without_a_sign_is_noticed() {
    let server = Arc::new(Mutex::new(Server {
        is_silent: true,
        ..Server::default()
    }));
    let mut watches = watches(&server);
    assert_eq!(
        seconds(&mut watches).await,
        1,
        "the first answer counts as a change"
    );
    server.lock().unwrap().write(true);
    let waited = seconds(&mut watches).await;
    assert!((298..305).contains(&waited), "{waited}");
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_watch_the_pause_is_short_and_the_server_is_asked_rarely() {
    let server = Arc::new(Mutex::new(Server {
        is_forbidden: true,
        ..Server::default()
    }));
    let mut watches = watches(&server);
    for _ in 0..5 {
        assert_eq!(seconds(&mut watches).await, 60);
    }
    assert!(!watches.are_absent(), "it is not known");
    let requests = server.lock().unwrap().requests;
    assert!((1..=2).contains(&requests), "{requests}");
    server.lock().unwrap().is_forbidden = false;
    let mut waited = 0;
    while server.lock().unwrap().requests == requests && waited < 600 {
        waited += seconds(&mut watches).await;
    }
    assert!(waited <= 360, "{waited}");
    seconds(&mut watches).await;
    assert_eq!(seconds(&mut watches).await, 600, "it is watched now");
}
