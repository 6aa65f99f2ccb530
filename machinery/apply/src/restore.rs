//! Restoration of one owner's fields in an object that other writers changed.

use serde_json::{Map, Value};

use crate::element::Element;
use crate::fields::Set;
use crate::items::IndexedList;
use crate::types::{DEDUCED, Node, Types};

impl Types {
    /// Returns `changed` with the fields of `owned` as in `live`. All other fields stay as in `changed`.
    ///
    /// Both objects must fit these types ([`Types::paths_of_stored`]).
    #[must_use]
    pub fn restore_owned(&self, live: &Value, owned: &Set, changed: &Value) -> Value {
        match part(&self.root, live, owned) {
            Some(part) => self.merge(changed, &part),
            None => changed.clone(),
        }
    }
}

/// Returns the part of `value` that `owned` names, as a configuration; `None` if it is absent.
fn part(node: &Node, value: &Value, owned: &Set) -> Option<Value> {
    if owned.below.is_empty() {
        return owned.member.then(|| value.clone());
    }
    match value {
        Value::Object(live) => {
            let mut fields = Map::new();
            for (element, below) in &owned.below {
                let Element::Field(name) = element else { continue };
                let field = node.object.as_ref().and_then(|shape| shape.field(name));
                let found = live
                    .get(name)
                    .and_then(|value| part(field.unwrap_or(&DEDUCED), value, below));
                fields.extend(found.map(|value| (name.clone(), value)));
            }
            (!fields.is_empty() || owned.member).then_some(Value::Object(fields))
        }
        Value::Array(live) => {
            let list = node.list.as_ref()?;
            let live = IndexedList::of(list, live);
            let items = live.order.iter().filter_map(|(element, item)| {
                let below = owned.below.get(element)?;
                part(&list.items, item, below)
            });
            let items: Vec<Value> = items.collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        _ => owned.member.then(|| value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Schema;
    use serde_json::json;

    use super::*;

    fn types() -> Types {
        let entry = json!({"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}});
        let schema = json!({"type": "object", "properties": {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "entries": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                        "items": entry},
            "whole": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}},
        }});
        Types::of(&Schema::from_value(schema))
    }

    #[test]
    fn owned_fields_are_restored_and_other_fields_change() {
        let types = types();
        let mine =
            json!({"labels": {"a": "1"}, "entries": [{"name": "x", "value": "mine"}], "whole": ["p", "q"]});
        let owned = types.paths(&mine).unwrap();
        let live = json!({
            "labels": {"a": "1", "b": "2"},
            "entries": [{"name": "x", "value": "mine"}, {"name": "y", "value": "theirs"}],
            "whole": ["p", "q"],
        });
        let changed = json!({
            "labels": {"a": "other", "c": "3"},
            "entries": [{"name": "z", "value": "new"}],
            "whole": ["q"],
        });
        assert_eq!(
            types.restore_owned(&live, &owned, &changed),
            json!({
                "labels": {"a": "1", "c": "3"},
                "entries": [{"name": "z", "value": "new"}, {"name": "x", "value": "mine"}],
                "whole": ["p", "q"],
            })
        );
        let result = types.restore_owned(&live, &owned, &json!({}));
        assert_eq!(result, mine);
    }

    #[test]
    fn an_empty_set_restores_nothing() {
        let (live, changed) = (json!({"labels": {"a": "1"}}), json!({"labels": {"a": "2"}}));
        assert_eq!(types().restore_owned(&live, &Set::default(), &changed), changed);
    }
}
