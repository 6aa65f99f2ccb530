//! Rights and results of impersonation.

use std::sync::{Arc, Mutex};

use super::*;
use crate::auth::Access;
use crate::testing::FunctionAuthorizer;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(*name, value.parse().unwrap());
    }
    map
}

async fn attempt(
    pairs: &[(&'static str, &str)],
    denied: &'static str,
) -> (Result<Option<UserInfo>, Status>, Vec<String>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let authorizer = FunctionAuthorizer(move |attributes: &Attributes| {
        let Attributes {
            resource,
            subresource,
            namespace,
            name,
            ..
        } = attributes;
        log.lock()
            .unwrap()
            .push(format!("{resource}/{subresource} {namespace}/{name}"));
        Ok(if resource == denied {
            Access::NoOpinion(String::new())
        } else {
            Access::Allow(String::new())
        })
    });
    let admin = UserInfo {
        name: "admin".to_owned(),
        ..UserInfo::default()
    };
    let result = impersonate(&admin, &mut headers(pairs), &authorizer).await;
    let asked = asked.lock().unwrap().clone();
    (result, asked)
}

#[tokio::test]
async fn every_impersonated_thing_needs_its_own_right() {
    let (result, asked) = attempt(
        &[
            ("impersonate-user", "alice"),
            ("impersonate-group", "dev"),
            ("impersonate-group", "ops"),
            ("impersonate-uid", "7"),
            ("impersonate-extra-acme%2Fscope", "view"),
        ],
        "",
    )
    .await;
    let user = result.unwrap().unwrap();
    assert_eq!((user.name.as_str(), user.uid.as_str()), ("alice", "7"));
    assert_eq!(user.groups, ["dev", "ops", AUTHENTICATED]);
    assert_eq!(user.extra["acme/scope"], ["view"]);
    assert_eq!(
        asked,
        [
            "users/ /alice",
            "uids/ /7",
            "groups/ /dev",
            "groups/ /ops",
            "userextras/acme/scope /view"
        ]
    );
}

#[tokio::test]
async fn service_accounts_get_their_groups() {
    let (result, asked) = attempt(&[("impersonate-user", "system:serviceaccount:ns:robot")], "").await;
    assert_eq!(asked, ["serviceaccounts/ ns/robot"]);
    let groups = result.unwrap().unwrap().groups;
    assert_eq!(
        groups,
        [
            "system:serviceaccounts",
            "system:serviceaccounts:ns",
            AUTHENTICATED
        ]
    );
}

#[tokio::test]
async fn anonymous_stays_unauthenticated() {
    let (result, _) = attempt(&[("impersonate-user", ANONYMOUS)], "").await;
    assert_eq!(result.unwrap().unwrap().groups, [UNAUTHENTICATED]);
}

#[tokio::test]
async fn a_missing_right_is_403_with_kubernetes_words() {
    let (result, _) = attempt(
        &[
            ("impersonate-user", "alice"),
            ("impersonate-group", "system:masters"),
        ],
        "groups",
    )
    .await;
    let status = result.unwrap_err();
    assert_eq!(status.code, 403);
    assert_eq!(
        status.message,
        "groups \"system:masters\" is forbidden: User \"admin\" cannot impersonate resource \"groups\" in API group \
         \"\" at the cluster scope"
    );
}

#[tokio::test]
async fn nothing_asked_is_nothing_done_and_groups_alone_are_refused() {
    assert_eq!(attempt(&[("accept", "*/*")], "").await.0.unwrap(), None);
    assert_eq!(
        attempt(&[("impersonate-group", "dev")], "")
            .await
            .0
            .unwrap_err()
            .code,
        400
    );
}
