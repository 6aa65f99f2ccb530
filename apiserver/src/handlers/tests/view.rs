//! An API through a view: gadgets have a proxy that shows the widgets of their team, without some fields.

mod outlived;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use berth_admission::Denial;
use berth_apimachinery::write::CommitError;
use berth_apimachinery::{GroupResource, Key, Object, Status};
use parking_lot::Mutex;

use super::*;
use crate::call::Call;
use crate::context::SubresourceApi;
use crate::documents::Documents;
use crate::resource::{Subresource, SubresourceHandler};
use crate::version::VersionInfo;
use crate::view::{Origin, OriginWrite, ViewApi, ViewRules, documents};

const WIDGET: GroupResource = GroupResource::new(toys::GROUP, "widgets");
const RED: &str = "/apis/toys.example.com/v1/gadgets/red/proxy";
/// The view of a team whose widgets are in another store.
const LENT: &str = "/apis/toys.example.com/v1/gadgets/lent/proxy";

/// View of one team: its widgets, without the annotation `secret`. It may change the size and the status.
struct Team {
    name: String,
    user: UserInfo,
    lender: Option<Lender>,
}

/// Another store of a team's widgets: the first write loses a race, and large sizes are refused.
#[derive(Default)]
struct Lender {
    asked: AtomicUsize,
}

#[async_trait]
impl Origin for Lender {
    async fn write(&self, write: OriginWrite<'_>) -> Result<Arc<Object>, CommitError> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        if asked == 1 {
            return Err(CommitError::modified(WIDGET, &write.key.name));
        }
        if write.object["spec"]["size"] == 9 {
            return Err(Status::failure(403, "Forbidden", "that is too big to keep").into());
        }
        let mut object = write.object;
        let version = object["metadata"]["resourceVersion"].is_string();
        let subresource = if write.subresource.is_empty() {
            "whole"
        } else {
            write.subresource
        };
        object["metadata"]["annotations"]["kept"] = json!(format!(
            "{subresource} for {}, asked {asked}, with a version: {version}, dry: {}",
            write.user.name, write.dry_run
        ));
        Ok(Arc::new(Object::new(&object, write.current.revision()).unwrap()))
    }
}

#[async_trait]
impl ViewRules for Team {
    fn is_visible(&self, object: &Object) -> bool {
        object.meta().labels().get("team") == Some(&self.name)
    }

    fn show(&self, object: &Arc<Object>) -> Arc<Object> {
        if !object.annotations().contains_key("secret") {
            return Arc::clone(object);
        }
        let mut value = object.parse_unmanaged();
        value["metadata"]["annotations"]
            .as_object_mut()
            .unwrap()
            .remove("secret");
        Arc::new(Object::new(&value, object.revision()).unwrap())
    }

    fn user(&self) -> &UserInfo {
        &self.user
    }

    fn origin(&self) -> Option<&dyn Origin> {
        self.lender.as_ref().map(|lender| lender as &dyn Origin)
    }

    fn write(&self, _: &Key, stored: &Value, written: &Value, subresource: &str) -> Result<Value, Denial> {
        if written["spec"]["color"] != stored["spec"]["color"] {
            return Err(Denial::Forbidden("teams do not paint".to_owned()));
        }
        let mut new = stored.clone();
        match subresource {
            "status" => new["status"] = written["status"].clone(),
            _ => new["spec"]["size"] = written["spec"]["size"].clone(),
        }
        if written["metadata"]["labels"]["team"].is_null() {
            new["metadata"]["labels"].as_object_mut().unwrap().remove("team");
        }
        Ok(new)
    }
}

struct Proxy {
    registry: Arc<Registry>,
    teams: Mutex<HashMap<String, Arc<ViewApi>>>,
}

impl Proxy {
    fn team(&self, name: &str) -> Arc<ViewApi> {
        let user = UserInfo {
            name: format!("team:{name}"),
            ..UserInfo::default()
        };
        let rules = Team {
            name: name.to_owned(),
            user,
            lender: (name == "lent").then(Lender::default),
        };
        let version = VersionInfo::new("1.2.3", None, None);
        let documents: Documents = documents(&self.registry, &[WIDGET], "Team", &version).unwrap();
        let api = ViewApi::new(
            &self.registry,
            Arc::new(rules),
            &[WIDGET],
            Arc::new(documents),
            None,
        );
        Arc::new(api.unwrap())
    }
}

#[async_trait]
impl SubresourceHandler for Proxy {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn api(&self, call: &Call) -> Result<Option<Arc<dyn SubresourceApi>>, Status> {
        let mut teams = self.teams.lock();
        let team = teams
            .entry(call.name.clone())
            .or_insert_with(|| self.team(&call.name));
        Ok(Some(Arc::clone(team) as Arc<dyn SubresourceApi>))
    }
}

pub(super) fn proxy(registry: &Arc<Registry>) -> Subresource {
    Subresource {
        name: "proxy",
        group: "",
        version: "",
        kind: "GadgetProxyOptions",
        verbs: &["get", "patch", "update"],
        schema: None,
        handler: Arc::new(Proxy {
            registry: Arc::clone(registry),
            teams: Mutex::default(),
        }),
    }
}

impl Client {
    async fn team_widget(&self, name: &str, team: &str) -> Value {
        let metadata = json!({"name": name, "labels": {"team": team}, "annotations": {"secret": "x"}});
        let value = json!({"apiVersion": "toys.example.com/v1", "kind": "Widget", "metadata": metadata,
            "spec": {"color": "red", "size": 1}});
        self.post(WIDGETS, &value).await.expect(201)
    }
}

fn below(path: &str) -> String {
    format!("{RED}{path}")
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

/// A subresource that counts how often it is tidied.
#[derive(Default)]
struct Tidied(AtomicUsize);

#[async_trait]
impl SubresourceHandler for Tidied {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn tidy(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn subresources_are_tidied_with_the_api_and_once_for_all_versions() {
    let toys = toys::Toys::new(berth_storage::Limits::default());
    let registry = Registry::builder(Chain::default(), testing::clock());
    let mut groups = toys.groups(registry.handle());
    let tidied = Arc::new(Tidied::default());
    let mut subresource = proxy(registry.handle());
    subresource.handler = Arc::clone(&tidied) as Arc<_>;
    groups[0].resources[0].subresources.push(subresource);
    let api = ApiState::from_registry(registry.build(&groups).unwrap());
    api.tidy().await;
    assert_eq!(tidied.0.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn only_what_is_seen_is_got_and_listed_and_looks_as_the_view_shows_it() {
    let client = Client::new();
    let stored = client.team_widget("a", "red").await;
    client.team_widget("b", "blue").await;
    client.team_widget("c", "red").await;
    let list = client.get(&below(ALL_WIDGETS)).await.expect(200);
    assert_eq!(names(&list), ["a", "c"]);
    assert_eq!(list["kind"], "WidgetList");
    let one = client.get(&below(&at("a"))).await.expect(200);
    assert!(one["metadata"]["annotations"].get("secret").is_none(), "{one}");
    assert_eq!(
        one["metadata"]["resourceVersion"],
        stored["metadata"]["resourceVersion"]
    );
    client.get(&below(&at("b"))).await.refusal(404, "NotFound");
    client
        .get(&below("/apis/toys.example.com/v1/gadgets"))
        .await
        .refusal(404, "NotFound");

    // Later lists apply the changes since the previous one.
    client
        .merge(&at("a"), &json!({"metadata": {"labels": {"team": "blue"}}}))
        .await
        .expect(200);
    client
        .merge(&at("b"), &json!({"metadata": {"labels": {"team": "red"}}}))
        .await
        .expect(200);
    assert_eq!(
        names(&client.get(&below(ALL_WIDGETS)).await.expect(200)),
        ["b", "c"]
    );
    let page = client
        .get(&below(&format!("{ALL_WIDGETS}?limit=1")))
        .await
        .expect(200);
    let next = page["metadata"]["continue"].as_str().unwrap();
    let page = client
        .get(&below(&format!("{ALL_WIDGETS}?limit=1&continue={next}")))
        .await
        .expect(200);
    assert_eq!(names(&page), ["c"]);
}

#[tokio::test]
async fn leaving_the_view_is_a_deletion_and_entering_it_an_addition() {
    let client = Client::new();
    let mut watch = client
        .watch_as(&below(ALL_WIDGETS), "resourceVersion=100", "application/json")
        .await;
    client.team_widget("b", "blue").await;
    client.team_widget("a", "red").await;
    client
        .merge(&at("b"), &json!({"metadata": {"labels": {"team": "red"}}}))
        .await
        .expect(200);
    client
        .merge(&at("a"), &json!({"spec": {"size": 2}}))
        .await
        .expect(200);
    client
        .merge(&at("a"), &json!({"metadata": {"labels": {"team": "blue"}}}))
        .await
        .expect(200);
    client.delete(&at("b")).await.expect(200);
    for (kind, name) in [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
        ("DELETED", "b"),
    ] {
        let event = watch.next().await.unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["metadata"]["name"]),
            (&json!(kind), &json!(name))
        );
        assert!(!event.to_string().contains("secret"), "{event}");
    }
}

#[tokio::test]
async fn writes_are_the_views_users_and_what_the_view_makes_of_them() {
    let client = Client::new();
    let stored = client.team_widget("a", "red").await;
    let seen = client
        .merge(&below(&at("a")), &json!({"spec": {"size": 3, "shape": "flat"}}))
        .await
        .expect(200);
    assert_eq!(
        (&seen["spec"]["size"], &seen["spec"]["shape"]),
        (&json!(3), &stored["spec"]["shape"])
    );
    assert!(seen["metadata"]["annotations"].get("secret").is_none());
    let now = client.get(&at("a")).await.expect(200);
    assert_eq!(
        now["metadata"]["annotations"]["secret"], "x",
        "what is not seen is not lost"
    );
    assert_eq!(now["spec"]["size"], 3);

    client
        .put(&below(&at("a")), &stored)
        .await
        .refusal(409, "Conflict");
    let refused = client
        .merge(&below(&at("a")), &json!({"spec": {"color": "blue"}}))
        .await;
    assert!(refused.refusal(403, "Forbidden").contains("teams do not paint"));
    let status = json!({"status": {"phase": "Done"}});
    let seen = client
        .merge(&below(&format!("{}/status", at("a"))), &status)
        .await
        .expect(200);
    assert_eq!(
        (&seen["status"]["phase"], &seen["spec"]["size"]),
        (&json!("Done"), &json!(3))
    );
    client
        .merge(&below(&at("b")), &status)
        .await
        .refusal(404, "NotFound");
    client
        .post(&below(WIDGETS), &stored)
        .await
        .refusal(405, "MethodNotAllowed");
    client
        .delete(&below(&at("a")))
        .await
        .refusal(405, "MethodNotAllowed");

    // A write that ends the view still returns its result.
    let gone = client
        .merge(&below(&at("a")), &json!({"metadata": {"labels": {"team": null}}}))
        .await
        .expect(200);
    assert!(gone["metadata"]["labels"].get("team").is_none(), "{gone}");
    client.get(&below(&at("a"))).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn a_write_through_a_view_is_weighed_by_the_object_that_it_changes() {
    let client = Client::new();
    client.team_widget("a", "red").await;
    let changed_bytes = |path: &str| {
        let request = Client::request("PATCH", path, &[], b"");
        client.api.changed_bytes(&request.info)
    };
    let direct = changed_bytes(&at("a"));
    assert!(direct > 0);
    assert_eq!(changed_bytes(&below(&at("a"))), direct);
    assert_eq!(changed_bytes(&below(&format!("{}/status", at("a")))), direct);
    for path in [below(&at("b")), below("/version"), RED.to_owned()] {
        assert_eq!(changed_bytes(&path), 0, "{path}");
    }
}

#[tokio::test]
async fn what_is_kept_elsewhere_is_written_there_and_judged_there() {
    let client = Client::new();
    let stored = client.team_widget("a", "lent").await;
    let path = format!("{LENT}{}", at("a"));
    let mut stale = client.get(&path).await.expect(200);
    stale["metadata"]["resourceVersion"] = json!("1");
    client.put(&path, &stale).await.refusal(409, "Conflict");

    // The client has no version at stake, so the write is retried.
    let seen = client
        .merge(&path, &json!({"spec": {"size": 3}}))
        .await
        .expect(200);
    assert_eq!(
        (&seen["spec"]["size"], &seen["metadata"]["annotations"]["kept"]),
        (
            &json!(3),
            &json!("whole for team:lent, asked 2, with a version: false, dry: false")
        )
    );
    assert!(seen["metadata"]["annotations"].get("secret").is_none(), "{seen}");
    let seen = client
        .merge(
            &format!("{path}/status?dryRun=All"),
            &json!({"status": {"phase": "Done"}}),
        )
        .await
        .expect(200);
    assert_eq!(
        seen["metadata"]["annotations"]["kept"],
        "status for team:lent, asked 3, with a version: false, dry: true"
    );
    let refused = client.merge(&path, &json!({"spec": {"size": 9}})).await;
    assert_eq!(refused.refusal(403, "Forbidden"), "that is too big to keep");
    // The local object is a copy, which others update.
    assert_eq!(client.get(&at("a")).await.expect(200), stored);
}

#[tokio::test]
async fn the_api_below_a_proxy_describes_itself() {
    let client = Client::new();
    let groups = client.get(&below("/apis")).await.expect(200);
    assert_eq!(groups["groups"][0]["name"], toys::GROUP);
    let resources = client.get(&below("/apis/toys.example.com/v1")).await.expect(200);
    let listed: Vec<&str> = resources["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(listed, ["widgets", "widgets/status"]);
    assert_eq!(
        resources["resources"][0]["verbs"],
        json!(["get", "list", "patch", "update", "watch"])
    );
    assert_eq!(
        client.get(&below("/version")).await.expect(200)["gitVersion"],
        "v1.2.3"
    );
    assert_eq!(client.get(&below("/readyz")).await.text(), "ok");
    assert!(
        client.get(&below("/openapi/v3")).await.expect(200)["paths"]["apis/toys.example.com/v1"].is_object()
    );
    client.get(&below("/nothing")).await.refusal(404, "NotFound");
    client.get(RED).await.refusal(404, "NotFound");
}
