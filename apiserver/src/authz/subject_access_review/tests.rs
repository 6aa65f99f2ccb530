//! Reviews, and the cache of their answers.

use std::collections::BTreeMap;

use berth_admission::UserInfo;

use super::*;
use crate::authz;
use crate::delegation::testing::{Hub, failure};
use crate::request_info::RequestInfo;
use crate::testing::clock;

const TTL: Duration = Duration::from_secs(10);

fn reviews(hub: &Arc<Hub>) -> SubjectAccessReviews {
    SubjectAccessReviews::new(Arc::clone(hub) as _, TTL, TTL, clock())
}

fn asking(uri: &str) -> Attributes {
    let user = UserInfo {
        name: "alice".to_owned(),
        groups: vec!["dev".to_owned()],
        extra: BTreeMap::from([("a".to_owned(), vec!["b".to_owned()])]),
        ..UserInfo::default()
    };
    let info = RequestInfo::parse(&http::Method::GET, &uri.parse().unwrap()).unwrap();
    authz::attributes(&info, &user)
}

#[tokio::test]
async fn the_question_names_everything_the_request_is_about() {
    let hub = Hub::new(vec![Ok(json!({"allowed": true, "reason": "RBAC"}))]);
    let reviews = reviews(&hub);
    let get = asking("/apis/g.io/v1/namespaces/n/foos/x/status");
    assert_eq!(
        reviews.authorize(&get).await,
        Ok(Access::Allow("RBAC".to_owned()))
    );
    let list = asking("/apis/g.io/v1/foos?labelSelector=a%3Db%2C!c&fieldSelector=metadata.name%3Dx");
    reviews.authorize(&list).await.unwrap();
    reviews.authorize(&asking("/version")).await.unwrap();
    let asked = hub.asked.lock().unwrap();
    assert_eq!(
        asked[0]["spec"],
        json!({
            "user": "alice", "groups": ["dev"], "extra": {"a": ["b"]},
            "resourceAttributes": {"namespace": "n", "verb": "get", "group": "g.io", "version": "v1",
                "resource": "foos", "subresource": "status", "name": "x"},
        })
    );
    assert_eq!(
        asked[1]["spec"]["resourceAttributes"],
        json!({
            "verb": "list", "group": "g.io", "version": "v1", "resource": "foos", "name": "x",
            "fieldSelector": {"requirements": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]},
            "labelSelector": {"requirements": [
                {"key": "a", "operator": "In", "values": ["b"]}, {"key": "c", "operator": "DoesNotExist"}]},
        })
    );
    assert_eq!(
        asked[2]["spec"]["nonResourceAttributes"],
        json!({"path": "/version", "verb": "get"})
    );
}

#[tokio::test]
async fn answers_are_kept_and_equal_questions_share_one() {
    let hub = Hub::new(vec![Ok(json!({"allowed": false, "reason": "no rule"}))]);
    let reviews = reviews(&hub);
    let question = asking("/apis/g.io/v1/foos");
    let all = (0..20).map(|_| reviews.authorize(&question));
    for answer in futures::future::join_all(all).await {
        assert_eq!(answer, Ok(Access::NoOpinion("no rule".to_owned())));
    }
    assert_eq!(hub.count(), 1);
    reviews.authorize(&asking("/apis/g.io/v1/bars")).await.unwrap();
    assert_eq!(hub.count(), 2);
}

#[tokio::test]
async fn a_question_made_long_is_not_kept() {
    let hub = Hub::new(vec![Ok(json!({"allowed": true}))]);
    let reviews = reviews(&hub);
    let question = asking(&format!(
        "/apis/g.io/v1/foos/{}",
        "x".repeat(MAX_CACHED_SPEC_BYTES)
    ));
    reviews.authorize(&question).await.unwrap();
    reviews.authorize(&question).await.unwrap();
    assert_eq!(hub.count(), 2);
}

#[tokio::test]
async fn without_an_answer_the_request_fails_with_500_and_the_next_one_asks_again() {
    let hub = Hub::new(vec![
        failure("forbidden", false),
        Ok(json!({"denied": true, "reason": "no"})),
    ]);
    let reviews = reviews(&hub);
    let question = asking("/apis/g.io/v1/foos");
    let status = authz::require(&reviews, &question).await.unwrap_err();
    assert_eq!(status.code, 500);
    assert_eq!(
        reviews.authorize(&question).await,
        Ok(Access::Deny("no".to_owned()))
    );
}

#[tokio::test]
async fn an_answer_that_contradicts_itself_is_none() {
    let hub = Hub::new(vec![Ok(json!({"allowed": true, "denied": true}))]);
    assert!(
        reviews(&hub)
            .authorize(&asking("/apis/g.io/v1/foos"))
            .await
            .is_err()
    );
}
