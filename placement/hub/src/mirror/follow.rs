//! Reflector of one kind: it lists and watches the objects, and lists again when the watch is lost.
//!
//! Where several replicas share a store, only the leader writes the copies. A replica lists again when it
//! becomes the leader. The other replicas only track the hub's versions, to know which state a copy has.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, GroupResource, Key, Kind, Object};
use berth_client::root_cause;
use berth_dialect_contract::Concerns;
use berth_storage::{At, Expect, Step, Store, StoreError};
use futures::StreamExt;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, ObjectMeta};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use self::retries::Retries;
use super::concerned::{NAMESPACES, NamespaceScope};
use super::versions::{HubVersion, HubVersions};
use super::{CopyProgress, FROM_FILE, Progress};

mod retries;

/// Highest number of objects of a list that are stored at once.
const BATCH: usize = 256;
/// First and longest pause between attempts at a hub that fails.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));
/// Interval at which a replica checks whether the leader has written the copies.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// Interval at which copies that no longer concern a system are removed.
const TIDY_INTERVAL: Duration = Duration::from_secs(30);
/// Size of a copy in bytes above which etcd, with its default limit of 1.5 MiB, may refuse it.
const MAY_BE_REFUSED: usize = 1 << 20;
/// Highest number of namespaces that are listed one by one when they begin to concern a system. With more,
/// all objects are listed again.
const MAX_NAMESPACES: usize = 8;
/// Number of objects in a page of a list of a namespace.
const PAGE_SIZE: u32 = 500;

/// Parts that all reflectors share.
#[derive(Clone)]
pub(super) struct ReflectorContext {
    pub(super) client: Client,
    pub(super) store: Arc<dyn Store>,
    pub(super) versions: Arc<HubVersions>,
    /// Whether this replica writes the copies.
    pub(super) leading: watch::Receiver<bool>,
    pub(super) progress: Arc<watch::Sender<Progress>>,
}

/// Copies the objects of one kind.
pub(super) struct Reflector {
    context: ReflectorContext,
    objects: Api<DynamicObject>,
    resource: GroupResource,
    api_resource: ApiResource,
    /// Test for the objects to copy, where not all objects are copied.
    concerns: Option<Concerns>,
    /// Keys of the objects that are on the hub, as far as this process has seen, and need a copy.
    known: HashSet<Key>,
    /// The keys of the last list, or of the list that is being received.
    listed: HashSet<Key>,
    /// Objects whose copies the store may refuse for their size, so that no copy of them is awaited.
    large: HashSet<Key>,
    /// Drafts to store (`Some`) and keys to remove. The last plan for a key replaces earlier ones, since all
    /// steps of a commit are made for the stored objects.
    pending: BTreeMap<Key, Option<Draft>>,
    /// Whether this replica has received a list that the leader may not have written yet.
    is_awaiting: bool,
}

impl Reflector {
    pub(super) fn new(context: ReflectorContext, kind: &Arc<dyn Kind>, concerns: Option<Concerns>) -> Self {
        let info = kind.info();
        let api_version = if info.group.is_empty() {
            info.storage_version.to_owned()
        } else {
            format!("{}/{}", info.group, info.storage_version)
        };
        let api_resource = ApiResource {
            group: info.group.to_owned(),
            version: info.storage_version.to_owned(),
            api_version,
            kind: info.kind.to_owned(),
            plural: info.plural.to_owned(),
        };
        Self {
            objects: Api::all_with(context.client.clone(), &api_resource),
            context,
            resource: info.resource(),
            api_resource,
            concerns,
            known: HashSet::new(),
            listed: HashSet::new(),
            large: HashSet::new(),
            pending: BTreeMap::new(),
            is_awaiting: false,
        }
    }

    /// Follows the hub until the task is dropped.
    pub(super) async fn run(mut self) {
        loop {
            self.follow().await;
        }
    }

    /// Lists and watches, until this replica becomes the leader or has to list again.
    async fn follow(&mut self) {
        let mut scope = match self.scope().await {
            Ok(scope) => scope,
            Err(problem) => return self.pause(&problem).await,
        };
        let mut events = watcher(self.objects.clone(), watcher::Config::default()).boxed();
        let mut leading = self.context.leading.clone();
        let mut is_leading = *leading.borrow_and_update();
        let mut retries = Retries::default();
        // The timers outlast the loop's turns: events that come all the time must not put them off.
        let mut tidy = tokio::time::interval(TIDY_INTERVAL);
        let mut check = tokio::time::interval(CHECK_INTERVAL);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                Ok(()) = leading.changed() => {
                    let was_leading = std::mem::replace(&mut is_leading, *leading.borrow_and_update());
                    if is_leading && !was_leading {
                        return;
                    }
                    continue;
                }
                _ = check.tick(), if self.is_awaiting => {
                    self.check_copies();
                    continue;
                }
                added = added_namespaces(&mut scope) => {
                    let Ok(added) = added else { return };
                    if added.len() > MAX_NAMESPACES || self.fetch(&added).await.is_err() {
                        return;
                    }
                    continue;
                }
                _ = tidy.tick(), if scope.is_some() => {
                    self.tidy(scope.as_mut()).await;
                    continue;
                }
            };
            match event {
                None => return,
                Some(Ok(event)) => {
                    // Each attempt at a list begins with Init and its first pages, whatever the hub answers
                    // then. A kind that cannot be watched is listed again with growing pauses.
                    let is_success = match &event {
                        Event::Init | Event::InitApply(_) => false,
                        Event::InitDone => !retries.is_unwatched,
                        Event::Apply(_) | Event::Delete(_) => true,
                    };
                    if is_success {
                        retries = Retries::default();
                    }
                    self.apply_event(event, scope.as_mut()).await;
                }
                Some(Err(problem)) => {
                    self.retry_later(&problem, &mut retries).await;
                    if retries.is_unwatched {
                        // This watcher would not list again.
                        events = watcher(self.objects.clone(), watcher::Config::default()).boxed();
                    }
                }
            }
        }
    }

    /// The selection of the objects to copy, once the namespaces are copied; `None` where all objects are
    /// copied.
    async fn scope(&self) -> Result<Option<NamespaceScope>, StoreError> {
        let Some(concerns) = &self.concerns else {
            return Ok(None);
        };
        let is_known = |progress: &Progress| {
            // Where namespaces are not copied, no namespace is selected, and no copy is awaited.
            let namespaces = progress.get(&NAMESPACES);
            namespaces.is_none_or(|copy_progress| {
                matches!(copy_progress, CopyProgress::Complete | CopyProgress::Absent)
            })
        };
        // This fails only when the sender is dropped, which `context` owns.
        drop(self.context.progress.subscribe().wait_for(is_known).await);
        NamespaceScope::begin(Arc::clone(concerns), &self.context.store)
            .await
            .map(Some)
    }

    /// Copies the objects in `namespaces`, which did not concern a system before. The watch may then report
    /// older states of these objects, but ends with the newest state.
    async fn fetch(&mut self, namespaces: &[Arc<str>]) -> Result<(), kube::Error> {
        for namespace in namespaces {
            let objects: Api<DynamicObject> =
                Api::namespaced_with(self.context.client.clone(), namespace, &self.api_resource);
            let mut page = ListParams::default().limit(PAGE_SIZE);
            loop {
                let list = objects.list(&page).await.inspect_err(|problem| {
                    let problem = root_cause(problem);
                    tracing::warn!(resource = %self.resource, %namespace, problem, "cannot list or watch on the hub; retrying");
                })?;
                for object in list.items {
                    // A list of all objects that is being received may lack this object, which
                    // therefore counts as listed.
                    let key = self.put(object, None);
                    self.listed.extend(key);
                }
                self.flush().await;
                match list.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => page.continue_token = Some(token),
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Removes the copies that no longer concern a system.
    async fn tidy(&mut self, scope: Option<&mut NamespaceScope>) {
        let obsolete = scope.map(|scope| scope.obsolete(&self.context.store, self.resource));
        for (namespace, name) in obsolete.into_iter().flatten() {
            self.remove(Key {
                resource: self.resource,
                namespace,
                name,
            });
        }
        self.flush().await;
    }

    /// Applies an event of the hub. An object that needs no copy is only updated where a copy exists.
    async fn apply_event(&mut self, event: Event<DynamicObject>, scope: Option<&mut NamespaceScope>) {
        // No `&NamespaceScope` is held across an await, since its watch cannot be shared between threads.
        match event {
            Event::Init => {
                self.is_awaiting = false;
                self.listed.clear();
                self.pending.clear();
            }
            Event::InitApply(object) => {
                self.set_served();
                let key = self.put(object, scope.as_deref());
                self.listed.extend(key);
                if self.pending.len() >= BATCH {
                    self.flush().await;
                }
            }
            Event::InitDone => {
                self.finish_list().await;
                self.is_awaiting = !self.is_leader();
                if self.is_awaiting {
                    self.check_copies();
                } else {
                    self.set_progress(CopyProgress::Complete);
                }
            }
            Event::Apply(object) => {
                let key = self.key(&object);
                let is_followed = self.known.contains(&key);
                self.put(object, scope.as_deref().filter(|_| !is_followed));
                if let Some(scope) = scope.filter(|_| is_followed) {
                    // The object may have lost the label by which it concerned a system. Its copy is removed
                    // later, so that the writer of the change sees it first.
                    scope.recheck(&key.namespace);
                }
                self.flush().await;
            }
            Event::Delete(object) => {
                self.remove(self.key(&object));
                self.flush().await;
            }
        }
    }

    /// Whether this replica writes the copies.
    fn is_leader(&self) -> bool {
        *self.context.leading.borrow()
    }

    fn set_progress(&self, copy_progress: CopyProgress) {
        self.context.progress.send_if_modified(|progress| {
            let before = progress.insert(self.resource, copy_progress.clone());
            before.as_ref() != Some(&copy_progress)
        });
    }

    /// Records that the hub does not serve the kind, and removes all copies, as for a kind without objects.
    async fn set_absent(&mut self) {
        let is_news = self.context.progress.borrow().get(&self.resource) != Some(&CopyProgress::Absent);
        if is_news {
            tracing::info!(resource = %self.resource, "the hub does not serve this resource; waiting for it");
        }
        self.listed.clear();
        self.pending.clear();
        self.finish_list().await;
        self.is_awaiting = false;
        self.set_progress(CopyProgress::Absent);
    }

    /// Records that the hub serves the kind, if it did not before: copies are missing until the list ends.
    fn set_served(&self) {
        let was_absent = self.context.progress.borrow().get(&self.resource) == Some(&CopyProgress::Absent);
        if was_absent {
            self.set_progress(CopyProgress::Waiting(None));
        }
    }

    /// Records `problem` as the reason why the first copies are delayed. Existing copies stay as they are.
    fn set_problem(&self, problem: &str) {
        let is_waiting = !matches!(
            self.context.progress.borrow().get(&self.resource),
            Some(CopyProgress::Complete | CopyProgress::Absent)
        );
        if is_waiting {
            self.set_progress(CopyProgress::Waiting(Some(problem.to_owned())));
        }
    }

    /// Checks whether the leader has written the copies of all listed objects, and then marks the copies as
    /// complete.
    fn check_copies(&mut self) {
        let copies = self.context.store.cached(self.resource);
        let is_there = |key: &Key| copies.get(&key.namespace, &key.name).is_some();
        if self
            .listed
            .iter()
            .all(|key| is_there(key) || self.large.contains(key))
        {
            self.is_awaiting = false;
            self.set_progress(CopyProgress::Complete);
        }
    }

    fn key(&self, object: &DynamicObject) -> Key {
        Key::new(
            self.resource,
            object.metadata.namespace.as_deref().unwrap_or_default(),
            object.metadata.name.as_deref().unwrap_or_default(),
        )
    }

    /// Records `object` and plans the write of the copy. Returns the key; `None` for an object that is not
    /// copied. With `scope`, only the objects that it includes are copied.
    fn put(&mut self, mut object: DynamicObject, scope: Option<&NamespaceScope>) -> Option<Key> {
        let key = self.key(&object);
        let manager = manager(&object.metadata);
        object.metadata.managed_fields = None;
        let version = object.metadata.resource_version.take().unwrap_or_default();
        let value = serde_json::to_value(&object).map_err(|problem| problem.to_string());
        if let (Ok(value), Some(scope)) = (&value, scope)
            && !scope.includes(&key.namespace, value)
        {
            return None;
        }
        let draft = value.and_then(|mut value| {
            // Items of some lists lack apiVersion and kind.
            value["apiVersion"] = Value::from(self.api_resource.api_version.clone());
            value["kind"] = Value::from(self.api_resource.kind.clone());
            Draft::new(&value).map_err(|problem| problem.to_string())
        });
        let draft = match draft {
            Ok(draft) => draft,
            Err(problem) => {
                tracing::error!(%key, problem, "cannot copy an object of the hub: decisions are made without it, or on an older copy, until it is changed");
                return None;
            }
        };
        match draft.len() > MAY_BE_REFUSED {
            true => drop(self.large.insert(key.clone())),
            false => drop(self.large.remove(&key)),
        }
        let hub_version = HubVersion::of(&draft, version).with_manager(manager);
        self.known.insert(key.clone());
        if self.is_leader() {
            self.pending.insert(key.clone(), Some(draft));
        }
        // The version is recorded before the copy is stored, so that a decision that read the copy can be
        // written.
        self.context.versions.record([(key.clone(), Some(hub_version))]);
        Some(key)
    }

    /// Records that the object at `key` was deleted or needs no copy any more, and plans to remove the copy.
    fn remove(&mut self, key: Key) {
        // No copy of the object will be written.
        self.listed.remove(&key);
        self.large.remove(&key);
        self.known.remove(&key);
        if self.is_leader() {
            self.pending.insert(key, None);
        } else {
            // The leader removes the copy. If this replica becomes the leader before, its next list does.
            self.context.versions.record([(key, None)]);
        }
    }

    /// Removes the copies of known objects that the last list does not contain. On the leader, this also
    /// removes the copies of earlier processes and other leaders, except defaults.
    async fn finish_list(&mut self) {
        let mut deleted: HashSet<Key> = self.known.difference(&self.listed).cloned().collect();
        if self.is_leader() {
            let copies = self.context.store.cached(self.resource);
            let earlier = copies
                .iter(None, None)
                .filter(|(_, copy)| !copy.annotations().contains_key(FROM_FILE))
                .map(|(name, _)| Key {
                    resource: self.resource,
                    namespace: Arc::clone(&name.namespace),
                    name: Arc::clone(&name.name),
                });
            deleted.extend(earlier.filter(|key| !self.listed.contains(key)));
        }
        for key in deleted {
            self.remove(key);
        }
        self.flush().await;
    }

    /// Stores the planned changes while this replica is the leader, and tries again where the store refuses
    /// them. An object that is too large for the store is left out, so that the others are copied.
    async fn flush(&mut self) {
        while !self.pending.is_empty() && self.is_leader() {
            let steps = self
                .pending
                .iter()
                .filter_map(|(key, draft)| self.step(key, draft));
            let steps: Vec<Step> = steps.collect();
            match self.context.store.apply(steps).await {
                Ok(_) => break,
                Err(
                    StoreError::Conflict { .. }
                    | StoreError::AlreadyExists { .. }
                    | StoreError::NotFound { .. },
                ) => {
                    // The former leader has written an object: the present objects are read and
                    // replaced.
                    if let Err(problem) = self.context.store.list(self.resource, At::Latest).await {
                        self.pause(&problem).await;
                    }
                }
                Err(StoreError::TooLarge { key, bytes }) => {
                    tracing::error!(%key, bytes, "an object of the hub is larger than the store accepts: decisions are made without it, or on an older copy, until it is changed");
                    self.pending.remove(&key);
                }
                Err(problem) => self.pause(&problem).await,
            }
        }
        let steps = std::mem::take(&mut self.pending).into_iter();
        let deleted = steps.filter(|(_, draft)| draft.is_none());
        self.context.versions.record(deleted.map(|(key, _)| (key, None)));
    }

    async fn pause(&self, problem: &StoreError) {
        tracing::error!(resource = %self.resource, %problem, "cannot read or store copies of the hub's objects; retrying");
        tokio::time::sleep(PAUSES.1).await;
    }

    fn step(&self, key: &Key, draft: &Option<Draft>) -> Option<Step> {
        let copies = self.context.store.cached(self.resource);
        let stored = copies.get(&key.namespace, &key.name);
        step(key, draft, stored.map(|stored| &**stored))
    }
}

/// The step that stores `draft` as the copy at `key`, or deletes the copy if there is no draft; `None` where
/// there is no copy to delete. `stored` is the present object at `key`.
fn step(key: &Key, draft: &Option<Draft>, stored: Option<&Object>) -> Option<Step> {
    let (verb, expect) = match (draft, stored) {
        (Some(_), Some(_)) => (Verb::Update, Expect::Present),
        (Some(_), None) => (Verb::Create, Expect::Absent),
        // A default has already taken the place of the copy that is to be deleted.
        (None, Some(stored)) if stored.annotations().contains_key(FROM_FILE) => return None,
        (None, Some(_)) => (Verb::Delete, Expect::Present),
        (None, None) => return None,
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

/// Waits for namespaces that begin to concern a system. Waits for ever where all objects are copied.
async fn added_namespaces(scope: &mut Option<NamespaceScope>) -> Result<Vec<Arc<str>>, StoreError> {
    match scope {
        Some(scope) => scope.next().await,
        None => std::future::pending().await,
    }
}

/// The manager of the newest managed fields. Times are in whole seconds. Of several entries with the same
/// time, the last one counts.
fn manager(metadata: &ObjectMeta) -> Option<Arc<str>> {
    let entries = metadata.managed_fields.iter().flatten();
    let newest = entries.max_by_key(|entry| entry.time.as_ref().map(|time| time.0));
    newest?.manager.as_deref().map(Arc::from)
}

#[cfg(test)]
mod tests;
