//! One kind followed: list, watch, and start anew whenever the watch is lost.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use meta::{Draft, GroupResource, Key, Kind};
use serde_json::Value;
use storage::{Expect, Step, Store, Verb};
use tokio::sync::watch;

use super::shadows::{Shadow, Shadows};
use crate::hub::reviewer::chain;

/// How many objects of a list are stored at once.
const BATCH: usize = 256;
/// How long to wait before a hub that failed is asked again: the first time, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));
/// How long to wait before a kind that the hub does not have is looked for again.
const ABSENT: Duration = Duration::from_secs(5);

/// Follows one kind.
pub(super) struct Follower {
    objects: Api<DynamicObject>,
    store: Arc<dyn Store>,
    resource: GroupResource,
    served: ApiResource,
    report: Arc<watch::Sender<BTreeSet<GroupResource>>>,
    /// What this process has seen on the hub and not seen go.
    known: HashSet<Key>,
    /// The list that is coming in.
    listed: HashSet<Key>,
    /// What is to be stored, with the hub's resourceVersion; without one it is a removal.
    pending: Vec<(Step, Option<String>)>,
    shadows: Arc<Shadows>,
    complete: bool,
    absent: bool,
}

impl Follower {
    pub(super) fn new(
        client: Client,
        store: Arc<dyn Store>,
        kind: &Arc<dyn Kind>,
        report: Arc<watch::Sender<BTreeSet<GroupResource>>>,
        shadows: Arc<Shadows>,
    ) -> Self {
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
            objects: Api::all_with(client, &served),
            store,
            resource: info.resource(),
            served,
            report,
            known: HashSet::new(),
            listed: HashSet::new(),
            pending: Vec::new(),
            shadows,
            complete: false,
            absent: false,
        }
    }

    /// Follows until the task is dropped.
    pub(super) async fn run(mut self) {
        let mut events = watcher(self.objects.clone(), watcher::Config::default()).boxed();
        let mut pause = PAUSES.0;
        let mut last_problem = None;
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    pause = PAUSES.0;
                    last_problem = None;
                    self.take(event).await;
                }
                Err(problem) if is_absent(&problem) => {
                    if !self.absent {
                        tracing::info!(resource = %self.resource, "the hub does not have this kind");
                    }
                    self.absent = true;
                    self.listed.clear();
                    self.pending.clear();
                    self.finish().await;
                    tokio::time::sleep(ABSENT).await;
                }
                Err(problem) => {
                    let problem = chain(&problem);
                    // One line for each kind of problem: it may last.
                    if last_problem.as_ref() != Some(&problem) {
                        tracing::warn!(resource = %self.resource, problem, "copying from the hub");
                    }
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
                self.put(object);
                if self.pending.len() >= BATCH {
                    self.flush().await;
                }
            }
            Event::InitDone => {
                self.absent = false;
                self.finish().await;
            }
            Event::Apply(object) => {
                self.put(object);
                self.flush().await;
            }
            Event::Delete(object) => {
                let key = self.key(&object);
                self.known.remove(&key);
                self.remove(key);
                self.flush().await;
            }
        }
    }

    fn key(&self, object: &DynamicObject) -> Key {
        Key::new(
            self.resource,
            object.metadata.namespace.as_deref().unwrap_or_default(),
            object.metadata.name.as_deref().unwrap_or_default(),
        )
    }

    /// Plans to store a copy of `object`.
    fn put(&mut self, mut object: DynamicObject) {
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
                return;
            }
        };
        let there = self.stored(&key);
        self.listed.insert(key.clone());
        self.known.insert(key.clone());
        let step = Step {
            verb: if there { Verb::Update } else { Verb::Create },
            key,
            subresource: "",
            object: Some(draft),
            expect: if there { Expect::Present } else { Expect::Absent },
            guards: Vec::new(),
        };
        self.pending.push((step, Some(version)));
    }

    fn remove(&mut self, key: Key) {
        if self.stored(&key) {
            let step = Step {
                verb: Verb::Delete,
                key,
                subresource: "",
                object: None,
                expect: Expect::Present,
                guards: Vec::new(),
            };
            self.pending.push((step, None));
        }
    }

    fn stored(&self, key: &Key) -> bool {
        self.store
            .cached(self.resource)
            .get(&key.namespace, &key.name)
            .is_some()
    }

    /// The list is complete: what is not in it is gone. The first time that goes for copies of an earlier process too;
    /// later only for what this one knows, so that defaults put beside them stay.
    async fn finish(&mut self) {
        let gone: Vec<Key> = if self.complete {
            self.known.difference(&self.listed).cloned().collect()
        } else {
            let copies = self.store.cached(self.resource);
            copies
                .iter(None, None)
                .map(|(name, _)| Key {
                    resource: self.resource,
                    namespace: Arc::clone(&name.namespace),
                    name: Arc::clone(&name.name),
                })
                .filter(|key| !self.listed.contains(key))
                .collect()
        };
        for key in gone {
            self.known.remove(&key);
            self.remove(key);
        }
        self.flush().await;
        self.complete = true;
        let resource = self.resource;
        self.report.send_if_modified(|done| done.insert(resource));
    }

    /// Stores what is planned. A copy that cannot be stored is the store's trouble and stays planned.
    async fn flush(&mut self) {
        while !self.pending.is_empty() {
            let steps = self.pending.iter().map(|(step, _)| step.clone()).collect();
            match self.store.apply(steps).await {
                Ok(applied) => {
                    let copies = self.pending.drain(..).zip(applied);
                    self.shadows.note(copies.map(|((step, version), applied)| {
                        let revision = applied.object.revision();
                        (step.key, version.map(|version| Shadow { revision, version }))
                    }));
                }
                Err(problem) => {
                    tracing::error!(resource = %self.resource, %problem, "copies of the hub's objects are not stored");
                    tokio::time::sleep(PAUSES.1).await;
                }
            }
        }
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
