//! Steps as etcd transactions: one step is one transaction, and one transaction is one revision.
//!
//! A step is judged on the state of the cache. The transaction has a condition for everything that the step
//! depends on. When a condition fails, etcd answers with the present objects, and the step is judged again on
//! these objects. A refusal is never based on the cache alone, since the cache may be behind.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use berth_apimachinery::write::Guard;
use berth_apimachinery::{Draft, Key, Object, Revision};
use etcd_client::{Compare, CompareOp, GetOptions, KeyValue, Txn, TxnOp, TxnOpResponse, TxnResponse};

use crate::error::StoreError;
use crate::etcd::feed::{Feed, ObjectState};
use crate::etcd::layout::Layout;
use crate::etcd::link::{Failure, Link, header_revision, number};
use crate::etcd::load;
use crate::fences;
use crate::stage::{MAX_OBJECT_BYTES, check_size, checked_current, checked_draft};
use crate::step::{Step, StepResult};

/// Maximal number of attempts of a step while other writers change its object.
const MAX_ROUNDS: usize = 100;

/// Revisions at which the present list of steps passed fences.
pub(crate) type FencePasses = HashMap<Arc<str>, Revision>;

/// Writer of steps to etcd.
pub(crate) struct StepWriter<'a> {
    /// Connection to etcd.
    pub(crate) link: &'a Link,
    /// Layout of the keys.
    pub(crate) layout: &'a Layout,
    /// Feed that publishes the writes.
    pub(crate) feed: &'a Feed,
}

/// State on which a step is judged.
struct StepState {
    /// The step's object; `None` if it does not exist.
    object: Option<Arc<Object>>,
    /// Revisions of the objects in the guards; missing objects are absent.
    guard_revisions: HashMap<Key, Revision>,
    /// Revisions at which fences were last passed.
    fences: HashMap<Arc<str>, Revision>,
    /// Whether the state is from etcd itself, not from the cache.
    is_fresh: bool,
}

/// Verdict about a step.
enum StepVerdict {
    /// The step changes nothing; with the present object.
    Unchanged(Arc<Object>),
    /// The step has to be written; with the object before it, `None` for a new object.
    Write(Option<Arc<Object>>),
}

/// Outcome of a transaction.
enum TransactionOutcome {
    /// The transaction was committed, at this revision.
    Committed(Revision),
    /// A condition failed; with the present state.
    Refused(StepState),
}

impl StepWriter<'_> {
    /// Applies one step; the fences that it passes are added to `passed`.
    ///
    /// # Errors
    /// When a condition of the step does not hold, or etcd does not answer.
    pub(crate) async fn apply(
        &self,
        step: &Step,
        passed: &mut FencePasses,
    ) -> Result<StepResult, StoreError> {
        let draft = checked_draft(step)?;
        self.layout.object(&step.key)?;
        let mut state = self.cached_state(step);
        for _ in 0..MAX_ROUNDS {
            let before = match judge(step, draft, &state, passed) {
                Ok(StepVerdict::Write(before)) => before,
                Ok(StepVerdict::Unchanged(object)) if state.is_fresh => {
                    return Ok(StepResult {
                        object,
                        changed: false,
                    });
                }
                Err(error) if state.is_fresh => return Err(error),
                Ok(StepVerdict::Unchanged(_)) | Err(_) => {
                    state = self.read_state(step).await?;
                    continue;
                }
            };
            match self.send(step, draft, before.as_deref(), passed).await? {
                TransactionOutcome::Committed(revision) => {
                    return self.complete(step, draft, before, revision, passed);
                }
                TransactionOutcome::Refused(actual) => state = actual,
            }
        }
        Err(StoreError::Unavailable(format!(
            "other writers changed {} too often: try again",
            step.key
        )))
    }

    /// Publishes the write and returns its result.
    fn complete(
        &self,
        step: &Step,
        draft: Option<&Draft>,
        before: Option<Arc<Object>>,
        revision: Revision,
        passed: &mut FencePasses,
    ) -> Result<StepResult, StoreError> {
        for guard in &step.guards {
            if let Guard::Fence { name, .. } = guard {
                passed.insert(Arc::clone(name), revision);
            }
        }
        let new = draft.map(|draft| Arc::new(draft.at(revision)));
        let last_state = || before.map(|last| Arc::new(last.draft().at(revision)));
        let object = new
            .clone()
            .or_else(last_state)
            .ok_or_else(|| StoreError::NotFound {
                key: step.key.clone(),
            })?;
        self.feed.add_own(ObjectState {
            revision,
            key: step.key.clone(),
            new,
        });
        Ok(StepResult {
            object,
            changed: true,
        })
    }

    fn cached_state(&self, step: &Step) -> StepState {
        let state = self.feed.cache().state();
        let guard_revisions = guarded_keys(step)
            .filter_map(|key| Some((key.clone(), state.get(key)?.revision())))
            .collect();
        StepState {
            object: state.get(&step.key).cloned(),
            guard_revisions,
            fences: HashMap::new(),
            is_fresh: false,
        }
    }

    /// Reads everything that determines the step from etcd, at one revision.
    async fn read_state(&self, step: &Step) -> Result<StepState, StoreError> {
        let txn = Txn::new().and_then(self.reads(step)?);
        let call = |mut kv: etcd_client::KvClient| {
            let txn = txn.clone();
            async move { kv.txn(txn).await }
        };
        let answer = self.link.read(call).await.map_err(|failure| match failure {
            Failure::TooManyOperations => too_many_guards(step, &failure),
            failure => self.link.read_error(&failure),
        })?;
        self.state_from(step, &answer)
    }

    /// Sends the step as a transaction that replaces `before`.
    async fn send(
        &self,
        step: &Step,
        draft: Option<&Draft>,
        before: Option<&Object>,
        passed: &FencePasses,
    ) -> Result<TransactionOutcome, StoreError> {
        let key = self.layout.object(&step.key)?;
        let mut conditions = vec![unchanged(key.clone(), before.map(Object::revision))];
        let write = match draft {
            // The stored JSON has no revision, since etcd assigns the revision when it commits.
            Some(draft) => {
                let value = self.layout.seal(step.key.resource, &key, &draft.bytes())?;
                TxnOp::put(key, value, None)
            }
            None => TxnOp::delete(key, None),
        };
        let mut writes = vec![write];
        for (name, not_after) in fences_of(step) {
            let fence = self.layout.fence(&name);
            conditions.push(match passed.get(&name) {
                Some(own) => Compare::mod_revision(fence.clone(), CompareOp::Equal, number(*own)),
                None => Compare::mod_revision(
                    fence.clone(),
                    CompareOp::Less,
                    number(Revision(not_after.0.saturating_add(1))),
                ),
            });
            writes.push(TxnOp::put(fence, step.key.to_string(), None));
        }
        for guard in &step.guards {
            if let Guard::Unchanged { key, revision } = guard {
                conditions.push(unchanged(self.layout.object(key)?, Some(*revision)));
            }
        }
        let txn = Txn::new()
            .when(conditions)
            .and_then(writes)
            .or_else(self.reads(step)?);
        let answer = self.link.write(txn).await.map_err(|failure| match failure {
            Failure::TooLarge => StoreError::TooLarge {
                key: step.key.clone(),
                bytes: draft.map_or(0, Draft::len),
            },
            Failure::TooManyOperations => too_many_guards(step, &failure),
            failure => self.link.write_error(&failure),
        })?;
        if answer.succeeded() {
            return Ok(TransactionOutcome::Committed(header_revision(answer.header())));
        }
        self.state_from(step, &answer).map(TransactionOutcome::Refused)
    }

    /// Returns the reads of everything that the step depends on, in the order that [`StepWriter::state_from`]
    /// expects.
    fn reads(&self, step: &Step) -> Result<Vec<TxnOp>, StoreError> {
        let bare = || Some(GetOptions::new().with_keys_only());
        let mut reads = vec![TxnOp::get(self.layout.object(&step.key)?, None)];
        for key in guarded_keys(step) {
            reads.push(TxnOp::get(self.layout.object(key)?, bare()));
        }
        for name in fences_of(step).into_keys() {
            reads.push(TxnOp::get(self.layout.fence(&name), bare()));
        }
        Ok(reads)
    }

    /// Returns the state in `answer`, whose responses are those of [`StepWriter::reads`].
    fn state_from(&self, step: &Step, answer: &TxnResponse) -> Result<StepState, StoreError> {
        let mut found = answer.op_responses().into_iter().map(|response| match response {
            TxnOpResponse::Get(got) => got.kvs().first().cloned(),
            _ => None,
        });
        let object = match found.next().flatten() {
            Some(kv) => Some(self.object(&step.key, &kv)?),
            None => None,
        };
        let mut revision_of_next = || found.next().flatten().map(|kv| revision(&kv));
        let guard_revisions = guarded_keys(step)
            .filter_map(|key| Some((key.clone(), revision_of_next()?)))
            .collect();
        let fences = fences_of(step)
            .into_keys()
            .filter_map(|name| Some((name, revision_of_next()?)))
            .collect();
        Ok(StepState {
            object,
            guard_revisions,
            fences,
            is_fresh: true,
        })
    }

    /// Returns the object in `kv`, without decoding it if the cache has it at the same revision.
    fn object(&self, key: &Key, kv: &KeyValue) -> Result<Arc<Object>, StoreError> {
        let state = self.feed.cache().state();
        match state.get(key) {
            Some(cached) if cached.revision() == revision(kv) => Ok(Arc::clone(cached)),
            _ => load::object(self.layout, key, kv)
                .map(Arc::new)
                .map_err(|problem| load::unreadable(self.link, self.layout, key, problem)),
        }
    }
}

/// Judges whether the step can be committed on `state`. The checks have the same order as in other stores.
fn judge(
    step: &Step,
    draft: Option<&Draft>,
    state: &StepState,
    passed: &FencePasses,
) -> Result<StepVerdict, StoreError> {
    let current = checked_current(step, state.object.clone())?;
    for guard in &step.guards {
        match guard {
            Guard::Unchanged { key, revision } => {
                let have = state.guard_revisions.get(key).copied();
                if have != Some(*revision) {
                    return Err(StoreError::Conflict {
                        key: key.clone(),
                        have,
                        want: Some(*revision),
                    });
                }
            }
            Guard::Fence { name, not_after } => {
                let at = state.fences.get(name).copied().unwrap_or_default();
                if passed.get(name) != Some(&at) {
                    fences::check(name, at, *not_after)?;
                }
            }
        }
    }
    if let Some(draft) = draft {
        if let Some(current) = current.as_ref().filter(|current| draft.same_as(current)) {
            return Ok(StepVerdict::Unchanged(Arc::clone(current)));
        }
        check_size(&step.key, draft, current.as_deref(), MAX_OBJECT_BYTES)?;
    }
    Ok(StepVerdict::Write(current))
}

/// Returns the error of a step that etcd never accepts, so that nobody tries again.
fn too_many_guards(step: &Step, failure: &Failure) -> StoreError {
    StoreError::Misuse {
        key: step.key.clone(),
        problem: format!("{} guards: {}", step.guards.len(), failure.text()),
    }
}

/// Returns the keys of the objects in the guards, in order.
fn guarded_keys(step: &Step) -> impl Iterator<Item = &Key> {
    step.guards.iter().filter_map(|guard| match guard {
        Guard::Unchanged { key, .. } => Some(key),
        Guard::Fence { .. } => None,
    })
}

/// Returns each fence of the step once, by name, with the lowest `not_after` of its guards.
fn fences_of(step: &Step) -> BTreeMap<Arc<str>, Revision> {
    let mut fences = BTreeMap::new();
    for guard in &step.guards {
        if let Guard::Fence { name, not_after } = guard {
            let oldest = fences.entry(Arc::clone(name)).or_insert(*not_after);
            *oldest = (*oldest).min(*not_after);
        }
    }
    fences
}

fn unchanged(key: String, revision: Option<Revision>) -> Compare {
    Compare::mod_revision(key, CompareOp::Equal, number(revision.unwrap_or_default()))
}

fn revision(kv: &KeyValue) -> Revision {
    Revision(u64::try_from(kv.mod_revision()).unwrap_or_default())
}
