//! A server that is not ready, temporarily or permanently.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request, Response};
use kube::client::Body;
use tower::service_fn;

use super::*;
use crate::Client;

/// A client of a server that refuses `times` requests with `code` and then answers; and the number of
/// requests.
fn refusing(code: u16, times: usize) -> (Client, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let service = service_fn(move |_: Request<Body>| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        async move {
            let answer = match number < times {
                true => Response::builder()
                    .status(code)
                    .header("retry-after", "0")
                    .body(Body::from(
                    br#"{"apiVersion":"v1","kind":"Status","code":503,"message":"Seeds are not synced yet"}"#
                        .to_vec(),
                )),
                false => Response::builder().body(Body::from(b"{}".to_vec())),
            };
            Ok::<_, Infallible>(answer.unwrap())
        }
    });
    (Client::new(kube::Client::new(service, "default")), asked)
}

fn told() -> (Arc<Mutex<Vec<String>>>, impl Fn(&str) + Send + Sync + 'static) {
    let all: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&all);
    (all, move |text: &str| told.lock().unwrap().push(text.to_owned()))
}

#[tokio::test]
async fn a_server_that_is_not_ready_is_asked_again_and_what_is_waited_for_is_told_once() {
    let (client, asked) = refusing(503, 2);
    let (all, tell) = told();
    let client = client.waiting(Duration::from_secs(60), tell);
    client.send(Method::GET, "/a", None).await.unwrap().unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    assert_eq!(*all.lock().unwrap(), ["Seeds are not synced yet"]);
    assert!(!client.gave_up());
}

#[tokio::test]
async fn retries_end_with_the_servers_reason_and_later_requests_are_tried_once() {
    let (client, asked) = refusing(503, usize::MAX);
    let client = client.waiting(Duration::from_millis(20), |_| {});
    let ended = client
        .send(Method::GET, "/a", None)
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        ended,
        "the server was not ready within 20ms: Seeds are not synced yet"
    );
    assert!(client.gave_up());
    let before = asked.load(Ordering::SeqCst);
    client.clone().send(Method::GET, "/b", None).await.unwrap_err();
    assert_eq!(asked.load(Ordering::SeqCst), before + 1);
}

#[tokio::test]
async fn other_refusals_are_answers_and_without_retries_so_is_this() {
    let (client, asked) = refusing(403, 1);
    let refused = client.waiting(Duration::from_secs(60), |_| {});
    // The body says 503, but the code of the answer counts.
    assert!(refused.send(Method::GET, "/a", None).await.unwrap().is_err());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let (client, asked) = refusing(503, 1);
    assert!(client.send(Method::GET, "/a", None).await.unwrap().is_err());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}
