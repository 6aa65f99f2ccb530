//! The loop over a source that fails and falls behind on command.

use async_trait::async_trait;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Change, Draft, GroupResource, Key};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::*;
use crate::collection::Collection;
use crate::memory::MemoryStore;
use crate::source::{At, Watch};
use crate::step::{Expect, Step};

const THINGS: GroupResource = GroupResource::new("", "things");
const EXPIRED: StoreError = StoreError::Expired {
    asked: Revision(1),
    oldest: Revision(2),
};

/// A store whose watches end on command.
#[derive(Default)]
struct BreakableStore {
    store: MemoryStore,
    /// Ends the newest watch with this error.
    end: Mutex<Option<oneshot::Sender<StoreError>>>,
}

impl BreakableStore {
    fn end(&self, problem: StoreError) {
        let end = self.end.lock().take().expect("there is a watch");
        end.send(problem).expect("it is followed");
    }

    fn create(&self, name: &str) {
        let object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": name, "uid": name}});
        let step = Step {
            verb: Verb::Create,
            key: Key::new(THINGS, "", name),
            subresource: "",
            object: Some(Draft::new(&object).unwrap()),
            expect: Expect::Absent,
            guards: Vec::new(),
        };
        self.store.commit(&[step]).unwrap();
    }
}

struct BreakingWatch {
    watch: Box<dyn Watch>,
    end: oneshot::Receiver<StoreError>,
}

#[async_trait]
impl Watch for BreakingWatch {
    async fn next(&mut self, max: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        tokio::select! {
            Ok(problem) = &mut self.end => Err(problem),
            events = self.watch.next(max) => events,
        }
    }

    fn revision(&self) -> Revision {
        self.watch.revision()
    }
}

#[async_trait]
impl Source for BreakableStore {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        self.store.list(resource, at).await
    }

    fn cached(&self, resource: GroupResource) -> Collection {
        self.store.cached(resource)
    }

    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        let watch = self.store.watch(scope, after)?;
        let (sender, end) = oneshot::channel();
        *self.end.lock() = Some(sender);
        Ok(Box::new(BreakingWatch { watch, end }))
    }

    fn revision(&self) -> Revision {
        self.store.revision()
    }
}

/// Call of a handler.
#[derive(Debug, PartialEq, Eq)]
enum HandlerCall {
    List(usize),
    Changes(Vec<String>),
    Work,
    Ended,
}

/// Records its calls, and fails a configured number of times.
struct ScriptedStore {
    source: Arc<BreakableStore>,
    told: mpsc::UnboundedSender<HandlerCall>,
    lists_fail: usize,
    works_fail: usize,
}

/// Whether the call must fail.
fn fails(times: &mut usize) -> bool {
    let left = *times;
    *times = left.saturating_sub(1);
    left > 0
}

impl ScriptedStore {
    fn tell(&self, asked: HandlerCall) {
        self.told.send(asked).expect("somebody listens");
    }
}

impl Handler for ScriptedStore {
    async fn list(&mut self) -> Result<(), StoreError> {
        if fails(&mut self.lists_fail) {
            return Err(StoreError::Unavailable("starting".to_owned()));
        }
        let list = self.source.list(THINGS, At::Latest).await?;
        self.tell(HandlerCall::List(list.items.len()));
        Ok(())
    }

    async fn handle(&mut self, events: &[Arc<Event>]) {
        let name = |change: &Change| change.key.name.to_string();
        let names = events.iter().map(|event| name(&event.change)).collect();
        self.tell(HandlerCall::Changes(names));
    }

    async fn work(&mut self) -> bool {
        self.tell(HandlerCall::Work);
        !fails(&mut self.works_fail)
    }

    fn ended(&self, _: &StoreError) -> Duration {
        self.tell(HandlerCall::Ended);
        Duration::from_secs(7)
    }
}

struct World {
    source: Arc<BreakableStore>,
    asked: mpsc::UnboundedReceiver<HandlerCall>,
    stop: Option<oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<()>,
}

impl World {
    fn new(lists_fail: usize, works_fail: usize) -> Self {
        let source = Arc::new(BreakableStore::default());
        let (told, asked) = mpsc::unbounded_channel();
        let handler = ScriptedStore {
            source: Arc::clone(&source),
            told,
            lists_fail,
            works_fail,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let followed: Arc<dyn Source> = Arc::<BreakableStore>::clone(&source);
        let stopped = async move { stopped.await.unwrap_or_default() };
        let task = tokio::spawn(run(followed, Scope::One(THINGS), handler, stopped));
        Self {
            source,
            asked,
            stop: Some(stop),
            task,
        }
    }

    async fn expect(&mut self, all: impl IntoIterator<Item = HandlerCall>) {
        for asked in all {
            assert_eq!(self.asked.recv().await, Some(asked));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn changes_are_worked_on_and_an_expired_watch_is_followed_by_a_list() {
    let mut world = World::new(0, 0);
    world.expect([HandlerCall::List(0), HandlerCall::Work]).await;
    world.source.create("a");
    world
        .expect([HandlerCall::Changes(vec!["a".to_owned()]), HandlerCall::Work])
        .await;
    let before = Instant::now();
    world.source.end(EXPIRED);
    world
        .expect([HandlerCall::Ended, HandlerCall::List(1), HandlerCall::Work])
        .await;
    assert_eq!(
        before.elapsed().as_secs(),
        7,
        "the handler says how long it waits"
    );
    world.source.create("b");
    world
        .expect([HandlerCall::Changes(vec!["b".to_owned()]), HandlerCall::Work])
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_asked_again_after_a_while() {
    let before = Instant::now();
    let mut world = World::new(2, 0);
    world
        .expect([
            HandlerCall::Ended,
            HandlerCall::Ended,
            HandlerCall::List(0),
            HandlerCall::Work,
        ])
        .await;
    assert_eq!(before.elapsed().as_secs(), 14);
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_done_is_tried_again_and_what_was_done_is_not() {
    let before = Instant::now();
    let mut world = World::new(0, 1);
    world
        .expect([HandlerCall::List(0), HandlerCall::Work, HandlerCall::Work])
        .await;
    assert_eq!(before.elapsed(), ScriptedStore::RETRY_AFTER);
    let more = tokio::time::timeout(Duration::from_secs(60), world.asked.recv()).await;
    assert!(more.is_err(), "nothing is left to do: {more:?}");
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_it_is_stopped_whether_it_follows_or_waits() {
    for lists_fail in [0, usize::MAX] {
        let mut world = World::new(lists_fail, 0);
        world.asked.recv().await.unwrap();
        world.stop.take().unwrap().send(()).unwrap();
        world.task.await.unwrap();
    }
}
