//! Execution of a list of writes, one after the other, to the hub and to Berth's own store. A list may have
//! writes to both, where Berth stores a system's own kinds and the hub stores Kubernetes' kinds.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::write::{CommitError, Guard, Verb, Write};
use berth_apimachinery::{Key, Object};
use berth_engine::{Commit, Committer};
use serde_json::Value;

use super::{HubCommitter, LateCreate, is_final_refusal};
use crate::fences::Passage;

/// Outcome of one write.
enum WriteOutcome<'a> {
    /// The hub's object after the write.
    OnHub(&'a Write, Value),
    /// The object in Berth's own store after the write.
    InOwnStore(Arc<Object>),
}

/// Progress of a list of writes.
struct Progress<'a> {
    commit: &'a Commit,
    outcomes: Vec<WriteOutcome<'a>>,
    /// The hub's resourceVersions of the objects that this list wrote on the hub.
    versions: HashMap<&'a Key, String>,
    /// Keys of the objects that this list created.
    created: BTreeSet<&'a Key>,
    /// Guards that writes to Berth's own store still need.
    guards: Vec<Guard>,
    /// The fences that the list has passed.
    passages: Vec<Passage>,
    /// Keys of the objects to which the hub has made writes of this list, or may still make them.
    sent: BTreeSet<&'a Key>,
}

impl<'a> Progress<'a> {
    fn of(commit: &'a Commit) -> Self {
        Self {
            commit,
            outcomes: Vec::new(),
            versions: HashMap::new(),
            created: BTreeSet::new(),
            guards: Vec::new(),
            passages: Vec::new(),
            sent: BTreeSet::new(),
        }
    }

    /// Whether this is a dry run, and an earlier write of the list would have created the object of `write`.
    /// The object does not exist, so that the hub cannot validate the write.
    fn lacks_object(&self, write: &Write) -> bool {
        self.commit.dry_run && self.created.contains(&write.key)
    }
}

#[async_trait]
impl Committer for HubCommitter {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        if commit.writes.iter().any(|write| self.is_for_hub(write)) {
            self.carry_out(&commit).await
        } else {
            self.own.commit(commit).await
        }
    }
}

impl HubCommitter {
    /// Makes the writes of `commit`, of which at least one is to the hub.
    async fn carry_out(&self, commit: &Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        self.check(&commit.guards)?;
        // A dry run makes no object.
        let _in_progress = (!commit.dry_run).then(|| self.fences.announce(&commit.writes));
        let mut progress = Progress::of(commit);
        if !commit.dry_run {
            progress.passages = self.pass(commit).await?;
        }
        progress.guards = self.own_guards(commit);
        let result = self.write_all(&mut progress).await;
        if result.is_err() {
            let passages = std::mem::take(&mut progress.passages);
            self.fences.take_back(passages, &progress.sent).await;
        }
        // Wait for the copies of completed writes even where the rest is refused: the next decision has
        // to count them.
        let mut objects = Vec::new();
        for outcome in progress.outcomes {
            objects.push(match outcome {
                WriteOutcome::OnHub(write, answer) => self.result(write, &answer, commit.dry_run).await?,
                WriteOutcome::InOwnStore(object) => object,
            });
        }
        result.map(|()| objects)
    }

    /// The guards that writes to Berth's own store check: all except the guards of copies, which the writes
    /// to the hub change.
    fn own_guards(&self, commit: &Commit) -> Vec<Guard> {
        let holds = |guard: &&Guard| match guard {
            Guard::Unchanged { key, .. } => !self.resources.contains(&key.resource),
            Guard::Fence { .. } => true,
        };
        commit.guards.iter().filter(holds).cloned().collect()
    }

    /// Makes the writes in their order.
    async fn write_all(&self, progress: &mut Progress<'_>) -> Result<(), CommitError> {
        let commit = progress.commit;
        let runs = commit
            .writes
            .chunk_by(|one, next| self.is_for_hub(one) == self.is_for_hub(next));
        for run in runs {
            if run.iter().any(|write| self.is_for_hub(write)) {
                for write in run {
                    self.write_to_hub(progress, write).await?;
                }
            } else {
                self.write_to_own_store(progress, run).await?;
            }
        }
        Ok(())
    }

    /// Makes a single write to the hub.
    async fn write_to_hub<'a>(
        &self,
        progress: &mut Progress<'a>,
        write: &'a Write,
    ) -> Result<(), CommitError> {
        let commit = progress.commit;
        if progress.lacks_object(write) {
            progress
                .outcomes
                .push(WriteOutcome::OnHub(write, write.object.clone()));
            return Ok(());
        }
        let version = match (write.verb, progress.versions.get(&write.key)) {
            (Verb::Create, _) => {
                progress.created.insert(&write.key);
                None
            }
            (_, Some(version)) => Some(version.clone()),
            (_, None) => Some(self.version(write)?),
        };
        let before = self.before(progress, write);
        let written = self.send_fenced(progress, write, version.as_deref()).await;
        let answer = written?;
        if let Err(overruled) = self.check_result(commit, write, &before, &answer).await {
            // Wait for the copy of the object that stays on the hub, as after a write.
            let remaining = overruled
                .remaining
                .map(|remaining| WriteOutcome::OnHub(write, remaining));
            progress.outcomes.extend(remaining);
            return Err(overruled.error);
        }
        let result = match write.verb {
            Verb::Create if !commit.dry_run => self.revert_if_late(commit, write, &answer).await,
            _ => Ok(()),
        };
        if matches!(result, Err(LateCreate::Reverted(_))) {
            return result.map_err(CommitError::from);
        }
        if let Some(version) = answer["metadata"]["resourceVersion"].as_str() {
            progress.versions.insert(&write.key, version.to_owned());
        }
        // The object is on the hub: wait for its copy, even if it is unknown whether the object may
        // stay.
        progress.outcomes.push(WriteOutcome::OnHub(write, answer));
        result.map_err(CommitError::from)
    }

    /// Makes `write`, unless too much time has passed since the fences.
    async fn send_fenced<'a>(
        &self,
        progress: &mut Progress<'a>,
        write: &'a Write,
        version: Option<&str>,
    ) -> Result<Value, CommitError> {
        for passage in &progress.passages {
            passage.check_time()?;
        }
        let commit = progress.commit;
        let is_first = progress.sent.insert(&write.key);
        let written = self.write(commit.actor, write, version, commit.dry_run).await;
        if let Err(error) = &written
            && is_first
            && is_final_refusal(&error.status)
        {
            progress.sent.remove(&write.key);
        }
        written
    }

    /// The object before `write`: the result of an earlier write of the list, or the copy; null for a new
    /// object.
    fn before(&self, progress: &Progress<'_>, write: &Write) -> Value {
        let earlier = progress.outcomes.iter().rev().find_map(|outcome| match outcome {
            WriteOutcome::OnHub(earlier, answer) if earlier.key == write.key => Some(answer.clone()),
            _ => None,
        });
        let copy = || self.copies.get(&write.key).map(|copy| copy.parse_unmanaged());
        match write.verb {
            Verb::Create => Value::Null,
            Verb::Update | Verb::Delete => earlier.or_else(copy).unwrap_or_default(),
        }
    }

    /// Makes adjacent writes to Berth's own store together. Only the first group of such writes checks the
    /// guards: a later check would fail, since the writes change the guarded objects.
    async fn write_to_own_store<'a>(
        &self,
        progress: &mut Progress<'a>,
        run: &'a [Write],
    ) -> Result<(), CommitError> {
        let commit = progress.commit;
        let effective = run.iter().filter(|write| !progress.lacks_object(write));
        let own = Commit {
            actor: commit.actor,
            manager: commit.manager.clone(),
            cause: commit.cause.clone(),
            writes: effective.cloned().collect(),
            guards: std::mem::take(&mut progress.guards),
            dry_run: commit.dry_run,
        };
        let mut stored = self.own.commit(own).await?.into_iter();
        for write in run {
            let object = if progress.lacks_object(write) {
                None
            } else {
                stored.next()
            };
            let object = object.map_or_else(|| self.unstored(&write.object), Ok)?;
            progress.outcomes.push(WriteOutcome::InOwnStore(object));
        }
        let created = run.iter().filter(|write| write.verb == Verb::Create);
        progress.created.extend(created.map(|write| &write.key));
        Ok(())
    }
}
