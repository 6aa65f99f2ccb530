//! The directives of a strategic merge patch.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::join;
use crate::budget::Budget;
use crate::patch::Problem;

pub(super) const PATCH: &str = "$patch";
pub(super) const RETAIN: &str = "$retainKeys";
pub(super) const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
pub(super) const ORDER: &str = "$setElementOrder/";

/// The value of `$patch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    Replace,
    Delete,
    Merge,
}

impl Directive {
    /// Returns the directive `$patch` in `fields`, which are at `path`.
    pub(super) fn of(fields: &Map<String, Value>, path: &str) -> Result<Option<Self>, String> {
        let Some(value) = fields.get(PATCH) else {
            return Ok(None);
        };
        match value.as_str() {
            Some("replace") => Ok(Some(Self::Replace)),
            Some("delete") => Ok(Some(Self::Delete)),
            Some("merge") => Ok(Some(Self::Merge)),
            _ => {
                let directive_path = join(path, PATCH);
                Err(format!(
                    "{directive_path}: unknown patch type {value}: must be \"replace\", \"delete\" or \"merge\""
                ))
            }
        }
    }
}

/// Whether `name` is a directive, not a field.
pub(super) fn is_directive(name: &str) -> bool {
    name == PATCH || name == RETAIN || name.starts_with(DELETE_FROM) || name.starts_with(ORDER)
}

/// Applies `$retainKeys`, a list of field names: removes every other field of `target`. The patch may only
/// set listed fields.
pub(super) fn retain_keys(
    target: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    keys: &Value,
    path: &str,
) -> Result<(), String> {
    let directive_path = join(path, RETAIN);
    let Some(keys) = keys.as_array() else {
        return Err(format!("{directive_path}: must be a list of field names"));
    };
    let keys: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let listed = |name: &str| keys.contains(name);
    for (name, value) in patch {
        if !is_directive(name) && !value.is_null() && !listed(name) {
            return Err(format!(
                "{directive_path}: must contain \"{name}\", since the patch sets this field"
            ));
        }
    }
    target.retain(|name, _| listed(name));
    Ok(())
}

/// Applies `$deleteFromPrimitiveList/<field>`: removes the listed values from the list.
pub(super) fn delete_from(
    target: &mut Map<String, Value>,
    field: &str,
    values: &Value,
    path: &str,
    budget: &mut Budget,
) -> Result<(), Problem> {
    let Some(values) = values.as_array() else {
        return Err(format!("{path}: must be a list of values").into());
    };
    if let Some(Value::Array(have)) = target.get_mut(field) {
        budget.spend(have.len() + values.len())?;
        let values: HashSet<&Value> = values.iter().collect();
        have.retain(|value| !values.contains(value));
    }
    Ok(())
}
