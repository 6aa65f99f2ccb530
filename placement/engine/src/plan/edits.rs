//! Application of a plan's changes to worlds, as a server would store them: with the defaults and rules of
//! the kind, the present status where a change has none, raised generations, and respected finalizers.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use berth_apimachinery::{FieldError, Key, Object, Timestamp, budget};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{Edit, config};
use berth_scheduling::Ix;
use serde_json::Value;

use super::change::{ChangeKind, Step};
use crate::fault::Problem;
use crate::snapshot::Snapshot;
use crate::spelling;
use crate::what_if::{Catalog, UnreadableObject, World};

/// Applies `steps` to `worlds` in their order, and then the writes of the systems' own controllers that come
/// before any decision. Only one step may change an object, so that no step undoes another. A deletion or a
/// drain sees the results of the steps before it.
///
/// # Errors
/// All problems of all steps, or that the result is no longer needed ([`budget::check_needed`]). The worlds
/// are incomplete then, and must not be used.
pub fn apply(
    worlds: &mut [World],
    catalog: &Catalog,
    steps: &[Step],
    now: Timestamp,
) -> Result<(), Vec<Problem>> {
    worlds.iter_mut().for_each(|world| world.follow(now));
    let mut editor = Editor {
        worlds: &mut *worlds,
        catalog,
        now,
        changed_by: BTreeMap::new(),
        created: Vec::new(),
        current: 0,
        suggested: false,
    };
    let mut problems = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if let Err(ended) = budget::check_needed() {
            let error = FieldError::invalid(step.whole(), Value::Null, ended.to_string());
            problems.extend(problems_of(step, vec![error]));
            return Err(problems);
        }
        editor.current = index;
        if let Err(errors) = editor.step(step, steps) {
            problems.extend(problems_of(step, errors));
        }
    }
    for (key, index) in std::mem::take(&mut editor.created) {
        let step = &steps[index];
        if let Err(errors) = editor.complete_new(&key, step) {
            problems.extend(problems_of(step, errors));
        }
    }
    for world in worlds {
        if let Err(malformed) = world.carry_out() {
            let at = world.snapshot().dialect.name().to_owned();
            let error = FieldError::invalid("", "", malformed.to_string());
            problems.push(Problem { at, error });
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

/// The `errors` of `step`, each with the position of the step.
fn problems_of(step: &Step, errors: Errors) -> impl Iterator<Item = Problem> {
    errors.into_iter().map(move |error| Problem {
        at: step.at.clone(),
        error,
    })
}

/// The keys of the objects that `step` changes in `worlds`; none for a drain of an unknown or ambiguous
/// cluster, or of a cluster of a system that has no way to empty one.
///
/// # Errors
/// When the change has no name of an object, or an unknown kind.
pub fn changed(
    worlds: &[World],
    catalog: &Catalog,
    step: &Step,
    now: Timestamp,
) -> Result<Vec<Key>, Vec<FieldError>> {
    let ChangeKind::Drain(target) = &step.change else {
        return Ok(step.key(catalog)?.into_iter().collect());
    };
    let [(world, cluster)] = &find(worlds, target)[..] else {
        return Ok(Vec::new());
    };
    let inventory = &worlds[*world].snapshot().inventory;
    let edits = inventory.advisor().drain(cluster, now).unwrap_or_default();
    Ok(edits.iter().map(|edit| edit.key().clone()).collect())
}

/// Applies steps one by one, and checks that they do not overlap.
struct Editor<'a> {
    worlds: &'a mut [World],
    catalog: &'a Catalog,
    now: Timestamp,
    /// Index of the step that changed each object.
    changed_by: BTreeMap<Key, usize>,
    /// The objects that no server has stored yet, each with the index of its step.
    created: Vec<(Key, usize)>,
    /// Index of the step that is applied.
    current: usize,
    /// Whether a similar name was already suggested. This is done once only, since it compares every target.
    suggested: bool,
}

type Errors = Vec<FieldError>;

impl Editor<'_> {
    fn step(&mut self, step: &Step, all: &[Step]) -> Result<(), Errors> {
        if let ChangeKind::Drain(target) = &step.change {
            return self.drain(step, target, all);
        }
        let Some(key) = step.key(self.catalog)? else {
            return Ok(());
        };
        self.claim(&key, step, all)?;
        match &step.change {
            ChangeKind::Object(value) => {
                let mut value = value.clone();
                if let Some(stored) = self.stored(&key) {
                    keep_absent(&mut value, &stored.parse());
                }
                self.put(&key, step, value)
            }
            ChangeKind::Patch(patch) => self.merge(&key, step, patch),
            ChangeKind::Delete(_) => {
                self.check_unused(&key, step)?;
                self.present(&key, step)?;
                self.delete(&key, step)
            }
            ChangeKind::Drain(_) => Ok(()),
        }
    }

    /// Records that `step` changes the object at `key`, and checks that no other step does.
    fn claim(&mut self, key: &Key, step: &Step, all: &[Step]) -> Result<(), Errors> {
        let first = *self.changed_by.entry(key.clone()).or_insert(self.current);
        if first == self.current {
            return Ok(());
        }
        let field = match step.change {
            ChangeKind::Object(_) | ChangeKind::Patch(_) => step.field("metadata.name"),
            ChangeKind::Delete(_) => step.field("name"),
            ChangeKind::Drain(_) => step.field(""),
        };
        let mut error = FieldError::duplicate(field.trim_end_matches('.'), key.name.to_string());
        let other = [&all[first].path, &all[first].at].map(String::as_str);
        let other = other
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or("another change");
        error.detail = format!(
            "{key} is already changed by {other}: combine the two, since a plan changes an object only once"
        );
        Err(vec![error])
    }

    fn stored(&self, key: &Key) -> Option<Arc<Object>> {
        let mut worlds = self.worlds.iter();
        worlds.find_map(|world| world.get(key)).map(Arc::clone)
    }

    /// The stored object at `key`. An object that does not exist is an error where a dialect reads its kind.
    fn present(&self, key: &Key, step: &Step) -> Result<Option<Arc<Object>>, Errors> {
        let stored = self.stored(key);
        let read = self.worlds.iter().any(|world| world.reads(key.resource));
        if stored.is_none() && read {
            return Err(vec![FieldError::not_found(step.whole(), key.to_string())]);
        }
        Ok(stored)
    }

    /// Applies the JSON merge patch `patch` to the object at `key`.
    fn merge(&mut self, key: &Key, step: &Step, patch: &Value) -> Result<(), Errors> {
        let Some(stored) = self.present(key, step)? else {
            return Ok(());
        };
        let mut value = stored.parse();
        json_patch::merge(&mut value, patch);
        self.put(key, step, value)
    }

    /// Checks that the object at `key` is not in use: a server would refuse the deletion, so that a plan with
    /// it would be wrong.
    fn check_unused(&self, key: &Key, step: &Step) -> Result<(), Errors> {
        for world in &*self.worlds {
            let snapshot = world.snapshot();
            let guarded = snapshot.dialect.guarded().protects.iter();
            if !guarded
                .into_iter()
                .any(|guarded| guarded.resource == key.resource)
            {
                continue;
            }
            // Users of the object are counted and not named: the caller of a local review may not read
            // objects of other namespaces.
            let (_, count) = snapshot.inventory.guarding().users(key, 0);
            if count > 0 {
                let objects = if count == 1 { "object" } else { "objects" };
                let detail = format!("cannot be deleted: it is used by {count} {objects}");
                return Err(vec![FieldError::forbidden(
                    step.whole(),
                    format!("{key} {detail}"),
                )]);
            }
        }
        Ok(())
    }

    /// Deletes the object at `key`, if it exists.
    fn delete(&mut self, key: &Key, step: &Step) -> Result<(), Errors> {
        for world in &mut *self.worlds {
            let deleted = world.delete(key, self.now);
            deleted.map_err(|malformed| unusable(key, step, &malformed))?;
        }
        Ok(())
    }

    /// Stores `value` at `key`, as a create or an update.
    fn put(&mut self, key: &Key, step: &Step, mut value: Value) -> Result<(), Errors> {
        if key.resource == config::RESOURCE {
            return self.configure(key, step, &value);
        }
        let stored = self.stored(key).map(|stored| stored.parse());
        if let Some(stored) = &stored {
            for field in ["uid", "creationTimestamp", "generation"] {
                keep(&mut value, stored, field);
            }
        }
        let verdict = self.catalog.judge(value, &step.path, self.now)?;
        if !verdict.errors.is_empty() {
            return Err(verdict.errors);
        }
        if stored.is_none() && verdict.is_new {
            self.created.push((key.clone(), self.current));
        }
        let mut object = verdict.object;
        if let Some(stored) = &stored
            && let Some(generation) = stored["metadata"]["generation"].as_i64()
            && content_fields(stored) != content_fields(object.value())
        {
            let mut raised = object.parse();
            raised["metadata"]["generation"] = generation.saturating_add(1).into();
            let raised = Object::new(&raised, object.revision());
            object = Arc::new(raised.map_err(|malformed| unusable(key, step, &malformed))?);
        }
        let is_held = |object: &Object| {
            let kind = self.catalog.stored_in(key.resource);
            kind.is_some_and(|kind| kind.hold_deletion(&mut object.parse(), self.now))
        };
        let is_gone =
            stored.is_some_and(|stored| loses_last_finalizer(&stored, &object)) && !is_held(&object);
        for world in self.worlds.iter_mut().filter(|world| world.reads(key.resource)) {
            if is_gone {
                world.remove(key);
                continue;
            }
            let put = world.put(key, Arc::clone(&object));
            put.map_err(|unreadable| unusable(key, step, &unreadable))?;
        }
        Ok(())
    }

    /// Sets the fields that a server sets on create in the new demand at `key`, and checks the demand against
    /// other objects. This is done after all steps, since a later step may add the other objects.
    fn complete_new(&mut self, key: &Key, step: &Step) -> Result<(), Errors> {
        for world in &mut *self.worlds {
            let snapshot = world.snapshot();
            let mut demands = snapshot.dialect.demands().iter();
            if !demands.any(|demand| demand.resource == key.resource) {
                continue;
            }
            let Some(object) = world.get(key) else { continue };
            let (guarded, guarding) = (snapshot.dialect.guarded(), snapshot.inventory.guarding());
            let mut value = object.parse();
            let mut errors = Vec::new();
            if guarded.completes.contains(&key.resource) {
                errors.extend(guarding.complete(key.resource, &mut value));
            }
            if guarded.judges.contains(&key.resource) {
                errors.extend(guarding.judge_offline(key.resource, &value));
            }
            if !errors.is_empty() {
                let errors = errors.into_iter().map(|error| FieldError {
                    path: step.field(&error.path),
                    ..error
                });
                return Err(errors.collect());
            }
            if value != **object.value() {
                let completed = Object::new(&value, object.revision());
                let completed = completed.map_err(|malformed| unusable(key, step, &malformed))?;
                let put = world.put(key, Arc::new(completed));
                put.map_err(|unreadable| unusable(key, step, &unreadable))?;
            }
        }
        Ok(())
    }

    /// Checks the fields of the configuration `value` beside the dialect's own part, with the rules of its
    /// kind where the catalog has it.
    fn check_configuration(&self, key: &Key, step: &Step, value: &Value) -> Result<(), Errors> {
        if self.catalog.stored_in(config::RESOURCE).is_some() {
            self.catalog.read(value.clone(), &step.path, self.now)?;
            let own = format!("spec.{}.", key.name);
            let unknown = self.catalog.unknown_fields(value).into_iter();
            let unknown: Errors = unknown
                .filter(|path| !path.starts_with(&own))
                .map(|path| FieldError::forbidden(step.field(&path), "unknown field"))
                .collect();
            return if unknown.is_empty() { Ok(()) } else { Err(unknown) };
        }
        let rules = &value["spec"][RulesChoice::FIELD];
        if rules.is_null() || rules.as_str().and_then(RulesChoice::named).is_some() {
            return Ok(());
        }
        let field = step.field(&format!("spec.{}", RulesChoice::FIELD));
        let known = RulesChoice::ALL.map(RulesChoice::as_str);
        Err(vec![FieldError::not_supported(field, rules.clone(), &known)])
    }

    fn configure(&mut self, key: &Key, step: &Step, value: &Value) -> Result<(), Errors> {
        let names: Vec<&str> = self
            .worlds
            .iter()
            .map(|world| world.snapshot().dialect.name())
            .collect();
        let Some(index) = names.iter().position(|name| **name == *key.name) else {
            let field = step.field("metadata.name");
            return Err(vec![FieldError::not_supported(
                field,
                key.name.to_string(),
                &names,
            )]);
        };
        self.check_configuration(key, step, value)?;
        let path = step.field(&format!("spec.{}", key.name));
        let world = &mut self.worlds[index];
        world.configure(&value["spec"][&*key.name], &path)?;
        world
            .choose_rules(RulesChoice::of(value))
            .map_err(|UnreadableObject(problem)| {
                let field = step.field(&format!("spec.{}", RulesChoice::FIELD));
                vec![FieldError::invalid(field, key.to_string(), problem)]
            })
    }

    fn drain(&mut self, step: &Step, target: &str, all: &[Step]) -> Result<(), Errors> {
        let found = find(self.worlds, target);
        let [(world, cluster)] = found.as_slice() else {
            let error = match found.len() {
                0 => {
                    let mut error = FieldError::not_found(step.whole(), target);
                    if !std::mem::replace(&mut self.suggested, true) {
                        error.detail = suggestion(self.worlds, target);
                    }
                    error
                }
                _ => {
                    let world =
                        |(world, _): &(usize, Arc<str>)| self.worlds[*world].snapshot().dialect.name();
                    let names: Vec<String> = found
                        .iter()
                        .map(|one| format!("{target}.{}", world(one)))
                        .collect();
                    FieldError::invalid(
                        step.whole(),
                        target,
                        format!(
                            "several systems have a cluster of this name: use one of {}",
                            names.join(", ")
                        ),
                    )
                }
            };
            return Err(vec![error]);
        };
        let snapshot = self.worlds[*world].snapshot();
        let Some(edits) = snapshot.inventory.advisor().drain(cluster, self.now) else {
            let detail = format!("{} has no way to empty a cluster", snapshot.dialect.name());
            return Err(vec![FieldError::invalid(step.whole(), target, detail)]);
        };
        for edit in edits {
            self.claim(edit.key(), step, all)?;
            match &edit {
                Edit::Merge { key, patch } => self.merge(key, step, patch)?,
                // An earlier edit may have removed the last finalizer, and so the object.
                Edit::Delete(key) => self.delete(key, step)?,
                Edit::Create { key, object } => self.put(key, step, object.clone())?,
            }
        }
        Ok(())
    }
}

/// The clusters with the name `target`, each with the index of its world. `target` is the full name of a
/// Target (`<name>.<system>`), the same without the system, or the name of a cluster.
fn find(worlds: &[World], target: &str) -> Vec<(usize, Arc<str>)> {
    let mut list = Vec::new();
    for (index, world) in worlds.iter().enumerate() {
        let snapshot = world.snapshot();
        if let Some((candidate, full)) = find_candidate(snapshot, target) {
            let found = (index, snapshot.inventory.cluster_name(candidate));
            if full {
                return vec![found];
            }
            list.push(found);
        }
    }
    list
}

/// Highest number of targets that a suggestion names.
const MAX_NAMES: usize = 5;

/// Hint about `target`, which does not exist: a target with a similar name, or else a few of the targets that
/// exist.
fn suggestion(worlds: &[World], target: &str) -> String {
    let mut listed = Vec::new();
    let mut count = 0;
    for world in worlds {
        let snapshot = world.snapshot();
        let (inventory, dialect) = (&snapshot.inventory, snapshot.dialect.name());
        for candidate in 0..inventory.count() {
            let name = inventory.target_name(candidate);
            let full = format!("{name}.{dialect}");
            if spelling::near(target, &name) || spelling::near(target, &full) {
                return format!("did you mean {full}?");
            }
            count += 1;
            if listed.len() < MAX_NAMES {
                listed.push(full);
            }
        }
    }
    match count - listed.len() {
        _ if listed.is_empty() => "there are no clusters".to_owned(),
        0 => format!("there are {}", listed.join(", ")),
        more => format!("there are {} and {more} more", listed.join(", ")),
    }
}

/// The demands of `before` on a cluster that one of `steps` drains. A plan reports all of these, since a user
/// who drains a cluster needs the reason for each demand that stays.
#[must_use]
pub fn on_drained(before: &Snapshot, steps: &[Step], now: Timestamp) -> BTreeSet<Key> {
    let inventory = &before.inventory;
    let drained: HashSet<Arc<str>> = steps
        .iter()
        .filter_map(|step| match &step.change {
            ChangeKind::Drain(target) => find_candidate(before, target),
            _ => None,
        })
        .map(|(candidate, _)| inventory.cluster_name(candidate))
        .collect();
    if drained.is_empty() {
        return BTreeSet::new();
    }
    let is_there = |demand: &Key| {
        let view = inventory.demand(demand, now);
        let mut placed = view.into_iter().flat_map(|view| view.placed);
        placed.any(|placed| !placed.leaving && drained.contains(&placed.cluster_name))
    };
    inventory.demands().into_iter().filter(is_there).collect()
}

/// The candidate of `snapshot` with the name `target`, and whether `target` is the full name of a Target.
fn find_candidate(snapshot: &Snapshot, target: &str) -> Option<(Ix, bool)> {
    let (inventory, dialect) = (&snapshot.inventory, snapshot.dialect.name());
    let bare = target
        .strip_suffix(dialect)
        .and_then(|rest| rest.strip_suffix('.'));
    if let Some(candidate) = bare.and_then(|bare| inventory.candidate_of_target(bare)) {
        return Some((candidate, true));
    }
    let candidate = inventory.candidate_of_target(target);
    Some((candidate.or_else(|| inventory.candidate(target))?, false))
}

/// Copies stored fields into `value` that a manifest usually lacks, and that a server would not remove: the
/// status, and a few fields of metadata.
fn keep_absent(value: &mut Value, stored: &Value) {
    if let Some(status) = stored.get("status")
        && value.get("status").is_none()
    {
        value["status"] = status.clone();
    }
    for field in ["deletionTimestamp", "finalizers", "ownerReferences"] {
        if value["metadata"].get(field).is_none() {
            keep(value, stored, field);
        }
    }
}

/// Sets `metadata.<field>` to the stored value, or removes it where no value is stored.
fn keep(value: &mut Value, stored: &Value, field: &str) {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    match stored["metadata"].get(field) {
        Some(kept) => metadata.insert(field.to_owned(), kept.clone()),
        None => metadata.remove(field),
    };
}

/// Whether `new`, which is marked as deleted, lacks the finalizers that `stored` has. Then a server deletes
/// the object.
fn loses_last_finalizer(stored: &Value, new: &Object) -> bool {
    let finalizers = stored["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
        && new.meta().finalizers().is_empty()
        && new.meta().deletion_timestamp().is_some()
}

/// The error that the object at `key` cannot be used after `step`.
fn unusable(key: &Key, step: &Step, problem: &dyn fmt::Display) -> Errors {
    vec![FieldError::invalid(
        step.whole(),
        key.to_string(),
        problem.to_string(),
    )]
}

/// All fields of `value` except apiVersion, kind, metadata and status. A change of these fields raises
/// `metadata.generation`.
pub(crate) fn content_fields(value: &Value) -> Vec<(&String, &Value)> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status" | "apiVersion" | "kind"))
        .collect()
}
