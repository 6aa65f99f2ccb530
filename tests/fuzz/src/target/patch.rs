//! Patches: a JSON patch or merge patch of an object results in an object, or is refused with a reason.

use berth_apiserver::patch_body::patched;
use serde_json::{Value, json};

use super::Target;

/// The target.
pub(super) const TARGET: Target = Target {
    name: "patch",
    seeds: &[
        r#"[{"op":"add","path":"/metadata/labels/a","value":"b"},{"op":"test","path":"/spec/replicas","value":1}]"#,
        r#"[{"op":"replace","path":"/spec/list/0","value":{"deep":[[[]]]}},{"op":"remove","path":"/spec/list/-"}]"#,
        r#"[{"op":"copy","from":"/spec","path":"/spec/again"},{"op":"move","from":"/spec/list","path":"/status"}]"#,
        r#"[{"op":"copy","from":"","path":"/spec/all"},{"op":"replace","path":"","value":[]}]"#,
        r#"{"metadata":{"labels":null,"annotations":{"x~1y":"z"}},"spec":{"list":[1,2],"replicas":null}}"#,
        "[]",
        "null",
    ],
    words: &[
        "{\"op\":\"add\",\"path\":\"/spec/list/-\",\"value\":null}",
        "{\"op\":\"copy\",\"from\":\"/spec\",\"path\":\"/spec/x\"}",
        "\"path\":\"\"",
        "\"from\":\"/\"",
        "/~0~1~2",
        "/18446744073709551616",
        "/-1",
        "/01",
        "[[[[[[[[",
        "{\"a\":{\"a\":{\"a\":",
        "1e400",
        "\"\\ud800\"",
        "null",
    ],
    run,
};

fn object() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Foo",
        "metadata": {"name": "a", "labels": {"a": "b", "x/y": "z"}},
        "spec": {"list": [{"name": "one"}, {"name": "two"}], "replicas": 1},
    })
}

fn run(input: &[u8]) {
    for media_type in ["application/json-patch+json", "application/merge-patch+json"] {
        match patched(media_type, input, None, object()) {
            Ok(value) => assert!(value.is_object(), "{media_type}: {value}"),
            Err(status) => assert!(
                matches!(status.code, 400 | 413 | 422) && !status.message.is_empty(),
                "{media_type}: {status:?}"
            ),
        }
    }
}
