//! Managed fields and configurations: lists are read or refused, and equal after they are written and read
//! again; writes with any of them end, and repeated applies change nothing after a few rounds.

use std::sync::LazyLock;

use berth_apply::{Managers, Reset, Set, SingleVersion, Types, Writer};
use serde_json::{Value, json};

use super::Target;

/// The target.
pub(super) const TARGET: Target = Target {
    name: "managed fields",
    seeds: &[
        r#"{"managers":[{"manager":"a","operation":"Apply","apiVersion":"v1","time":"2026-11-22T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:image":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}}}],"live":{"spec":{"image":"i","ports":[{"port":80,"name":"x"}]}},"config":{"spec":{"image":"j"}}}"#,
        r#"{"managers":[{"manager":"u","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:tags":{"v:\"x\"":{},"v:1":{},"i:0":{}},"f:selector":{"f:a":{}}}},"subresource":"status"}],"live":{"spec":{"tags":["x","x"],"open":{"a":{"b":[1]}}}},"config":{"spec":{"tags":["y","x"],"open":{"a":{"c":null}}}}}"#,
        r#"{"managers":[{}],"live":{"metadata":{"uid":"1","finalizers":["a"]}},"config":{"metadata":{"finalizers":[]},"spec":null}}"#,
        r#"{"managers":null,"live":{},"config":[1]}"#,
    ],
    words: &[
        "\"f:spec\":{",
        "\".\":{},",
        "\"k:{\\\"port\\\":80}\":{}",
        "\"v:\\\"x\\\"\":{},",
        "\"i:1\":{}",
        "\"q:x\":{},",
        "\"manager\":\"a\",",
        "\"operation\":\"Apply\",",
        "{\"port\":80,\"protocol\":\"TCP\"},",
        "\"tags\":[\"x\"],",
        "null",
        "[]",
        "{}",
        "1e400",
    ],
    run,
};

static TYPES: LazyLock<Types> = LazyLock::new(|| {
    Types::of(&berth_apimachinery::Schema::from_value(
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "image": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": {"type": "object", "properties": {"port": {"type": "integer"}, "name": {"type": "string"},
                    "protocol": {"type": "string", "default": "TCP"}}}},
        }}}}),
    ))
});

fn run(input: &[u8]) {
    if let Ok(set) = Set::decode_bytes(input) {
        assert_eq!(Set::decode_bytes(set.encode().as_bytes()).as_ref(), Ok(&set));
    }
    if let Ok(managers) = Managers::decode(input) {
        reread(&managers);
    }
    let Ok(input) = serde_json::from_slice::<Value>(input) else {
        return;
    };
    let managers = Managers::of_request(input.get("managers"), Managers::default());
    reread(&managers);
    write(managers, &input["live"], &input["config"]);
}

fn reread(managers: &Managers) {
    let again = Managers::decode(managers.encode().as_bytes()).expect("what is written can be read");
    assert_eq!(again.encode(), managers.encode());
    drop(managers.validate());
}

fn write(managers: Managers, live: &Value, config: &Value) {
    let versions = SingleVersion {
        api_version: "v1",
        types: &TYPES,
    };
    let reset = Reset::status();
    let by = Writer {
        manager: "a",
        subresource: "",
        api_version: "v1",
        now: berth_apimachinery::Timestamp::UNIX_EPOCH,
        reset: &reset,
    };
    let mut managers = managers.update(&versions, live, config, &by);
    reread(&managers);
    let mut live = live.clone();
    // Empty lists have no owner, so that it takes some rounds until nothing is pruned and restored.
    for round in 0..5 {
        match managers.apply(&versions, &live, config, &by, true) {
            Ok(applied) => {
                assert!(round < 4 || !applied.changed, "it never settles");
                (live, managers) = (applied.object, applied.managers);
                reread(&managers);
            }
            Err(refused) => {
                assert!(!refused.to_string().is_empty(), "a refusal says why");
                return;
            }
        }
    }
}
