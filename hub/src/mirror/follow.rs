//! One kind followed: list, watch, and start anew whenever the watch is lost.
//!
//! Where several replicas share a store, the one with the office writes the copies; it lists anew when it gets the
//! office. The others only take note of what the hub has, to know what they are looking at.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use aggregation::reviewer::chain;
use futures::StreamExt;
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use meta::{Draft, GroupResource, Key, Kind};
use serde_json::Value;
use storage::{At, Expect, Step, Store, StoreError, Verb};
use tokio::sync::watch;

use super::shadows::{Shadow, Shadows};
use super::{Copied, FROM_FILE, Progress};

/// How many objects of a list are stored at once.
const BATCH: usize = 256;
/// How long to wait before a hub that failed is asked again: the first time, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));
/// How long to wait before a kind that the hub does not have is looked for again.
const ABSENT: Duration = Duration::from_secs(5);
/// How often it is looked whether the replica that writes has written everything.
const LOOK: Duration = Duration::from_millis(200);

/// What the followers of all kinds share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) store: Arc<dyn Store>,
    pub(super) shadows: Arc<Shadows>,
    /// Whether this replica writes the copies.
    pub(super) office: watch::Receiver<bool>,
    pub(super) progress: Arc<watch::Sender<Progress>>,
}

/// Follows one kind.
pub(super) struct Follower {
    shared: Shared,
    objects: Api<DynamicObject>,
    resource: GroupResource,
    served: ApiResource,
    /// What this process has seen on the hub and not removed from the store.
    known: HashSet<Key>,
    /// The list that is coming in.
    listed: HashSet<Key>,
    /// What is to be stored (`Some`) or removed.
    pending: Vec<(Key, Option<Draft>)>,
    /// Whether copies of earlier processes were compared with a list.
    is_swept: bool,
    /// Whether a list is in that the replica with the office may not have written yet.
    is_awaiting: bool,
}

impl Follower {
    pub(super) fn new(shared: Shared, kind: &Arc<dyn Kind>) -> Self {
        let info = kind.info();
        let api_version = if info.group.is_empty() {
            info.storage_version.to_owned()
        } else {
            format!("{}/{}", info.group, info.storage_version)
        };
        let served = ApiResource {
            group: info.group.to_owned(),
            version: info.storage_version.to_owned(),
            api_version,
            kind: info.kind.to_owned(),
            plural: info.plural.to_owned(),
        };
        Self {
            objects: Api::all_with(shared.client.clone(), &served),
            shared,
            resource: info.resource(),
            served,
            known: HashSet::new(),
            listed: HashSet::new(),
            pending: Vec::new(),
            is_swept: false,
            is_awaiting: false,
        }
    }

    /// Follows until the task is dropped.
    pub(super) async fn run(mut self) {
        loop {
            self.follow().await;
        }
    }

    /// Follows until this replica gets the office.
    async fn follow(&mut self) {
        let mut events = watcher(self.objects.clone(), watcher::Config::default()).boxed();
        let mut office = self.shared.office.clone();
        let mut has_office = *office.borrow_and_update();
        let mut pause = PAUSES.0;
        let mut last_problem = None;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                Ok(()) = office.changed() => {
                    let had_office = std::mem::replace(&mut has_office, *office.borrow_and_update());
                    if has_office && !had_office {
                        return;
                    }
                    continue;
                }
                () = tokio::time::sleep(LOOK), if self.is_awaiting => {
                    self.look();
                    continue;
                }
            };
            match event {
                None => return,
                Some(Ok(event)) => {
                    pause = PAUSES.0;
                    last_problem = None;
                    self.take(event).await;
                }
                Some(Err(problem)) if is_absent(&problem) => {
                    self.miss().await;
                    tokio::time::sleep(ABSENT).await;
                }
                Some(Err(problem)) => {
                    let problem = chain(&problem);
                    // One line for each kind of problem: it may last.
                    if last_problem.as_ref() != Some(&problem) {
                        tracing::warn!(resource = %self.resource, problem, "copying from the hub");
                    }
                    self.stumble(&problem);
                    last_problem = Some(problem);
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
    }

    async fn take(&mut self, event: Event<DynamicObject>) {
        match event {
            Event::Init => {
                self.listed.clear();
                self.pending.clear();
            }
            Event::InitApply(object) => {
                if let Some(key) = self.put(object) {
                    self.listed.insert(key);
                }
                if self.pending.len() >= BATCH {
                    self.flush().await;
                }
            }
            Event::InitDone => {
                self.finish().await;
                self.is_awaiting = !self.writes();
                if self.is_awaiting {
                    self.look();
                } else {
                    self.say(Copied::Complete);
                }
            }
            Event::Apply(object) => {
                self.put(object);
                self.flush().await;
            }
            Event::Delete(object) => {
                self.remove(self.key(&object));
                self.flush().await;
            }
        }
    }

    fn writes(&self) -> bool {
        *self.shared.office.borrow()
    }

    fn say(&self, copied: Copied) {
        self.shared.progress.send_if_modified(|progress| {
            let before = progress.insert(self.resource, copied.clone());
            before.as_ref() != Some(&copied)
        });
    }

    /// The hub does not have the kind: as if there were no objects.
    async fn miss(&mut self) {
        let is_news = self.shared.progress.borrow().get(&self.resource) != Some(&Copied::Absent);
        if is_news {
            tracing::info!(resource = %self.resource, "the hub does not have this kind");
        }
        self.listed.clear();
        self.pending.clear();
        self.finish().await;
        self.is_awaiting = false;
        self.say(Copied::Absent);
    }

    /// A problem keeps the first copies from coming. What is copied already stays as it is.
    fn stumble(&self, problem: &str) {
        let is_waiting = !matches!(
            self.shared.progress.borrow().get(&self.resource),
            Some(Copied::Complete | Copied::Absent)
        );
        if is_waiting {
            self.say(Copied::Waiting(Some(problem.to_owned())));
        }
    }

    /// Looks whether the replica with the office has written all that was listed.
    fn look(&mut self) {
        let copies = self.shared.store.cached(self.resource);
        let is_there = |key: &Key| copies.get(&key.namespace, &key.name).is_some();
        if self.listed.iter().all(is_there) {
            self.is_awaiting = false;
            self.say(Copied::Complete);
        }
    }

    fn key(&self, object: &DynamicObject) -> Key {
        Key::new(
            self.resource,
            object.metadata.namespace.as_deref().unwrap_or_default(),
            object.metadata.name.as_deref().unwrap_or_default(),
        )
    }

    /// Takes note of `object` and plans to store a copy.
    fn put(&mut self, mut object: DynamicObject) -> Option<Key> {
        let key = self.key(&object);
        object.metadata.managed_fields = None;
        let version = object.metadata.resource_version.take().unwrap_or_default();
        let draft = serde_json::to_value(&object)
            .map_err(|problem| problem.to_string())
            .and_then(|mut value| {
                // The items of some lists do not say what they are.
                value["apiVersion"] = Value::from(self.served.api_version.clone());
                value["kind"] = Value::from(self.served.kind.clone());
                Draft::new(&value).map_err(|problem| problem.to_string())
            });
        let draft = match draft {
            Ok(draft) => draft,
            Err(problem) => {
                tracing::error!(%key, problem, "an object of the hub cannot be copied");
                return None;
            }
        };
        let shadow = Shadow::of(&draft, version);
        self.known.insert(key.clone());
        if self.writes() {
            self.pending.push((key.clone(), Some(draft)));
            // Taken note of before it is stored, so that whoever sees the copy can write on it.
        }
        self.shared.shadows.note([(key.clone(), Some(shadow))]);
        Some(key)
    }

    /// Takes note that the object at `key` is gone, and plans to remove its copy.
    fn remove(&mut self, key: Key) {
        if self.writes() {
            self.known.remove(&key);
            self.pending.push((key, None));
        } else {
            // Stays known, so that it is removed by the time this replica gets the office, if nobody has done it.
            self.shared.shadows.note([(key, None)]);
        }
    }

    fn stored(&self, key: &Key) -> bool {
        let copies = self.shared.store.cached(self.resource);
        copies.get(&key.namespace, &key.name).is_some()
    }

    /// The list is complete: what is not in it is gone. The first time that goes for copies of an earlier process too;
    /// later only for what this one knows. Defaults that stand beside the copies stay.
    async fn finish(&mut self) {
        let mut gone: HashSet<Key> = self.known.difference(&self.listed).cloned().collect();
        if self.writes() && !self.is_swept {
            let copies = self.shared.store.cached(self.resource);
            let earlier = copies
                .iter(None, None)
                .filter(|(_, copy)| !copy.annotations().contains_key(FROM_FILE))
                .map(|(name, _)| Key {
                    resource: self.resource,
                    namespace: Arc::clone(&name.namespace),
                    name: Arc::clone(&name.name),
                });
            gone.extend(earlier.filter(|key| !self.listed.contains(key)));
            self.is_swept = true;
        }
        for key in gone {
            self.remove(key);
        }
        self.flush().await;
    }

    /// Stores what is planned. What cannot be stored is the store's trouble and stays planned.
    async fn flush(&mut self) {
        while !self.pending.is_empty() && self.writes() {
            let steps = self
                .pending
                .iter()
                .filter_map(|(key, draft)| self.step(key, draft));
            let steps: Vec<Step> = steps.collect();
            match self.shared.store.apply(steps).await {
                Ok(_) => break,
                Err(
                    StoreError::Conflict { .. }
                    | StoreError::AlreadyExists { .. }
                    | StoreError::NotFound { .. },
                ) => {
                    // Written by the replica that had the office before: what is there now is looked up and written over.
                    if let Err(problem) = self.shared.store.list(self.resource, At::Latest).await {
                        self.pause(&problem).await;
                    }
                }
                Err(problem) => self.pause(&problem).await,
            }
        }
        let gone = self.pending.drain(..).filter(|(_, draft)| draft.is_none());
        self.shared.shadows.note(gone.map(|(key, _)| (key, None)));
    }

    async fn pause(&self, problem: &StoreError) {
        tracing::error!(resource = %self.resource, %problem, "copies of the hub's objects are not stored");
        tokio::time::sleep(PAUSES.1).await;
    }

    /// The step that makes the copy at `key` be `draft`, or be gone; nothing where it is so already.
    fn step(&self, key: &Key, draft: &Option<Draft>) -> Option<Step> {
        let there = self.stored(key);
        let (verb, expect) = match (draft, there) {
            (Some(_), true) => (Verb::Update, Expect::Present),
            (Some(_), false) => (Verb::Create, Expect::Absent),
            (None, true) => (Verb::Delete, Expect::Present),
            (None, false) => return None,
        };
        Some(Step {
            verb,
            key: key.clone(),
            subresource: "",
            object: draft.clone(),
            expect,
            guards: Vec::new(),
        })
    }
}

/// Whether the hub says that it has no such kind.
fn is_absent(problem: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(error)
    | watcher::Error::WatchStartFailed(error)
    | watcher::Error::WatchFailed(error)) = problem
    else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
