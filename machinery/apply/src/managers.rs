//! `metadata.managedFields`: the owners of an object's fields.

mod cap;
mod decode;
mod encode;
pub(crate) mod name;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use berth_apimachinery::field::MAX_ERRORS;
use berth_apimachinery::{FieldError, Timestamp};
use serde_json::Value;

use crate::fields::Set;
pub use decode::MAX_BYTES;
pub(crate) use decode::whole_seconds;

/// Type of the writes that gave a manager its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// An applied configuration. A field that the next configuration omits is removed from the object.
    Apply,
    /// Any other write.
    Update,
}

impl Operation {
    /// Returns the operation as in an entry.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Identity of an owner: one name can belong to several owners, which differ in operation, subresource and,
/// for updates, version.
///
/// [`fmt::Display`] formats it as in conflicts: `"u" with subresource "scale" using example.dev/v1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Name of the manager.
    pub manager: String,
    /// Type of the manager's writes.
    pub operation: Operation,
    /// API version of the manager's updates; empty for appliers, whose identity does not depend on the
    /// version.
    pub api_version: String,
    /// Subresource of the manager's writes; empty for the object itself.
    pub subresource: String,
}

impl Identity {
    /// Returns the identity as JSON text, the sort key of the owners of conflicts, and of updaters with equal
    /// times.
    pub(crate) fn sort_key(&self) -> String {
        let mut key = format!(
            "{{\"manager\":{},\"operation\":\"{}\"",
            encode::text(&self.manager),
            self.operation.as_str()
        );
        for (name, value) in [
            ("apiVersion", &self.api_version),
            ("subresource", &self.subresource),
        ] {
            if !value.is_empty() {
                key.push_str(&format!(",\"{name}\":{}", encode::text(value)));
            }
        }
        key.push('}');
        key
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.manager)?;
        if !self.subresource.is_empty() {
            write!(formatter, " with subresource {:?}", self.subresource)?;
        }
        match self.operation {
            Operation::Apply => Ok(()),
            Operation::Update => write!(formatter, " using {}", self.api_version),
        }
    }
}

/// An owner's entry: fields, their API version, and the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// API version of the fields' names.
    pub api_version: String,
    /// Time of the owner's last change of the object, in whole seconds.
    pub time: Option<Timestamp>,
    /// Set of the owner's fields.
    pub set: Set,
}

/// The owners of an object: `metadata.managedFields`, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managers {
    pub(crate) entries: BTreeMap<Identity, Entry>,
}

impl Managers {
    /// Whether no field of the object has an owner.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over the owners, with their fields.
    pub fn iter(&self) -> impl Iterator<Item = (&Identity, &Entry)> {
        self.entries.iter()
    }

    /// Returns the fields of `owner`.
    #[must_use]
    pub fn get(&self, owner: &Identity) -> Option<&Entry> {
        self.entries.get(owner)
    }

    /// Returns the managers from which a write starts. `body` is `metadata.managedFields` in the body: its
    /// managers if they are valid and not empty; none if it is `[]` or `[{}]`; and the `live` managers
    /// otherwise.
    ///
    /// Writes to a subresource always start from the live managers: do not call this function for them.
    #[must_use]
    pub fn of_request(body: Option<&Value>, live: Self) -> Self {
        match body {
            Some(Value::Array(entries)) if removes_all(entries) => Self::default(),
            Some(body @ Value::Array(_)) => match Self::decode_value(body) {
                Ok(managers) if !managers.is_empty() => managers,
                _ => live,
            },
            _ => live,
        }
    }

    /// Whether both have the same owners with the same fields, whatever the times.
    #[must_use]
    pub fn same_but_times(&self, other: &Self) -> bool {
        self.entries.len() == other.entries.len()
            && self
                .entries
                .iter()
                .zip(&other.entries)
                .all(|((one, mine), (two, theirs))| {
                    one == two && mine.api_version == theirs.api_version && mine.set == theirs.set
                })
    }

    /// Returns the errors of managers' names and subresources, as kube-apiserver validates them before it
    /// stores managed fields; at most [`MAX_ERRORS`].
    #[must_use]
    pub fn validate(&self) -> Vec<FieldError> {
        let in_order = self.sorted().into_iter().enumerate();
        in_order
            .flat_map(|(index, (identity, _))| {
                let path = format!("metadata.managedFields[{index}]");
                let mut errors = name::problems(&format!("{path}.manager"), &identity.manager);
                if identity.subresource.chars().count() > name::SUBRESOURCE_LIMIT {
                    let path = format!("{path}.subresource");
                    errors.push(FieldError::too_long(path, name::SUBRESOURCE_LIMIT));
                }
                errors
            })
            .take(MAX_ERRORS)
            .collect()
    }

    /// Returns the entries with fields, in the order of `metadata.managedFields`: appliers first, then by
    /// time, name, version and subresource.
    fn sorted(&self) -> Vec<(&Identity, &Entry)> {
        let mut entries: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, entry)| !entry.set.is_empty())
            .collect();
        let rank = |entry: &(&'_ Identity, &'_ Entry)| (entry.0.operation, seconds(entry.1.time));
        let names = |left: &(&Identity, &Entry), right: &(&Identity, &Entry)| {
            let (one, other) = (left.0, right.0);
            let managers = one.manager.cmp(&other.manager);
            let versions = || left.1.api_version.cmp(&right.1.api_version);
            managers
                .then_with(versions)
                .then_with(|| one.subresource.cmp(&other.subresource))
        };
        entries.sort_by(|one, other| rank(one).cmp(&rank(other)).then_with(|| names(one, other)));
        entries
    }

    /// Removes owners without fields.
    pub(crate) fn remove_empty(&mut self) {
        self.entries.retain(|_, entry| !entry.set.is_empty());
    }
}

/// Whether `entries`, a list in a body, removes the managed fields: it is empty, or has one empty entry.
fn removes_all(entries: &[Value]) -> bool {
    let unset = |value: &Value| value.is_null() || value == "";
    match entries {
        [] => true,
        [Value::Object(only)] => only.values().all(unset),
        _ => false,
    }
}

fn seconds(time: Option<Timestamp>) -> i64 {
    time.map_or(0, Timestamp::as_second)
}

/// Returns `manager`, or the name of unknown managers if it is empty.
pub(crate) fn name_or_unknown(manager: &str) -> Cow<'_, str> {
    Cow::Borrowed(if manager.is_empty() { "unknown" } else { manager })
}
