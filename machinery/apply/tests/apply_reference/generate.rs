//! Random kinds, objects and writes.

use berth_apimachinery::object_meta;
use serde_json::{Map, Value, json};

use crate::play;
use crate::random::Random;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const LIST: &str = "x-kubernetes-list-type";
pub(crate) const VERSIONS: [&str; 2] = ["example.dev/v1", "example.dev/v1beta1"];

/// A kind, and the writes to one object of it.
pub(crate) struct Sequence {
    pub(crate) schema: Value,
    pub(crate) steps: Vec<Step>,
}

/// One write.
#[derive(Clone)]
pub(crate) struct Step {
    pub(crate) operation: &'static str,
    pub(crate) manager: String,
    pub(crate) subresource: &'static str,
    pub(crate) version: &'static str,
    pub(crate) force: bool,
    pub(crate) object: Value,
    pub(crate) time: i64,
}

impl Step {
    pub(crate) fn wire(&self) -> Value {
        json!({"operation": self.operation, "manager": self.manager, "subresource": self.subresource,
            "version": self.version, "force": self.force, "object": self.object, "time": self.time})
    }
}

impl Sequence {
    pub(crate) fn wire(&self) -> Value {
        let steps: Vec<Value> = self.steps.iter().map(Step::wire).collect();
        let mut schema = self.schema.clone();
        let texts = ["apiVersion", "kind"].map(|name| (name, json!({"type": "string"})));
        for (name, text) in texts {
            schema["properties"][name] = text;
        }
        schema["properties"]["metadata"] = json!({"$ref": object_meta::REFERENCE});
        json!({"schema": schema, "versions": VERSIONS, "steps": steps,
            "definitions": {object_meta::NAME: object_meta::definition()}})
    }

    /// A random kind and a few writes, each based on the result of the earlier ones.
    pub(crate) fn random(random: &mut Random) -> Self {
        let schema = json!({"type": "object", "properties":
            {"spec": structure(random, 3, 5), "status": structure(random, 2, 2)}});
        let mut sequence = Self {
            schema,
            steps: Vec::new(),
        };
        let mut world = play::World::new(&sequence.schema);
        let count = match random.chance(5) {
            true => 40,
            false => 2 + random.below(8),
        };
        for index in 0..count {
            let time = i64::try_from(index).expect("steps are few") + 1;
            let step = match sequence.steps.last() {
                // The same write again, which usually changes nothing.
                Some(last) if last.operation == "apply" && random.chance(15) => Step { time, ..last.clone() },
                _ => step(random, &sequence.schema, &world, time),
            };
            world.step(&step);
            sequence.steps.push(step);
        }
        sequence
    }
}

fn step(random: &mut Random, schema: &Value, world: &play::World, time: i64) -> Step {
    let first = world.live.is_none();
    let operation = match random.below(10) {
        0 if first => "seed",
        0..=5 => "apply",
        _ => "update",
    };
    let subresource = if !first && random.chance(15) { "status" } else { "" };
    let version = VERSIONS[usize::from(random.versions && random.chance(30))];
    let mut object = match &world.live {
        Some(live) if operation == "update" && random.chance(85) => {
            let mut object = live.clone();
            mutate(random, schema, &mut object);
            object
        }
        _ => value(random, schema),
    };
    if !object.is_object() {
        object = json!({});
    }
    if operation == "apply" && random.chance(8) {
        object["spec"] = json!({});
    }
    object["apiVersion"] = version.into();
    object["kind"] = "Widget".into();
    let uid = world.live.as_ref().map(|live| live["metadata"]["uid"].clone());
    object["metadata"] = metadata(random, operation, world.live.as_ref());
    // Without its name, the configuration would prune all metadata.
    object["metadata"]["name"] = "w".into();
    match (operation, uid) {
        ("seed", _) => object["metadata"]["uid"] = "u1".into(),
        ("update", Some(uid)) => object["metadata"]["uid"] = uid,
        _ => {}
    }
    if operation == "update" && random.chance(10) {
        object["metadata"]["managedFields"] = entries(random, world);
    }
    Step {
        operation,
        manager: match random.chance(20) {
            true => format!("m{}", random.below(14)),
            false => (*random.pick(&["a", "b", "c", "kub"])).to_owned(),
        },
        subresource,
        version,
        force: random.chance(20),
        object,
        time,
    }
}

/// Managed fields as clients send them back: renamed, moved, cleared, and corrupted.
fn entries(random: &mut Random, world: &play::World) -> Value {
    let mut list = world.managers.to_value().unwrap_or_else(|| json!([]));
    let entries = list.as_array_mut().expect("managers are a list");
    random.shuffle(entries);
    for entry in entries.iter_mut() {
        match random.below(12) {
            0 => entry["manager"] = "a".into(),
            1 => entry["operation"] = "Apply".into(),
            2 if random.versions => entry["apiVersion"] = "example.dev/v0".into(),
            3 if random.chance(20) => entry["fieldsType"] = "".into(),
            4 => {
                entry["fieldsV1"] =
                    json!({"f:spec": {"f:gone": {}, "f:a": {}, "f:b": {".": {}, "f:a": {}, "q:x": {}}}})
            }
            _ => {}
        }
    }
    match random.below(4) {
        0 => json!([{}]),
        1 if !entries.is_empty() => {
            entries.pop();
            list
        }
        _ => list,
    }
}

fn metadata(random: &mut Random, operation: &str, live: Option<&Value>) -> Value {
    let mut metadata = match live {
        Some(live) if operation == "update" => live["metadata"].clone(),
        _ => json!({}),
    };
    if !metadata.is_object() {
        metadata = json!({});
    }
    if operation == "apply" || random.chance(30) {
        let properties = &object_meta::definition()["properties"];
        for name in ["labels", "annotations", "finalizers"] {
            if random.chance(25) {
                metadata[name] = value(random, &properties[name]);
            }
        }
        if random.chance(15) {
            let uids = some(random, &["1", "2", "3"]);
            let owner = |uid: &&str| json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": uid});
            metadata["ownerReferences"] = uids.iter().map(owner).collect();
        }
    }
    metadata
}

/// A random subset, in random order.
fn some<'a>(random: &mut Random, of: &[&'a str]) -> Vec<&'a str> {
    let mut some: Vec<&str> = of.iter().copied().filter(|_| random.chance(50)).collect();
    random.shuffle(&mut some);
    some
}

fn structure(random: &mut Random, depth: usize, most: usize) -> Value {
    let mut properties = Map::new();
    for name in &["a", "b", "c", "d", "e"][..=random.below(most)] {
        properties.insert((*name).to_owned(), schema(random, depth - 1));
    }
    json!({"type": "object", "properties": properties})
}

fn scalar(random: &mut Random) -> Value {
    match random.below(8) {
        0 => json!({"type": "integer"}),
        1 => json!({"type": "integer", "default": 7}),
        2 => json!({"type": "boolean"}),
        3 => json!({"x-kubernetes-int-or-string": true}),
        4 => json!({"type": "string", "nullable": true}),
        5 => json!({"type": "string", "default": "d"}),
        _ => json!({"type": "string"}),
    }
}

fn schema(random: &mut Random, depth: usize) -> Value {
    if depth == 0 || random.chance(20) {
        return scalar(random);
    }
    let mut atomic = structure(random, depth, 2);
    atomic["x-kubernetes-map-type"] = "atomic".into();
    let mut open = json!({"type": "object"});
    let mut partly = structure(random, depth, 2);
    let mut any = json!({});
    for schema in [&mut open, &mut partly, &mut any] {
        schema[PRESERVE] = true.into();
    }
    match random.below(14) {
        0 | 1 => structure(random, depth, 3),
        2 => atomic,
        3 => open,
        4 => partly,
        5 => any,
        6 => json!({"type": "object", "additionalProperties": scalar(random)}),
        7 => json!({"type": "object", "additionalProperties": structure(random, depth, 2)}),
        8 => json!({"type": "array", "items": scalar(random)}),
        9 => json!({"type": "array", "items": {"type": *random.pick(&["string", "integer"])}, LIST: "set"}),
        10 => json!({"type": "array", "items": keyed(random, depth),
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "k"}),
        11 => json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"}),
        12 => {
            json!({"type": "array", "items": keyed(random, depth), LIST: "map", "x-kubernetes-list-map-keys": ["k"]})
        }
        _ => {
            let mut items = keyed(random, depth);
            items["properties"]["l"] = json!({"type": "string", "default": "x"});
            json!({"type": "array", "items": items, LIST: "map", "x-kubernetes-list-map-keys": ["k", "l"]})
        }
    }
}

fn keyed(random: &mut Random, depth: usize) -> Value {
    let mut items = structure(random, depth, 2);
    items["properties"]["k"] = json!({"type": "string"});
    items
}

fn granular(schema: &Value) -> bool {
    let merged = schema[LIST].is_null() && schema["x-kubernetes-patch-strategy"] == "merge";
    merged || matches!(schema[LIST].as_str(), Some("set" | "map"))
}

/// A random value of a schema; some fields are omitted.
fn value(random: &mut Random, schema: &Value) -> Value {
    if schema["nullable"] == true && random.chance(25) {
        return Value::Null;
    }
    match schema["type"].as_str() {
        Some("string") => (*random.pick(&["x", "y", "<z>"])).into(),
        Some("integer") => random.below(3).into(),
        Some("boolean") => random.chance(50).into(),
        Some("object") => object(random, schema),
        Some("array") => list(random, schema),
        _ if schema["x-kubernetes-int-or-string"] == true => match random.below(2) {
            0 => "1".into(),
            _ => 1.into(),
        },
        _ => anything(random, 2),
    }
}

fn anything(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 2 } else { 5 }) {
        0 => (*random.pick(&["x", "y"])).into(),
        1 => random.below(2).into(),
        2 => (0..random.below(3))
            .map(|_| anything(random, depth - 1))
            .collect(),
        _ => {
            let names = some(random, &["a", "z", "y"]);
            let fields = names
                .into_iter()
                .map(|name| (name.to_owned(), anything(random, depth - 1)));
            Value::Object(fields.collect())
        }
    }
}

fn object(random: &mut Random, schema: &Value) -> Value {
    let mut fields = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if random.chance(60) {
            fields.insert(name.clone(), value(random, property));
        }
    }
    for name in some(random, &["m", "n", "o"]) {
        if schema["additionalProperties"].is_object() {
            fields.insert(name.to_owned(), value(random, &schema["additionalProperties"]));
        } else if schema[PRESERVE] == true {
            fields.insert(name.to_owned(), anything(random, 2));
        }
    }
    Value::Object(fields)
}

fn list(random: &mut Random, schema: &Value) -> Value {
    let items = &schema["items"];
    if !granular(schema) {
        return (0..random.below(3)).map(|_| value(random, items)).collect();
    }
    if items["type"] == "object" {
        let names = some(random, &["p", "q", "r", "s"]);
        let make = names.into_iter().map(|name| {
            let mut item = object(random, items);
            item["k"] = name.into();
            item
        });
        return make.collect();
    }
    let mut values = if items["type"] == "integer" {
        json!([1, 2, 3])
    } else {
        json!(["x", "y", "<z>", "w"])
    };
    let list = values.as_array_mut().expect("they are a list");
    list.retain(|_| random.chance(50));
    random.shuffle(list);
    values
}

/// Changes something in `value`.
fn mutate(random: &mut Random, schema: &Value, value: &mut Value) {
    let replaced = self::value(random, schema);
    match (value, schema["type"].as_str()) {
        (Value::Object(fields), Some("object")) => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            for (name, property) in properties {
                match (fields.get_mut(name), random.below(12)) {
                    (Some(_), 0) => {
                        fields.remove(name);
                    }
                    (Some(inner), 1..=6) => mutate(random, property, inner),
                    (None, 0..=2) => {
                        fields.insert(name.clone(), self::value(random, property));
                    }
                    _ => {}
                }
            }
            if schema["properties"].is_null() && random.chance(40) {
                *fields = replaced.as_object().cloned().unwrap_or_default();
            }
        }
        (Value::Array(items), Some("array")) if granular(schema) => match random.below(5) {
            0 => random.shuffle(items),
            1 if !items.is_empty() => {
                items.remove(random.below(items.len()));
            }
            // Duplicates, which only validation would refuse.
            2 if !random.versions && random.chance(30) => items.extend(items.first().cloned()),
            3 => *items = replaced.as_array().cloned().unwrap_or_default(),
            _ => {
                let versions = random.versions;
                for item in items.iter_mut().filter(|item| item.is_object() || !versions) {
                    let keys = ["k", "l"].map(|name| (name, item.get(name).cloned()));
                    mutate(random, &schema["items"], item);
                    for (name, key) in keys {
                        if !item.is_object() {
                            continue;
                        }
                        if let Some(key) = key {
                            item[name] = key;
                        } else if let Some(item) = item.as_object_mut() {
                            item.remove(name);
                        }
                    }
                }
            }
        },
        (value, _) => *value = replaced,
    }
}
