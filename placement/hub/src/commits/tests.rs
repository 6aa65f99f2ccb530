//! Writes on a hub that is played here: what it answers, and when its changes are seen.

use async_trait::async_trait;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, Key};
use berth_storage::{Expect, Limits, MemoryStore, Source as _, Step, Store, Writer as _};
use http::{Request, Response};
use kube::client::Body;
use tokio::time::Instant;

use super::*;
use crate::mirror::{HubVersion, HubVersions};

mod late;
mod mixed;
mod overruled;
mod refused;

const THINGS: GroupResource = GroupResource::new("example.com", "things");

/// A hub that answers every write with one Status or object, and what is seen of it here.
struct World {
    store: Arc<MemoryStore>,
    versions: Arc<HubVersions>,
    committer: Arc<HubCommitter>,
    key: Key,
    asked: Arc<Mutex<Vec<HubRequest>>>,
}

/// The thing as it is on the hub at `version`, without its version.
fn thing(version: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": "a", "namespace": "ns", "labels": {"state": format!("s{version}")}}})
}

fn draft(version: &str) -> Draft {
    Draft::new(&thing(version)).unwrap()
}

/// Request that a hub was sent: the method and the path, as whom, and the body.
type HubRequest = (String, String, Value);

/// A client of a hub that answers as `says` says to the method and path; what it is asked is noted in
/// `asked`.
fn client(
    says: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static,
    asked: &Arc<Mutex<Vec<HubRequest>>>,
) -> Client {
    let (asked, says) = (Arc::clone(asked), Arc::new(says));
    let answer = move |request: Request<Body>| {
        let (asked, says) = (Arc::clone(&asked), Arc::clone(&says));
        async move {
            let (parts, sent) = request.into_parts();
            let sent = sent.collect_bytes().await.unwrap();
            let user = parts.headers.get("impersonate-user");
            let user = user.map_or("", |user| user.to_str().unwrap());
            let line = format!("{} {}", parts.method, parts.uri);
            let (code, body) = says(&line);
            let sent = serde_json::from_slice(&sent).unwrap_or_default();
            asked.lock().push((line, user.to_owned(), sent));
            Response::builder()
                .status(code)
                .body(Body::from(body.to_string().into_bytes()))
        }
    };
    Client::new(tower::service_fn(answer), "default")
}

struct Nobody;

#[async_trait]
impl Committer for Nobody {
    async fn commit(&self, _: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        panic!("everything here is the hub's")
    }
}

impl World {
    /// The thing is at `version` here and, as far as is known, on the hub; the hub answers with `code` and
    /// `body`.
    async fn new(version: Option<&str>, code: u16, body: Value) -> Self {
        Self::with(version, move |_| (code, body.clone())).await
    }

    /// Hub whose answer depends on the request.
    async fn with(
        version: Option<&str>,
        says: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static,
    ) -> Self {
        Self::beside(Arc::new(Nobody), version, says).await
    }

    /// Hub beside `own`, which commits objects that are not the hub's.
    async fn beside(
        own: Arc<dyn Committer>,
        version: Option<&str>,
        says: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static,
    ) -> Self {
        let store = Arc::new(MemoryStore::new(Revision(1), Limits::default()));
        let versions = Arc::new(HubVersions::default());
        let copies = Copies::new(Arc::clone(&store) as Arc<dyn Store>, Arc::clone(&versions));
        let asked = Arc::default();
        let committer = HubCommitter::new(client(says, &asked), "berth-system", copies, [THINGS].into(), own);
        let world = Self {
            store,
            versions,
            committer: Arc::new(committer),
            key: Key::new(THINGS, "ns", "a"),
            asked,
        };
        if version.is_some() {
            world.seen(version);
            world.copied(version).await;
        }
        world
    }

    /// The watch of the hub has brought this.
    fn seen(&self, version: Option<&str>) {
        let hub_version = version.map(|version| HubVersion::of(&draft(version), version.to_owned()));
        self.versions.record([(self.key.clone(), hub_version)]);
    }

    /// It is in the store, too.
    async fn copied(&self, version: Option<&str>) {
        let is_there = self.store.cached(THINGS).get("ns", "a").is_some();
        let (verb, expect) = match (version, is_there) {
            (Some(_), false) => (Verb::Create, Expect::Absent),
            (Some(_), true) => (Verb::Update, Expect::Present),
            (None, _) => (Verb::Delete, Expect::Present),
        };
        let step = Step {
            verb,
            key: self.key.clone(),
            subresource: "",
            object: version.map(draft),
            expect,
            guards: Vec::new(),
        };
        self.store.apply(vec![step]).await.unwrap();
    }

    async fn hear(&self, news: News) {
        match news {
            Seen(version) => self.seen(version),
            Copied(version) => self.copied(version).await,
        }
    }

    /// The write of a label, decided on the copy there is.
    fn commit(&self, verb: Verb) -> Commit {
        let copy = self.store.cached(THINGS).get("ns", "a").cloned();
        Commit {
            actor: "berth:scheduler",
            manager: "berth-test-scheduler".to_owned(),
            cause: "a test".to_owned(),
            writes: vec![Write {
                verb,
                key: self.key.clone(),
                subresource: "",
                object: thing("decided"),
                base: copy.map(|copy| copy.revision()),
            }],
            guards: Vec::new(),
            dry_run: false,
        }
    }
}

fn says(code: u16, reason: &str) -> Value {
    serde_json::to_value(Status::failure(code, reason, "as the test says")).unwrap()
}

/// News of the hub, each after a tenth of a second: into what is known of the hub, and into the store.
#[derive(Clone, Copy)]
enum News {
    Seen(Option<&'static str>),
    Copied(Option<&'static str>),
}

use News::{Copied, Seen};

/// One write that is lost, and what is to be waited for.
struct LostWrite {
    what: &'static str,
    verb: Verb,
    /// The version it was decided on.
    on: Option<&'static str>,
    answer: (u16, &'static str),
    news: &'static [News],
    /// After how many of the news there is nothing more to wait for; `None`: not before the time is over.
    learned: Option<u32>,
}

const LOST: &[LostWrite] = &[
    LostWrite {
        what: "somebody else changed it",
        verb: Verb::Update,
        on: Some("5"),
        answer: (409, "Conflict"),
        news: &[Seen(Some("7")), Copied(Some("7")), Seen(Some("8"))],
        learned: Some(2),
    },
    LostWrite {
        what: "what is known already, once more, is no news",
        verb: Verb::Update,
        on: Some("5"),
        answer: (409, "Conflict"),
        news: &[Seen(Some("5")), Seen(Some("10")), Copied(Some("10"))],
        learned: Some(3),
    },
    LostWrite {
        what: "somebody deleted it, and the hub says conflict",
        verb: Verb::Update,
        on: Some("5"),
        answer: (409, "Conflict"),
        news: &[Seen(None), Copied(None)],
        learned: Some(2),
    },
    LostWrite {
        what: "somebody deleted it, and the hub says so",
        verb: Verb::Update,
        on: Some("5"),
        answer: (404, "NotFound"),
        news: &[Seen(None), Copied(None)],
        learned: Some(2),
    },
    LostWrite {
        what: "a delete of what was changed",
        verb: Verb::Delete,
        on: Some("5"),
        answer: (409, "Conflict"),
        news: &[Seen(Some("6")), Copied(Some("6"))],
        learned: Some(2),
    },
    LostWrite {
        what: "somebody else made it first",
        verb: Verb::Create,
        on: None,
        answer: (409, "AlreadyExists"),
        news: &[Seen(Some("9")), Copied(Some("9"))],
        learned: Some(2),
    },
    LostWrite {
        what: "the hub shows nothing",
        verb: Verb::Update,
        on: Some("5"),
        answer: (409, "Conflict"),
        news: &[],
        learned: None,
    },
    LostWrite {
        what: "the news is known, but its copy does not come",
        verb: Verb::Update,
        on: Some("5"),
        answer: (409, "Conflict"),
        news: &[Seen(Some("7"))],
        learned: None,
    },
];

#[tokio::test(start_paused = true)]
async fn who_lost_a_race_waits_for_what_has_changed_and_no_longer() {
    const TICK: Duration = Duration::from_millis(100);
    for lost in LOST {
        let what = lost.what;
        let world = World::new(lost.on, lost.answer.0, says(lost.answer.0, lost.answer.1)).await;
        let (commit, start) = (world.commit(lost.verb), Instant::now());
        let committer = Arc::clone(&world.committer);
        let committing = tokio::spawn(async move { (committer.commit(commit).await, start.elapsed()) });
        for news in lost.news {
            tokio::time::sleep(TICK).await;
            world.hear(*news).await;
        }
        let (result, took) = committing.await.unwrap();
        let error = result.unwrap_err();
        assert!(error.reason.is_outdated(), "{what}: {error:?}");
        let status = error.status;
        assert_eq!((status.code, &*status.reason), lost.answer, "{what}");
        let expected = lost.learned.map_or(CONFLICT_TIMEOUT, |count| TICK * count);
        // Timers have a resolution of a millisecond.
        assert!(
            took >= expected && took < expected + Duration::from_millis(5),
            "{what}: {took:?}, not {expected:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_at_once() {
    let world = World::new(Some("5"), 403, says(403, "Forbidden")).await;
    let start = Instant::now();
    let result = world.committer.commit(world.commit(Verb::Update)).await;
    assert!(
        matches!(&result, Err(error) if error.reason == WriteRefusal::Refused && error.status.code == 403),
        "{result:?}"
    );
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_finds_no_namespace_is_refused_and_not_decided_again() {
    let world = World::new(None, 404, says(404, "NotFound")).await;
    let refused = world.committer.commit(world.commit(Verb::Create)).await;
    let error = refused.unwrap_err();
    assert_eq!((error.reason, error.status.code), (WriteRefusal::Refused, 404));
}

#[tokio::test(start_paused = true)]
async fn a_stale_write_that_a_guard_refuses_is_a_conflict() {
    for (current, is_conflict) in [("7", true), ("5", false)] {
        let world = World::with(Some("5"), move |line| match line.split(' ').next() {
            Some("GET") => (200, json!({"metadata": {"resourceVersion": current}})),
            _ => (403, says(403, "Forbidden")),
        })
        .await;
        let commit = world.commit(Verb::Update);
        let refused = world.committer.commit(commit).await.unwrap_err();
        let moved = refused.reason == WriteRefusal::Changed && refused.status.code == 409;
        assert_eq!(moved, is_conflict, "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_behind_what_is_known_of_the_hub_is_not_written_on() {
    // The hub would say yes, to a write it was never asked for.
    let world = World::new(Some("5"), 200, thing("6")).await;
    world.seen(Some("6"));
    let result = world.committer.commit(world.commit(Verb::Update)).await;
    assert!(
        matches!(&result, Err(error) if error.reason == WriteRefusal::Changed && error.status.code == 409),
        "{result:?}"
    );
}

/// One write that the hub takes, and when its echo is complete.
struct TakenWrite {
    what: &'static str,
    verb: Verb,
    answer: fn() -> Value,
    news: &'static [News],
    /// After how many of the news it is.
    echoed: u32,
}

/// The thing as the hub answers a write of what was decided, at `version`.
fn at(version: &str, metadata: &Value) -> Value {
    let mut answer = thing("decided");
    answer["metadata"]["resourceVersion"] = json!(version);
    for (field, value) in metadata.as_object().unwrap() {
        answer["metadata"][field] = value.clone();
    }
    answer
}

const TAKEN: &[TakenWrite] = &[
    TakenWrite {
        what: "an update is seen and copied",
        verb: Verb::Update,
        answer: || at("7", &json!({})),
        news: &[
            Seen(Some("6")),
            Copied(Some("6")),
            Seen(Some("7")),
            Copied(Some("7")),
        ],
        echoed: 4,
    },
    TakenWrite {
        what: "an update takes the last finalizer off, and the object goes",
        verb: Verb::Update,
        answer: || at("7", &json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})),
        news: &[Seen(None), Copied(None)],
        echoed: 2,
    },
    TakenWrite {
        what: "a delete is done",
        verb: Verb::Delete,
        answer: || json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success"}),
        news: &[Seen(None), Copied(None)],
        echoed: 2,
    },
    TakenWrite {
        what: "a delete is held up by a finalizer",
        verb: Verb::Delete,
        answer: || {
            let held =
                json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/held"]});
            at("7", &held)
        },
        news: &[Seen(Some("7")), Copied(Some("7"))],
        echoed: 2,
    },
];

#[tokio::test(start_paused = true)]
async fn a_write_is_done_when_its_copy_shows_it_and_no_later() {
    const TICK: Duration = Duration::from_millis(100);
    for taken in TAKEN {
        let what = taken.what;
        let world = World::new(Some("5"), 200, (taken.answer)()).await;
        let (commit, start) = (world.commit(taken.verb), Instant::now());
        let committer = Arc::clone(&world.committer);
        let committing = tokio::spawn(async move { (committer.commit(commit).await, start.elapsed()) });
        for news in taken.news {
            tokio::time::sleep(TICK).await;
            world.hear(*news).await;
        }
        let (result, took) = committing.await.unwrap();
        assert!(result.is_ok(), "{what}: {result:?}");
        let expected = TICK * taken.echoed;
        assert!(
            took >= expected && took < expected + Duration::from_millis(5),
            "{what}: {took:?}, not {expected:?}"
        );
    }
}

/// One user's write of the thing as it is copied here.
async fn alone(world: &World, verb: Verb) -> Result<Arc<Object>, CommitError> {
    let current = world.store.cached(THINGS).get("ns", "a").cloned().unwrap();
    let write = Write {
        verb,
        key: world.key.clone(),
        subresource: "",
        object: match verb {
            Verb::Delete => Value::Null,
            _ => thing("held"),
        },
        base: Some(current.revision()),
    };
    world.committer.write_alone("alice", &write, true).await
}

#[tokio::test(start_paused = true)]
async fn a_write_alone_is_asked_of_the_hub_as_its_user_on_the_version_that_was_seen() {
    let world = World::new(Some("5"), 200, at("6", &json!({}))).await;
    let written = alone(&world, Verb::Update).await.unwrap();
    assert_eq!(written.meta().labels().get("state"), Some("sdecided"));
    let asked = world.asked.lock().clone();
    let [(line, user, sent)] = &asked[..] else {
        panic!("{asked:?}")
    };
    assert_eq!(line, "PUT /apis/example.com/v1/namespaces/ns/things/a?dryRun=All");
    assert_eq!(user, "alice");
    assert_eq!(
        (
            &sent["metadata"]["resourceVersion"],
            &sent["metadata"]["labels"]["state"]
        ),
        (&json!("5"), &json!("sheld"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_write_alone_is_the_hubs() {
    let said = "users \"alice\" is forbidden: User \"berth\" cannot impersonate resource \"users\"";
    let body = serde_json::to_value(Status::failure(403, "Forbidden", said)).unwrap();
    let review = |allowed: bool| (201, json!({"status": {"allowed": allowed}}));
    for (verb, may, why) in [
        (Verb::Update, review(true), WriteRefusal::Refused),
        (Verb::Update, review(false), WriteRefusal::Forbidden),
        (Verb::Delete, review(false), WriteRefusal::Forbidden),
        (Verb::Update, (403, body.clone()), WriteRefusal::Forbidden),
        (
            Verb::Update,
            (500, says(500, "InternalError")),
            WriteRefusal::Refused,
        ),
    ] {
        let body = body.clone();
        let world = World::with(Some("5"), move |line| match line {
            "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews" => may.clone(),
            _ => (403, body.clone()),
        })
        .await;
        let error = alone(&world, verb).await.unwrap_err();
        assert_eq!(error.reason, why);
        let status = error.status;
        assert_eq!((status.code, status.message.as_str()), (403, said));
        let asked = world.asked.lock().clone();
        let (_, user, review) = asked.last().unwrap();
        let attributes = &review["spec"]["resourceAttributes"];
        assert_eq!(user, "alice");
        assert_eq!(
            (&attributes["verb"], &attributes["group"], &attributes["name"]),
            (&json!(verb.as_str()), &json!("example.com"), &json!("a"))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_hub_is_asked_what_is_labelled_there() {
    let list = json!({"kind": "ThingList", "items": [
        {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]});
    let world = World::new(None, 200, list).await;
    let label = "state.internal.workloads.kcp.dev/u-1";
    let named = world
        .committer
        .labelled("example.com/v1", THINGS, "ns", label)
        .await;
    assert_eq!(named.unwrap(), ["a".to_owned(), "b".to_owned()].into());
    let asked = world.asked.lock().clone();
    assert_eq!(
        asked[0].0,
        format!("GET /apis/example.com/v1/namespaces/ns/things?labelSelector={label}")
    );
}
