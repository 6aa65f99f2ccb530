//! Combined answers, and the messages of refusals.

use super::*;
use crate::testing::FunctionAuthorizer;

fn asking(user: &str, groups: &[&str], path: &str) -> Attributes {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    Attributes {
        user: UserInfo {
            name: user.to_owned(),
            groups,
            ..UserInfo::default()
        },
        verb: "get".to_owned(),
        path: path.to_owned(),
        ..Attributes::default()
    }
}

fn union(last: impl Fn() -> Result<Access, String> + Send + Sync + 'static) -> Union {
    Union::new(vec![
        Arc::new(Masters),
        Arc::new(AlwaysAllowPaths::new(&ALWAYS_ALLOWED)),
        Arc::new(FunctionAuthorizer(move |_: &Attributes| last())),
    ])
}

#[tokio::test]
async fn masters_and_probes_need_no_rules() {
    let union = union(|| Ok(Access::NoOpinion(String::new())));
    for (groups, path, allowed) in [
        (&["system:masters"][..], "/metrics", true),
        (&[], "/metrics", false),
        (&[], "/readyz", true),
        (&[], "/readyz/ping", true),
        (&[], "/readyzz", false),
    ] {
        let access = union.authorize(&asking("a", groups, path)).await.unwrap();
        assert_eq!(access.is_allowed(), allowed, "{path}");
    }
}

#[tokio::test]
async fn an_authorizer_that_fails_is_500_unless_another_decides() {
    let union = union(|| Err("unreachable".to_owned()));
    assert_eq!(
        require(&union, &asking("a", &[], "/metrics"))
            .await
            .unwrap_err()
            .code,
        500
    );
    assert!(
        require(&union, &asking("a", &["system:masters"], "/metrics"))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn refusals_read_as_in_kubernetes() {
    let union = union(|| Ok(Access::NoOpinion(String::new())));
    let status = require(&union, &asking("x", &[], "/y<b>")).await.unwrap_err();
    assert_eq!(
        status.message,
        "forbidden: User \"x\" cannot get path \"/y&lt;b&gt;\""
    );
    let attributes = Attributes {
        is_resource: true,
        group: "g.io".to_owned(),
        resource: "foos".to_owned(),
        subresource: "binding".to_owned(),
        namespace: "ns".to_owned(),
        name: "n".to_owned(),
        ..asking("x", &[], "")
    };
    let status = require(&union, &attributes).await.unwrap_err();
    assert_eq!(
        status.message,
        "foos.g.io \"n\" is forbidden: User \"x\" cannot get resource \"foos/binding\" in API group \"g.io\" in the \
         namespace \"ns\""
    );
    let details = status.details.unwrap();
    assert_eq!(
        (
            details.group.as_str(),
            details.kind.as_str(),
            details.name.as_str()
        ),
        ("g.io", "foos", "n")
    );
}

#[tokio::test]
async fn a_reason_follows_the_refusal() {
    let union = union(|| Ok(Access::Deny("quarantined".to_owned())));
    let status = require(&union, &asking("x", &[], "/y")).await.unwrap_err();
    assert!(
        status.message.ends_with("cannot get path \"/y\": quarantined"),
        "{}",
        status.message
    );
}
