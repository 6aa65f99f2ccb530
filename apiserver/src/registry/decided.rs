//! In-process writes are stored as they were decided: admission policies and webhooks may add to them, and no more.

use std::sync::Arc;

use meta::field::below;
use meta::{FieldError, GroupResource, Status};
use serde_json::Value;

/// The parts of `metadata` that a write decides; the server sets the others, and nobody can change them.
const METADATA: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// The refusal of a write of `resource`/`name` by `user`, where `changers` made of it something else than was decided.
///
/// `decided` is the object as the process would write it, `stored` the object that it changes (null for a new one),
/// `changed` what admission made of it. Whatever the write does not change itself may be changed by others.
pub(super) fn overruled(
    (resource, name): (GroupResource, &str),
    user: &str,
    changers: &[Arc<str>],
    [decided, stored, changed]: [&Value; 3],
) -> Result<(), Status> {
    let Some(path) = first_overruled(decided, stored, changed) else {
        return Ok(());
    };
    let detail = format!(
        "{user} decided it, and it may not be changed by others: {}; exclude this user there with a matchCondition",
        changers.join(", ")
    );
    let error = FieldError::forbidden(path, detail);
    let status = Status::forbidden(resource, name, &error.to_string());
    Err(status.with_cause(error.kind.reason(), error.message(), &error.path))
}

fn first_overruled(decided: &Value, stored: &Value, changed: &Value) -> Option<String> {
    let parts = decided.as_object()?.keys().map(String::as_str);
    let removed = stored.as_object().into_iter().flat_map(|parts| parts.keys());
    let parts = parts.chain(removed.map(String::as_str));
    let whole = parts.filter(|part| !["apiVersion", "kind", "metadata"].contains(part));
    let of_metadata = METADATA.iter().map(|part| ("metadata", *part));
    whole
        .map(|part| ("", part))
        .chain(of_metadata)
        .find_map(|(parent, part)| {
            let pick = |object: &Value| -> Value {
                let parent = if parent.is_empty() {
                    object
                } else {
                    &object[parent]
                };
                parent[part].clone()
            };
            let mut path = below(parent, part);
            differs(&pick(decided), &pick(stored), &pick(changed), &mut path).then_some(path)
        })
}

/// Whether `changed` is not what `decided` makes of `stored`; `path` is then where. Null is a value that is absent.
fn differs(decided: &Value, stored: &Value, changed: &Value, path: &mut String) -> bool {
    const ABSENT: Value = Value::Null;
    if decided == stored {
        return false;
    }
    let length = path.len();
    match (decided, changed) {
        (Value::Object(fields), Value::Object(now)) => {
            let removed = stored.as_object().into_iter().flat_map(|fields| fields.keys());
            let names = fields
                .keys()
                .chain(removed.filter(|name| !fields.contains_key(*name)));
            for name in names {
                path.push('.');
                path.push_str(name);
                let [decided, now] = [fields, now].map(|of| of.get(name).unwrap_or(&ABSENT));
                if differs(decided, &stored[name], now, path) {
                    return true;
                }
                path.truncate(length);
            }
            false
        }
        (Value::Array(items), Value::Array(now)) if items.len() == now.len() => {
            for (index, (item, now)) in items.iter().zip(now).enumerate() {
                path.push_str(&format!("[{index}]"));
                if differs(item, &ABSENT, now, path) {
                    return true;
                }
                path.truncate(length);
            }
            false
        }
        _ => decided != changed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn overruled_at(decided: &Value, stored: &Value, changed: &Value) -> Option<String> {
        first_overruled(decided, stored, changed)
    }

    #[test]
    fn whatever_a_write_sets_stays_and_the_rest_is_free() {
        let stored = json!({"spec": {"a": 1, "b": 1, "list": [1]}, "metadata": {"labels": {"x": "1"}}});
        let decided =
            json!({"spec": {"a": 2, "b": 1, "list": [1]}, "metadata": {"labels": {"x": "1", "y": "2"}}});
        let cases = [
            // Nothing that was decided.
            (
                json!({"spec": {"a": 2, "b": 5, "list": []}, "metadata": {"labels": {"x": "9", "y": "2", "z": "3"}}}),
                None,
            ),
            (
                json!({"spec": {"a": 3, "b": 1, "list": [1]}, "metadata": {"labels": {"x": "1", "y": "2"}}}),
                Some("spec.a"),
            ),
            (
                json!({"spec": {"b": 1}, "metadata": {"labels": {"x": "1", "y": "2"}}}),
                Some("spec.a"),
            ),
            (
                json!({"spec": {"a": 2}, "metadata": {"labels": {"x": "1", "y": "0"}}}),
                Some("metadata.labels.y"),
            ),
            (json!({"spec": {"a": 2}, "metadata": {}}), Some("metadata.labels")),
        ];
        for (changed, path) in cases {
            assert_eq!(
                overruled_at(&decided, &stored, &changed).as_deref(),
                path,
                "{changed}"
            );
        }
    }

    #[test]
    fn of_a_new_object_everything_is_decided_and_fields_may_be_added() {
        let decided =
            json!({"spec": {"target": "a"}, "status": {"decisions": [{"cluster": "a"}, {"cluster": "b"}]}});
        let mut changed = decided.clone();
        changed["spec"]["extra"] = json!(true);
        changed["status"]["decisions"][0]["reason"] = json!("");
        assert_eq!(overruled_at(&decided, &Value::Null, &changed), None);
        changed["status"]["decisions"][1]["cluster"] = json!("evil");
        let path = overruled_at(&decided, &Value::Null, &changed);
        assert_eq!(path.as_deref(), Some("status.decisions[1].cluster"));
        changed["status"]["decisions"] = json!([{"cluster": "a"}]);
        let path = overruled_at(&decided, &Value::Null, &changed);
        assert_eq!(path.as_deref(), Some("status.decisions"));
    }

    #[test]
    fn whatever_a_write_removes_stays_away() {
        let stored = json!({"spec": {"a": 1, "b": 1}, "metadata": {"finalizers": ["x"]}});
        let decided = json!({"spec": {"b": 1}, "metadata": {}});
        let path = overruled_at(
            &decided,
            &stored,
            &json!({"spec": {"a": 1, "b": 1}, "metadata": {}}),
        );
        assert_eq!(path.as_deref(), Some("spec.a"));
        let path = overruled_at(
            &decided,
            &stored,
            &json!({"spec": {"b": 1}, "metadata": {"finalizers": ["x"]}}),
        );
        assert_eq!(path.as_deref(), Some("metadata.finalizers"));
        let path = overruled_at(&json!({"metadata": {}}), &stored, &stored);
        assert_eq!(path.as_deref(), Some("spec"), "a part that is removed whole");
    }
}
