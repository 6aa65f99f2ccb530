//! Writes that are committed together with an object that a client creates.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use berth_apimachinery::write::{Guard, Verb, Write};
use berth_apimachinery::{Key, Object, Revision};
use berth_storage::Source as _;
use parking_lot::Mutex;

use super::*;
use crate::registry::{CommittedTransaction, CreateHook, CreatedObject, Extension, OnCommit};

/// Resizes widgets when they are created, and creates a gadget for each.
pub(super) struct Fitter {
    /// The size, at most 10.
    size: i64,
    /// Further guards of the commit.
    guards: Vec<Guard>,
    asked: AtomicUsize,
    told: Heard,
    /// Whether the listener panics.
    is_deaf: AtomicBool,
    alone: AtomicUsize,
}

/// The revisions of each new object and of its extension.
type Heard = Arc<Mutex<Vec<Vec<u64>>>>;

/// Records commits; panics if there is no record.
fn listener(heard: Option<Heard>) -> OnCommit {
    Box::new(|CommittedTransaction { created, written }| {
        Box::pin(async move {
            let along = written.iter().map(|object| object.revision().0);
            let all = std::iter::once(created.revision().0).chain(along);
            let heard = heard.expect("somebody listens");
            heard.lock().push(all.collect());
        })
    })
}

#[async_trait]
impl CreateHook for Fitter {
    fn concerns(&self, resource: GroupResource) -> bool {
        resource.resource == "widgets"
    }

    async fn extend(&self, creating: &CreatedObject) -> Option<Extension> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let meta = creating.object.meta();
        let hears = !self.is_deaf.load(Ordering::SeqCst);
        let mut resized = creating.object.parse();
        resized["spec"]["size"] = self.size.into();
        let write = |verb, resource, namespace, object| Write {
            verb,
            key: Key::new(GroupResource::new(toys::GROUP, resource), namespace, meta.name()),
            subresource: "",
            object,
            base: None,
        };
        Some(Extension {
            user: UserInfo {
                name: "fitter".to_owned(),
                ..UserInfo::default()
            },
            manager: "wrench".to_owned(),
            cause: "a test".to_owned(),
            writes: vec![
                write(Verb::Create, "gadgets", "", gadget(meta.name())),
                write(Verb::Update, "widgets", meta.namespace(), resized),
            ],
            guards: self.guards.clone(),
            on_commit: listener(hears.then(|| Arc::clone(&self.told))),
        })
    }

    async fn created(&self, created: CreatedObject) -> Arc<Object> {
        self.alone.fetch_add(1, Ordering::SeqCst);
        created.object
    }
}

impl Fitter {
    pub(super) fn on(client: &Client, size: i64, guards: Vec<Guard>) -> Arc<Self> {
        let fitter = Arc::new(Self {
            size,
            guards,
            asked: AtomicUsize::default(),
            told: Arc::default(),
            is_deaf: AtomicBool::default(),
            alone: AtomicUsize::default(),
        });
        let hook = Arc::clone(&fitter) as Arc<dyn CreateHook>;
        client.api.registry().hook(hook);
        fitter
    }

    /// Numbers of requests for an extension, of observed commits, and of objects that were stored alone.
    pub(super) fn counts(&self) -> [usize; 3] {
        let told = self.told.lock().len();
        [
            self.asked.load(Ordering::SeqCst),
            told,
            self.alone.load(Ordering::SeqCst),
        ]
    }
}

fn gadget(name: &str) -> Value {
    json!({"apiVersion": format!("{}/v1", toys::GROUP), "kind": "Gadget", "metadata": {"name": name}})
}

async fn gadgets(client: &Client) -> usize {
    let list = client.get(GADGETS).await.expect(200);
    list["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn an_extension_is_stored_in_one_step_and_shown_in_the_answer() {
    let client = Client::new();
    let fitter = Fitter::on(&client, 9, Vec::new());
    let before = client.toys.store.revision().0;
    let made = client.post(WIDGETS, &widget("a")).await.expect(201);
    assert_eq!(*fitter.told.lock(), [[before + 1, before + 2, before + 3]]);
    assert_eq!(made["spec"]["size"], 9);
    assert_eq!(
        made["metadata"]["resourceVersion"],
        (before + 3).to_string(),
        "the answer is the object afterwards"
    );
    let managers = made["metadata"]["managedFields"].as_array().unwrap();
    assert!(managers.iter().any(|entry| entry["manager"] == "wrench"));
    assert_eq!(client.get(&at("a")).await.expect(200), made);
    assert_eq!(gadgets(&client).await, 1);
    assert_eq!(fitter.counts(), [1, 1, 0]);
}

#[tokio::test]
async fn an_object_is_stored_alone_where_its_extension_is_refused() {
    let gone = Guard::Unchanged {
        key: Key::new(GroupResource::new(toys::GROUP, "gadgets"), "", "gone"),
        revision: Revision(1),
    };
    for (why, size, guards, there) in [
        ("it is invalid", 99, vec![], 0),
        ("the world moved", 9, vec![gone], 0),
        ("the gadget is there already", 9, vec![], 1),
    ] {
        let client = Client::new();
        let fitter = Fitter::on(&client, size, guards);
        if there > 0 {
            client.post(GADGETS, &gadget("a")).await.expect(201);
        }
        let made = client.post(WIDGETS, &widget("a")).await.expect(201);
        assert_eq!(made["spec"]["size"], widget("a")["spec"]["size"], "{why}");
        assert_eq!(gadgets(&client).await, there, "{why}");
        assert_eq!(fitter.counts(), [1, 0, 1], "{why}");
    }
}

#[tokio::test]
async fn what_is_there_already_is_a_conflict_and_extends_nothing() {
    let client = Client::new();
    let fitter = Fitter::on(&client, 9, Vec::new());
    client.post(WIDGETS, &widget("a")).await.expect(201);
    client.post(WIDGETS, &widget("a")).await.expect(409);
    assert_eq!(gadgets(&client).await, 1);
    assert_eq!(fitter.counts(), [1, 1, 0], "what is to be refused costs nothing");
}

#[tokio::test]
async fn an_object_that_is_stored_is_answered_whatever_becomes_of_those_who_hear_of_it() {
    let client = Client::new();
    let fitter = Fitter::on(&client, 9, Vec::new());
    fitter.is_deaf.store(true, Ordering::SeqCst);
    let made = client.post(WIDGETS, &widget("a")).await.expect(201);
    assert_eq!(made["spec"]["size"], 9);
    assert_eq!(client.get(&at("a")).await.expect(200), made);
    assert_eq!(fitter.counts(), [1, 0, 0]);
}

#[tokio::test]
async fn an_extension_knows_a_generated_name() {
    let client = Client::new();
    let fitter = Fitter::on(&client, 9, Vec::new());
    let mut unnamed = widget("");
    unnamed["metadata"] = json!({"generateName": "w-"});
    let made = client.post(WIDGETS, &unnamed).await.expect(201);
    let name = made["metadata"]["name"].as_str().unwrap();
    client.get(&format!("{GADGETS}/{name}")).await.expect(200);
    assert_eq!(fitter.counts(), [1, 1, 0]);
}

#[tokio::test]
async fn nobody_is_asked_for_an_extension_in_a_dry_run_or_about_another_resource() {
    let client = Client::new();
    let fitter = Fitter::on(&client, 9, Vec::new());
    let dry = format!("{WIDGETS}?dryRun=All");
    client.post(&dry, &widget("a")).await.expect(201);
    assert_eq!(fitter.counts(), [0, 0, 1]);
    client.post(GADGETS, &gadget("a")).await.expect(201);
    assert_eq!(fitter.counts(), [0, 0, 1]);
}
