//! Items of a granular list, with the path elements that identify them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::element::{Element, Scalar};
use crate::types::{ItemIdentity, List};

impl List {
    /// Whether the items are merged and owned separately.
    pub(crate) fn is_granular(&self) -> bool {
        !matches!(self.identity, ItemIdentity::Atomic)
    }

    /// Returns the path element of `item`, the item number `index`.
    ///
    /// # Errors
    /// When the list is atomic, the item is not a map or omits every key, or the item of a set or a key is
    /// not a scalar.
    pub(crate) fn element(&self, index: usize, item: &Value) -> Result<Element, String> {
        match &self.identity {
            ItemIdentity::Atomic => Err("an item of an atomic list has no path".to_owned()),
            ItemIdentity::Value if item.is_array() || item.is_object() => {
                Err(format!("element {index}: sets hold scalars only"))
            }
            ItemIdentity::Value => Ok(Element::Value(Scalar(item.clone()))),
            ItemIdentity::Keys(keys) => key_element(index, item, keys),
        }
    }
}

fn key_element(index: usize, item: &Value, keys: &[(String, Option<Value>)]) -> Result<Element, String> {
    let Some(item) = item.as_object() else {
        return Err(format!(
            "element {index}: associative list with keys may not have non-map elements"
        ));
    };
    let mut found = Vec::new();
    for (name, default) in keys {
        if let Some(value) = item.get(name).or(default.as_ref()) {
            if value.is_array() || value.is_object() {
                return Err(format!("element {index}: the key {name:?} is not a scalar"));
            }
            found.push((name.clone(), Scalar(value.clone())));
        }
    }
    if found.is_empty() {
        let names: Vec<&str> = keys.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!(
            "element {index}: associative list with keys has an element that omits all key fields {names:?} (and doesn't have default values for any key fields)"
        ));
    }
    Ok(Element::Key(found))
}

/// A list with the path elements of its items. Items without a valid element are identified by their index.
pub(crate) struct IndexedList<'a> {
    /// Items in the order of the list.
    pub(crate) order: Vec<(Element, &'a Value)>,
    /// Items by their path elements; several for duplicates.
    by_element: BTreeMap<Element, Vec<&'a Value>>,
}

impl<'a> IndexedList<'a> {
    pub(crate) fn of(list: &List, items: &'a [Value]) -> Self {
        let mut by_element: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
        let mut order = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let position = i64::try_from(index).unwrap_or(i64::MAX);
            let element = list.element(index, item).unwrap_or(Element::Index(position));
            by_element.entry(element.clone()).or_default().push(item);
            order.push((element, item));
        }
        Self { order, by_element }
    }

    /// Returns the items with the path element `element`: several if the list has duplicates.
    pub(crate) fn get(&self, element: &Element) -> &[&'a Value] {
        self.by_element.get(element).map_or(&[], Vec::as_slice)
    }

    /// Iterates over the path elements in their order, each with its items.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Element, &[&'a Value])> {
        self.by_element
            .iter()
            .map(|(element, items)| (element, items.as_slice()))
    }
}
