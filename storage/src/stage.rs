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

/// One change that is not durable yet, and the object before it at its own revision.
pub(crate) type StagedChange = (Change, Option<Arc<Object>>);

/// A batch of lists of steps that is not durable yet. A list sees the changes of the earlier lists; a refused
/// list has no effect.
pub(crate) struct Stage {
    state: State,
    revision: Revision,
    changes: Vec<StagedChange>,
    /// Revisions at which this batch passed fences.
    passed: HashMap<Arc<str>, Revision>,
}

impl Stage {
    /// Creates an empty batch based on `base`.
    pub(crate) fn new(base: &State) -> Self {
        Self {
            state: base.clone(),
            revision: base.revision(),
            changes: Vec::new(),
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
