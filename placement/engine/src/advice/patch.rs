//! The difference of two objects as a JSON patch (RFC 6902), and the kubectl command that applies the patch.
//!
//! A patch names an element of a list by its index, which may have changed by the time the patch is applied.
//! So before a value in a list is replaced or removed, the patch tests that it is still the old value.

use berth_apimachinery::GroupResource;
use serde_json::{Value, json};

/// The patch of one object, in one of three forms.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// A JSON patch: a list of operations.
    Json(Vec<Value>),
    /// The whole object, which is to be created.
    Create(Value),
    /// The changed paths of an object that the caller may not read, as JSON pointers.
    Hidden(Vec<String>),
}

/// Returns the operations that change `old` to `new`, except the status and the metadata that servers set.
#[must_use]
pub fn between(old: &Value, new: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    differ(old, new, &mut String::new(), false, &mut operations);
    operations
}

/// Fields that servers set, which no patch changes.
const SERVER_FIELDS: [&str; 4] = [
    "/status",
    "/metadata/generation",
    "/metadata/resourceVersion",
    "/metadata/managedFields",
];

/// Adds the operations that change the value at `path` from `old` to `new`. In a list (`in_list`), the path
/// has an index, so a value is tested before it is replaced or removed.
fn differ(old: &Value, new: &Value, path: &mut String, in_list: bool, out: &mut Vec<Value>) {
    if old == new || SERVER_FIELDS.contains(&path.as_str()) {
        return;
    }
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            let removed = before.keys().filter(|key| !after.contains_key(*key));
            for key in after.keys().chain(removed) {
                let length = path.len();
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                match (before.get(key), after.get(key)) {
                    (Some(old), Some(new)) => differ(old, new, path, in_list, out),
                    (None, Some(new)) if !SERVER_FIELDS.contains(&path.as_str()) => {
                        if in_list {
                            test_element(&path[..length], old, out);
                        }
                        out.push(json!({"op": "add", "path": path, "value": new}));
                    }
                    (Some(old), None) if !SERVER_FIELDS.contains(&path.as_str()) => {
                        test(in_list, old, path, out);
                        out.push(json!({"op": "remove", "path": path}));
                    }
                    _ => {}
                }
                path.truncate(length);
            }
        }
        (Value::Array(before), Value::Array(after)) => differ_lists(before, after, path, in_list, out),
        _ => {
            test(in_list, old, path, out);
            out.push(json!({"op": "replace", "path": path, "value": new}));
        }
    }
}

fn differ_lists(before: &[Value], after: &[Value], path: &mut String, in_list: bool, out: &mut Vec<Value>) {
    if let Some(more) = after.strip_prefix(before) {
        let added = more
            .iter()
            .map(|value| json!({"op": "add", "path": format!("{path}/-"), "value": value}));
        test(in_list, &json!(before), path, out);
        out.extend(added);
        return;
    }
    if before.len() == after.len() {
        for (index, (old, new)) in before.iter().zip(after).enumerate() {
            let length = path.len();
            path.push_str(&format!("/{index}"));
            differ(old, new, path, true, out);
            path.truncate(length);
        }
        return;
    }
    match removed_indices(before, after) {
        // Elements are removed from the end, so that the indices of the others stay valid.
        Some(indices) => {
            for index in indices.into_iter().rev() {
                let element = format!("{path}/{index}");
                test(true, &before[index], &element, out);
                out.push(json!({"op": "remove", "path": element}));
            }
        }
        None => {
            test(in_list, &json!(before), path, out);
            out.push(json!({"op": "replace", "path": path, "value": after}));
        }
    }
}

/// Returns the indices in `before` of the elements that `after` lacks, if that is the only difference.
fn removed_indices(before: &[Value], after: &[Value]) -> Option<Vec<usize>> {
    let mut rest = after.iter().peekable();
    let mut indices = Vec::new();
    for (index, value) in before.iter().enumerate() {
        if rest.peek() == Some(&value) {
            rest.next();
        } else {
            indices.push(index);
        }
    }
    rest.next().is_none().then_some(indices)
}

/// Adds an operation that tests that the value at `path` is `old`, if the test is `wanted`.
fn test(wanted: bool, old: &Value, path: &str, out: &mut Vec<Value>) {
    if wanted {
        out.push(json!({"op": "test", "path": path, "value": old}));
    }
}

/// Adds a test of the list element at `path`, which gets a new field. An earlier operation within the element
/// already has a test, so that none is added.
fn test_element(path: &str, old: &Value, out: &mut Vec<Value>) {
    let is_within = |operation: &Value| {
        let field = operation["path"].as_str().and_then(|of| of.strip_prefix(path));
        field.is_some_and(|field| field.starts_with('/'))
    };
    if !out.iter().any(is_within) {
        test(true, old, path, out);
    }
}

/// Returns `object` without the fields that servers set, as people write it.
#[must_use]
pub fn without_server_fields(mut object: Value) -> Value {
    for path in SERVER_FIELDS
        .iter()
        .chain(&["/metadata/uid", "/metadata/creationTimestamp"])
    {
        let (parent, field) = path.rsplit_once('/').unwrap_or_default();
        if let Some(fields) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
            fields.remove(field);
        }
    }
    object
}

/// Returns the shell command that changes the object `name` of `resource` in `namespace`, which is empty for
/// a cluster-scoped resource. The command is empty for [`Form::Hidden`].
#[must_use]
pub fn command(resource: GroupResource, namespace: &str, name: &str, form: &Form) -> String {
    match form {
        Form::Json(operations) => {
            let namespace_flag = match namespace {
                "" => String::new(),
                namespace => format!(" -n {}", quoted(namespace)),
            };
            let resource = match resource.group {
                "" => resource.resource.to_owned(),
                group => format!("{}.{group}", resource.resource),
            };
            let patch = quoted(&json!(operations).to_string());
            format!(
                "kubectl patch {resource} {}{namespace_flag} --type=json -p {patch}",
                quoted(name)
            )
        }
        Form::Create(object) => create_command(object),
        Form::Hidden(_) => String::new(),
    }
}

/// Returns the shell command that creates `object`.
#[must_use]
pub fn create_command(object: &Value) -> String {
    format!("echo {} | kubectl create -f -", quoted(&object.to_string()))
}

/// Returns `text` as one word of a shell command, quoted if necessary.
fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(operations: &[Value], value: &Value) -> Value {
        let patch: berth_apimachinery::patch::Patch = serde_json::from_value(json!(operations)).unwrap();
        let mut value = value.clone();
        berth_apimachinery::patch::apply(&patch, &mut value, &mut berth_apimachinery::patch::budget())
            .unwrap();
        value
    }

    #[test]
    fn the_difference_applied_gives_the_new_object() {
        let old = json!({"metadata": {"labels": {"a/b": "1"}, "generation": 1}, "spec": {
            "taints": [{"key": "x"}, {"key": "y"}, {"key": "z"}], "tolerations": [{"key": "t"}],
            "predicates": [{"a": {"m": 1, "n": 2}}, {"b": 1}], "number": 1}});
        let mut new = old.clone();
        new["metadata"]["labels"]["a/b"] = "2".into();
        new["metadata"]["annotations"] = json!({"c": "d"});
        new["spec"]["taints"] = json!([{"key": "y"}]);
        new["spec"]["tolerations"] = json!([{"key": "t"}, {"key": "u"}]);
        new["spec"]["predicates"][0]["a"] = json!({"m": 1});
        new["spec"]["number"] = 2.into();
        let operations = between(&old, &new);
        assert_eq!(apply(&operations, &old), new);
        let mut raised = new.clone();
        raised["metadata"]["generation"] = 2.into();
        raised["status"] = json!({"phase": "x"});
        assert_eq!(
            between(&old, &raised),
            operations,
            "what servers write is no difference"
        );
    }

    #[test]
    fn an_element_of_a_list_is_tested_before_it_gets_a_field() {
        let old = json!({"taints": [{"key": "x"}, {"key": "y"}]});
        let new = json!({"taints": [{"key": "x", "a": 1, "b": 2}, {"key": "z", "a": 1}]});
        let operations = between(&old, &new);
        assert_eq!(
            operations,
            [
                json!({"op": "test", "path": "/taints/0", "value": {"key": "x"}}),
                json!({"op": "add", "path": "/taints/0/a", "value": 1}),
                json!({"op": "add", "path": "/taints/0/b", "value": 2}),
                json!({"op": "test", "path": "/taints/1", "value": {"key": "y"}}),
                json!({"op": "add", "path": "/taints/1/a", "value": 1}),
                json!({"op": "test", "path": "/taints/1/key", "value": "y"}),
                json!({"op": "replace", "path": "/taints/1/key", "value": "z"}),
            ]
        );
        assert_eq!(apply(&operations, &old), new);
    }

    #[test]
    fn a_list_in_an_element_is_tested_before_it_grows() {
        let (old, new) = (json!({"l": [{"a": [1]}]}), json!({"l": [{"a": [1, 2], "b": 1}]}));
        let operations = between(&old, &new);
        assert_eq!(
            operations,
            [
                json!({"op": "test", "path": "/l/0/a", "value": [1]}),
                json!({"op": "add", "path": "/l/0/a/-", "value": 2}),
                json!({"op": "add", "path": "/l/0/b", "value": 1}),
            ]
        );
        assert_eq!(apply(&operations, &old), new);
    }

    #[test]
    fn an_element_of_a_list_is_tested_before_it_goes() {
        let old = json!({"taints": [{"key": "x"}, {"key": "y"}]});
        let operations = between(&old, &json!({"taints": [{"key": "y"}]}));
        assert_eq!(
            operations,
            [
                json!({"op": "test", "path": "/taints/0", "value": {"key": "x"}}),
                json!({"op": "remove", "path": "/taints/0"}),
            ]
        );
        let one = json!({"list": [{"a": 1}]});
        assert_eq!(
            between(&one, &json!({"list": [{"a": 2}]})),
            [
                json!({"op": "test", "path": "/list/0/a", "value": 1}),
                json!({"op": "replace", "path": "/list/0/a", "value": 2}),
            ]
        );
        // Lists with both added and removed elements.
        let mixed = between(&json!({"l": [1, 2]}), &json!({"l": [3]}));
        assert_eq!(mixed, [json!({"op": "replace", "path": "/l", "value": [3]})]);
    }

    #[test]
    fn what_is_made_says_nothing_that_servers_say() {
        let object = json!({"kind": "Foo", "metadata": {"name": "f", "resourceVersion": "0", "generation": 1, "uid": "u"},
            "spec": {}, "status": {}});
        assert_eq!(
            without_server_fields(object),
            json!({"kind": "Foo", "metadata": {"name": "f"}, "spec": {}})
        );
    }

    #[test]
    fn a_word_of_a_shell_stays_one_word() {
        for (text, shown) in [
            ("a-b.c", "a-b.c"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("$(x)", "'$(x)'"),
        ] {
            assert_eq!(quoted(text), shown);
        }
    }
}
