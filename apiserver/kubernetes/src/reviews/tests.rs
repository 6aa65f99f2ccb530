//! Access reviews against stored roles.

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::{Status, Timestamp};
use berth_apiserver::{Access, Attributes, Authorizer, Call, Reply, Warnings};
use berth_storage::MemoryStore;
use serde_json::{Value, json};

use super::*;

/// Allows jane to get, has no opinion on others, and fails for `broken`.
struct Judge;

#[async_trait]
impl Authorizer for Judge {
    async fn authorize(&self, asked: &Attributes) -> Result<Access, berth_apiserver::DelegationError> {
        match (asked.user.name.as_str(), asked.verb.as_str()) {
            ("jane", "get") => Ok(Access::Allow("because".to_owned())),
            ("bad", _) => Ok(Access::Deny("never".to_owned())),
            ("broken", _) => Err(berth_apiserver::DelegationError::Other("no answer".to_owned())),
            _ => Ok(Access::NoOpinion(String::new())),
        }
    }
}

async fn ask(resource: &str, user: &str, namespace: &str, body: Value) -> Result<Value, Status> {
    let rbac = Rbac::new(Arc::new(MemoryStore::default()));
    let groups = groups(&rbac);
    let all = groups.iter().flat_map(|group| &group.resources);
    let found = all
        .into_iter()
        .find(|have| have.kind.info().plural == resource)
        .expect("a review of that name");
    let Backing::Computed(answer) = &found.backing else {
        panic!("reviews are computed")
    };
    let schema = found.kind.schema("v1");
    assert!(
        schema.validate(&body).is_empty() && schema.unknown_fields(&body).is_empty(),
        "{body}"
    );
    let call = Call {
        manager: "test".to_owned(),
        user: UserInfo {
            name: user.to_owned(),
            groups: vec!["devs".to_owned()],
            ..UserInfo::default()
        },
        version: "v1".to_owned(),
        namespace: namespace.to_owned(),
        name: String::new(),
        now: Timestamp::UNIX_EPOCH,
        query: berth_apiserver::Query::default(),
        dry_run: false,
        warnings: Warnings::default(),
        annotations: berth_apiserver::Annotations::default(),
        authorizer: Arc::new(Judge),
    };
    match answer.create(&call, body).await? {
        Reply::Value(value) => Ok(value),
        other => panic!("{other:?}"),
    }
}

fn get_config_maps() -> Value {
    json!({"namespace": "ns", "verb": "get", "resource": "configmaps"})
}

#[tokio::test]
async fn ones_own_access_is_judged_by_the_servers_authorizer() {
    let body = json!({"metadata": {}, "spec": {"resourceAttributes": get_config_maps()}});
    let answer = |user| ask("selfsubjectaccessreviews", user, "", body.clone());
    assert_eq!(
        answer("jane").await.unwrap()["status"],
        json!({"allowed": true, "reason": "because"})
    );
    assert_eq!(answer("joe").await.unwrap()["status"], json!({"allowed": false}));
    assert_eq!(
        answer("bad").await.unwrap()["status"],
        json!({"allowed": false, "denied": true, "reason": "never"})
    );
    let broken = answer("broken").await.unwrap();
    assert_eq!(
        broken["status"],
        json!({"allowed": false, "evaluationError": "no answer"})
    );
    assert_eq!(
        broken["spec"], body["spec"],
        "the question comes back with the answer"
    );
}

#[tokio::test]
async fn somebody_elses_access_is_judged_by_their_name() {
    let body = json!({"spec": {"user": "jane", "nonResourceAttributes": {"path": "/x", "verb": "get"}}});
    let answer = ask("subjectaccessreviews", "joe", "", body).await.unwrap();
    assert_eq!(answer["status"]["allowed"], true);
}

#[tokio::test]
async fn questions_that_make_no_sense_are_invalid() {
    let both = json!({"resourceAttributes": get_config_maps(), "nonResourceAttributes": {"path": "/x"}});
    for (resource, spec, field) in [
        ("selfsubjectaccessreviews", json!({}), "spec.resourceAttributes"),
        ("selfsubjectaccessreviews", both, "spec.nonResourceAttributes"),
        (
            "subjectaccessreviews",
            json!({"resourceAttributes": get_config_maps()}),
            "spec.user",
        ),
        (
            "localsubjectaccessreviews",
            json!({"user": "u", "resourceAttributes": {"namespace": "other"}}),
            "spec.resourceAttributes.namespace",
        ),
        (
            "localsubjectaccessreviews",
            json!({"user": "u", "nonResourceAttributes": {"path": "/"}}),
            "spec.nonResourceAttributes",
        ),
        ("selfsubjectrulesreviews", json!({}), "spec.namespace"),
    ] {
        let status = ask(resource, "jane", "ns", json!({"spec": spec}))
            .await
            .unwrap_err();
        assert_eq!(
            (status.code, status.details.unwrap().causes[0].field.as_str()),
            (422, field),
            "{resource}"
        );
    }
}

#[tokio::test]
async fn who_am_i_is_answered() {
    let answer = ask("selfsubjectreviews", "jane", "", json!({"metadata": {}}))
        .await
        .unwrap();
    assert_eq!(
        answer["status"]["userInfo"],
        json!({"username": "jane", "groups": ["devs"]})
    );
}

#[tokio::test]
async fn ones_own_rules_are_listed() {
    let store: Arc<dyn berth_storage::Store> = Arc::new(MemoryStore::default());
    let clock = berth_apimachinery::FixedClock(Timestamp::UNIX_EPOCH);
    crate::rbac::bootstrap::ensure(&store, &clock, &crate::rbac::bootstrap::RoleResources::default())
        .await
        .unwrap();
    let rules = own::SelfSubjectRulesReview::new(Rbac::new(store));
    let call = Call {
        manager: "test".to_owned(),
        user: UserInfo {
            groups: vec!["system:authenticated".to_owned()],
            ..UserInfo::default()
        },
        version: "v1".to_owned(),
        namespace: String::new(),
        name: String::new(),
        now: Timestamp::UNIX_EPOCH,
        query: berth_apiserver::Query::default(),
        dry_run: false,
        warnings: Warnings::default(),
        annotations: berth_apiserver::Annotations::default(),
        authorizer: Arc::new(Judge),
    };
    let Reply::Value(answer) = rules
        .create(&call, json!({"spec": {"namespace": "ns"}}))
        .await
        .unwrap()
    else {
        panic!("a value is answered");
    };
    let resources = answer["status"]["resourceRules"].as_array().unwrap();
    assert!(
        resources
            .iter()
            .any(|rule| rule["resources"][0] == "selfsubjectreviews"),
        "{answer}"
    );
    let paths = answer["status"]["nonResourceRules"].as_array().unwrap();
    assert!(paths.iter().all(|rule| rule["nonResourceURLs"].is_array()) && !paths.is_empty());
    assert_eq!(answer["status"]["incomplete"], false);
}
