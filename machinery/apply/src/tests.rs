//! Several managers of one object, step by step, as in kube-apiserver; and the laws for all of them.

mod encoding;
mod entries;
mod lists;
mod managers;
mod properties;
mod rows;

use berth_apimachinery::Timestamp;
use serde_json::{Value, json};

use crate::{ApplyError, Entry, Identity, Managers, Reset, Set, SingleVersion, Types, Writer};

/// The schema of the kind that the tests apply.
fn schema() -> berth_apimachinery::Schema {
    let text = json!({"type": "string"});
    let preserve = "x-kubernetes-preserve-unknown-fields";
    let mut schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "replicas": {"type": "integer", "default": 1},
        "image": text,
        "note": {"type": "string", "nullable": true},
        "size": {"x-kubernetes-int-or-string": true},
        "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "args": {"type": "array", "items": text},
        "terms": {"type": "array", "items": {"type": "object", "properties": {"key": text,
            "values": {"type": "array", "items": text}, "parts": {"type": "array", "items": {"type": "object", "properties": {"of": text}}}}}},
        "bare": {"type": "array", "x-kubernetes-preserve-unknown-fields": true},
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {"type": "object", "properties": {"port": {"type": "integer"},
                "protocol": {"type": "string", "default": "TCP"}, "name": text, "weight": {"type": "integer"}}}},
        "env": {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name",
            "items": {"type": "object", "properties": {"name": text, "value": text,
                "from": {"type": "object", "properties": {"key": text}}}}},
        "selector": {"type": "object", "x-kubernetes-map-type": "atomic",
            "properties": {"matchLabels": {"type": "object", "additionalProperties": text}}},
        "template": {"type": "object", "properties": {"a": text, "b": {"type": "string", "default": "bb"},
            "inner": {"type": "object", "properties": {"x": {"type": "integer"}}}}},
        "open": {"type": "object"},
        "data": {"type": "object", "additionalProperties": text},
        "pools": {"type": "object", "additionalProperties": {"type": "object",
            "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}}}},
    }}}});
    schema["properties"]["spec"]["properties"]["open"][preserve] = true.into();
    schema["properties"]["spec"]["properties"]["any"] = json!({});
    schema["properties"]["spec"]["properties"]["any"][preserve] = true.into();
    schema["properties"]["spec"]["properties"]["pod"] =
        json!({"type": "object", "x-kubernetes-embedded-resource": true});
    schema["properties"]["status"] = json!({"type": "object", "properties": {"phase": text,
        "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {"type": "object", "properties": {"type": text, "status": text}}}}});
    berth_apimachinery::Schema::from_value(schema)
}

/// The version of the kind that the tests apply.
const VERSION: &str = "example.dev/v1";

/// An object with the fields of each manager. The clock advances a second with each write.
struct World {
    schema: berth_apimachinery::Schema,
    types: Types,
    live: Value,
    managers: Managers,
    now: i64,
}

impl World {
    fn new() -> Self {
        let schema = schema();
        Self {
            types: Types::of(&schema),
            schema,
            live: json!({}),
            managers: Managers::default(),
            now: 0,
        }
    }

    fn writer<'a>(&mut self, manager: &'a str, subresource: &'a str, reset: &'a Reset) -> Writer<'a> {
        self.now += 1;
        Writer {
            manager,
            subresource,
            api_version: VERSION,
            now: Timestamp::from_second(self.now).unwrap(),
            reset,
        }
    }

    /// Applies `config` through `subresource`; returns whether the object changed.
    fn apply_to(&mut self, by: (&str, &str), config: &Value, force: bool) -> Result<bool, ApplyError> {
        let reset = reset(by.1);
        let by = self.writer(by.0, by.1, &reset);
        let versions = SingleVersion {
            api_version: VERSION,
            types: &self.types,
        };
        let managers = self.managers.clone();
        let applied = managers.apply(&versions, &self.live, config, &by, force)?;
        self.managers = applied.managers;
        self.live = applied.object;
        self.schema.default(&mut self.live);
        Ok(applied.changed)
    }

    /// Applies `config`; returns the conflicts, each as `manager path`, or the error.
    fn apply_all(&mut self, manager: &str, config: &Value, force: bool) -> Result<(), Vec<String>> {
        match self.apply_to((manager, ""), config, force) {
            Ok(_) => Ok(()),
            Err(ApplyError::Conflicts(conflicts)) => Err(conflicts
                .iter()
                .flat_map(|conflict| {
                    let paths = conflict.paths.paths().into_iter();
                    paths.map(|path| format!("{} {path}", conflict.owner.manager))
                })
                .collect()),
            Err(ApplyError::Configuration { problems, .. }) => {
                Err(problems.iter().map(ToString::to_string).collect())
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// Applies `spec` without force.
    fn try_apply(&mut self, manager: &str, spec: Value) -> Result<(), Vec<String>> {
        self.apply_all(manager, &json!({"spec": spec}), false)
    }

    fn apply(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.try_apply(manager, spec).expect("nobody minds");
        self
    }

    fn force(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.apply_all(manager, &json!({"spec": spec}), true)
            .expect("it fits");
        self
    }

    /// Writes the object `new` through `subresource`.
    fn write(&mut self, by: (&str, &str), mut new: Value) -> &mut Self {
        self.schema.default(&mut new);
        let reset = reset(by.1);
        let by = self.writer(by.0, by.1, &reset);
        let versions = SingleVersion {
            api_version: VERSION,
            types: &self.types,
        };
        self.managers = self.managers.clone().update(&versions, &self.live, &new, &by);
        self.live = new;
        self
    }

    /// Writes `spec` as an update.
    fn update(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.write((manager, ""), json!({"spec": spec}))
    }

    /// The value at `pointer` in spec; null if missing.
    fn at(&self, pointer: &str) -> Value {
        self.live["spec"].pointer(pointer).cloned().unwrap_or_default()
    }

    /// The entries of `manager`.
    fn entries(&self, manager: &str) -> Vec<(&Identity, &Entry)> {
        let named = self.managers.iter();
        named
            .filter(|(identity, _)| identity.manager == manager)
            .collect()
    }

    /// Fields of spec that `manager` owns, by any operation.
    fn owned(&self, manager: &str) -> Value {
        let sets = self.entries(manager).into_iter().map(|(_, entry)| &entry.set);
        let text = sets.fold(Set::default(), Set::union).encode();
        serde_json::from_str::<Value>(&text).map_or(Value::Null, |set| set["f:spec"].clone())
    }

    /// Fields with an owner.
    fn all(&self) -> Set {
        let sets = self.managers.iter().map(|(_, entry)| &entry.set);
        sets.fold(Set::default(), Set::union)
    }
}

fn reset(subresource: &str) -> Reset {
    match subresource {
        "status" => Reset::all_but_status(),
        _ => Reset::status(),
    }
}
