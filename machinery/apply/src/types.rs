//! Rules of a structural schema for merging.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use berth_apimachinery::object_meta;
use serde_json::{Map, Value};

/// Merge rules for objects of one kind and version.
#[derive(Clone, Debug)]
pub struct Types {
    pub(crate) root: Arc<Node>,
}

/// Allowed values of a field or item, by their JSON type.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) object: Option<Shape>,
    pub(crate) list: Option<List>,
    pub(crate) scalar: Option<Scalars>,
}

/// Rules of an object: declared fields, and the schema of other fields.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) atomic: bool,
    pub(crate) fields: BTreeMap<String, Arc<Node>>,
    rest: Rest,
}

#[derive(Clone, Debug)]
enum Rest {
    Refused,
    Deduced,
    Of(Arc<Node>),
}

/// Rules of a list.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) by: By,
    pub(crate) items: Arc<Node>,
}

/// Rule that identifies the items of a list.
#[derive(Clone, Debug)]
pub(crate) enum By {
    /// Atomic: the list is one leaf.
    Atomic,
    Value,
    /// Keys: items are identified by these fields, with their defaults in the schema.
    Keys(Vec<(String, Option<Value>)>),
}

/// Scalars that a field or item may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalars {
    Any,
    Text,
    Number,
    Boolean,
}

/// Node for the items of a list without a schema. Such items are not compared separately.
static UNDESCRIBED: LazyLock<Arc<Node>> = LazyLock::new(|| {
    Arc::new(Node {
        object: None,
        list: None,
        scalar: Some(Scalars::Any),
    })
});

/// Type of a value without a schema: granular maps, atomic lists.
pub(crate) static DEDUCED: LazyLock<Arc<Node>> = LazyLock::new(|| {
    Arc::new(Node {
        object: Some(Shape {
            atomic: false,
            fields: BTreeMap::new(),
            rest: Rest::Deduced,
        }),
        list: Some(List {
            by: By::Atomic,
            items: Arc::clone(&UNDESCRIBED),
        }),
        scalar: Some(Scalars::Any),
    })
});

static OBJECT_META: LazyLock<Arc<Node>> = LazyLock::new(|| compile(object_meta::definition(), false));

impl Types {
    /// Compiles the types of objects with `schema`.
    #[must_use]
    pub fn of(schema: &berth_apimachinery::Schema) -> Self {
        Self {
            root: compile(schema.openapi(), false),
        }
    }
}

impl List {
    /// Whether the list has a schema.
    pub(crate) fn described(&self) -> bool {
        !Arc::ptr_eq(&self.items, &UNDESCRIBED)
    }
}

impl Shape {
    /// Whether no field has a schema.
    pub(crate) fn deduced(&self) -> bool {
        self.fields.is_empty() && matches!(self.rest, Rest::Deduced)
    }

    /// Returns the type of the field `name`; `None` when the schema has no such field.
    pub(crate) fn field(&self, name: &str) -> Option<&Arc<Node>> {
        self.fields.get(name).or_else(|| match &self.rest {
            Rest::Refused => None,
            Rest::Deduced => Some(&*DEDUCED),
            Rest::Of(node) => Some(node),
        })
    }
}

fn compile(schema: &Value, preserve: bool) -> Arc<Node> {
    if schema["$ref"] == object_meta::REFERENCE {
        let mut meta = Arc::clone(&OBJECT_META);
        if flagged_atomic(schema)
            && let Some(shape) = &mut Arc::make_mut(&mut meta).object
        {
            shape.atomic = true;
        }
        return meta;
    }
    let preserve = preserve || schema["x-kubernetes-preserve-unknown-fields"] == true;
    let untyped = schema["x-kubernetes-int-or-string"] == true;
    let scalar = |scalars| Node {
        object: None,
        list: None,
        scalar: Some(scalars),
    };
    let node = match schema["type"].as_str().filter(|_| !untyped) {
        Some("object") => Node {
            object: Some(object(schema, preserve)),
            list: None,
            scalar: None,
        },
        Some("array") => Node {
            object: None,
            list: Some(list(schema, preserve)),
            scalar: None,
        },
        Some("string") if matches!(schema["format"].as_str(), None | Some("byte")) => scalar(Scalars::Text),
        Some("integer" | "number") => scalar(Scalars::Number),
        Some("boolean") => scalar(Scalars::Boolean),
        Some("string") => scalar(Scalars::Any),
        _ => Node {
            object: Some(object(schema, true)),
            list: Some(list(schema, preserve)),
            scalar: Some(Scalars::Any),
        },
    };
    Arc::new(node)
}

fn flagged_atomic(schema: &Value) -> bool {
    schema["x-kubernetes-map-type"] == "atomic"
}

fn object(schema: &Value, preserve: bool) -> Shape {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let mut fields: BTreeMap<String, Arc<Node>> = properties
        .iter()
        .map(|(name, field)| (name.clone(), compile(field, preserve)))
        .collect();
    if schema["x-kubernetes-embedded-resource"] == true {
        let text = || compile(&serde_json::json!({"type": "string"}), false);
        fields.insert("apiVersion".to_owned(), text());
        fields.insert("kind".to_owned(), text());
        fields.insert("metadata".to_owned(), Arc::clone(&OBJECT_META));
    }
    let rest = match &schema["additionalProperties"] {
        values @ Value::Object(_) => Rest::Of(compile(values, preserve)),
        Value::Bool(true) => Rest::Deduced,
        _ if preserve || fields.is_empty() => Rest::Deduced,
        _ => Rest::Refused,
    };
    Shape {
        atomic: flagged_atomic(schema),
        fields,
        rest,
    }
}

fn list(schema: &Value, preserve: bool) -> List {
    let items = &schema["items"];
    let node = if items.is_object() {
        compile(items, preserve)
    } else {
        Arc::clone(&DEDUCED)
    };
    List {
        by: identified_by(schema, items),
        items: node,
    }
}

fn identified_by(schema: &Value, items: &Value) -> By {
    let key = |name: &str| (name.to_owned(), items["properties"][name].get("default").cloned());
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => By::Value,
        Some("map") => {
            let names = schema["x-kubernetes-list-map-keys"].as_array();
            let mut keys: Vec<_> = names
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(key)
                .collect();
            keys.sort_by(|one, other| one.0.cmp(&other.0));
            By::Keys(keys)
        }
        Some(_) => By::Atomic,
        None => {
            let strategy = schema["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
            if !strategy.split(',').any(|word| word == "merge") || strategy.contains("retainKeys") {
                return By::Atomic;
            }
            match schema["x-kubernetes-patch-merge-key"].as_str() {
                Some(name) => By::Keys(vec![key(name)]),
                None => By::Value,
            }
        }
    }
}
