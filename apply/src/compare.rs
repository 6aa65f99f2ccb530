//! What differs between two states of an object.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::element::{Element, same};
use crate::fields::Set;
use crate::items::Indexed;
use crate::types::{DEDUCED, List, Node, Shape, Types};

/// The paths that differ. Order of items differs nowhere: nobody owns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Paths only the old state has.
    pub removed: Set,
    /// Paths both have, with different values.
    pub modified: Set,
    /// Paths only the new state has.
    pub added: Set,
}

impl Comparison {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }
}

impl Types {
    /// What differs between `old` and `new`, which both fit these types.
    #[must_use]
    pub fn compare(&self, old: &Value, new: &Value) -> Comparison {
        let mut comparison = Comparison::default();
        compare(&self.root, old, new, &mut Vec::new(), &mut comparison);
        // The object itself is no path.
        for set in [
            &mut comparison.removed,
            &mut comparison.modified,
            &mut comparison.added,
        ] {
            set.member = false;
        }
        comparison
    }
}

fn compare(node: &Node, old: &Value, new: &Value, path: &mut Vec<Element>, found: &mut Comparison) {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) if !(before.is_empty() && after.is_empty()) => {
            if let Some(shape) = node.object.as_ref().filter(|shape| !shape.atomic) {
                return fields(shape, old, new, path, found);
            }
        }
        (Value::Array(before), Value::Array(after)) if !(before.is_empty() && after.is_empty()) => {
            if let Some(list) = node.list.as_ref().filter(|list| list.granular()) {
                return items(list, before, after, path, found);
            }
        }
        _ => {}
    }
    if !same(old, new) {
        found.modified.insert(path.iter().cloned());
        // What was in a container of another kind went with it, and what is in the new one came.
        if std::mem::discriminant(old) != std::mem::discriminant(new) {
            inside(node, old, path, &mut found.removed);
            inside(node, new, path, &mut found.added);
        }
    }
}

fn fields(shape: &Shape, old: &Value, new: &Value, path: &mut Vec<Element>, found: &mut Comparison) {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return;
    };
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let node = shape.field(name).unwrap_or(&DEDUCED);
        path.push(Element::Field(name.clone()));
        match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) => compare(node, old, new, path, found),
            (Some(old), None) => all(node, old, path, &mut found.removed),
            (None, Some(new)) => all(node, new, path, &mut found.added),
            (None, None) => {}
        }
        path.pop();
    }
}

fn items(list: &List, old: &[Value], new: &[Value], path: &mut Vec<Element>, found: &mut Comparison) {
    let (old, new) = (Indexed::of(list, old), Indexed::of(list, new));
    let elements: BTreeSet<&Element> = old.each().chain(new.each()).map(|(element, _)| element).collect();
    for element in elements {
        path.push(element.clone());
        match (old.get(element), new.get(element)) {
            ([old], [new]) => compare(&list.items, old, new, path, found),
            ([], new) => one_or_many(list, new, path, &mut found.added),
            (old, []) => one_or_many(list, old, path, &mut found.removed),
            (old @ [_, _, ..], new @ [_, _, ..]) => {
                let equal = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new));
                if !equal {
                    found.modified.insert(path.iter().cloned());
                }
            }
            (old, new) => {
                one_or_many(list, old, path, &mut found.removed);
                one_or_many(list, new, path, &mut found.added);
            }
        }
        path.pop();
    }
}

/// A single item with all below it; duplicates are one path.
fn one_or_many(list: &List, places: &[&Value], path: &mut Vec<Element>, set: &mut Set) {
    match places {
        [only] => all(&list.items, only, path, set),
        _ => set.insert(path.iter().cloned()),
    }
}

/// The path and everything below it.
fn all(node: &Node, value: &Value, path: &mut Vec<Element>, set: &mut Set) {
    set.insert(path.iter().cloned());
    inside(node, value, path, set);
}

fn inside(node: &Node, value: &Value, path: &mut Vec<Element>, set: &mut Set) {
    match (value, &node.object, &node.list) {
        (Value::Object(fields), Some(shape), _) if !shape.atomic => {
            for (name, field) in fields {
                path.push(Element::Field(name.clone()));
                all(shape.field(name).unwrap_or(&DEDUCED), field, path, set);
                path.pop();
            }
        }
        (Value::Array(items), _, Some(list)) if list.granular() => {
            for (element, places) in Indexed::of(list, items).each() {
                path.push(element.clone());
                one_or_many(list, places, path, set);
                path.pop();
            }
        }
        _ => {}
    }
}
