//! Checks of tokens.

use berth_apimachinery::SignedDuration;
use berth_apimachinery::time::testing::SteppedClock;

use super::*;
use crate::delegation::testing::{Hub, failure};

fn clock() -> Arc<SteppedClock> {
    Arc::new(SteppedClock::at("2026-11-21T12:00:00Z".parse().unwrap()))
}

const TTL: Duration = Duration::from_secs(10);

fn reviews(hub: &Arc<Hub>, clock: &Arc<SteppedClock>) -> Arc<TokenReviews> {
    Arc::new(TokenReviews::new(
        Arc::clone(hub) as _,
        TTL,
        Arc::clone(clock) as _,
    ))
}

#[tokio::test]
async fn a_token_is_its_user_and_asked_about_once_in_ten_seconds() {
    let user = json!({"username": "robot", "uid": "7", "groups": ["g"], "extra": {"a": ["b"]}});
    let hub = Hub::new(vec![Ok(json!({"authenticated": true, "user": user}))]);
    let clock = clock();
    let reviews = reviews(&hub, &clock);
    let user = reviews.authenticate("secret").await.unwrap().unwrap();
    assert_eq!((user.name.as_str(), user.uid.as_str()), ("robot", "7"));
    assert_eq!(
        (user.groups, &user.extra["a"]),
        (vec!["g".to_owned()], &vec!["b".to_owned()])
    );
    assert_eq!(hub.asked.lock().unwrap()[0]["spec"], json!({"token": "secret"}));
    clock.advance(SignedDuration::from_secs(9));
    assert!(reviews.authenticate("secret").await.unwrap().is_some());
    assert_eq!(hub.count(), 1);
    clock.advance(SignedDuration::from_secs(1));
    assert!(reviews.authenticate("secret").await.unwrap().is_some());
    assert_eq!(hub.count(), 2);
    assert!(reviews.authenticate("other").await.unwrap().is_some());
    assert_eq!(hub.count(), 3);
}

#[tokio::test]
async fn many_with_the_same_token_wait_for_one_answer() {
    let hub = Hub::new(vec![Ok(json!({"authenticated": false, "error": "expired"}))]);
    let reviews = reviews(&hub, &clock());
    let all = (0..50).map(|_| reviews.authenticate("secret"));
    for answer in futures::future::join_all(all).await {
        assert_eq!(answer, Ok(None));
    }
    assert_eq!(hub.count(), 1);
}

#[tokio::test]
async fn that_there_was_no_answer_is_not_remembered() {
    let hub = Hub::new(vec![
        failure("forbidden", false),
        Ok(json!({"authenticated": true, "user": {"username": "robot"}})),
    ]);
    let reviews = reviews(&hub, &clock());
    let refused = reviews.authenticate("secret").await;
    assert_eq!(refused.unwrap_err().to_string(), "forbidden");
    assert_eq!(
        reviews.authenticate("secret").await.unwrap().unwrap().name,
        "robot"
    );
}

#[tokio::test]
async fn an_answer_that_names_nobody_is_a_failure() {
    let hub = Hub::new(vec![Ok(json!({"authenticated": true}))]);
    let problem = reviews(&hub, &clock())
        .authenticate("secret")
        .await
        .unwrap_err()
        .to_string();
    assert!(problem.contains("names no user"), "{problem}");
}
