//! Two replicas at one fence of a hub that is played here: it keeps Leases and other objects, by its own
//! comparison of versions.

use std::sync::Arc;

use berth_apimachinery::Draft;
use berth_storage::{Expect, Limits, MemoryStore, Source as _, Step, Store, Writer as _};
use http::{Request, Response};
use kube::client::Body;

use super::*;
use crate::mirror::HubVersions;

const THINGS: GroupResource = GroupResource::new("example.com", "things");
const PARTS: GroupResource = GroupResource::new("example.com", "parts");
const FENCE: &str = "test/new-things";

/// The Leases and other objects, by path, and the number of writes so far.
#[derive(Default)]
struct Objects {
    kept: HashMap<String, Value>,
    version: u64,
    /// Whether a policy refuses to let anybody touch an object.
    refuses_patches: bool,
}

impl Objects {
    fn answer(&mut self, method: &Method, path: &str, body: &Value) -> (u16, Value) {
        let refused = |code: u16, reason: &str| {
            let status = Status::failure(code, reason, "as the test says");
            (code, serde_json::to_value(status).unwrap())
        };
        let path = match *method {
            Method::POST => format!("{path}/{}", body["metadata"]["name"].as_str().unwrap()),
            _ => path.to_owned(),
        };
        let kept = self.kept.get(&path);
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        match (method, kept) {
            (&Method::GET, Some(kept)) => (200, kept.clone()),
            (&Method::POST, Some(_)) => refused(409, "AlreadyExists"),
            (&Method::PATCH, _) if self.refuses_patches => refused(403, "Forbidden"),
            (&Method::PUT | &Method::PATCH, Some(kept)) if version(kept) != version(body) => {
                refused(409, "Conflict")
            }
            (&Method::GET | &Method::PUT | &Method::PATCH, None) => refused(404, "NotFound"),
            _ => {
                self.version += 1;
                let mut object = body.clone();
                object["metadata"]["resourceVersion"] = json!(self.version.to_string());
                self.kept.insert(path, object.clone());
                (200, object)
            }
        }
    }
}

fn client(objects: &Arc<Mutex<Objects>>) -> Client {
    let objects = Arc::clone(objects);
    let answer = move |request: Request<Body>| {
        let objects = Arc::clone(&objects);
        async move {
            let (parts, sent) = request.into_parts();
            let sent = sent.collect_bytes().await.unwrap();
            let body = serde_json::from_slice(&sent).unwrap_or_default();
            let (code, body) = objects.lock().answer(&parts.method, parts.uri.path(), &body);
            Response::builder()
                .status(code)
                .body(Body::from(body.to_string().into_bytes()))
        }
    };
    Client::new(tower::service_fn(answer), "default")
}

/// A hub with copies, and two replicas that know them.
struct World {
    store: Arc<MemoryStore>,
    versions: Arc<HubVersions>,
    objects: Arc<Mutex<Objects>>,
    one: Fences,
    two: Fences,
}

fn key(name: &str) -> Key {
    Key::new(THINGS, "ns", name)
}

fn draft(name: &str) -> Draft {
    let value = json!({"apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": name, "namespace": "ns"}});
    Draft::new(&value).unwrap()
}

/// The write that makes the thing `name`.
fn create(name: &str) -> Write {
    Write {
        verb: Verb::Create,
        key: key(name),
        subresource: "",
        object: json!({"apiVersion": "example.com/v1", "kind": "Thing"}),
        base: None,
    }
}

/// The write that changes the thing `name`.
fn update(name: &str) -> Write {
    Write {
        verb: Verb::Update,
        ..create(name)
    }
}

impl World {
    /// The thing `name` is on the hub, and copied.
    async fn with(name: &str) -> Self {
        let world = Self::new();
        world.made_unseen(name);
        world.made(name).await;
        world
    }

    fn new() -> Self {
        Self::on(Arc::default())
    }

    /// Two replicas that have seen nothing of the hub with `objects`.
    fn on(objects: Arc<Mutex<Objects>>) -> Self {
        let store = Arc::new(MemoryStore::new(Revision(1), Limits::default()));
        let versions = Arc::new(HubVersions::default());
        let copies = Copies::new(Arc::clone(&store) as Arc<dyn Store>, Arc::clone(&versions));
        let client = client(&objects);
        let fences = || {
            Fences::new(
                client.clone(),
                "berth-system".to_owned(),
                copies.clone(),
                [THINGS, PARTS].into(),
            )
        };
        let (one, two) = (fences(), fences());
        Self {
            store,
            versions,
            objects,
            one,
            two,
        }
    }

    /// `fences` passes for `write`, decided on what there is now.
    async fn pass(&self, fences: &Fences, write: &Write) -> Result<(), CommitError> {
        let now = self.store.revision();
        self.pass_by(fences, write, now).await
    }

    /// `fences` passes for `write`, decided on what there was at `not_after`.
    async fn pass_by(&self, fences: &Fences, write: &Write, not_after: Revision) -> Result<(), CommitError> {
        let writes = [(write, String::new())];
        let passed = fences.pass(FENCE, Uuid::new_v4(), &writes, not_after, "tester");
        passed.await.map(drop)
    }

    /// The first replica passes for an update of the thing `name`, as it was made.
    async fn announce_update(&self, name: &str) -> Passage {
        let (write, now) = (update(name), self.store.revision());
        let writes = [(&write, "7".to_owned())];
        let passed = self.one.pass(FENCE, Uuid::new_v4(), &writes, now, "tester");
        passed.await.unwrap()
    }

    /// The hub has made the thing `name`, which is not seen yet.
    fn made_unseen(&self, name: &str) {
        self.set_on_hub(name, "7");
    }

    /// The hub has the thing `name` at `version`.
    fn set_on_hub(&self, name: &str, version: &str) {
        let path = wire::object("example.com/v1", &key(name));
        let made = json!({"metadata": {"name": name, "resourceVersion": version}});
        self.objects.lock().kept.insert(path, made);
    }

    fn is_touched(&self, name: &str) -> bool {
        let path = wire::object("example.com/v1", &key(name));
        let objects = self.objects.lock();
        !objects.kept[&path]["metadata"]["annotations"][TOUCHED].is_null()
    }

    /// The thing `name` is made, and seen.
    async fn made(&self, name: &str) {
        self.made_at(key(name)).await;
    }

    /// An object is made at `key`, and seen.
    async fn made_at(&self, key: Key) {
        let draft = draft(&key.name);
        let hub_version = HubVersion::of(&draft, "7".to_owned());
        self.versions.record([(key.clone(), Some(hub_version))]);
        let step = Step {
            verb: Verb::Create,
            key,
            subresource: "",
            object: Some(draft),
            expect: Expect::Absent,
            guards: Vec::new(),
        };
        self.store.apply(vec![step]).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_second_waits_for_what_the_first_makes_and_counts_it() {
    let world = World::new();
    let (first, second) = (create("x"), create("y"));
    let _making = world.one.announce(std::slice::from_ref(&first));
    world.pass(&world.one, &first).await.unwrap();
    let start = Instant::now();
    let comes = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        world.made("x").await;
    };
    let (passed, ()) = tokio::join!(world.pass(&world.two, &second), comes);
    assert_eq!(
        passed.unwrap_err().reason,
        WriteRefusal::Fenced,
        "it was decided without x"
    );
    assert!(start.elapsed() < COPY_TIMEOUT);
    world.pass(&world.two, &second).await.unwrap();
    assert!(!world.one.abandoned(FENCE, &key("x")).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn what_does_not_come_is_abandoned_and_its_maker_learns_it() {
    let world = World::new();
    let (first, second) = (create("x"), create("y"));
    let making = world.one.announce(std::slice::from_ref(&first));
    world.pass(&world.one, &first).await.unwrap();
    let start = Instant::now();
    world.pass(&world.two, &second).await.unwrap();
    assert!(start.elapsed() >= COPY_TIMEOUT);
    assert!(world.one.abandoned(FENCE, &key("x")).await.unwrap());
    assert!(!world.two.abandoned(FENCE, &key("y")).await.unwrap());
    // It begins anew: then it is nothing that was abandoned.
    drop(making);
    world.made("y").await;
    let _making = world.one.announce(std::slice::from_ref(&first));
    world.pass(&world.one, &first).await.unwrap();
    assert!(!world.one.abandoned(FENCE, &key("x")).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_what_he_gave_up_himself() {
    let world = World::new();
    let (first, second) = (create("x"), create("y"));
    let making = world.one.announce(std::slice::from_ref(&first));
    world.pass(&world.one, &first).await.unwrap();
    drop(making);
    let start = Instant::now();
    world.pass(&world.one, &second).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    // While it is being made, one's own is waited for like anybody's.
    let _making = world.one.announce(std::slice::from_ref(&second));
    let third = create("z");
    world.pass(&world.one, &third).await.unwrap();
    assert!(start.elapsed() >= COPY_TIMEOUT);
    assert!(world.one.abandoned(FENCE, &key("y")).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn what_the_hub_has_made_counts_although_its_copy_is_late() {
    let world = World::new();
    let (first, second) = (create("x"), create("y"));
    let making = world.one.announce(std::slice::from_ref(&first));
    world.pass(&world.one, &first).await.unwrap();
    world.made_unseen("x");
    // The maker no longer waits for the copy.
    drop(making);
    for fences in [&world.one, &world.two] {
        let passed = world.pass(fences, &second).await;
        assert_eq!(passed.unwrap_err().reason, WriteRefusal::Fenced);
    }
    assert!(!world.one.abandoned(FENCE, &key("x")).await.unwrap());
    world.made("x").await;
    world.pass(&world.one, &second).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_made_of_another_resource_is_waited_for_too() {
    let world = World::new();
    let first = create("x");
    let mut second = create("y");
    second.key.resource = PARTS;
    let _making = world.one.announce(std::slice::from_ref(&first));
    world.pass(&world.one, &first).await.unwrap();
    let start = Instant::now();
    world.pass(&world.two, &second).await.unwrap();
    assert!(start.elapsed() >= COPY_TIMEOUT);
    assert!(world.one.abandoned(FENCE, &key("x")).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn what_two_try_to_make_is_being_made_until_both_have_ended() {
    let world = World::new();
    let (first, second) = (create("x"), create("y"));
    let _making = world.one.announce(std::slice::from_ref(&first));
    drop(world.one.announce(std::slice::from_ref(&first)));
    world.pass(&world.one, &first).await.unwrap();
    let start = Instant::now();
    world.pass(&world.one, &second).await.unwrap();
    assert!(start.elapsed() >= COPY_TIMEOUT, "x may still appear");
    assert!(world.one.abandoned(FENCE, &key("x")).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_note_that_was_taken_back() {
    let x = key("x");
    for (sent, waits) in [(BTreeSet::new(), false), (BTreeSet::from([&x]), true)] {
        let world = World::with("x").await;
        let start = Instant::now();
        let passage = world.announce_update("x").await;
        world.one.take_back(vec![passage], &sent).await;
        let passed = world.pass(&world.two, &create("y")).await;
        assert_eq!(passed.is_err(), waits);
        assert_eq!(start.elapsed() >= COPY_TIMEOUT, waits);
        assert_eq!(world.is_touched("x"), waits);
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_is_not_touched_if_its_note_is_taken_back_meanwhile() {
    let world = World::with("x").await;
    let passage = world.announce_update("x").await;
    let second = create("y");
    let refusal = async {
        tokio::time::sleep(COPY_TIMEOUT / 2).await;
        world.one.take_back(vec![passage], &BTreeSet::new()).await;
    };
    let (passed, ()) = tokio::join!(world.pass(&world.two, &second), refusal);
    assert_eq!(passed.unwrap_err().reason, WriteRefusal::Fenced);
    assert!(!world.is_touched("x"));
    world.pass(&world.two, &second).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_passes_after_writes_without_an_effect_has_counted_the_writes_before_them() {
    let world = World::with("x").await;
    let stale = world.store.revision();
    world.pass(&world.one, &create("y")).await.unwrap();
    world.made("y").await;
    let passage = world.announce_update("x").await;
    world.one.take_back(vec![passage], &BTreeSet::new()).await;
    // The note about x was taken back; then z is abandoned.
    for (fences, write) in [(&world.two, create("z")), (&world.one, create("w"))] {
        let passed = world.pass_by(fences, &write, stale).await;
        assert_eq!(passed.unwrap_err().reason, WriteRefusal::Fenced, "y is missing");
        world.pass(fences, &write).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_counted_of_one_resource_is_required_also_after_writes_to_another() {
    let world = World::new();
    world.pass(&world.one, &create("x")).await.unwrap();
    world.made_unseen("x");
    world.made("x").await;
    let mut parts = Vec::new();
    for name in ["p", "q"] {
        let mut write = create(name);
        write.key.resource = PARTS;
        world.pass(&world.one, &write).await.unwrap();
        world.made_at(write.key.clone()).await;
        parts.push(write.key);
        // A replica that sees all parts, and no thing yet.
        let late = World::on(Arc::clone(&world.objects));
        for part in &parts {
            late.made_at(part.clone()).await;
        }
        let passed = late.pass(&late.one, &create("y")).await;
        let missing = passed.unwrap_err();
        assert_eq!(missing.reason, WriteRefusal::Fenced);
        assert!(
            missing.status.message.contains("ns/x "),
            "{}",
            missing.status.message
        );
    }
    world.pass(&world.one, &create("y")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_create_that_was_abandoned_before_keeps_its_note() {
    let world = World::new();
    let first = create("x");
    world.pass(&world.one, &first).await.unwrap();
    world.pass(&world.two, &create("y")).await.unwrap();
    world.made("y").await;
    let (writes, now) = ([(&first, String::new())], world.store.revision());
    let passed = world.one.pass(FENCE, Uuid::new_v4(), &writes, now, "tester");
    let passage = passed.await.unwrap();
    world.one.take_back(vec![passage], &BTreeSet::new()).await;
    assert!(!world.one.abandoned(FENCE, &key("x")).await.unwrap());
    world.pass(&world.two, &create("z")).await.unwrap();
    assert!(
        world.one.abandoned(FENCE, &key("x")).await.unwrap(),
        "its first attempt may still happen"
    );
}

#[tokio::test(start_paused = true)]
async fn a_create_that_another_replica_may_still_make_keeps_its_note() {
    let world = World::new();
    let first = create("x");
    world.pass(&world.one, &first).await.unwrap();
    let (writes, now) = ([(&first, String::new())], world.store.revision());
    let passed = world.two.pass(FENCE, Uuid::new_v4(), &writes, now, "tester");
    let passage = passed.await.unwrap();
    world.two.take_back(vec![passage], &BTreeSet::new()).await;
    // The second replica knows nothing about the first one's attempt either.
    world.pass(&world.two, &create("y")).await.unwrap();
    assert!(world.one.abandoned(FENCE, &key("x")).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_write_to_an_object_that_cannot_be_touched_counts_as_failed_after_a_while() {
    let world = World::with("x").await;
    world.announce_update("x").await;
    world.objects.lock().refuses_patches = true;
    let (second, start) = (create("y"), Instant::now());
    let error = world.pass(&world.two, &second).await.unwrap_err();
    assert_eq!((error.reason, error.status.code), (WriteRefusal::Refused, 503));
    let message = error.status.message;
    assert!(
        message.contains(FENCE) && !message.contains("as the test says"),
        "{message}"
    );
    assert!(start.elapsed() >= COPY_TIMEOUT);
    let again = Instant::now();
    assert!(world.pass(&world.two, &second).await.is_err());
    assert_eq!(again.elapsed(), Duration::ZERO, "nobody waits for it once more");
    tokio::time::advance(LATE_LIMIT).await;
    world.set_on_hub("x", "8");
    let passed = world.pass(&world.two, &second).await;
    assert!(passed.is_err(), "x has changed, which is not seen yet");
    world.set_on_hub("x", "7");
    world.pass(&world.two, &second).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_write_is_not_sent_long_after_its_note() {
    let world = World::with("x").await;
    let passage = world.announce_update("x").await;
    assert!(passage.check_time().is_ok());
    tokio::time::advance(SEND_LIMIT).await;
    let error = passage.check_time().unwrap_err();
    assert_eq!(error.reason, WriteRefusal::Fenced);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_could_not_be_touched_is_touched_as_soon_as_it_can_be() {
    let world = World::with("x").await;
    world.announce_update("x").await;
    for refuses_patches in [true, false] {
        world.objects.lock().refuses_patches = refuses_patches;
        let error = world.pass(&world.two, &create("y")).await.unwrap_err();
        assert_eq!(error.reason == WriteRefusal::Refused, refuses_patches);
        assert_eq!(world.is_touched("x"), !refuses_patches);
    }
    let start = Instant::now();
    assert!(world.pass(&world.two, &create("y")).await.is_err());
    assert!(
        start.elapsed() >= COPY_TIMEOUT,
        "the copy of the touched object is waited for"
    );
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_object_cannot_be_touched_is_waited_for_once_at_all_its_fences() {
    let world = World::with("x").await;
    let (update, create, now) = (update("x"), create("y"), world.store.revision());
    let (first, second) = ([(&update, "7".to_owned())], [(&create, String::new())]);
    let commit = Uuid::new_v4();
    for fence in [FENCE, "test/other-things"] {
        let passed = world.one.pass(fence, commit, &first, now, "tester");
        passed.await.unwrap();
    }
    world.objects.lock().refuses_patches = true;
    let commit = Uuid::new_v4();
    let passed = world.two.pass(FENCE, commit, &second, now, "tester").await;
    assert_eq!(passed.err().unwrap().status.code, 503);
    tokio::time::advance(LATE_LIMIT).await;
    let start = Instant::now();
    for fence in [FENCE, "test/other-things"] {
        let passed = world.two.pass(fence, commit, &second, now, "tester");
        passed.await.unwrap();
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    // Another commit may note the same version.
    world.announce_update("x").await;
    let passed = world.two.pass(FENCE, commit, &second, now, "tester").await;
    assert_eq!(passed.err().unwrap().status.code, 503);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_changes_before_it_is_seen_counts_and_a_deleted_one_does_not() {
    let world = World::new();
    world.made_unseen("x");
    world.announce_update("x").await;
    let passed = world.pass(&world.two, &create("y")).await;
    assert_eq!(passed.unwrap_err().reason, WriteRefusal::Fenced);
    world
        .objects
        .lock()
        .kept
        .retain(|path, _| path.contains("/leases/"));
    world.pass(&world.two, &create("y")).await.unwrap();
}
