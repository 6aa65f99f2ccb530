//! Schemas of types, and their effect on values.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Schema;
use super::types::{Condition, IntOrString, Time};
use crate::field_error::FieldError;

/// A thing.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Sample {
    /// Wanted state.
    spec: Spec,
    /// Actual state.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Spec {
    /// Number of clusters.
    #[schemars(range(min = 1, max = 10), extend("default" = 3))]
    count: Option<i32>,
    /// Size of the thing.
    size: i64,
    #[serde(default)]
    mode: Mode,
    #[schemars(regex(pattern = "^[a-z]+$"), length(max = 5))]
    code: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 2))]
    parts: Vec<Part>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    tags: BTreeSet<String>,
    port: Option<IntOrString>,
    at: Option<Time>,
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    extra: Option<Open>,
    raw: Option<Value>,
    nested: Option<NestedObject>,
    #[schemars(extend("nullable" = true))]
    maybe: Option<String>,
    limit: Option<u32>,
    ratio: Option<f64>,
}

/// Mode of the thing.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
enum Mode {
    /// Add to what is there.
    #[default]
    Additive,
    /// Nothing else.
    Exact,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Part {
    name: String,
    #[serde(default)]
    #[schemars(extend("default" = "x"))]
    kind: String,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Open {
    known: Option<bool>,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-default" = {}))]
struct NestedObject {
    #[schemars(extend("default" = true))]
    on: Option<bool>,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Status {
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    conditions: Vec<Condition>,
}

fn schema() -> Schema {
    Schema::of::<Sample>()
}

fn thing(spec: Value) -> Value {
    json!({"apiVersion": "g/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec})
}

fn problems(spec: Value) -> Vec<String> {
    schema()
        .validate(&thing(spec))
        .iter()
        .map(FieldError::to_string)
        .collect()
}

#[test]
fn a_type_becomes_a_structural_schema() {
    let schema = schema();
    let root = schema.openapi();
    assert_eq!(root["type"], "object");
    assert_eq!(root["description"], "A thing.");
    assert_eq!(
        root["properties"]["metadata"]["$ref"],
        super::object_meta::REFERENCE
    );
    let spec = &root["properties"]["spec"];
    assert_eq!(spec["description"], "Wanted state.");
    assert_eq!(spec["required"], json!(["size"]));
    let fields = &spec["properties"];
    assert_eq!(
        fields["count"],
        json!({"type": "integer", "format": "int32", "minimum": 1, "maximum": 10, "default": 3, "description": "Number of clusters."})
    );
    assert_eq!(
        fields["mode"],
        json!({
            "type": "string", "enum": ["Additive", "Exact"], "default": "Additive",
            "description": "Mode of the thing.",
        })
    );
    assert_eq!(
        fields["labels"],
        json!({"type": "object", "additionalProperties": {"type": "string"}})
    );
    assert_eq!(
        fields["tags"],
        json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"})
    );
    assert_eq!(fields["port"], json!({"x-kubernetes-int-or-string": true}));
    assert_eq!(fields["at"], json!({"type": "string", "format": "date-time"}));
    assert_eq!(
        fields["raw"],
        json!({"x-kubernetes-preserve-unknown-fields": true})
    );
    assert_eq!(fields["maybe"], json!({"type": "string", "nullable": true}));
    assert_eq!(
        fields["limit"],
        json!({"type": "integer", "format": "int64", "minimum": 0})
    );
    assert_eq!(fields["ratio"], json!({"type": "number", "format": "double"}));
    assert_eq!(fields["parts"]["items"]["required"], json!(["name"]));
}

#[test]
fn no_keyword_outside_the_structural_dialect_is_left() {
    let text = schema().openapi().to_string();
    for word in [
        "\"null\"",
        "anyOf",
        "oneOf",
        "allOf",
        "$defs",
        "title",
        "uniqueItems",
        "const\"",
        "uint",
    ] {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn defaults_go_below_objects_that_are_there() {
    let mut value =
        thing(json!({"size": 1, "count": null, "parts": [{"name": "a"}, {"name": "b", "kind": "y"}]}));
    schema().default(&mut value);
    assert_eq!(
        value["spec"],
        json!({
            "size": 1, "count": 3, "mode": "Additive", "nested": {"on": true},
            "parts": [{"name": "a", "kind": "x"}, {"name": "b", "kind": "y"}],
        })
    );
    let mut absent = json!({"apiVersion": "g/v1", "kind": "Thing", "metadata": {"creationTimestamp": null}});
    schema().default(&mut absent);
    assert_eq!(
        absent,
        json!({"apiVersion": "g/v1", "kind": "Thing", "metadata": {}})
    );
}

#[test]
fn nulls_of_nullable_fields_stay() {
    let mut value = thing(json!({"size": 1, "count": 1, "maybe": null, "raw": null, "code": null}));
    schema().default(&mut value);
    assert_eq!(value["spec"]["maybe"], Value::Null);
    assert!(value["spec"].get("raw").is_some());
    assert!(value["spec"].get("code").is_none());
}

#[test]
fn violations_read_as_kube_apiserver_words_them() {
    let cases = [
        (json!({"size": 1}), ""),
        (json!({"size": 1, "code": null, "maybe": null}), ""),
        (json!({}), "spec.size: Required value"),
        (json!({"size": null}), "spec.size: Required value"),
        (
            json!({"size": "1"}),
            "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
        ),
        (
            json!({"size": 1.5}),
            "spec.size: Invalid value: \"number\": spec.size in body must be of type integer: \"number\"",
        ),
        (
            json!({"size": u64::MAX}),
            "spec.size: Invalid value: \"number\": spec.size in body must be of type integer: \"number\"",
        ),
        (
            json!({"size": 1, "count": 0}),
            "spec.count: Invalid value: 0: spec.count in body should be greater than or equal to 1",
        ),
        (
            json!({"size": 1, "count": 11}),
            "spec.count: Invalid value: 11: spec.count in body should be less than or equal to 10",
        ),
        (
            json!({"size": 1, "mode": "Most"}),
            "spec.mode: Unsupported value: \"Most\": supported values: \"Additive\", \"Exact\"",
        ),
        (
            json!({"size": 1, "code": "A"}),
            "spec.code: Invalid value: \"A\": spec.code in body should match '^[a-z]+$'",
        ),
        (
            json!({"size": 1, "code": "abcdef"}),
            "spec.code: Too long: may not be more than 5 bytes",
        ),
        (
            json!({"size": 1, "parts": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}),
            "spec.parts: Too many: 3: must have at most 2 items",
        ),
        (
            json!({"size": 1, "parts": [{}]}),
            "spec.parts[0].name: Required value",
        ),
        (
            json!({"size": 1, "parts": [null]}),
            "spec.parts[0]: Invalid value: \"null\": spec.parts[0] in body must be of type object: \"null\"",
        ),
        (
            json!({"size": 1, "tags": ["a", "b", "a"]}),
            "spec.tags[2]: Duplicate value: \"a\"",
        ),
        (
            json!({"size": 1, "labels": {"a": 1}}),
            "spec.labels.a: Invalid value: \"integer\": spec.labels.a in body must be of type string: \"integer\"",
        ),
        (
            json!({"size": 1, "port": true}),
            "spec.port: Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\"",
        ),
        (
            json!({"size": 1, "at": "noon"}),
            "spec.at: Invalid value: \"noon\": spec.at in body must be of type date-time: \"noon\"",
        ),
        (json!({"size": 1, "at": "2021-10-28T08:31:39Z"}), ""),
        (
            json!({"size": 1, "limit": -1}),
            "spec.limit: Invalid value: -1: spec.limit in body should be greater than or equal to 0",
        ),
    ];
    for (spec, line) in cases {
        assert_eq!(problems(spec.clone()).join("\n"), line, "{spec}");
    }
}

#[test]
fn every_violation_is_reported() {
    assert_eq!(problems(json!({"count": 0, "mode": "x", "parts": [{}]})).len(), 4);
}

#[test]
fn list_entries_with_the_same_map_keys_are_duplicates() {
    let condition = |kind: &str| json!({"type": kind, "status": "True"});
    let mut value = thing(json!({"size": 1}));
    value["status"] = json!({"conditions": [condition("A"), condition("B"), condition("A")]});
    let errors = schema().validate(&value);
    assert_eq!(
        errors[0].to_string(),
        "status.conditions[2]: Duplicate value: {\"type\":\"A\"}"
    );
    assert_eq!(errors.len(), 1);
}

#[test]
fn metadata_is_checked_like_the_rest() {
    let mut value = thing(json!({"size": 1}));
    value["metadata"] =
        json!({"name": "x", "labels": {"a": 1}, "nmae": "y", "managedFields": [{"fieldsV1": {"f:x": {}}}]});
    let errors = schema().validate(&value);
    assert_eq!(errors[0].path, "metadata.labels.a");
    assert_eq!(schema().unknown_fields(&value), ["metadata.nmae"]);
}

#[test]
fn unknown_fields_are_found_with_their_paths() {
    let value = json!({
        "apiVersion": "g/v1", "kind": "Thing", "metadata": {"name": "x"}, "more": 1,
        "spec": {
            "size": 1, "sise": 2, "parts": [{"name": "a"}, {"name": "b", "nam": 1}], "labels": {"any": "thing"},
            "extra": {"known": true, "other": {"deep": 1}}, "raw": {"x": {"y": 1}},
        },
    });
    assert_eq!(
        schema().unknown_fields(&value),
        ["more", "spec.parts[1].nam", "spec.sise"]
    );
}

#[test]
fn unknown_fields_beyond_those_told_are_counted_and_old_ones_are_left_out() {
    let mut many: serde_json::Map<String, Value> =
        (0..200_000).map(|n| (format!("x{n}"), n.into())).collect();
    let found = schema().new_unknown_fields(&json!({"spec": many}), &Value::Null, 100);
    assert_eq!((found.paths.len(), found.more), (100, 199_900));
    let old = json!({"spec": many.clone()});
    many.insert("fresh".into(), 1.into());
    let found = schema().new_unknown_fields(&json!({"spec": many}), &old, 100);
    assert_eq!((found.paths, found.more), (vec!["spec.fresh".to_owned()], 0));
    // The length of the message is limited as well: names can be long.
    let long: serde_json::Map<String, Value> = (0..100)
        .map(|n| (format!("{n}{}", "x".repeat(50_000)), 1.into()))
        .collect();
    let found = schema().new_unknown_fields(&json!({"spec": long}), &Value::Null, 100);
    let length: usize = found.paths.iter().map(String::len).sum();
    assert_eq!((found.paths.len(), found.more), (100, 0));
    assert!(length < 20_000, "{length}");
}

#[test]
fn an_object_wrong_in_very_many_places_is_told_of_some() {
    let parts = vec![json!({"name": 1}); 100_000];
    let errors = schema().validate(&json!({"spec": {"size": 1, "parts": parts}}));
    assert!((200..400).contains(&errors.len()), "{}", errors.len());
}

#[test]
fn a_list_with_very_many_duplicates_is_told_of_some() {
    let errors = schema().validate(&thing(json!({"size": 1, "tags": vec!["a"; 100_000]})));
    assert!((200..400).contains(&errors.len()), "{}", errors.len());
}

#[test]
fn the_path_of_a_violation_is_limited_in_length() {
    let labels: serde_json::Map<String, Value> = [("x".repeat(1_000_000), 1.into())].into_iter().collect();
    let errors = schema().validate(&thing(json!({"size": 1, "labels": labels})));
    assert_eq!(errors.len(), 1);
    assert!(errors[0].path.starts_with("spec.labels.xxx") && errors[0].path.len() < 200);
    assert!(errors[0].to_string().len() < 1_000);
}

#[test]
fn a_hand_written_schema_works_the_same() {
    let schema = Schema::from_value(json!({
        "properties": {"data": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1}},
    }));
    let bad = json!({"apiVersion": 1, "data": {"a": "1", "b": 2}});
    let lines: Vec<String> = schema
        .validate(&bad)
        .iter()
        .map(|error| error.path.clone())
        .collect();
    assert_eq!(lines, ["apiVersion", "data", "data.b"]);
}

/// One way or another.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    Number(i64),
    Text(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type")]
enum TaggedUnion {
    First { a: i64 },
    Second { b: String },
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Unions {
    either: Either,
    tagged: Option<TaggedUnion>,
    tree: Option<Tree>,
    #[serde(flatten)]
    rest: Part,
}

#[test]
fn unions_become_what_covers_them() {
    let schema = Schema::of::<Unions>();
    let fields = &schema.openapi()["properties"];
    assert_eq!(fields["either"]["x-kubernetes-int-or-string"], true);
    let tagged = &fields["tagged"];
    assert_eq!(tagged["required"], json!(["type"]));
    assert_eq!(
        tagged["properties"]["type"],
        json!({"type": "string", "enum": ["first", "second"]})
    );
    assert!(tagged["properties"]["a"].is_object() && tagged["properties"]["b"].is_object());
    assert!(
        fields["name"].is_object(),
        "flattened fields stand beside the others"
    );
    assert!(!schema.openapi().to_string().contains("$defs"));
}

#[test]
fn instants_are_rfc_3339_and_nothing_else() {
    for good in [
        "2021-10-28T08:31:39Z",
        "2021-10-28T08:31:39.5Z",
        "2021-10-28T08:31:39+02:00",
    ] {
        assert!(problems(json!({"size": 1, "at": good})).is_empty(), "{good}");
    }
    for bad in [
        "2021-10-28 08:31:39Z",
        "2021-10-28",
        "2021-10-28T08:31:39",
        "2021-10-28T08:31:39z[UTC]",
        "",
        "2021-13-01T00:00:00Z",
    ] {
        assert_eq!(problems(json!({"size": 1, "at": bad})).len(), 1, "{bad}");
    }
}

/// Random JSON that often hits the fields of [`Thing`].
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("spec"),
        Just("size"),
        Just("count"),
        Just("parts"),
        Just("labels"),
        Just("nested"),
        Just("name"),
        Just("metadata"),
        Just("status"),
        Just("conditions"),
        Just("other")
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let map = proptest::collection::btree_map(name.clone().prop_map(str::to_owned), inner.clone(), 0..4);
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Value::from),
            map.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_judged_and_defaulting_settles(mut value in any_json()) {
        let schema = schema();
        drop(schema.validate(&value));
        drop(schema.unknown_fields(&value));
        schema.default(&mut value);
        let mut again = value.clone();
        schema.default(&mut again);
        prop_assert_eq!(again, value);
    }

    #[test]
    fn what_is_valid_can_be_read_by_the_type(mut spec in any_json()) {
        if let Some(fields) = spec.as_object_mut() {
            fields.insert("size".to_owned(), 1.into());
        }
        let mut value = thing(spec);
        let schema = schema();
        schema.default(&mut value);
        if schema.validate(&value).is_empty() {
            let read = serde_json::from_value::<Sample>(value);
            prop_assert!(read.is_ok(), "{:?}", read.err());
        }
    }
}

#[test]
fn nulls_of_map_entries_are_dropped_unless_they_mean_something() {
    let schema = Schema::from_value(json!({"properties": {
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "data": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
        "free": {"type": "object", "additionalProperties": {"type": "string", "nullable": true}},
    }}));
    let mut value = json!({"labels": {"a": null, "b": "x"}, "data": {"a": null}, "free": {"a": null}});
    schema.default(&mut value);
    assert_eq!(
        value,
        json!({"labels": {"b": "x"}, "data": {"a": ""}, "free": {"a": null}})
    );
    assert!(schema.validate(&value).is_empty());
}

#[test]
fn base64_may_be_broken_into_lines() {
    let schema = Schema::from_value(json!({"properties": {"data": {"type": "string", "format": "byte"}}}));
    for good in ["AAECAwQF", "AAEC\nAwQF\n", "AAEC\r\nAwQF", ""] {
        assert!(schema.validate(&json!({"data": good})).is_empty(), "{good:?}");
    }
    for bad in ["AAEC AwQF", "AAE", "!"] {
        assert_eq!(schema.validate(&json!({"data": bad})).len(), 1, "{bad:?}");
    }
}
