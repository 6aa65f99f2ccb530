//! Lists in a strategic merge patch. By its strategy, a list is replaced, united (scalars) or merged element
//! by element (maps with a merge key).

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::directive::Directive;
use super::{Strategy, merge_map};
use crate::budget::Budget;
use crate::patch::Problem;
use crate::schema::Node;

/// Merges the patch's `elements` into the list `have`, which is `None` for a missing list. `order` is the
/// value of `$setElementOrder`.
pub(super) fn merge(
    items: Option<&Node>,
    strategy: Strategy<'_>,
    have: Option<Vec<Value>>,
    elements: &[Value],
    order: Option<&[Value]>,
    path: &str,
    budget: &mut Budget,
) -> Result<Vec<Value>, Problem> {
    let is_new = have.is_none();
    let have = have.unwrap_or_default();
    budget.spend(have.len() + elements.len() * (1 + path.len() / 16) + order.map_or(0, <[Value]>::len))?;
    let replaces = replaces(elements, path)?;
    if !strategy.merge || replaces {
        return Ok(elements
            .iter()
            .filter(|element| !has_directive(element))
            .cloned()
            .collect());
    }
    // Without an explicit order, the order of the patch's elements is used: new elements come before existing
    // ones.
    let order = Order::of(&have, order.unwrap_or(elements), strategy.merge_key);
    let mut merged = match strategy.merge_key {
        Some(key) => merge_by_key(items, key, (have, is_new), elements, path, budget)?,
        None => unite(have, elements, path)?,
    };
    order.sort(&mut merged);
    Ok(merged)
}

/// Returns the elements of `$setElementOrder/<field>`, which is at `path`.
pub(super) fn order<'a>(order: &'a Value, path: &str) -> Result<&'a [Value], String> {
    order
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| format!("{path}: must be a list"))
}

/// Whether an element has the directive `$patch: replace`, for the whole list.
fn replaces(elements: &[Value], path: &str) -> Result<bool, String> {
    for element in elements.iter().filter_map(Value::as_object) {
        if Directive::of(element, path)? == Some(Directive::Replace) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the element has a `$patch` directive.
fn has_directive(element: &Value) -> bool {
    element.get(super::directive::PATCH).is_some()
}

/// Appends the scalars that the list does not have.
fn unite(mut have: Vec<Value>, elements: &[Value], path: &str) -> Result<Vec<Value>, String> {
    let known: HashSet<&Value> = have.iter().collect();
    let mut added: Vec<&Value> = Vec::new();
    let mut seen: HashSet<&Value> = HashSet::new();
    for element in elements {
        if element.is_object() || element.is_array() {
            return Err(format!(
                "{path}: must contain only scalars, since the schema has no merge key for this list"
            ));
        }
        if !known.contains(element) && seen.insert(element) {
            added.push(element);
        }
    }
    have.extend(added.into_iter().cloned());
    Ok(have)
}

/// A list with an index of its elements by the value of their merge key.
struct KeyedList<'a> {
    key: &'a str,
    /// Elements; `None` is a deleted element.
    elements: Vec<Option<Value>>,
    /// Indexes of the elements with each value of the merge key, in ascending order.
    positions: HashMap<Value, VecDeque<usize>>,
}

impl<'a> KeyedList<'a> {
    fn of(key: &'a str, list: Vec<Value>) -> Self {
        let mut keyed = Self {
            key,
            elements: Vec::with_capacity(list.len()),
            positions: HashMap::new(),
        };
        list.into_iter().for_each(|element| keyed.push(element));
        keyed
    }

    fn push(&mut self, element: Value) {
        if let Some(identity) = element.get(self.key) {
            let positions = self.positions.entry(identity.clone()).or_default();
            positions.push_back(self.elements.len());
        }
        self.elements.push(Some(element));
    }

    /// Returns the first element whose merge key has the value `identity`, if that element is an object.
    fn first(&mut self, identity: &Value) -> Option<&mut Map<String, Value>> {
        let position = *self.positions.get(identity)?.front()?;
        self.elements[position].as_mut()?.as_object_mut()
    }

    /// Updates the index after a change of the first element of `identity`: the element may have lost its
    /// key.
    fn reindex(&mut self, identity: &Value) {
        let Some(positions) = self.positions.get_mut(identity) else {
            return;
        };
        let first = positions
            .front()
            .and_then(|position| self.elements[*position].as_ref());
        if first.is_none_or(|first| first.get(self.key) != Some(identity)) {
            positions.pop_front();
        }
    }

    fn delete(&mut self, identity: &Value) {
        for position in self.positions.remove(identity).into_iter().flatten() {
            self.elements[position] = None;
        }
    }

    fn into_list(self) -> Vec<Value> {
        self.elements.into_iter().flatten().collect()
    }
}

/// Merges a list by its merge key. The elements of a new list are not merged with each other, and may lack
/// the key or have equal keys: the schema or the kind's rules report such problems.
fn merge_by_key(
    items: Option<&Node>,
    key: &str,
    (have, is_new): (Vec<Value>, bool),
    elements: &[Value],
    path: &str,
    budget: &mut Budget,
) -> Result<Vec<Value>, Problem> {
    let mut have = KeyedList::of(key, have);
    for (index, element) in elements.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let fields = element
            .as_object()
            .ok_or_else(|| format!("{path}: must be an object"))?;
        let identity = fields.get(key);
        if identity.is_none() && !is_new {
            return Err(format!("{path}: does not contain the declared merge key: {key}").into());
        }
        let deletes = Directive::of(fields, &path)? == Some(Directive::Delete);
        let known = identity
            .filter(|_| !deletes && !is_new)
            .and_then(|identity| have.first(identity));
        match (identity, known) {
            (Some(identity), _) if deletes && !is_new => have.delete(identity),
            _ if deletes => {}
            (Some(identity), Some(known)) => {
                merge_map(items, known, fields, &path, budget)?;
                have.reindex(identity);
            }
            _ => {
                // Merging into an empty object drops nulls and directives.
                let mut added = Map::new();
                merge_map(items, &mut added, fields, &path, budget)?;
                have.push(Value::Object(added));
            }
        }
    }
    Ok(have.into_list())
}

/// The required order of a list. Elements that the order does not name keep their former position relative to
/// the named elements; elements without a former position come after the named ones.
pub(super) struct Order<'a> {
    key: Option<&'a str>,
    /// Former index of each element, by its identity.
    before: HashMap<Value, usize>,
    /// Required index of each element.
    required: HashMap<&'a Value, usize>,
}

impl<'a> Order<'a> {
    /// Creates the order `order` for the former list `before`. Elements are identified by the merge key
    /// `key`, or without a key by their whole value.
    pub(super) fn of(before: &[Value], order: &'a [Value], key: Option<&'a str>) -> Self {
        let identity = |element: &'a Value| identity(key, element);
        let mut required = HashMap::new();
        for (rank, element) in order.iter().enumerate() {
            if let Some(identity) = identity(element) {
                required.entry(identity).or_insert(rank);
            }
        }
        let mut ranks = HashMap::new();
        for (rank, element) in before.iter().enumerate() {
            if let Some(identity) = self::identity(key, element) {
                ranks.entry(identity.clone()).or_insert(rank);
            }
        }
        Self {
            key,
            before: ranks,
            required,
        }
    }

    /// Sorts `list` in this order.
    pub(super) fn sort(&self, list: &mut Vec<Value>) {
        let rank_of = |element: &Value| self.required.get(identity(self.key, element)?).copied();
        let before = |element: &Value| self.before.get(identity(self.key, element)?).copied();
        let all = std::mem::take(list);
        let (mut named, rest): (Vec<Value>, Vec<Value>) =
            all.into_iter().partition(|element| rank_of(element).is_some());
        named.sort_by_key(rank_of);
        let mut rest = rest.into_iter().peekable();
        let mut named = named.into_iter().peekable();
        while let (Some(left), Some(right)) = (rest.peek(), named.peek()) {
            let left_is_first = match (before(left), before(right)) {
                (Some(left), Some(right)) => left < right,
                _ => false,
            };
            list.extend(if left_is_first { rest.next() } else { named.next() });
        }
        list.extend(rest);
        list.extend(named);
    }
}

/// Returns the value of an element's merge key, or the whole element without a merge key.
fn identity<'v>(key: Option<&str>, element: &'v Value) -> Option<&'v Value> {
    match key {
        Some(key) => element.get(key),
        None => Some(element),
    }
}
