//! The changes of a plan in their written form: in a SchedulingReview (`spec.changes`) and in the files
//! of `berth simulate --change`.

use berth_apimachinery::{FieldError, Key};
use berth_dialect_contract::config;
use serde_json::Value;

use crate::what_if::Catalog;

/// Highest number of changes in a review that a server plans.
pub const MAX_CHANGES: usize = 5_000;

/// One change of a plan, with its position in the input.
#[derive(Clone, Debug)]
pub struct Step {
    /// Position of the change, for problems: a file and a document, in words. Empty for a flag, and in a
    /// review that a server plans.
    pub at: String,
    /// Field path of the change in a review, or the flag. Empty where a whole document of a file is the
    /// change.
    pub path: String,
    /// The change.
    pub change: ChangeKind,
}

/// A change by its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeKind {
    /// A whole object to create or replace. If it has no status, the present status is kept.
    Object(Value),
    /// A JSON merge patch that contains apiVersion, kind, namespace and name of the patched object.
    Patch(Value),
    /// apiVersion, kind, namespace and name of an object to delete.
    Delete(Value),
    /// The name of a Target to empty.
    Drain(String),
}

impl Step {
    /// Reads one entry of `spec.changes` at `path`.
    ///
    /// # Errors
    /// Unless the entry has exactly one of the fields of a change, with a value of the right type.
    pub fn read(entry: &Value, at: &str, path: &str) -> Result<Self, Vec<FieldError>> {
        let fields = ["object", "patch", "delete", "drain"];
        let set: Vec<&str> = fields
            .into_iter()
            .filter(|field| entry.get(*field).is_some_and(|value| !value.is_null()))
            .collect();
        let [field] = set.as_slice() else {
            let error = match set.get(1) {
                None => FieldError::required(path, "one of object, patch, delete and drain is required"),
                Some(second) => FieldError::forbidden(
                    format!("{path}.{second}"),
                    format!(
                        "may not be set together with {}: make it a change of its own",
                        set[0]
                    ),
                ),
            };
            return Err(vec![error]);
        };
        let value = entry[*field].clone();
        let change = match (*field, &value) {
            ("drain", Value::String(target)) => ChangeKind::Drain(target.clone()),
            ("object", Value::Object(_)) => ChangeKind::Object(value),
            ("patch", Value::Object(_)) => ChangeKind::Patch(value),
            ("delete", Value::Object(_)) => ChangeKind::Delete(value),
            _ => {
                let detail = if *field == "drain" {
                    "the name of a Target is expected"
                } else {
                    "an object is expected"
                };
                return Err(vec![FieldError::invalid(
                    format!("{path}.{field}"),
                    value,
                    detail,
                )]);
            }
        };
        Ok(Self {
            at: at.to_owned(),
            path: format!("{path}.{field}"),
            change,
        })
    }

    /// Reads all entries of `spec.changes`.
    ///
    /// # Errors
    /// All errors of all entries, or a single error if there are more than [`MAX_CHANGES`].
    pub fn read_all(changes: &[Value], at: &str, path: &str) -> Result<Vec<Self>, Vec<FieldError>> {
        let (mut steps, mut errors) = (Vec::new(), Vec::new());
        if changes.len() > MAX_CHANGES {
            return Err(vec![FieldError::too_many(path, changes.len(), MAX_CHANGES)]);
        }
        for (index, entry) in changes.iter().enumerate() {
            match Self::read(entry, at, &format!("{path}[{index}]")) {
                Ok(step) => steps.push(step),
                Err(problems) => errors.extend(problems),
            }
        }
        if errors.is_empty() { Ok(steps) } else { Err(errors) }
    }

    /// The path of the whole change. Where a document is the change, the path of the object's name.
    pub(crate) fn whole(&self) -> &str {
        match self.path.as_str() {
            "" => "metadata.name",
            path => path,
        }
    }

    /// `field` below the path of the change.
    pub(crate) fn field(&self, field: &str) -> String {
        match self.path.as_str() {
            "" => field.to_owned(),
            path => format!("{path}.{field}"),
        }
    }

    /// The key of the changed object; `None` for a drain, which names a Target.
    ///
    /// # Errors
    /// When the name is missing, or the kind is missing or unknown.
    pub fn key(&self, catalog: &Catalog) -> Result<Option<Key>, Vec<FieldError>> {
        let (value, metadata) = match &self.change {
            ChangeKind::Drain(_) => return Ok(None),
            ChangeKind::Object(value) | ChangeKind::Patch(value) => (value, "metadata."),
            ChangeKind::Delete(value) => (value, ""),
        };
        let names = if metadata.is_empty() {
            value
        } else {
            &value["metadata"]
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = text(&names["name"]);
        if name.is_empty() {
            let path = self.field(&format!("{metadata}name"));
            return Err(vec![FieldError::required(
                path,
                "the name of the changed object is required",
            )]);
        }
        if config::is_scheduler_configuration(value) {
            return Ok(Some(config::key(&name)));
        }
        let (kind, _) = catalog.kind_of(value, &self.path)?;
        let namespace = match (kind.info().namespaced(), text(&names["namespace"])) {
            (false, _) => String::new(),
            (true, namespace) if namespace.is_empty() => "default".to_owned(),
            (true, namespace) => namespace,
        };
        Ok(Some(Key::new(kind.stored_in(), &namespace, &name)))
    }
}
