//! Stage of a batch: lists of steps are checked against a state, and the next state is computed, before
//! anything is durable.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use berth_apimachinery::write::{Guard, Verb};
use berth_apimachinery::{Change, Draft, GroupResource, Key, Object, Revision};

use crate::error::StoreError;
use crate::fences::{self, Fences};
use crate::history::Limits;
use crate::state::State;
use crate::step::{Expect, Step, StepResult};

/// Maximal size of an object in any store, in bytes. Without it, many small updates could make an object that
/// nobody can read; the largest body of a request, 3 MiB, and its managed fields usually fit.
pub const MAX_OBJECT_BYTES: usize = 4 << 20;
/// Bytes by which the mark of a deletion (its time, and the finalizer of its policy) may enlarge an object of
/// the maximal size.
const DELETION_MARK_BYTES: usize = 1024;

/// One change that is not durable yet, and the object before it at its own revision.
pub(crate) type StagedChange = (Change, Option<Arc<Object>>);

/// A batch of lists of steps that is not durable yet. A list sees the changes of the earlier lists; a refused
/// list has no effect.
pub(crate) struct Stage {
    state: State,
    revision: Revision,
    changes: Vec<StagedChange>,
    /// Maximal size of an object, in bytes.
    max_object_bytes: usize,
    /// Revisions at which this batch passed fences.
    passed: HashMap<Arc<str>, Revision>,
}

impl Stage {
    /// Creates an empty batch based on `base`, for objects of at most `max_object_bytes` bytes.
    pub(crate) fn new(base: &State, max_object_bytes: usize) -> Self {
        Self {
            state: base.clone(),
            revision: base.revision(),
            changes: Vec::new(),
            max_object_bytes,
            passed: HashMap::new(),
        }
    }

    /// Whether the batch changes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the changes of the batch, in order.
    #[cfg(feature = "embedded")]
    pub(crate) fn changes(&self) -> &[StagedChange] {
        &self.changes
    }

    /// Returns the resources that this batch changes.
    pub(crate) fn changed_resources(&self) -> BTreeSet<GroupResource> {
        self.changes
            .iter()
            .map(|(change, _)| change.key.resource)
            .collect()
    }

    /// Returns the revision after this batch.
    #[cfg(feature = "embedded")]
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// Applies one list of steps atomically.
    ///
    /// # Errors
    /// The first error of a step; the batch is then unchanged.
    pub(crate) fn apply(&mut self, fences: &Fences, steps: &[Step]) -> Result<Vec<StepResult>, StoreError> {
        // A single step is checked before it changes anything, so only a longer list needs a copy of the
        // state, to undo its first steps when a later one is refused.
        let before = (steps.len() > 1).then(|| self.state.clone());
        let (revision, count) = (self.revision, self.changes.len());
        let mut passing = Vec::new();
        let result: Result<Vec<_>, _> = steps
            .iter()
            .map(|step| self.step(fences, step, &mut passing))
            .collect();
        match result {
            Ok(applied) => {
                self.passed.extend(passing);
                Ok(applied)
            }
            Err(error) => {
                if let Some(before) = before {
                    self.state = before;
                }
                self.revision = revision;
                self.changes.truncate(count);
                Err(error)
            }
        }
    }

    /// Returns the state after this batch, with a history within `limits`; the passed fences are added to
    /// `fences`.
    pub(crate) fn finish(mut self, fences: &mut Fences, limits: &Limits) -> State {
        for (name, revision) in self.passed {
            fences.pass(name, revision);
        }
        self.state.record(self.changes, limits, Instant::now());
        self.state
    }

    fn step(
        &mut self,
        fences: &Fences,
        step: &Step,
        passing: &mut Vec<(Arc<str>, Revision)>,
    ) -> Result<StepResult, StoreError> {
        let current = self.state.get(&step.key).cloned();
        let current = checked_current(step, current)?;
        let draft = checked_draft(step)?;
        self.check_guards(fences, step)?;
        if let (Some(draft), Some(current)) = (draft, &current)
            && draft.same_as(current)
        {
            return Ok(StepResult {
                object: Arc::clone(current),
                changed: false,
            });
        }
        if let Some(draft) = draft {
            check_size(&step.key, draft, current.as_deref(), self.max_object_bytes)?;
        }
        self.revision = Revision(self.revision.0 + 1);
        let fences = step.guards.iter().filter_map(|guard| match guard {
            Guard::Fence { name, .. } => Some((Arc::clone(name), self.revision)),
            Guard::Unchanged { .. } => None,
        });
        passing.extend(fences);
        self.write(step, draft, current)
    }

    fn write(
        &mut self,
        step: &Step,
        draft: Option<&Draft>,
        before: Option<Arc<Object>>,
    ) -> Result<StepResult, StoreError> {
        let revision = self.revision;
        let (old, new) = match (draft, &before) {
            (Some(draft), _) => (before.clone(), Some(Arc::new(draft.at(revision)))),
            (None, Some(last)) => (Some(Arc::new(last.draft().at(revision))), None),
            (None, None) => {
                return Err(StoreError::NotFound {
                    key: step.key.clone(),
                });
            }
        };
        let object = new.as_ref().or(old.as_ref()).map(Arc::clone);
        let object = object.ok_or_else(|| StoreError::NotFound {
            key: step.key.clone(),
        })?;
        self.state.set(&step.key, new.clone());
        let change = Change {
            revision,
            key: step.key.clone(),
            old,
            new,
        };
        self.changes.push((change, before));
        Ok(StepResult {
            object,
            changed: true,
        })
    }

    /// Checks the guards of a step. The check of revisions sees the earlier steps of the step's list. The
    /// check of fences does not, since a list does not conflict with itself.
    fn check_guards(&self, fences: &Fences, step: &Step) -> Result<(), StoreError> {
        for guard in &step.guards {
            match guard {
                Guard::Unchanged { key, revision } => {
                    let have = self.state.get(key).map(|object| object.revision());
                    if have != Some(*revision) {
                        return Err(StoreError::Conflict {
                            key: key.clone(),
                            have,
                            want: Some(*revision),
                        });
                    }
                }
                Guard::Fence { name, not_after } => {
                    let at = self
                        .passed
                        .get(name)
                        .copied()
                        .unwrap_or_else(|| fences.last(name));
                    fences::check(name, at, *not_after)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the step's present object, if it meets the step's expectation.
pub(crate) fn checked_current(
    step: &Step,
    current: Option<Arc<Object>>,
) -> Result<Option<Arc<Object>>, StoreError> {
    let key = || step.key.clone();
    if step.verb == Verb::Create {
        return match current {
            Some(_) => Err(StoreError::AlreadyExists { key: key() }),
            None => Ok(None),
        };
    }
    let Some(object) = current else {
        return Err(StoreError::NotFound { key: key() });
    };
    let have = object.revision();
    match step.expect {
        Expect::Present => Ok(Some(object)),
        Expect::At(want) if want == have => Ok(Some(object)),
        Expect::At(want) => Err(StoreError::Conflict {
            key: key(),
            have: Some(have),
            want: Some(want),
        }),
        Expect::Absent => Err(StoreError::Conflict {
            key: key(),
            have: Some(have),
            want: None,
        }),
    }
}

/// Returns the step's new object, if the step has one that fits its key; `None` for a delete.
pub(crate) fn checked_draft(step: &Step) -> Result<Option<&Draft>, StoreError> {
    let misuse = |problem: String| {
        Err(StoreError::Misuse {
            key: step.key.clone(),
            problem,
        })
    };
    match (step.verb, &step.object) {
        (Verb::Delete, _) => Ok(None),
        (_, None) => misuse(format!("a step with the verb {:?} needs an object", step.verb)),
        (_, Some(draft)) => match misplaced(&step.key, draft) {
            Some(problem) => misuse(problem),
            None => Ok(Some(draft)),
        },
    }
}

/// Checks that `draft`, the next state of the object at `key`, has at most `limit` bytes. A larger object, of
/// an earlier version or from a copy of another store, can still become smaller, and be deleted.
pub(crate) fn check_size(
    key: &Key,
    draft: &Draft,
    current: Option<&Object>,
    limit: usize,
) -> Result<(), StoreError> {
    let may_exceed = |current: &Object| {
        let [before, after] = [current.meta(), draft.meta()].map(|meta| meta.deletion_timestamp().is_some());
        let room = if after && !before { DELETION_MARK_BYTES } else { 0 };
        draft.len() < current.len() + room
    };
    if draft.len() <= limit || current.is_some_and(may_exceed) {
        return Ok(());
    }
    Err(StoreError::TooLarge {
        key: key.clone(),
        bytes: draft.len(),
    })
}

fn misplaced(key: &Key, draft: &Draft) -> Option<String> {
    let meta = draft.meta();
    if *meta.name() != *key.name {
        return Some(format!("the object's metadata.name is {:?}", meta.name()));
    }
    if *meta.namespace() != *key.namespace {
        return Some(format!(
            "the object's metadata.namespace is {:?}",
            meta.namespace()
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conformance::{delete, thing, update};

    fn object(bytes: usize, deletion: Option<&str>) -> Draft {
        let value = json!({
            "apiVersion": "conformance.example/v1", "kind": "Thing",
            "metadata": {
                "namespace": "a", "name": "x", "finalizers": ["example.com/f"], "deletionTimestamp": deletion,
            },
            "spec": {"text": "x".repeat(bytes)},
        });
        Draft::new(&value).unwrap()
    }

    #[test]
    fn an_object_above_the_limit_can_become_smaller_and_be_deleted_but_not_grow() {
        let key = thing("a", "x");
        let mut state = State::new(Revision(1));
        state.set(&key, Some(Arc::new(object(2000, None).at(Revision(1)))));
        let result = |step: Step| Stage::new(&state, 1000).apply(&Fences::new(Revision(1)), &[step]);
        let updated = |draft: Draft| {
            result(Step {
                object: Some(draft),
                ..update(&key, 1, Expect::Present)
            })
        };
        let bytes = object(2100, None).len();
        let too_large = StoreError::TooLarge {
            key: key.clone(),
            bytes,
        };
        assert_eq!(updated(object(2100, None)).err(), Some(too_large));
        assert!(
            updated(object(1900, None)).is_ok(),
            "smaller, though above the limit"
        );
        assert!(!updated(object(2000, None)).unwrap()[0].changed, "not a change");
        let marked = |bytes| object(bytes, Some("2026-01-01T00:00:00Z"));
        assert!(updated(marked(2000)).is_ok(), "the mark of the deletion");
        assert!(updated(marked(4000)).is_err(), "and more");
        assert!(result(delete(&key, Expect::Present)).is_ok());
    }
}
