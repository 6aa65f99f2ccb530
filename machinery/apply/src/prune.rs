//! Removal of fields that a manager's last configuration had and the manager's new configuration lacks.

use serde_json::{Map, Value};

use crate::element::Element;
use crate::fields::Set;
use crate::items::IndexedList;
use crate::paths::Mismatch;
use crate::types::{DEDUCED, List, Node, Shape, Types};

impl Types {
    /// Returns `merged` without the fields of `last` that are not in `owned`. `last` is the set of one
    /// manager before the apply, and `owned` the union of all managers' sets after it.
    ///
    /// A field whose map or list loses its last entry is removed as well, or stays empty if it has an owner.
    /// An item of a list stays even if it loses its last field.
    ///
    /// # Errors
    /// When `merged` does not fit these types.
    pub fn prune(&self, merged: &Value, last: &Set, owned: &Set) -> Result<Value, Vec<Mismatch>> {
        let pruned = self.without_last(merged, last);
        let pruned = self.put_back_owned(merged, &pruned, owned)?;
        self.put_back_unlisted(merged, &pruned, last, owned)
    }

    /// Returns `merged` without the fields of `last` and without the declared fields above them, even if
    /// other managers own fields in them.
    pub(crate) fn without_last(&self, merged: &Value, last: &Set) -> Value {
        self.without(merged, &with_declared_parents(&self.root, last.clone()), None)
    }

    /// Returns `pruned` with the fields of `merged` that are in `owned`.
    pub(crate) fn put_back_owned(
        &self,
        merged: &Value,
        pruned: &Value,
        owned: &Set,
    ) -> Result<Value, Vec<Mismatch>> {
        let existing = self
            .paths_with_declared_parents(pruned)?
            .union(&with_declared_parents(&self.root, owned.clone()));
        let removed = self.paths_with_declared_parents(merged)?.difference(&existing);
        Ok(self.without(merged, &removed, None))
    }

    /// Returns `pruned` with the fields of `merged` that are not in `last`: they were removed with a declared
    /// field above them. A container that is empty without the fields of `last` stays if it is in `owned`.
    pub(crate) fn put_back_unlisted(
        &self,
        merged: &Value,
        pruned: &Value,
        last: &Set,
        owned: &Set,
    ) -> Result<Value, Vec<Mismatch>> {
        let last = with_declared_parents(&self.root, last.clone());
        let existing = self.paths_with_declared_parents(pruned)?;
        let removed = self
            .paths_with_declared_parents(merged)?
            .difference(&existing)
            .intersection(&last);
        Ok(self.without(merged, &removed, Some(owned)))
    }

    fn paths_with_declared_parents(&self, object: &Value) -> Result<Set, Vec<Mismatch>> {
        let paths = self.paths_of_stored(object)?;
        Ok(with_declared_parents(&self.root, paths))
    }

    /// Returns `object` without the members of `set` and everything below them. With `owned`, a field that
    /// becomes an empty container is removed unless it has an owner; without `owned`, its value becomes
    /// `null`. An item of a list that becomes empty stays.
    fn without(&self, object: &Value, set: &Set, owned: Option<&Set>) -> Value {
        let mut pruned = object.clone();
        remove(&self.root, &mut pruned, set, owned);
        pruned
    }
}

/// Returns `set` with every field above a member that the schema declares. Sets of managers have mostly the
/// paths of leaves.
fn with_declared_parents(node: &Node, mut set: Set) -> Set {
    let below = std::mem::take(&mut set.below)
        .into_iter()
        .map(|(element, below)| {
            let mut below = match child(node, &element) {
                Some(node) => with_declared_parents(node, below),
                None => below,
            };
            if let (Element::Field(name), Some(shape)) = (&element, &node.object) {
                below.member |= shape.fields.contains_key(name);
            }
            (element, below)
        });
    set.below = below.collect();
    set
}

/// Returns the node of the value at `element`.
fn child<'a>(node: &'a Node, element: &Element) -> Option<&'a Node> {
    match element {
        Element::Field(name) => node.object.as_ref()?.field(name).map(|node| &**node),
        _ => node.list.as_ref().map(|list| &*list.items),
    }
}

/// Removes the members of `set` from `value`. Returns whether `value` is a container that becomes empty.
fn remove(node: &Node, value: &mut Value, set: &Set, owned: Option<&Set>) -> bool {
    if set.below.is_empty() {
        return false;
    }
    match (value, &node.object, &node.list) {
        (Value::Object(fields), Some(shape), _) if !shape.atomic => remove_fields(shape, fields, set, owned),
        (Value::Array(items), _, Some(list)) if list.is_granular() => remove_items(list, items, set, owned),
        _ => false,
    }
}

/// Removes the members of `set` from an object. Returns whether the object becomes empty.
fn remove_fields(shape: &Shape, fields: &mut Map<String, Value>, set: &Set, owned: Option<&Set>) -> bool {
    let no_owner = Set::default();
    let mut has_entries = false;
    fields.retain(|name, value| {
        let element = Element::Field(name.clone());
        let Some(below) = set.below.get(&element) else {
            has_entries = true;
            return true;
        };
        if below.member {
            return false;
        }
        // A container that becomes empty still counts as an entry, as `null` does in kube-apiserver.
        has_entries = true;
        let owners = owned.map(|owned| owned.below.get(&element).unwrap_or(&no_owner));
        if !remove(shape.field(name).unwrap_or(&DEDUCED), value, below, owners) {
            return true;
        }
        match owners {
            None => {
                *value = Value::Null;
                true
            }
            Some(owners) => owners.member,
        }
    });
    !has_entries
}

/// Removes the members of `set` from a list. Returns whether the list becomes empty.
fn remove_items(list: &List, items: &mut Vec<Value>, set: &Set, owned: Option<&Set>) -> bool {
    let no_owner = Set::default();
    let remaining = IndexedList::of(list, items)
        .order
        .into_iter()
        .filter_map(|(element, item)| {
            let Some(below) = set.below.get(&element) else {
                return Some(item.clone());
            };
            if below.member {
                return None;
            }
            let mut item = item.clone();
            let owners = owned.map(|owned| owned.below.get(&element).unwrap_or(&no_owner));
            remove(&list.items, &mut item, below, owners);
            Some(item)
        });
    *items = remaining.collect();
    items.is_empty()
}
