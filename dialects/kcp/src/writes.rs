//! The writes of the placement controller: first the annotation of the namespace, then the condition. Each
//! write is an update of the stored object in which no other field changes.

use berth_dialect_contract::{Decision, Verb, Write};
use serde_json::{Map, Value, json};

use crate::condition::{self, NAMESPACE_SCHEDULED};
use crate::detail::Detail;
use crate::fleet::{Fleet, NamespaceRecord};
use crate::names::PLACEMENT;

/// The writes of `decision`, in order.
pub(crate) fn writes(fleet: &Fleet, decision: &Decision) -> Vec<Write> {
    let (Some(record), Some(detail)) = (fleet.namespace(&decision.demand), decision.detail::<Detail>())
    else {
        return Vec::new();
    };
    let mut object = record.object.parse();
    fields(&mut object, "metadata").remove("resourceVersion");
    let mut list = Vec::new();
    let mut push = |subresource, object: &Value, first: bool| {
        list.push(Write {
            verb: Verb::Update,
            key: decision.demand.clone(),
            subresource,
            object: object.clone(),
            base: first.then(|| record.object.revision()),
        });
    };
    if let Some(text) = &detail.annotation {
        let metadata = fields(&mut object, "metadata");
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations[PLACEMENT] = text.as_str().into();
        push("", &object, true);
    }
    if detail.condition_changes(record) {
        put_condition(&mut object, record, detail, decision);
        push("status", &object, detail.annotation.is_none());
    }
    list
}

/// The conditions of this dialect that the namespace of `decision` will have.
pub(crate) fn conditions(fleet: &Fleet, decision: &Decision) -> Vec<Value> {
    let (Some(record), Some(detail)) = (fleet.namespace(&decision.demand), decision.detail::<Detail>())
    else {
        return Vec::new();
    };
    condition_of(record, detail, decision).into_iter().collect()
}

fn condition_of(record: &NamespaceRecord, detail: &Detail, decision: &Decision) -> Option<Value> {
    let stored = condition::stored(record.object.value());
    let content = detail.condition.as_ref()?;
    Some(content.to_json(stored, decision.now))
}

fn put_condition(object: &mut Value, record: &NamespaceRecord, detail: &Detail, decision: &Decision) {
    let Some(new) = condition_of(record, detail, decision) else {
        return;
    };
    let slot = fields(object, "status")
        .entry("conditions")
        .or_insert_with(|| json!([]));
    let mut list = slot.as_array().cloned().unwrap_or_default();
    match list
        .iter_mut()
        .find(|stored| stored["type"] == NAMESPACE_SCHEDULED)
    {
        Some(stored) => *stored = new,
        None => list.push(new),
    }
    *slot = Value::Array(list);
}

/// The map in the field `name` of `object`, which is created if it does not exist.
fn fields<'a>(object: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    let slot = &mut object[name];
    if !slot.is_object() {
        *slot = json!({});
    }
    slot.as_object_mut().expect("the field is an object")
}
