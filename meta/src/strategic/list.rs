//! Lists in a strategic merge patch: replaced, united (scalars) or merged element by element (maps with a merge key).

use serde_json::{Map, Value};

use super::directive::Directive;
use super::{Strategy, merge_map};
use crate::schema::Node;

/// The list that comes of `have` and the patch's `elements`.
pub(super) fn merge(
    items: Option<&Node>,
    strategy: Strategy<'_>,
    have: Vec<Value>,
    elements: &[Value],
    order: Option<&[Value]>,
    path: &str,
) -> Result<Vec<Value>, String> {
    let replaces = replaces(elements, path)?;
    if !strategy.merge || replaces {
        return Ok(elements
            .iter()
            .filter(|element| !is_marker(element))
            .cloned()
            .collect());
    }
    let before = have.clone();
    let mut merged = match strategy.merge_key {
        Some(key) => by_key(items, key, have, elements, path)?,
        None => united(have, elements, path)?,
    };
    if let Some(order) = order {
        sort(&mut merged, &before, order, strategy.merge_key);
    }
    Ok(merged)
}

/// The elements of a `$setElementOrder/<field>`.
pub(super) fn order<'a>(order: &'a Value, path: &str) -> Result<&'a [Value], String> {
    order
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| format!("{path}: must be a list"))
}

/// Whether an element says that the whole list is replaced.
fn replaces(elements: &[Value], path: &str) -> Result<bool, String> {
    for element in elements.iter().filter_map(Value::as_object) {
        if Directive::of(element, path)? == Some(Directive::Replace) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an element carries a `$patch` directive instead of content.
fn is_marker(element: &Value) -> bool {
    element.get(super::directive::PATCH).is_some()
}

fn united(mut have: Vec<Value>, elements: &[Value], path: &str) -> Result<Vec<Value>, String> {
    for element in elements {
        if element.is_object() || element.is_array() {
            return Err(format!(
                "{path}: merges scalars only, as its schema gives no merge key"
            ));
        }
        if !have.contains(element) {
            have.push(element.clone());
        }
    }
    Ok(have)
}

fn by_key(
    items: Option<&Node>,
    key: &str,
    mut have: Vec<Value>,
    elements: &[Value],
    path: &str,
) -> Result<Vec<Value>, String> {
    for (index, element) in elements.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let fields = element
            .as_object()
            .ok_or_else(|| format!("{path}: must be an object"))?;
        let identity = fields
            .get(key)
            .ok_or_else(|| format!("{path}: does not contain the declared merge key: {key}"))?;
        if Directive::of(fields, &path)? == Some(Directive::Delete) {
            have.retain(|known| known.get(key) != Some(identity));
            continue;
        }
        let known = have.iter_mut().find(|known| known.get(key) == Some(identity));
        match known {
            Some(Value::Object(known)) => merge_map(items, known, fields, &path)?,
            _ => {
                // Merging into nothing drops nulls and directives.
                let mut fresh = Map::new();
                merge_map(items, &mut fresh, fields, &path)?;
                have.push(Value::Object(fresh));
            }
        }
    }
    Ok(have)
}

/// Puts `list` in the order asked for. Elements the order does not name keep their place relative to the named ones as
/// it was in `before`, where it was; otherwise the named ones come first.
pub(super) fn sort(list: &mut Vec<Value>, before: &[Value], order: &[Value], key: Option<&str>) {
    let same = |a: &Value, b: &Value| match key {
        Some(key) => a.get(key).is_some() && a.get(key) == b.get(key),
        None => a == b,
    };
    let rank = |in_list: &[Value], element: &Value| in_list.iter().position(|other| same(other, element));
    let all = std::mem::take(list);
    let (mut named, rest): (Vec<Value>, Vec<Value>) = all
        .into_iter()
        .partition(|element| rank(order, element).is_some());
    named.sort_by_key(|element| rank(order, element));
    let mut rest = rest.into_iter().peekable();
    let mut named = named.into_iter().peekable();
    while let (Some(left), Some(right)) = (rest.peek(), named.peek()) {
        let first = match (rank(before, left), rank(before, right)) {
            (Some(left), Some(right)) => left < right,
            _ => false,
        };
        list.extend(if first { rest.next() } else { named.next() });
    }
    list.extend(rest);
    list.extend(named);
}
