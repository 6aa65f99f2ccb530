//! Compiled form of a schema: the rules of each field, with compiled regular expressions.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::{Map, Value};

use super::object_meta;

/// JSON type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    /// An integer or a string: `x-kubernetes-int-or-string`.
    IntOrString,
    /// Any value.
    Any,
}

/// Type of a list: how lists are merged, and which elements count as duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListType {
    Atomic,
    Set,
    /// Map of elements that are identified by these fields.
    Map(Vec<String>),
}

/// A bound of a number.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) limit: serde_json::Number,
    pub(crate) exclusive: bool,
}

/// A regular expression with its text.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    pub(crate) regex: Regex,
}

/// Bounds of the size of a text, a list or a map.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) least: Option<u64>,
    pub(crate) most: Option<u64>,
}

/// One field, list element or map value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Type,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    /// Allowed values: `enum`.
    pub(crate) choices: Option<Vec<Value>>,
    pub(crate) properties: BTreeMap<String, Arc<Self>>,
    pub(crate) required: Vec<String>,
    /// Node of the values of a map.
    pub(crate) additional: Option<Arc<Self>>,
    /// Whether fields that the schema does not have are kept and not reported.
    pub(crate) preserve: bool,
    pub(crate) items: Option<Arc<Self>>,
    pub(crate) list: ListType,
    /// Whether the list may have duplicates, whatever its list type. In ObjectMeta, and with
    /// `uniqueItems: false`, the list type only describes merging.
    pub(crate) may_repeat: bool,
    pub(crate) pattern: Option<Pattern>,
    /// Size of a text, in characters.
    pub(crate) length: Size,
    /// Number of elements of a list.
    pub(crate) count: Size,
    /// Number of fields of an object.
    pub(crate) entries: Size,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) format: Option<String>,
    pub(crate) patch_strategy: Option<String>,
    pub(crate) patch_merge_key: Option<String>,
}

static OBJECT_META: LazyLock<Arc<Node>> = LazyLock::new(|| {
    let mut node = Node::compile(object_meta::definition());
    for list in node.properties.values_mut() {
        Arc::make_mut(list).may_repeat = true;
    }
    Arc::new(node)
});

impl Node {
    /// Compiles a structural schema.
    ///
    /// # Panics
    /// When a pattern is not a regular expression.
    pub(crate) fn compile(schema: &Value) -> Self {
        let empty = Map::new();
        let schema = schema.as_object().unwrap_or(&empty);
        Self {
            kind: kind(schema),
            nullable: flag(schema, "nullable"),
            default: schema.get("default").cloned(),
            choices: schema.get("enum").and_then(Value::as_array).cloned(),
            properties: properties(schema),
            required: strings(schema, "required"),
            additional: child(schema, "additionalProperties"),
            preserve: flag(schema, "x-kubernetes-preserve-unknown-fields")
                || schema.get("additionalProperties").and_then(Value::as_bool) == Some(true),
            items: child(schema, "items"),
            list: list_type(schema),
            may_repeat: schema.get("uniqueItems").and_then(Value::as_bool) == Some(false),
            pattern: text(schema, "pattern").map(pattern),
            length: size(schema, "minLength", "maxLength"),
            count: size(schema, "minItems", "maxItems"),
            entries: size(schema, "minProperties", "maxProperties"),
            minimum: bound(schema, "minimum", "exclusiveMinimum"),
            maximum: bound(schema, "maximum", "exclusiveMaximum"),
            multiple_of: schema.get("multipleOf").and_then(Value::as_f64),
            format: text(schema, "format").map(str::to_owned),
            patch_strategy: text(schema, "x-kubernetes-patch-strategy").map(str::to_owned),
            patch_merge_key: text(schema, "x-kubernetes-patch-merge-key").map(str::to_owned),
        }
    }

    /// Whether a `null` in this field counts as an absent field.
    pub(crate) fn null_is_absent(&self) -> bool {
        !self.nullable && self.kind != Type::Any
    }

    /// Returns the node of the field or map entry `name`.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.properties
            .get(name)
            .or(self.additional.as_ref())
            .map(|node| &**node)
    }
}

fn child(schema: &Map<String, Value>, name: &str) -> Option<Arc<Node>> {
    let child = schema.get(name).filter(|child| child.is_object())?;
    Some(reference(child).unwrap_or_else(|| Arc::new(Node::compile(child))))
}

fn properties(schema: &Map<String, Value>) -> BTreeMap<String, Arc<Node>> {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return BTreeMap::new();
    };
    fields
        .iter()
        .map(|(name, field)| {
            (
                name.clone(),
                reference(field).unwrap_or_else(|| Arc::new(Node::compile(field))),
            )
        })
        .collect()
}

/// Returns the node of ObjectMeta, if `schema` refers to it. Schemas refer to no other definition.
fn reference(schema: &Value) -> Option<Arc<Node>> {
    let refers = schema.get("$ref").and_then(Value::as_str) == Some(object_meta::REFERENCE);
    refers.then(|| Arc::clone(&OBJECT_META))
}

fn kind(schema: &Map<String, Value>) -> Type {
    if flag(schema, "x-kubernetes-int-or-string") {
        return Type::IntOrString;
    }
    match text(schema, "type") {
        Some("object") => Type::Object,
        Some("array") => Type::Array,
        Some("string") => Type::String,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("boolean") => Type::Boolean,
        _ => Type::Any,
    }
}

fn list_type(schema: &Map<String, Value>) -> ListType {
    match text(schema, "x-kubernetes-list-type") {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(strings(schema, "x-kubernetes-list-map-keys")),
        _ => ListType::Atomic,
    }
}

/// Compiles a pattern with the meaning that it has in kube-apiserver: in Go, `\d`, `\w`, `\s` and `\b` know
/// only ASCII.
///
/// # Errors
/// When the pattern is not a regular expression.
pub(super) fn compile_pattern(pattern: &str) -> Result<Regex, regex::Error> {
    let mut ascii = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            ascii.push(character);
            continue;
        }
        // Within brackets, the replacements of classes are nested classes.
        match characters.next() {
            Some('d') => ascii.push_str("[0-9]"),
            Some('D') => ascii.push_str("[^0-9]"),
            Some('w') => ascii.push_str("[0-9A-Za-z_]"),
            Some('W') => ascii.push_str("[^0-9A-Za-z_]"),
            Some('s') => ascii.push_str(r"[\t\n\f\r ]"),
            Some('S') => ascii.push_str(r"[^\t\n\f\r ]"),
            Some('b') => ascii.push_str(r"(?-u:\b)"),
            Some('B') => ascii.push_str(r"(?-u:\B)"),
            escaped => {
                ascii.push('\\');
                ascii.extend(escaped);
            }
        }
    }
    Regex::new(&ascii)
}

fn pattern(text: &str) -> Pattern {
    let regex = compile_pattern(text)
        .unwrap_or_else(|error| panic!("the pattern '{text}' of a schema is invalid: {error}"));
    Pattern {
        text: text.to_owned(),
        regex,
    }
}

fn bound(schema: &Map<String, Value>, name: &str, exclusive: &str) -> Option<Bound> {
    let limit = schema.get(name)?.as_number()?.clone();
    Some(Bound {
        limit,
        exclusive: flag(schema, exclusive),
    })
}

fn size(schema: &Map<String, Value>, least: &str, most: &str) -> Size {
    let number = |name| schema.get(name).and_then(Value::as_u64);
    Size {
        least: number(least),
        most: number(most),
    }
}

fn flag(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool) == Some(true)
}

fn text<'a>(schema: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    schema.get(name).and_then(Value::as_str)
}

fn strings(schema: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = schema.get(name).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_characters_in_patterns_know_only_ascii() {
        for (pattern, good, bad) in [
            (r"^\d+$", "12", "\u{661}\u{662}"),
            (r"^[\d.-]+$", "1.-2", "\u{661}.\u{662}"),
            (r"^\D$", "\u{661}", "1"),
            (r"^\w+$", "a_1", "é"),
            (r"^[^\W_]$", "a", "é"),
            (r"^\s$", "\t", "\u{a0}"),
            (r"^[^\s/]+$", "a\u{a0}b", "a b"),
            (r"^a\bé$", "aé", "aa"),
            (r"^\\d\.$", r"\d.", "1."),
            (r"^\p{Greek}\x41$", "αA", "aA"),
        ] {
            let regex = compile_pattern(pattern).unwrap();
            assert!(regex.is_match(good), "{pattern} {good}");
            assert!(!regex.is_match(bad), "{pattern} {bad}");
        }
        for pattern in ["[", "\\", r"[\b]"] {
            assert!(compile_pattern(pattern).is_err(), "{pattern}");
        }
    }
}
