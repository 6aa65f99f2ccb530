//! A computed resource with every verb: desks that another system stores in its own form.

use std::sync::LazyLock;

use berth_apimachinery::Draft;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{FieldError, Key, Kind, KindInfo, Object, Schema, Write};
use berth_storage::{Expect, MemoryStore, Source, Step};

use super::*;
use crate::call::{ListQuery, Reply};
use crate::listing::Listing;
use crate::resource::{Computed, Resource};

const GROUP: &str = "desks.example.com";
const DESKS: &str = "/apis/desks.example.com/v1/namespaces/default/desks";

static INFO: KindInfo = KindInfo::new(GROUP, &["v1"], "Desk", "desks");
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::from_value(
        json!({"properties": {"legs": {"type": "integer", "minimum": 3}, "owner": {"type": "string"}}}),
    )
});

/// The kind: a user cannot take a desk of another user.
struct Desk;

impl Kind for Desk {
    fn info(&self) -> &KindInfo {
        &INFO
    }

    fn schema(&self, _: &str) -> &Schema {
        &SCHEMA
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let old = write.old.map_or(&Value::Null, |old| &old["owner"]);
        match old.is_string() && *old != new["owner"] {
            true => vec![FieldError::forbidden("owner", "it is taken")],
            false => Vec::new(),
        }
    }
}

/// The other system.
struct Desks {
    store: Arc<MemoryStore>,
    /// Number of updates that lose a race.
    late: std::sync::atomic::AtomicUsize,
}

impl Desks {
    fn key(call: &Call) -> Key {
        Key::new(INFO.resource(), &call.namespace, &call.name)
    }

    fn commit(
        &self,
        call: &Call,
        verb: Verb,
        expect: Expect,
        object: Option<&Value>,
    ) -> Result<Arc<Object>, Status> {
        let step = Step {
            verb,
            key: Self::key(call),
            subresource: "",
            object: object.map(|object| Draft::new(object).unwrap()),
            expect,
            guards: Vec::new(),
        };
        let conflict = |_| Status::conflict(INFO.resource(), &call.name, "somebody was faster");
        let mut applied = self.store.commit(&[step]).map_err(conflict)?;
        Ok(applied.remove(0).object)
    }
}

#[async_trait]
impl Computed for Desks {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn get(&self, call: &Call) -> Result<Arc<Object>, Status> {
        let all = self.store.cached(INFO.resource());
        let found = all.get(&call.namespace, &call.name).cloned();
        found.ok_or_else(|| Status::not_found(INFO.resource(), &call.name))
    }

    async fn list(&self, _: &Call, _: &ListQuery) -> Result<Arc<dyn Listing>, Status> {
        let all = self.store.cached(INFO.resource());
        let all: Vec<Arc<Object>> = all.iter(None, None).map(|(_, desk)| Arc::clone(desk)).collect();
        Ok(Arc::new(all))
    }

    async fn create(&self, call: &Call, mut object: Value) -> Result<Reply, Status> {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        object["metadata"]["namespace"] = call.namespace.as_str().into();
        object["metadata"]["uid"] = format!("uid-{name}").into();
        let call = Call { name, ..call.clone() };
        let made = self.commit(&call, Verb::Create, Expect::Absent, Some(&object))?;
        Ok(Reply::Object(made))
    }

    async fn update(&self, call: &Call, object: Value) -> Result<Reply, Status> {
        use std::sync::atomic::Ordering::SeqCst;
        let late = self.late.fetch_update(SeqCst, SeqCst, |late| late.checked_sub(1));
        if late.is_ok() {
            return Err(Status::conflict(
                INFO.resource(),
                &call.name,
                "somebody was faster",
            ));
        }
        let current = self.get(call).await?;
        if call.dry_run {
            return Ok(Reply::Value(object));
        }
        let at = Expect::At(current.revision());
        self.commit(call, Verb::Update, at, Some(&object))
            .map(Reply::Object)
    }

    async fn delete(&self, call: &Call) -> Result<Option<Reply>, Status> {
        let current = self.get(call).await?;
        if !call.dry_run {
            self.commit(call, Verb::Delete, Expect::At(current.revision()), None)?;
        }
        Ok(None)
    }

    fn source(&self) -> Option<&dyn Source> {
        Some(&*self.store)
    }
}

/// A client of the desks; the first `late` updates conflict.
fn client(late: usize) -> Client {
    let desks = Desks {
        store: Arc::default(),
        late: late.into(),
    };
    let group = Group::new(GROUP, vec![Resource::computed(Desk, desks)]);
    let api = ApiState::new(&[group], Chain::default(), testing::clock()).unwrap();
    Client {
        api: Arc::new(api),
        toys: toys::Toys::new(berth_storage::Limits::default()),
    }
}

fn desk(name: &str) -> Value {
    json!({"apiVersion": "desks.example.com/v1", "kind": "Desk", "metadata": {"name": name}, "legs": 4})
}

#[tokio::test]
async fn a_computed_object_is_created_updated_patched_and_deleted() {
    let client = client(0);
    let made = client.post(DESKS, &desk("a")).await.expect(201);
    assert_eq!(made["metadata"]["uid"], "uid-a");

    let mut taken = made.clone();
    taken["owner"] = "ann".into();
    let taken = client.put(&format!("{DESKS}/a"), &taken).await.expect(200);
    assert_eq!(taken["owner"], "ann");
    // The version that was read before the update is outdated.
    let late = client.put(&format!("{DESKS}/a"), &made).await;
    late.refusal(409, "Conflict");

    let patched = client
        .merge(&format!("{DESKS}/a"), &json!({"legs": 6}))
        .await
        .expect(200);
    assert_eq!((&patched["legs"], &patched["owner"]), (&json!(6), &json!("ann")));
    let refused = client
        .merge(&format!("{DESKS}/a"), &json!({"legs": 2, "owner": "bob"}))
        .await;
    let text = refused.refusal(422, "Invalid");
    assert!(
        text.contains("legs") && text.contains("owner: Forbidden: it is taken"),
        "{text}"
    );
    let dry = client
        .merge(&format!("{DESKS}/a?dryRun=All"), &json!({"legs": 8}))
        .await;
    assert_eq!(dry.expect(200)["legs"], 8);
    assert_eq!(client.get(&format!("{DESKS}/a")).await.expect(200)["legs"], 6);
    client
        .merge(&format!("{DESKS}/none"), &json!({}))
        .await
        .refusal(404, "NotFound");

    let other = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "another"}});
    let body = other.to_string();
    let kept = client
        .send("DELETE", &format!("{DESKS}/a"), &[], body.as_bytes())
        .await;
    kept.refusal(409, "Conflict");
    let gone = client.delete(&format!("{DESKS}/a")).await.expect(200);
    assert_eq!(
        (&gone["status"], &gone["details"]["uid"]),
        (&json!("Success"), &json!("uid-a"))
    );
    client.get(&format!("{DESKS}/a")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn a_patch_of_a_computed_object_is_made_anew_when_somebody_was_faster() {
    let client = client(3);
    client.post(DESKS, &desk("a")).await.expect(201);
    let patched = client
        .merge(&format!("{DESKS}/a"), &json!({"legs": 5}))
        .await
        .expect(200);
    assert_eq!(patched["legs"], 5);
}

#[tokio::test]
async fn a_collection_of_computed_objects_is_deleted_as_far_as_it_is_selected() {
    let client = client(0);
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        let mut desk = desk(name);
        desk["metadata"]["labels"] = json!({"color": color});
        client.post(DESKS, &desk).await.expect(201);
    }
    let gone = client
        .delete(&format!("{DESKS}?labelSelector=color%3Dred"))
        .await
        .expect(200);
    assert_eq!(gone["items"].as_array().unwrap().len(), 2);
    let left = client.get(DESKS).await.expect(200);
    assert_eq!(left["items"][0]["metadata"]["name"], "b");
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn no_more_of_a_collection_is_deleted_than_the_limit_even_if_the_answer_is_a_table() {
    let client = client(0);
    for index in 0..=500 {
        let desk = desk(&format!("d{index:03}"));
        client.post(DESKS, &desk).await.expect(201);
    }
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let path = format!("{DESKS}?limit=500");
    client.send("DELETE", &path, &accept, b"").await.expect(200);
    let left = client.get(DESKS).await.expect(200);
    assert_eq!(left["items"][0]["metadata"]["name"], "d500");
}

#[tokio::test(start_paused = true)]
async fn computed_objects_are_watched_where_they_have_a_source() {
    let client = client(0);
    client.post(DESKS, &desk("a")).await.expect(201);
    let seen = client.get(&format!("{DESKS}?watch=1&timeoutSeconds=1")).await;
    let first = seen.text();
    let first: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["type"], &first["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!("a"))
    );
}

/// One desk, which belongs to the user who lists it. The list is large enough to be compressed.
struct OwnDesk;

#[async_trait]
impl Computed for OwnDesk {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn list(&self, call: &Call, _: &ListQuery) -> Result<Arc<dyn Listing>, Status> {
        let mut own = desk("own");
        own["metadata"]["namespace"] = call.namespace.as_str().into();
        own["owner"] = call.user.name.repeat(100_000).into();
        let own = Object::new(&own, Revision(7)).unwrap();
        Ok(Arc::new(vec![Arc::new(own)]))
    }
}

#[tokio::test]
async fn a_compressed_computed_list_is_not_sent_to_another_user() {
    let group = Group::new(GROUP, vec![Resource::computed(Desk, OwnDesk)]);
    let api = ApiState::new(&[group], Chain::default(), testing::clock()).unwrap();
    for user in ["ann", "bob"] {
        let mut request = Client::request("GET", DESKS, &[("accept-encoding", "gzip")], b"");
        request.user.name = user.to_owned();
        let response = api.dispatch(AuthorizedRequest::new(request)).await;
        assert_eq!(response.headers()["content-encoding"], "gzip");
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let list: Value = serde_json::from_reader(flate2::read::GzDecoder::new(&bytes[..])).unwrap();
        let owner = list["items"][0]["owner"].as_str().unwrap();
        assert!(owner.starts_with(user), "{user} sees {}", &owner[..3]);
    }
}
