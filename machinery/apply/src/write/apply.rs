//! Server-side apply of a configuration.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use super::reset::STRIPPED;
use super::versions::{Changes, Comparisons};
use super::{Versions, Writer};
use crate::element::same;
use crate::fields::Set;
use crate::managers::{Entry, Identity, Managers, Operation};
use crate::paths::{Mismatch, join_mismatches};
use crate::too_deep;
use crate::types::Types;

/// Owner of the fields that an object had before the first apply.
const BEFORE: &str = "before-first-apply";

/// Result of an apply.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplyOutcome {
    /// Object before defaulting, without `metadata.managedFields`.
    pub object: Value,
    /// Owners of the object.
    pub managers: Managers,
    /// Whether the object differs from the live object. The owners may differ even if the object does not.
    pub changed: bool,
}

/// Fields that another manager owns and that an apply without force would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Owner of the fields.
    pub owner: Identity,
    /// Conflicting fields, at least one.
    pub paths: Set,
}

/// Reason why nothing was applied. The messages are similar to those of kube-apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// The configuration does not fit the schema. `object` identifies the object: `ns/name; group/version,
    /// Kind=kind`.
    Configuration {
        /// Key of the configured object.
        object: String,
        /// Mismatches of the configuration.
        problems: Vec<Mismatch>,
    },
    /// The stored object no longer fits the schema.
    Stored {
        /// Key of the stored object.
        object: String,
        /// Mismatches of the stored object.
        problems: Vec<Mismatch>,
    },
    /// The version of the configuration is not served.
    Version(String),
    /// Other managers own fields that would change: the conflicts by owner, in the order of messages.
    Conflicts(Vec<Conflict>),
}

impl fmt::Display for ApplyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration { object, problems } => {
                let problems = join_mismatches(problems);
                write!(
                    formatter,
                    "failed to create typed patch object ({object}): {problems}"
                )
            }
            Self::Stored { object, problems } => {
                let problems = join_mismatches(problems);
                write!(
                    formatter,
                    "failed to create typed live object ({object}): {problems}"
                )
            }
            Self::Version(version) => write!(formatter, "version {version:?} is not served"),
            Self::Conflicts(conflicts) => formatter.write_str(&message(conflicts)),
        }
    }
}

impl std::error::Error for ApplyError {}

impl ApplyError {
    /// Returns the message and the field of each conflict, at most 1,000, for the causes of a `Status`.
    pub fn causes(&self) -> impl Iterator<Item = (String, String)> {
        let conflicts = match self {
            Self::Conflicts(conflicts) => conflicts.as_slice(),
            _ => &[],
        };
        conflicts
            .iter()
            .flat_map(|conflict| {
                let message = format!("conflict with {}", conflict.owner);
                let paths = conflict.paths.first_paths(MAX_LISTED).into_iter();
                paths.map(move |path| (message.clone(), path))
            })
            .take(MAX_LISTED)
    }
}

/// Highest number of conflicts in a message or a `Status`, since every field may be in conflict.
const MAX_LISTED: usize = 1_000;

fn message(conflicts: &[Conflict]) -> String {
    let count: usize = conflicts.iter().map(|conflict| conflict.paths.count()).sum();
    if let ([only], 1) = (conflicts, count) {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            only.owner,
            only.paths.first_paths(1).concat()
        );
    }
    let (mut lines, mut left) = (Vec::new(), MAX_LISTED);
    for conflict in conflicts {
        if left == 0 {
            break;
        }
        lines.push(format!("conflicts with {}:", conflict.owner));
        let paths = conflict.paths.first_paths(left);
        left -= paths.len();
        lines.extend(paths.into_iter().map(|path| format!("- {path}")));
    }
    if count > MAX_LISTED {
        lines.push(format!("and {} more", count - MAX_LISTED));
    }
    format!("Apply failed with {count} conflicts: {}", lines.join("\n"))
}

impl Managers {
    /// Merges `config` into `live`, removes the fields that this manager applied before and that no manager
    /// owns now, and makes the manager the owner of the fields of `config`. Fields of other managers change
    /// only with `force`; these managers then lose the ownership.
    ///
    /// For a missing object, `live` is `{apiVersion, kind}`. As long as an object has no owners, all its
    /// fields belong to `before-first-apply`. Neither object has the list of managed fields: `self` is that
    /// list.
    ///
    /// # Errors
    /// When the version of `writer` is not served, `config` or `live` does not fit the schema or is nested
    /// too deep, or, without `force`, other managers own fields that would change.
    pub fn apply(
        mut self,
        versions: &dyn Versions,
        live: &Value,
        config: &Value,
        writer: &Writer<'_>,
        force: bool,
    ) -> Result<ApplyOutcome, ApplyError> {
        let types = versions
            .types(writer.api_version)
            .ok_or_else(|| ApplyError::Version(writer.api_version.to_owned()))?;
        let mine = checked_paths(types, config).map_err(|problems| ApplyError::Configuration {
            object: object_name(config),
            problems,
        })?;
        let stored = |problems| ApplyError::Stored {
            object: object_name(live),
            problems,
        };
        check_depth(live)
            .and_then(|()| types.check_stored(live))
            .map_err(stored)?;
        if self.is_empty() {
            self.own_before_first_apply(versions, live, writer);
        }
        self.reconcile(versions);
        let me = writer.identity(Operation::Apply);
        let last = self
            .entries
            .insert(me.clone(), entry(writer, writer.reset.without(mine)));
        let merged = types.merge(live, config);
        let merged = match &last {
            Some(last) if !last.set.is_empty() => {
                self.prune(versions, merged, last, writer).map_err(stored)?
            }
            _ => merged,
        };
        let mut comparisons = Comparisons::new(versions, types, (live, &merged), writer);
        self.resolve_conflicts(&me, &mut comparisons, force)?;
        let changed = !same(live, &merged);
        if let Some(mine) = self.entries.get_mut(&me) {
            mine.set.remove(&STRIPPED);
            mine.time = if changed {
                writer.time()
            } else {
                last.and_then(|last| last.time)
            };
        }
        self.remove_empty();
        Ok(ApplyOutcome {
            object: if changed { merged } else { live.clone() },
            managers: self,
            changed,
        })
    }

    /// Makes `before-first-apply` the owner of all fields of `live`.
    fn own_before_first_apply(&mut self, versions: &dyn Versions, live: &Value, writer: &Writer<'_>) {
        let before = Writer {
            manager: BEFORE,
            ..*writer
        };
        let mut empty = json!({});
        for name in ["apiVersion", "kind"] {
            if let Some(value) = live.get(name) {
                empty[name] = value.clone();
            }
        }
        self.own_changes(versions, &empty, live, &before);
    }

    /// Removes the changed and the removed fields from the sets of all managers except `me`. Fails without
    /// `force` if another manager owns a changed field.
    fn resolve_conflicts(
        &mut self,
        me: &Identity,
        comparisons: &mut Comparisons<'_>,
        force: bool,
    ) -> Result<(), ApplyError> {
        let mut conflicts = Vec::new();
        for (owner, entry) in self.entries.iter_mut().filter(|(owner, _)| *owner != me) {
            let Some(Changes { changed, removed }) = comparisons.changes(&entry.api_version) else {
                continue;
            };
            let paths = entry.set.intersection(changed);
            if !paths.is_empty() {
                let owner = owner.clone();
                conflicts.push(Conflict { owner, paths });
            }
            entry.set.remove(changed);
            entry.set.remove(removed);
        }
        if force || conflicts.is_empty() {
            return Ok(());
        }
        conflicts.sort_by_cached_key(|conflict| conflict.owner.sort_key());
        Err(ApplyError::Conflicts(conflicts))
    }

    /// Returns `merged` without the fields that only `last` owned, computed in the version of `last`.
    fn prune(
        &self,
        versions: &dyn Versions,
        merged: Value,
        last: &Entry,
        writer: &Writer<'_>,
    ) -> Result<Value, Vec<Mismatch>> {
        let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
        for entry in self.entries.values() {
            owned.entry(&entry.api_version).or_default().add(&entry.set);
        }
        let version = last.api_version.as_str();
        let Some(types) = versions.types(version) else {
            return Ok(merged);
        };
        let converted = versions.convert(&merged, writer.api_version, version);
        let first = owned.remove(version).unwrap_or_default();
        let mut pruned = types.without_last(&converted, &last.set);
        pruned = types.put_back_owned(&converted, &pruned, &first)?;
        let mut all = first;
        for (other, owned) in owned {
            let Some(types) = versions.types(other) else {
                continue;
            };
            let (from, to) = (
                versions.convert(&converted, version, other),
                versions.convert(&pruned, version, other),
            );
            let back = types.put_back_owned(&from, &to, &owned)?;
            pruned = versions.convert(&back, other, version).into_owned();
            // The union is by path, since sets cannot be converted. It matters only for emptied containers: a
            // container with an owner stays, although it is empty.
            all = all.union(&owned);
        }
        let outcome = types.put_back_unlisted(&converted, &pruned, &last.set, &all)?;
        Ok(match versions.convert(&outcome, version, writer.api_version) {
            Cow::Owned(outcome) => outcome,
            Cow::Borrowed(_) => outcome,
        })
    }
}

fn entry(writer: &Writer<'_>, set: Set) -> Entry {
    Entry {
        api_version: writer.api_version.to_owned(),
        time: None,
        set,
    }
}

fn checked_paths(types: &Types, config: &Value) -> Result<Set, Vec<Mismatch>> {
    check_depth(config)?;
    types.paths(config)
}

fn check_depth(object: &Value) -> Result<(), Vec<Mismatch>> {
    if too_deep(object) {
        return Err(vec![Mismatch::too_deep()]);
    }
    Ok(())
}

/// Returns the key of the object for messages: `ns/name; group/version, Kind=kind`.
fn object_name(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = text(&object["apiVersion"]);
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let metadata = &object["metadata"];
    format!(
        "{}/{}; {group}/{version}, Kind={}",
        text(&metadata["namespace"]),
        text(&metadata["name"]),
        text(&object["kind"])
    )
}
