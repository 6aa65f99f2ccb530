//! Admission around the store: verdicts that are outdated are repeated, and observers follow a create.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use berth_admission::{Denial, Operation, Plugin, Ready, Request};
use berth_apimachinery::write::{Guard, Verb, Write, WriteRefusal};
use berth_apimachinery::{Key, Object, Revision};
use berth_storage::Limits;

use super::*;
use crate::registry::{Author, CreateHook, CreatedObject};

/// Returns a fence that others have already passed, a configured number of times.
struct Racer {
    losing: usize,
    judged: AtomicUsize,
    waited: AtomicUsize,
}

impl Racer {
    fn losing(times: usize) -> Arc<Self> {
        Arc::new(Self {
            losing: times,
            judged: AtomicUsize::new(0),
            waited: AtomicUsize::new(0),
        })
    }

    fn counts(&self) -> (usize, usize) {
        (
            self.waited.load(Ordering::SeqCst),
            self.judged.load(Ordering::SeqCst),
        )
    }
}

struct Shared(Arc<Racer>);

impl Plugin for Shared {
    fn name(&self) -> &'static str {
        "Racer"
    }
    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation != Operation::Update || request.subresource.is_empty()
    }
    fn ready<'a>(&'a self, _: &Request<'_>) -> Option<Ready<'a>> {
        Some(Box::pin(async {
            tokio::task::yield_now().await;
            self.0.waited.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }))
    }
    fn validate(&self, _: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denial> {
        Ok(())
    }
    fn guards(&self, _: &Request<'_>, _: Option<&Value>) -> Vec<Guard> {
        let lost = self.0.judged.fetch_add(1, Ordering::SeqCst) < self.0.losing;
        let not_after = if lost { Revision(0) } else { Revision(u64::MAX) };
        vec![Guard::Fence {
            name: "fence".into(),
            not_after,
        }]
    }
    fn annotate(&self, request: &Request<'_>, _: Option<&Value>) -> Vec<(&'static str, String)> {
        vec![("operation", request.operation.as_str().to_owned())]
    }
}

fn client(racer: &Arc<Racer>) -> Client {
    let chain = Chain::new(vec![Arc::new(Shared(Arc::clone(racer)))]);
    Client::over(toys::Toys::new(Limits::default()), chain)
}

#[tokio::test]
async fn a_write_whose_guard_fails_is_judged_again() {
    let racer = Racer::losing(2);
    let client = client(&racer);
    client.post(WIDGETS, &widget("a")).await.expect(201);
    assert_eq!(racer.counts(), (3, 3), "two lost races and one won");
    let mut changed = client.get(&at("a")).await.expect(200);
    changed["spec"]["size"] = 9.into();
    client.put(&at("a"), &changed).await.expect(200);
    client.delete(&at("a")).await.expect(200);
    assert_eq!(racer.counts(), (5, 5));
}

#[tokio::test]
async fn a_delete_that_lost_a_race_is_judged_again() {
    let racer = Racer::losing(0);
    let first = client(&racer);
    first.post(WIDGETS, &widget("a")).await.expect(201);
    let racer = Racer::losing(3);
    let chain = Chain::new(vec![Arc::new(Shared(Arc::clone(&racer)))]);
    let second = Client::over(first.toys, chain);
    second.delete(&at("a")).await.expect(200);
    assert_eq!(racer.counts(), (4, 4));
    second.get(&at("a")).await.expect(404);
}

#[tokio::test]
async fn a_write_inside_is_judged_again_unless_its_author_lost_the_race() {
    let racer = Racer::losing(2);
    let client = client(&racer);
    let user = UserInfo::default();
    let author = Author {
        user: &user,
        manager: "robots",
        cause: None,
    };
    let create = |name: &str| Write {
        verb: Verb::Create,
        key: Key::new(GroupResource::new(toys::GROUP, "widgets"), "default", name),
        subresource: "",
        object: widget(name),
        base: None,
    };
    let registry = client.api.registry();
    let writes = vec![create("a")];
    let made = registry.commit(author, writes, Vec::new(), false).await;
    assert_eq!(made.unwrap().len(), 1);
    assert_eq!(racer.counts(), (3, 3), "two lost races and one won");
    let own = vec![Guard::Fence {
        name: "fence".into(),
        not_after: Revision(0),
    }];
    let late = registry.commit(author, vec![create("b")], own, false).await;
    assert_eq!(late.unwrap_err().reason, WriteRefusal::Fenced);
    assert_eq!(racer.counts(), (4, 4), "the decision is outdated");
}

#[tokio::test]
async fn plugins_annotate_the_audit_event() {
    let client = client(&Racer::losing(0));
    let request = Client::request(
        "POST",
        WIDGETS,
        &[("content-type", "application/json")],
        widget("a").to_string().as_bytes(),
    );
    let annotations = request.annotations.clone();
    client.api.answer(&request).await.unwrap();
    assert_eq!(annotations.all()["admission.berth.dev/operation"], "CREATE");
}

struct Paints;

#[async_trait]
impl CreateHook for Paints {
    fn concerns(&self, _: GroupResource) -> bool {
        true
    }

    async fn created(&self, created: CreatedObject) -> Arc<Object> {
        created.warnings.add(if created.dry_run {
            "would be painted"
        } else {
            "painted"
        });
        let mut value = created.object.parse();
        value["spec"]["color"] = created.user.name.into();
        Arc::new(Object::new(&value, created.object.revision()).unwrap())
    }
}

#[tokio::test]
async fn what_follows_a_create_is_in_its_answer() {
    let client = client(&Racer::losing(0));
    client.api.registry().hook(Arc::new(Paints));
    let answer = client.post(WIDGETS, &widget("a")).await;
    assert_eq!(answer.expect(201)["spec"]["color"], "alice");
    assert_eq!(answer.warnings, ["painted"]);
    let dry = client.post(&format!("{WIDGETS}?dryRun=All"), &widget("b")).await;
    assert_eq!(dry.expect(201)["spec"]["color"], "alice");
    assert_eq!(dry.warnings, ["would be painted"]);
    client.get(&at("b")).await.expect(404);
}
