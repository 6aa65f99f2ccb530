//! Strategic merge patch, for Kubernetes' own kinds, driven by the schema's `x-kubernetes-patch-strategy` and
//! `x-kubernetes-patch-merge-key` extensions.

mod directive;
mod list;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::budget::Budget;
use crate::patch::Problem;
use crate::schema::{Node, Schema};
use directive::{DELETE_FROM, Directive, ORDER, RETAIN};

/// Limit of the steps of a patch. A step reads one element of a list in the object or in the patch, or one
/// field of the patch.
const STEP_LIMIT: u64 = 2_000_000;

/// Default budget of a strategic merge patch.
#[must_use]
pub fn budget() -> Budget {
    Budget::new("the strategic merge patch", STEP_LIMIT, 0)
}

/// Applies the strategic merge `patch` to `target`: maps are merged and lists are replaced, unless the schema
/// has another strategy for them, and the directives `$patch: replace|delete|merge`, `$retainKeys`,
/// `$deleteFromPrimitiveList` and `$setElementOrder` are supported.
///
/// # Errors
/// When a directive or an element of the patch is invalid, the budget is exceeded, or `patch` or `target` is
/// not an object. `target` is then partly patched and must be dropped.
pub fn apply(schema: &Schema, target: &mut Value, patch: &Value, budget: &mut Budget) -> Result<(), Problem> {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            merge_map(Some(schema.node()), target, patch, "", budget)
        }
        (_, Value::Object(_)) => Err("a strategic merge patch can only be applied to a JSON object"
            .to_owned()
            .into()),
        _ => Err("a strategic merge patch must be a JSON object".to_owned().into()),
    }
}

/// Strategy for patching a field.
#[derive(Clone, Copy, Default)]
struct Strategy<'a> {
    /// Whether a list is merged.
    merge: bool,
    /// Whether a map is replaced.
    replace: bool,
    /// Field that identifies the elements of a list of maps.
    merge_key: Option<&'a str>,
}

impl<'a> Strategy<'a> {
    fn of(node: Option<&'a Node>) -> Self {
        let named = |name| {
            let strategy = node.and_then(|node| node.patch_strategy.as_deref());
            strategy.is_some_and(|strategy| strategy.split(',').any(|part| part.trim() == name))
        };
        Self {
            merge: named("merge"),
            replace: named("replace"),
            merge_key: node.and_then(|node| node.patch_merge_key.as_deref()),
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

type Fields = Map<String, Value>;

/// Applies the patch of a map: first its directives, then its fields, then the order of lists.
fn merge_map(
    node: Option<&Node>,
    target: &mut Fields,
    patch: &Fields,
    path: &str,
    budget: &mut Budget,
) -> Result<(), Problem> {
    // The path of every field of the patch may have to be formatted.
    budget.spend(1 + patch.len() * (1 + path.len() / 16))?;
    match Directive::of(patch, path)? {
        Some(Directive::Replace) => {
            *target = patch
                .iter()
                .filter(|(name, _)| *name != directive::PATCH)
                .map(clone_entry)
                .collect();
            return Ok(());
        }
        Some(Directive::Delete) => {
            target.clear();
            return Ok(());
        }
        Some(Directive::Merge) | None => {}
    }
    if let Some(keys) = patch.get(RETAIN) {
        budget.spend(target.len())?;
        directive::retain_keys(target, patch, keys, path)?;
    }
    for (name, list) in patch {
        if let Some(field) = name.strip_prefix(DELETE_FROM) {
            directive::delete_from(target, field, list, &join(path, name), budget)?;
        }
    }
    for (name, value) in patch.iter().filter(|(name, _)| !directive::is_directive(name)) {
        merge_field(
            node.and_then(|node| node.field(name)),
            target,
            patch,
            name,
            value,
            path,
            budget,
        )?;
    }
    // The patch may set the order of a list that it does not change otherwise.
    for (name, order) in patch {
        let Some(field) = name.strip_prefix(ORDER) else {
            continue;
        };
        if let (false, Some(Value::Array(have))) = (patch.contains_key(field), target.get_mut(field)) {
            let strategy = Strategy::of(node.and_then(|node| node.field(field)));
            let order = list::order(order, &join(path, name))?;
            budget.spend(have.len() + order.len())?;
            list::Order::of(have, order, strategy.merge_key).sort(have);
        }
    }
    Ok(())
}

fn clone_entry((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// Applies the field `name` of `patch`, whose value is `value`, to `target`.
fn merge_field(
    node: Option<&Node>,
    target: &mut Fields,
    patch: &Fields,
    name: &str,
    value: &Value,
    path: &str,
    budget: &mut Budget,
) -> Result<(), Problem> {
    let parent = path;
    let path = join(parent, name);
    let strategy = Strategy::of(node);
    match value {
        Value::Null => {
            target.remove(name);
        }
        Value::Object(_) if strategy.replace => {
            target.insert(name.to_owned(), value.clone());
        }
        Value::Object(fields) => {
            let deletes = Directive::of(fields, &path)? == Some(Directive::Delete);
            if deletes && !target.contains_key(name) {
                return Ok(());
            }
            let have = target.entry(name).or_insert_with(|| Value::Object(Map::new()));
            if !have.is_object() {
                *have = Value::Object(Map::new());
            }
            if let Value::Object(have) = have {
                merge_map(node, have, fields, &path, budget)?;
            }
        }
        Value::Array(elements) => {
            let order_name = format!("{ORDER}{name}");
            let order = match patch.get(&order_name) {
                Some(order) => Some(list::order(order, &join(parent, &order_name))?),
                None => None,
            };
            let items = node.and_then(|node| node.items.as_deref());
            let have = match target.remove(name) {
                Some(Value::Array(have)) => Some(have),
                _ => None,
            };
            let merged = list::merge(items, strategy, have, elements, order, &path, budget)?;
            target.insert(name.to_owned(), Value::Array(merged));
        }
        scalar => {
            target.insert(name.to_owned(), scalar.clone());
        }
    }
    Ok(())
}
