//! The wire form of field sets.

use serde_json::json;

use crate::{Element, MAX_DEPTH, Scalar, Set};

fn decode(text: &str) -> Set {
    Set::decode_bytes(text.as_bytes()).unwrap()
}

#[test]
fn sets_are_written_in_canonical_order_whatever_order_they_were_read_in() {
    let read = r#"{"i:1":{},"v:\"a\"":{},"v:true":{},"v:2":{},"k:{\"b\":1,\"a\":\"x\"}":{".":{},"f:z":{},"f:b.c/d":{}},"f:q":null}"#;
    let written = r#"{"f:q":{},"k:{\"a\":\"x\",\"b\":1}":{".":{},"f:b.c/d":{},"f:z":{}},"v:2":{},"v:\"a\"":{},"v:true":{},"i:1":{}}"#;
    assert_eq!(decode(read).encode(), written);
    assert_eq!(decode(written), decode(read));
}

#[test]
fn html_is_escaped_in_values_and_keys_but_not_in_names() {
    let mut set = Set::default();
    set.insert([Element::Field("a<b".to_owned())]);
    set.insert([Element::Value(Scalar(json!("<&>")))]);
    let text = set.encode();
    assert_eq!(text, r#"{"f:a<b":{},"v:\"\\u003c\\u0026\\u003e\"":{}}"#);
    assert_eq!(decode(&text), set);
    assert_eq!(decode(r#"{"f:a<b":{},"v:\"<&>\"":{}}"#), set);
}

#[test]
fn numbers_are_told_apart_by_value() {
    assert_eq!(decode(r#"{"v:1":{}}"#), decode(r#"{"v:1.0":{}}"#));
}

#[test]
fn unknown_elements_are_left_out_and_nonsense_makes_the_set_invalid() {
    assert_eq!(decode(r#"{"q:x":{"f:y":{}},"f:a":{".":5}}"#).paths(), [".a"]);
    for text in [
        r#"{"a":{}}"#,
        r#"{"f:a":1}"#,
        "[]",
        "7",
        "{} {}",
        r#"{"v:{":{}}"#,
        r#"{"v:1 2":{}}"#,
        r#"{"k:[1]":{}}"#,
        r#"{"i:x":{}}"#,
    ] {
        assert!(Set::decode_bytes(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn sets_nested_too_deep_are_refused() {
    let mut deep = json!({});
    for _ in 0..=MAX_DEPTH {
        deep = json!({"f:a": deep});
    }
    assert!(Set::decode(&deep).is_err());
    assert!(Set::decode(&deep["f:a"]).is_ok());
}

#[test]
fn nothing_owned_is_an_empty_object() {
    assert!(Set::decode(&json!(null)).unwrap().is_empty());
    assert!(decode("{}").is_empty());
    assert_eq!(Set::default().encode(), "{}");
}

#[test]
fn a_path_and_what_is_below_are_members_independently() {
    let (set, top) = (decode(r#"{"f:a":{".":{},"f:b":{}}}"#), decode(r#"{"f:a":{}}"#));
    assert_eq!(set.difference(&top).paths(), [".a.b"]);
    assert!(set.recursive_difference(&top).is_empty());
    assert_eq!(set.intersection(&top), top);
    assert_eq!(top.union(&decode(r#"{"f:a":{"f:b":{}}}"#)), set);
}
