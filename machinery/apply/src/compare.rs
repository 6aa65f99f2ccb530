//! Differences between two states of an object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::element::{Element, same};
use crate::fields::Set;
use crate::items::IndexedList;
use crate::types::{DEDUCED, List, Node, Shape, Types};

/// Paths at which two states of an object differ. The order of items in a granular list is not compared,
/// since it has no owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Paths that only the old state has.
    pub removed: Set,
    /// Paths that both states have, with different values.
    pub modified: Set,
    /// Paths that only the new state has.
    pub added: Set,
}

impl Comparison {
    /// Whether the comparison is the default. Unlike [`Comparison::is_empty`], the function does not recurse.
    fn is_default(&self) -> bool {
        let is_default = |set: &Set| !set.member && set.below.is_empty();
        is_default(&self.removed) && is_default(&self.modified) && is_default(&self.added)
    }

    /// Whether the two states are equal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }
}

impl Types {
    /// Compares the states `old` and `new` of an object, which both fit these types.
    #[must_use]
    pub fn compare(&self, old: &Value, new: &Value) -> Comparison {
        let mut found = compare(&self.root, old, new);
        // The object itself has no path.
        for set in [&mut found.removed, &mut found.modified, &mut found.added] {
            set.member = false;
        }
        found
    }
}

impl Comparison {
    /// Adds `found`, the comparison of the values at `element`.
    fn insert(&mut self, element: &Element, found: Self) {
        for (set, found) in [
            (&mut self.removed, found.removed),
            (&mut self.modified, found.modified),
            (&mut self.added, found.added),
        ] {
            if found.member || !found.below.is_empty() {
                set.below.insert(element.clone(), found);
            }
        }
    }

    fn removed(removed: Set) -> Self {
        Self {
            removed,
            ..Self::default()
        }
    }

    fn modified() -> Self {
        Self {
            modified: Set::leaf(),
            ..Self::default()
        }
    }

    fn added(added: Set) -> Self {
        Self {
            added,
            ..Self::default()
        }
    }
}

/// Compares two values and everything below them. Sets are created only for differences, since most parts of
/// an object do not differ.
fn compare(node: &Node, old: &Value, new: &Value) -> Comparison {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) if !(before.is_empty() && after.is_empty()) => {
            if let Some(shape) = node.object.as_ref().filter(|shape| !shape.atomic) {
                return fields(shape, before, after);
            }
        }
        (Value::Array(before), Value::Array(after)) if !(before.is_empty() && after.is_empty()) => {
            if let Some(list) = node.list.as_ref().filter(|list| list.is_granular()) {
                return items(list, before, after);
            }
        }
        _ => {}
    }
    if same(old, new) {
        return Comparison::default();
    }
    let mut found = Comparison::modified();
    // The members of a container with another type were removed with it, and the members of the new container
    // were added.
    if std::mem::discriminant(old) != std::mem::discriminant(new) {
        found.removed = inside(node, old);
        found.added = inside(node, new);
    }
    found
}

fn fields(shape: &Shape, old: &Map<String, Value>, new: &Map<String, Value>) -> Comparison {
    let mut found = Comparison::default();
    let node_of = |name: &String| shape.field(name).unwrap_or(&DEDUCED);
    for (name, before) in old {
        let below = match new.get(name) {
            Some(after) => compare(node_of(name), before, after),
            None => Comparison::removed(subtree(node_of(name), before)),
        };
        if !below.is_default() {
            found.insert(&Element::Field(name.clone()), below);
        }
    }
    for (name, after) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        let below = Comparison::added(subtree(node_of(name), after));
        found.insert(&Element::Field(name.clone()), below);
    }
    found
}

fn items(list: &List, old: &[Value], new: &[Value]) -> Comparison {
    let (old, new) = (IndexedList::of(list, old), IndexedList::of(list, new));
    let elements: BTreeSet<&Element> = old.iter().chain(new.iter()).map(|(element, _)| element).collect();
    let mut found = Comparison::default();
    for element in elements {
        let below = match (old.get(element), new.get(element)) {
            ([old], [new]) => compare(&list.items, old, new),
            ([], new) => Comparison::added(paths_of_items(list, new)),
            (old, []) => Comparison::removed(paths_of_items(list, old)),
            (old @ [_, _, ..], new @ [_, _, ..]) => {
                let equal = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new));
                match equal {
                    true => Comparison::default(),
                    false => Comparison::modified(),
                }
            }
            (old, new) => Comparison {
                removed: paths_of_items(list, old),
                added: paths_of_items(list, new),
                ..Comparison::default()
            },
        };
        found.insert(element, below);
    }
    found
}

/// Returns the paths of the items with one path element: of a single item with everything below it, or only
/// the common path of duplicates.
fn paths_of_items(list: &List, values: &[&Value]) -> Set {
    match values {
        [only] => subtree(&list.items, only),
        _ => Set::leaf(),
    }
}

/// Returns the path of the value itself and the paths below it.
fn subtree(node: &Node, value: &Value) -> Set {
    Set {
        member: true,
        ..inside(node, value)
    }
}

/// Returns the paths below a value.
fn inside(node: &Node, value: &Value) -> Set {
    let below = match (value, &node.object, &node.list) {
        (Value::Object(fields), Some(shape), _) if !shape.atomic => {
            let each = fields.iter().map(|(name, field)| {
                let node = shape.field(name).unwrap_or(&DEDUCED);
                (Element::Field(name.clone()), subtree(node, field))
            });
            each.collect()
        }
        (Value::Array(items), _, Some(list)) if list.is_granular() => {
            let items = IndexedList::of(list, items);
            let elements = items.iter();
            elements
                .map(|(element, values)| (element.clone(), paths_of_items(list, values)))
                .collect()
        }
        _ => BTreeMap::new(),
    };
    Set { member: false, below }
}
