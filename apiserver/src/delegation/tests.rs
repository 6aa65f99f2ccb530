//! Repetition of questions.

use serde_json::json;

use super::testing::{Hub, failure};
use super::*;

#[tokio::test(start_paused = true)]
async fn a_busy_hub_is_asked_again_with_growing_pauses() {
    let hub = Hub::new(vec![
        failure("busy", true),
        failure("busy", true),
        Ok(json!({"allowed": true})),
    ]);
    let start = tokio::time::Instant::now();
    let answer = ask(&*hub, "/reviews", &json!({"spec": 1})).await.unwrap();
    assert_eq!(answer, json!({"spec": 1, "status": {"allowed": true}}));
    assert_eq!((hub.count(), start.elapsed()), (3, Duration::from_millis(1250)));
}

#[tokio::test(start_paused = true)]
async fn five_failures_are_an_end_and_a_refusal_is_one_at_once() {
    let hub = Hub::new(vec![failure("out of reach", true)]);
    let problem = ask(&*hub, "/reviews", &json!({})).await.unwrap_err();
    assert_eq!(problem.message, "out of reach");
    assert_eq!(hub.count(), 5);
    let hub = Hub::new(vec![failure("forbidden", false)]);
    let problem = ask(&*hub, "/reviews", &json!({})).await.unwrap_err();
    assert_eq!(problem.message, "forbidden");
    assert_eq!(hub.count(), 1);
}

/// Never answers.
struct Silent;

#[async_trait]
impl Reviewer for Silent {
    async fn review(&self, _: &str, _: &Value) -> Result<Value, ReviewError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_hub_is_given_up() {
    let problem = ask(&Silent, "/reviews", &json!({})).await.unwrap_err();
    assert_eq!(problem.message, "no answer within 10s");
}
