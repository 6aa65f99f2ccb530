//! Merge rules of a structural schema: types of fields, atomic values, and keys of lists.

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
    additional: AdditionalFields,
}

/// Rule for fields that the schema does not declare.
#[derive(Clone, Debug)]
enum AdditionalFields {
    /// The fields do not fit the schema.
    Refused,
    /// The fields have no schema: [`DEDUCED`] is their type.
    Deduced,
    /// The fields have this type.
    Typed(Arc<Node>),
}

/// Rules of a list.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) identity: ItemIdentity,
    pub(crate) items: Arc<Node>,
}

/// Rule that identifies the items of a list.
#[derive(Clone, Debug)]
pub(crate) enum ItemIdentity {
    /// No identity: the list is atomic, which means one leaf.
    Atomic,
    /// The value of the item, as in a set.
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

/// Type of a value without a schema: maps are granular, and lists are atomic.
pub(crate) static DEDUCED: LazyLock<Arc<Node>> = LazyLock::new(|| {
    Arc::new(Node {
        object: Some(Shape {
            atomic: false,
            fields: BTreeMap::new(),
            additional: AdditionalFields::Deduced,
        }),
        list: Some(List {
            identity: ItemIdentity::Atomic,
            items: Arc::clone(&UNDESCRIBED),
        }),
        scalar: Some(Scalars::Any),
    })
});

static OBJECT_META: LazyLock<Arc<Node>> = LazyLock::new(|| compile(object_meta::definition(), false));

impl Types {
    /// Compiles the merge rules of `schema`.
    #[must_use]
    pub fn of(schema: &berth_apimachinery::Schema) -> Self {
        Self {
            root: compile(schema.openapi(), false),
        }
    }
}

impl List {
    /// Whether the list has a schema.
    pub(crate) fn has_schema(&self) -> bool {
        !Arc::ptr_eq(&self.items, &UNDESCRIBED)
    }
}

impl Shape {
    /// Whether no field has a schema.
    pub(crate) fn is_deduced(&self) -> bool {
        self.fields.is_empty() && matches!(self.additional, AdditionalFields::Deduced)
    }

    /// Returns the type of the field `name`; `None` when the schema has no such field.
    pub(crate) fn field(&self, name: &str) -> Option<&Arc<Node>> {
        self.fields.get(name).or_else(|| match &self.additional {
            AdditionalFields::Refused => None,
            AdditionalFields::Deduced => Some(&*DEDUCED),
            AdditionalFields::Typed(node) => Some(node),
        })
    }
}

/// Compiles the type of a value with `schema`; `preserve` means that unknown fields are kept.
fn compile(schema: &Value, preserve: bool) -> Arc<Node> {
    if schema["$ref"] == object_meta::REFERENCE {
        let mut meta = Arc::clone(&OBJECT_META);
        if is_atomic_map(schema)
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

fn is_atomic_map(schema: &Value) -> bool {
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
    let additional = match &schema["additionalProperties"] {
        values @ Value::Object(_) => AdditionalFields::Typed(compile(values, preserve)),
        Value::Bool(true) => AdditionalFields::Deduced,
        _ if preserve || fields.is_empty() => AdditionalFields::Deduced,
        _ => AdditionalFields::Refused,
    };
    Shape {
        atomic: is_atomic_map(schema),
        fields,
        additional,
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
        identity: item_identity(schema, items),
        items: node,
    }
}

/// Returns the identity of the items by the list type, or by the patch strategy of Kubernetes' own kinds.
fn item_identity(schema: &Value, items: &Value) -> ItemIdentity {
    let key = |name: &str| (name.to_owned(), items["properties"][name].get("default").cloned());
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => ItemIdentity::Value,
        Some("map") => {
            let names = schema["x-kubernetes-list-map-keys"].as_array();
            let mut keys: Vec<_> = names
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(key)
                .collect();
            keys.sort_by(|one, other| one.0.cmp(&other.0));
            ItemIdentity::Keys(keys)
        }
        Some(_) => ItemIdentity::Atomic,
        None => {
            let strategy = schema["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
            if !strategy.split(',').any(|word| word == "merge") || strategy.contains("retainKeys") {
                return ItemIdentity::Atomic;
            }
            match schema["x-kubernetes-patch-merge-key"].as_str() {
                Some(name) => ItemIdentity::Keys(vec![key(name)]),
                None => ItemIdentity::Value,
            }
        }
    }
}
