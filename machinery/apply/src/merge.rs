//! Merge of a configuration into the live object.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::items::IndexedList;
use crate::types::{DEDUCED, List, Node, Shape, Types};

impl Types {
    /// Merges `config` into `live`. Both must fit these types ([`Types::paths`], [`Types::paths_of_stored`]).
    #[must_use]
    pub fn merge(&self, live: &Value, config: &Value) -> Value {
        merge(&self.root, live, config)
    }
}

/// Whether the value is a map or list with entries.
fn is_filled(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// Whether the entries of `value` are merged separately.
fn is_granular(node: &Node, value: &Value) -> bool {
    match value {
        Value::Object(_) => node.object.as_ref().is_some_and(|shape| !shape.atomic),
        Value::Array(_) => node.list.as_ref().is_some_and(List::is_granular),
        _ => false,
    }
}

fn merge(node: &Node, live: &Value, config: &Value) -> Value {
    match (live, config) {
        (_, Value::Null) if is_granular(node, live) && is_filled(live) => live.clone(),
        (Value::Object(live), Value::Object(config)) => match &node.object {
            Some(shape) if !shape.atomic => Value::Object(fields(shape, live, config)),
            _ => Value::Object(config.clone()),
        },
        (Value::Array(live), Value::Array(config)) => match &node.list {
            Some(list) if list.is_granular() => Value::Array(items(list, live, config)),
            _ => Value::Array(config.clone()),
        },
        _ => config.clone(),
    }
}

fn fields(shape: &Shape, live: &Map<String, Value>, config: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = live.clone();
    for (name, value) in config {
        let node = shape.field(name).unwrap_or(&DEDUCED);
        let outcome = match live.get(name) {
            Some(live) => merge(node, live, value),
            None => value.clone(),
        };
        merged.insert(name.clone(), outcome);
    }
    merged
}

/// Merges the items of a list. Applied items keep the order of the configuration; other items stay before the
/// item that follows them in the live list.
fn items(list: &List, live: &[Value], config: &[Value]) -> Vec<Value> {
    let (live, config) = (IndexedList::of(list, live), IndexedList::of(list, config));
    let is_live = |index: usize| {
        config
            .order
            .get(index)
            .is_some_and(|(key, _)| !live.get(key).is_empty())
    };
    let mut merged = Vec::with_capacity(live.order.len() + config.order.len());
    let mut placed = BTreeSet::new();
    let (mut live_index, mut config_index, mut next) = (0, 0, 0);
    loop {
        // The next item of the configuration that the live list also has.
        next = next.max(config_index);
        while next < config.order.len() && !is_live(next) {
            next += 1;
        }
        let live_key = live.order.get(live_index).map(|(key, _)| key);
        let applied = config.order.get(config_index);
        if let Some(live_key) = live_key {
            let in_config = !config.get(live_key).is_empty();
            let is_other_next = config.order.get(next).is_some_and(|(key, _)| key != live_key);
            let is_applied = applied.is_some_and(|(key, _)| key == live_key);
            // An item with another position in the configuration is merged at that position.
            if !is_applied && applied.is_some() && in_config && is_other_next {
                live_index += 1;
                continue;
            }
            // An item that the configuration does not have keeps its position.
            if !is_applied && !in_config {
                merged.push(live.order[live_index].1.clone());
                live_index += 1;
                continue;
            }
            if is_applied || placed.contains(live_key) {
                live_index += 1;
            }
        }
        let Some((key, value)) = applied else {
            if live_key.is_none() {
                return merged;
            }
            continue;
        };
        // Duplicates of a live item are replaced by the item of the configuration.
        merged.push(match live.get(key) {
            [only] => merge(&list.items, only, value),
            _ => (*value).clone(),
        });
        placed.insert(key);
        config_index += 1;
    }
}
