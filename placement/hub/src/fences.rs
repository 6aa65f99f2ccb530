//! Fences of capacity that several replicas count at once, on a hub without transactions.
//!
//! Each counted capacity (such as the shoots of one seed) has a Lease in Berth's own namespace, its
//! *fence*. Before a replica writes a decision that counts the capacity, it notes in the Lease the
//! objects that it is about to write, with their versions. The hub's own comparison of resourceVersions
//! protects the Lease, so that one of two replicas comes first. The second replica passes only if the
//! snapshot of its decision has every noted object past the noted version. Then that snapshot counted
//! the first replica's writes, and also all earlier writes to the same resource, since the hub's events
//! of a resource come in order. If an object stays at the noted version, its writer has died or is stuck.
//! The second replica then *touches* the object, so that a late write of the first one fails as a conflict.
//!
//! An object that does not exist yet cannot be touched: if a noted create does not happen, and the hub does
//! not have the object, the second replica marks the create as *abandoned* in the Lease. A replica that
//! creates an object under a fence checks afterwards whether the create was abandoned meanwhile, and if so
//! deletes the object.
//!
//! A replica takes the note of a write back that the hub has refused, since nobody can see an effect of it.
//! The note would have shown whether a snapshot is new enough, so that the Lease also has the last noted
//! writes of each resource that a snapshot has *counted*: where no noted write to the resource has an effect,
//! the snapshot must have these.
//!
//! A policy of the hub may refuse the touch as well. Then the noted write counts as failed when it has not
//! happened for [`LATE_LIMIT`]: its replica sends it within [`SEND_LIMIT`], and the hub ends each request
//! after some time.
//!
//! So no capacity stays counted twice, and correctness does not depend on clocks. There are three exceptions:
//! a create that the hub carries out after it was abandoned, while its replica has stopped or no longer waits
//! for the answer (nobody deletes that object); a write to an object that cannot be touched, if its replica
//! is suspended for minutes between its last check of the time and the request; and a deleted object, which
//! shows nothing about a snapshot: where the hub has none of the noted and counted objects of a resource any
//! more, a replica whose copies are late may lack earlier writes that stay.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use berth_apimachinery::write::{CommitError, Verb, Write, WriteRefusal};
use berth_apimachinery::{GroupResource, Key, Object, Revision, Status};
use berth_engine::controller::LockRecord;
use http::Method;
use kube::Client;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use self::noted::{NotedWrite, Notes};
use super::lease::LeaseLock;
use super::mirror::{Copies, HubVersion};
use super::wire::{self, HubClient, HubRequest};

mod noted;

/// The annotation with the fence's name, for people.
const NAME: &str = "scheduling.berth.dev/fence";
/// Highest number of abandoned creates that a fence remembers: the newest.
const MAX_ABANDONED: usize = 64;
/// The annotation of a touched object.
const TOUCHED: &str = "scheduling.berth.dev/touched";
/// Time for the copy of a noted write to arrive before its object is touched, or abandoned. After the
/// death of a leader, its successor waits this time once for each capacity. A writer that is slower
/// than this only has to decide again.
const COPY_TIMEOUT: Duration = Duration::from_millis(1500);
/// Time after the note in which a noted write may be sent.
const SEND_LIMIT: Duration = Duration::from_mins(1);
/// Time after which a noted write to an object that cannot be touched counts as failed. It covers
/// [`SEND_LIMIT`], the time limits of the last request and of the one before it, and the minute after which a
/// kube-apiserver ends a request (`--request-timeout`).
const LATE_LIMIT: Duration = Duration::from_mins(3);
/// Time for which a process knows that an object of a commit could not be touched. A fence that is passed
/// later, and still has the commit's notes, is waited for again.
const UNTOUCHABLE_LIMIT: Duration = Duration::from_hours(1);
/// Seconds after which a client should ask again while a noted write may still happen.
const RETRY_AFTER: u32 = 10;

/// Whether a Lease with these `annotations` is a fence.
pub fn is_fence(annotations: &std::collections::BTreeMap<String, String>) -> bool {
    annotations.contains_key(NAME)
}

/// The fences of one hub.
pub(crate) struct Fences {
    client: Client,
    namespace: String,
    copies: Copies,
    /// Resources that are stored on the hub. Writes of several resources may count the same capacity.
    resources: BTreeSet<GroupResource>,
    /// Identity of this process.
    holder: String,
    /// Keys of objects that this process is creating, each with the number of attempts.
    making: Mutex<HashMap<Key, usize>>,
    /// The commits with a noted object that cannot be touched, as [`Attempt::commit_of`] names them, each
    /// with the time of the first attempt. No fence of a commit is waited for longer than another one of it.
    untouchable: Mutex<HashMap<String, Instant>>,
}

/// Writes that are being made. Their new objects may appear until this is dropped.
pub(crate) struct WriteInProgress<'a> {
    fences: &'a Fences,
    keys: Vec<Key>,
}

impl Drop for WriteInProgress<'_> {
    fn drop(&mut self) {
        let mut making = self.fences.making.lock();
        for key in &self.keys {
            let Some(attempts) = making.get_mut(key) else {
                continue;
            };
            *attempts = attempts.saturating_sub(1);
            if *attempts == 0 {
                making.remove(key);
            }
        }
    }
}

/// A fence that a commit has passed, with its notes.
pub(crate) struct Passage {
    name: String,
    lock: LeaseLock,
    /// The Lease since the pass.
    record: LockRecord,
    notes: Notes,
    /// Start of the pass, before the notes were written.
    start: Instant,
    /// Whether an earlier attempt at a create of the commit was noted, or marked as abandoned. Only the notes
    /// of this passage show it now.
    is_repeated: bool,
}

impl Passage {
    /// Checks that a write of the commit may be sent now.
    ///
    /// # Errors
    /// [`WriteRefusal::Fenced`] when other replicas may soon count the write as failed.
    pub(crate) fn check_time(&self) -> Result<(), CommitError> {
        match self.start.elapsed() < SEND_LIMIT {
            true => Ok(()),
            false => Err(moved(&self.name)),
        }
    }
}

/// An attempt of a commit to pass a fence.
struct Attempt<'a> {
    name: &'a str,
    lock: &'a LeaseLock,
    /// The Lease's resourceVersion, as it was read.
    version: &'a str,
    /// Keys of the objects that the commit writes.
    own: &'a [&'a Key],
    /// Revision of the commit's snapshot.
    not_after: Revision,
    actor: &'a str,
}

impl Attempt<'_> {
    /// Whether the Lease has not changed since it was read: nobody has passed the fence or taken notes back.
    async fn is_current(&self) -> Result<bool, Status> {
        let record = self.lock.get().await?;
        Ok(record.is_some_and(|record| record.version == self.version))
    }

    /// The commit that noted the `noted` write in the Lease as it was read. An older server names no commit;
    /// then this state of the Lease stands for it.
    fn commit_of(&self, noted: &NotedWrite) -> String {
        match noted.commit.as_str() {
            "" => format!("{}@{}", self.name, self.version),
            commit => commit.to_owned(),
        }
    }

    /// Checks that the snapshot has a state of an object that was copied at `copied`.
    fn check_counted(&self, key: &Key, copied: Revision) -> Result<(), CommitError> {
        match copied <= self.not_after {
            true => Ok(()),
            false => Err(moved(&key.to_string())),
        }
    }
}

/// Resolution of a noted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// The snapshot has the write's effect, and so all earlier writes to objects of its resource.
    Counted,
    /// There is nothing to count: the write can no longer succeed, its object is gone, or the commit itself
    /// makes the object.
    Void,
    /// The write would create an object, but has not.
    Abandoned,
}

impl Fences {
    pub(crate) fn new(
        client: Client,
        namespace: String,
        copies: Copies,
        resources: BTreeSet<GroupResource>,
    ) -> Self {
        Self {
            client,
            namespace,
            copies,
            resources,
            holder: Uuid::new_v4().to_string(),
            making: Mutex::default(),
            untouchable: Mutex::default(),
        }
    }

    /// Announces `writes`. Their new objects may appear until the returned value is dropped.
    pub(crate) fn announce(&self, writes: &[Write]) -> WriteInProgress<'_> {
        let creates = writes.iter().filter(|write| write.verb == Verb::Create);
        let keys: Vec<Key> = creates.map(|write| write.key.clone()).collect();
        let mut making = self.making.lock();
        for key in &keys {
            *making.entry(key.clone()).or_default() += 1;
        }
        drop(making);
        WriteInProgress { fences: self, keys }
    }

    fn lock(&self, name: &str) -> LeaseLock {
        let object = format!("fence-{}", Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()));
        LeaseLock::new(self.client.clone(), &self.namespace, &object)
    }

    /// Passes the fence `name` for the `writes` of the commit `commit`, which were decided on a snapshot at
    /// `not_after`. Each has the hub's version of its base, which is empty for a create.
    ///
    /// # Errors
    /// [`WriteRefusal::Fenced`] when the decision has to be made again, [`WriteRefusal::Refused`] with 503
    /// while a noted write can neither be seen nor prevented, else the hub's refusal.
    pub(crate) async fn pass(
        &self,
        name: &str,
        commit: Uuid,
        writes: &[(&Write, String)],
        not_after: Revision,
        actor: &str,
    ) -> Result<Passage, CommitError> {
        let start = Instant::now();
        let lock = self.lock(name);
        let record = lock.get().await?;
        let own: Vec<&Key> = writes.iter().map(|(write, _)| &write.key).collect();
        let attempt = Attempt {
            name,
            lock: &lock,
            version: record.as_ref().map_or("", |record| record.version.as_str()),
            own: &own,
            not_after,
            actor,
        };
        let before = record.as_ref().map(|record| Notes::read(&record.value));
        let before = before.unwrap_or_default();
        // Creates of objects that this commit writes itself: its notes replace those about them.
        let is_own = |noted: &NotedWrite| noted.is_create() && own.iter().any(|key| noted.is_about(key));
        let attempts = before.noted.iter().chain(&before.abandoned);
        let makers: BTreeSet<String> = attempts
            .filter(|noted| is_own(noted))
            .map(|noted| noted.holder.clone())
            .collect();
        let mut notes = self.resolve_all(&attempt, before).await?;
        notes.abandoned.retain(|noted| !is_own(noted));
        let forgotten = notes.abandoned.len().saturating_sub(MAX_ABANDONED);
        notes.abandoned.drain(..forgotten);
        let is_repeated = !makers.is_empty();
        // No process knows that the creates of several processes are over.
        let is_only_maker = makers.iter().all(|maker| *maker == self.holder);
        let holder = if is_only_maker { self.holder.as_str() } else { "" };
        let commit = commit.to_string();
        notes.noted = writes
            .iter()
            .map(|(write, version)| NotedWrite::of(write, version, holder, &commit))
            .collect();
        let lease = self.lease(name, &lock, &notes);
        let Some(record) = lock.put(record.as_ref(), &lease).await? else {
            return Err(moved(name));
        };
        Ok(Passage {
            name: name.to_owned(),
            lock,
            record,
            notes,
            start,
            is_repeated,
        })
    }

    /// The Lease of the fence `name` with `notes`.
    fn lease(&self, name: &str, lock: &LeaseLock, notes: &Notes) -> Value {
        let mut annotations = Map::new();
        annotations.insert(NAME.to_owned(), name.into());
        notes.write(&mut annotations);
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": lock.name(), "namespace": self.namespace, "annotations": annotations},
            "spec": {},
        })
    }

    /// Takes the notes of `passages` back, except those about the objects `sent`, to which the hub has made
    /// writes or may still make them. Nothing is taken back where another commit has passed since, or where
    /// the note of a create replaces the note or mark of an earlier attempt: without both, that attempt would
    /// stay uncounted. This ends at the first fence that the hub does not let be changed.
    pub(crate) async fn take_back(&self, passages: Vec<Passage>, sent: &BTreeSet<&Key>) {
        for passage in passages.into_iter().filter(|passage| !passage.is_repeated) {
            let (name, mut notes) = (passage.name, passage.notes);
            let count = notes.noted.len();
            notes
                .noted
                .retain(|noted| sent.iter().any(|key| noted.is_about(key)));
            if notes.noted.len() == count {
                continue;
            }
            let lease = self.lease(&name, &passage.lock, &notes);
            if let Err(status) = passage.lock.put(Some(&passage.record), &lease).await {
                let problem = status.message;
                tracing::warn!(
                    fence = name,
                    problem,
                    "the notes about refused writes stay in this and other fences: the next decision waits for them"
                );
                // A hub that hangs would take its time for each fence, and the caller waits.
                break;
            }
        }
    }

    /// Whether the create of the object at `key` under the fence `name` was abandoned before it
    /// happened, so that the object is not counted.
    ///
    /// # Errors
    /// The hub's refusal to show the fence.
    pub(crate) async fn abandoned(&self, name: &str, key: &Key) -> Result<bool, Status> {
        let record = self.lock(name).get().await?;
        let abandoned = record.map(|record| Notes::read(&record.value).abandoned);
        Ok(abandoned
            .unwrap_or_default()
            .iter()
            .any(|noted| noted.is_about(key)))
    }

    /// Resolves the notes `before` of a fence. Returns the notes to keep, without noted writes.
    async fn resolve_all(&self, attempt: &Attempt<'_>, before: Notes) -> Result<Notes, CommitError> {
        let mut after = Notes {
            abandoned: before.abandoned,
            ..Notes::default()
        };
        for noted in before.noted {
            match self.resolve(attempt, &noted).await? {
                Resolution::Counted => after.counted.push(noted),
                Resolution::Void => {}
                Resolution::Abandoned => after.abandoned.push(noted),
            }
        }
        // The events of one resource come in order: a noted write shows nothing about writes to another one.
        let mut others = before.counted;
        others.retain(|counted| !after.counted.iter().any(|noted| noted.is_beside(counted)));
        for counted in &others {
            self.require(attempt, counted).await?;
        }
        after.counted.append(&mut others);
        Ok(after)
    }

    /// Resolves the `noted` write: the snapshot has its effect, or the write can no longer succeed.
    ///
    /// # Errors
    /// As [`Fences::pass`]. Before that, this waits for the effect of the write, and touches an existing
    /// object if there is none.
    async fn resolve(&self, attempt: &Attempt<'_>, noted: &NotedWrite) -> Result<Resolution, CommitError> {
        let Some(key) = noted.key(&self.resources) else {
            return Ok(Resolution::Void);
        };
        let is_new = noted.is_create();
        match self.copies.get(&key) {
            None if is_new => self.resolve_new(attempt, noted, &key).await,
            // A deleted object no longer counts.
            None => self.check_gone(noted, &key).await.map(|()| Resolution::Void),
            Some(copy) if self.is_past(noted, &key, &copy) => attempt
                .check_counted(&key, copy.revision())
                .map(|()| Resolution::Counted),
            Some(_) => self.prevent(attempt, noted, &key).await,
        }
    }

    /// Whether `copy`, the copy at `key`, has the effect of the `noted` write or of a later one.
    fn is_past(&self, noted: &NotedWrite, key: &Key, copy: &Object) -> bool {
        let version = || self.copies.version(key, copy);
        noted.is_create() || version().is_some_and(|version| version != noted.version)
    }

    /// Checks that the snapshot has the effect of the `counted` write, which an earlier snapshot had.
    ///
    /// # Errors
    /// [`WriteRefusal::Fenced`] when it does not, after a wait for the copy; else the hub's refusal.
    async fn require(&self, attempt: &Attempt<'_>, counted: &NotedWrite) -> Result<(), CommitError> {
        let Some(key) = counted.key(&self.resources) else {
            return Ok(());
        };
        match self.copies.get(&key) {
            Some(copy) if self.is_past(counted, &key, &copy) => {
                return attempt.check_counted(&key, copy.revision());
            }
            Some(_) => {}
            None => return self.check_gone(counted, &key).await,
        }
        let is_past = |hub_version: Option<&HubVersion>| {
            hub_version.is_some_and(|hub_version| hub_version.version != counted.version)
        };
        self.copies.until(&key, COPY_TIMEOUT, is_past).await;
        Err(moved(&key.to_string()))
    }

    /// Checks that the hub does not have the `noted` object at `key`, of which there is no copy.
    ///
    /// # Errors
    /// [`WriteRefusal::Fenced`] when it has, after a wait for the late copy; else the hub's refusal.
    async fn check_gone(&self, noted: &NotedWrite, key: &Key) -> Result<(), CommitError> {
        if self.version_on_hub(noted, key).await?.is_none() {
            return Ok(());
        }
        let is_seen = |hub_version: Option<&HubVersion>| hub_version.is_some();
        self.copies.until(key, COPY_TIMEOUT, is_seen).await;
        Err(moved(&key.to_string()))
    }

    /// Waits for the effect of the `noted` write to the existing object at `key`, and touches the object if
    /// there is none. If nobody can touch the object, the write counts as failed after [`LATE_LIMIT`], unless
    /// the hub has another version by then.
    async fn prevent(
        &self,
        attempt: &Attempt<'_>,
        noted: &NotedWrite,
        key: &Key,
    ) -> Result<Resolution, CommitError> {
        let is_past = |hub_version: Option<&HubVersion>| {
            hub_version.is_none_or(|hub_version| hub_version.version != noted.version)
        };
        let commit = attempt.commit_of(noted);
        let earlier = self.untouchable.lock().get(&commit).copied();
        if earlier.is_none() {
            let is_copied = self.copies.until(key, COPY_TIMEOUT, is_past).await;
            // The writer may have taken its note back meanwhile.
            if is_copied || !attempt.is_current().await? {
                return Err(moved(&key.to_string()));
            }
        }
        let since = earlier.unwrap_or_else(Instant::now);
        let rest = LATE_LIMIT.saturating_sub(since.elapsed());
        if rest.is_zero() {
            let version = self.version_on_hub(noted, key).await?;
            if version.is_some_and(|version| version == noted.version) {
                tracing::info!(%key, "announced write did not happen; its capacity is free again");
                return Ok(Resolution::Void);
            }
        }
        let Err(status) = self.touch(attempt, noted, key).await else {
            // The next attempt waits for the copy.
            self.untouchable.lock().remove(&commit);
            return Err(moved(&key.to_string()));
        };
        if earlier.is_none() {
            let (fence, problem) = (attempt.name, status.message);
            tracing::warn!(%key, fence, problem, "cannot annotate the object: the announced write counts as failed after {LATE_LIMIT:?}");
        }
        self.remember_untouchable(commit, since);
        // The reason is about an object that the user of this commit may not read.
        Err(unsettled(attempt.name, rest))
    }

    /// Remembers that `commit` has an object that cannot be touched, as an attempt at `since` has shown.
    fn remember_untouchable(&self, commit: String, since: Instant) {
        let mut untouchable = self.untouchable.lock();
        untouchable.retain(|_, since| since.elapsed() < UNTOUCHABLE_LIMIT);
        untouchable.insert(commit, since);
    }

    /// Resolves a noted write of an object that was about to be created, and of which there is no copy.
    async fn resolve_new(
        &self,
        attempt: &Attempt<'_>,
        noted: &NotedWrite,
        key: &Key,
    ) -> Result<Resolution, CommitError> {
        if attempt.own.contains(&key) {
            return Ok(Resolution::Void);
        }
        // A create of this process waits for the copy of its object before it ends. The wait is limited, and
        // so is the wait for the hub's answer: only the hub knows whether the object exists.
        let is_over = noted.holder == self.holder && !self.making.lock().contains_key(key);
        if is_over && self.version_on_hub(noted, key).await?.is_none() {
            return Ok(Resolution::Void);
        }
        let is_copied = self
            .copies
            .until(key, COPY_TIMEOUT, |hub_version| hub_version.is_some())
            .await;
        if is_copied || self.version_on_hub(noted, key).await?.is_some() {
            return Err(moved(&key.to_string()));
        }
        tracing::info!(%key, "announced create did not happen; its capacity is free again");
        Ok(Resolution::Abandoned)
    }

    /// The resourceVersion of the `noted` object at `key`; `None` if the hub does not have the object.
    async fn version_on_hub(&self, noted: &NotedWrite, key: &Key) -> Result<Option<String>, Status> {
        let path = wire::object(&noted.api_version, key);
        match HubClient(self.client.clone()).send(HubRequest::get(&path)).await {
            Ok(object) => {
                let version = object["metadata"]["resourceVersion"].as_str();
                Ok(Some(version.unwrap_or_default().to_owned()))
            }
            Err(status) if status.code == 404 => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Changes the object at `key` if it has the noted version, so that no write on that version can succeed
    /// any more.
    async fn touch(&self, attempt: &Attempt<'_>, noted: &NotedWrite, key: &Key) -> Result<(), Status> {
        tracing::info!(%key, "announced write did not happen; annotating the object so that it cannot any more");
        let patch = json!({"metadata": {
            "resourceVersion": noted.version, "annotations": {TOUCHED: noted.version},
        }});
        let request = HubRequest {
            method: Method::PATCH,
            path: &wire::object(&noted.api_version, key),
            actor: attempt.actor,
            body: Some(&patch),
        };
        match HubClient(self.client.clone()).send(request).await {
            Ok(_) => Ok(()),
            // The object was changed or deleted in the meantime.
            Err(status) if status.code == 409 || status.code == 404 => Ok(()),
            Err(status) => Err(status),
        }
    }
}

/// The error that a write under the fence `name` may still happen for the time `rest`.
fn unsettled(name: &str, rest: Duration) -> CommitError {
    let seconds = rest.as_secs().max(1);
    let text = format!(
        "{name}: another decision that takes this capacity was announced and may still be written; if it is not, the \
         capacity is free in {seconds} s"
    );
    Status::unavailable(text, RETRY_AFTER).into()
}

fn moved(what: &str) -> CommitError {
    let text = format!("{what} has changed since it was decided on");
    CommitError::new(WriteRefusal::Fenced, Status::failure(409, "Conflict", text))
}

#[cfg(test)]
mod tests;
