//! Check that a stored write still has the decided content. Admission policies and webhooks may add fields
//! and change other fields, but must not change decided fields.

use std::collections::HashSet;

use serde_json::Value;

use crate::field::below;

/// Fields of `metadata` that are compared. The others belong to the server, or identify the object.
const METADATA: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// Meaning of a decided field that is absent from the stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsentField {
    /// Another writer removed the field, which is a difference.
    Removed,
    /// The server may have dropped the field, since it drops unknown and empty fields. So absent fields are a
    /// difference only if no decided value is present. Numbers are compared by value.
    MayBePruned,
}

/// Returns the path of the first decided field that has another value after admission. Decided fields are the
/// fields in which `decided`, the object that the write sends, differs from `stored`, the object before the
/// write (null if there was none). `changed` is the object after admission.
#[must_use]
pub fn first_difference(
    decided: &Value,
    stored: &Value,
    changed: &Value,
    absent: AbsentField,
) -> Option<String> {
    let mut walk = Walk {
        absent,
        path: String::new(),
        has_decided: false,
        missing: None,
    };
    let parts = decided.as_object()?.keys().map(String::as_str);
    let removed = stored.as_object().into_iter().flat_map(|parts| parts.keys());
    let parts = parts.chain(removed.map(String::as_str));
    let whole = parts.filter(|part| !["apiVersion", "kind", "metadata"].contains(part));
    let of_metadata = METADATA.iter().map(|part| ("metadata", *part));
    let found = whole
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
            walk.path = below(parent, part);
            walk.differs(&pick(decided), &pick(stored), &pick(changed))
                .then(|| walk.path.clone())
        });
    found.or(walk.missing.filter(|_| !walk.has_decided))
}

/// State of the comparison.
struct Walk {
    absent: AbsentField,
    /// Path of the compared field.
    path: String,
    /// Whether any decided value is present.
    has_decided: bool,
    /// Path of the first decided field that is absent, or that was removed and is present.
    missing: Option<String>,
}

impl Walk {
    /// Whether `changed` differs from `decided` in a field that `decided` changes in `stored`. If so, sets
    /// `path` to the path of that field. Null means an absent value.
    fn differs(&mut self, decided: &Value, stored: &Value, changed: &Value) -> bool {
        const ABSENT: Value = Value::Null;
        if decided == stored {
            return false;
        }
        let length = self.path.len();
        match (decided, changed) {
            (Value::Object(fields), Value::Object(present)) => {
                let removed = stored.as_object().into_iter().flat_map(|fields| fields.keys());
                let names = fields
                    .keys()
                    .chain(removed.filter(|name| !fields.contains_key(*name)));
                for name in names {
                    self.path.push('.');
                    self.path.push_str(name);
                    let [decided, present] =
                        [fields, present].map(|object| object.get(name).unwrap_or(&ABSENT));
                    if self.differs(decided, &stored[name], present) {
                        return true;
                    }
                    self.path.truncate(length);
                }
                false
            }
            // Finalizers and owners are sets, to which other writers may add. Removed items must stay absent.
            (Value::Array(items), Value::Array(present)) if self.path.starts_with("metadata.") => {
                self.has_decided |= !items.is_empty();
                let [items, present] = [items, present].map(|list| list.iter().collect::<HashSet<&Value>>());
                let before = stored.as_array().into_iter().flatten();
                let mut removed = before.filter(|item| !items.contains(item));
                !items.is_subset(&present) || removed.any(|item| present.contains(item))
            }
            (Value::Array(items), Value::Array(present)) if items.len() == present.len() => {
                for (index, (item, present)) in items.iter().zip(present).enumerate() {
                    self.path.push_str(&format!("[{index}]"));
                    if self.differs(item, &ABSENT, present) {
                        return true;
                    }
                    self.path.truncate(length);
                }
                false
            }
            _ => self.values_differ(decided, changed),
        }
    }

    /// Whether `changed` differs from `decided`, compared as whole values.
    fn values_differ(&mut self, decided: &Value, changed: &Value) -> bool {
        if decided == changed {
            self.has_decided |= !decided.is_null();
            return false;
        }
        if self.absent == AbsentField::Removed {
            return true;
        }
        if is_empty(decided) && is_empty(changed) {
            return false;
        }
        // A removed field may have a default, which the server sets again.
        if changed.is_null() || decided.is_null() {
            self.missing.get_or_insert_with(|| self.path.clone());
            return false;
        }
        let number = |value: &Value| value.as_f64();
        let equal = number(decided).is_some() && number(decided) == number(changed);
        self.has_decided |= equal;
        !equal
    }
}

/// Whether encoders omit the value.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn overruled_at(decided: &Value, stored: &Value, changed: &Value) -> Option<String> {
        first_difference(decided, stored, changed, AbsentField::Removed)
    }

    #[test]
    fn fields_that_a_write_sets_must_stay_and_other_fields_may_change() {
        let stored = json!({"spec": {"a": 1, "b": 1, "list": [1]}, "metadata": {"labels": {"x": "1"}}});
        let decided =
            json!({"spec": {"a": 2, "b": 1, "list": [1]}, "metadata": {"labels": {"x": "1", "y": "2"}}});
        let cases = [
            // No decided field differs.
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
    fn a_new_object_must_keep_every_field_and_may_get_more() {
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
    fn fields_that_a_write_removes_must_stay_absent() {
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

    #[test]
    fn finalizers_that_a_write_removes_must_stay_absent() {
        let with_finalizers = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
        let stored = with_finalizers(json!(["ours", "theirs"]));
        let decided = with_finalizers(json!(["theirs"]));
        for absent in [AbsentField::Removed, AbsentField::MayBePruned] {
            let path = first_difference(&decided, &stored, &stored, absent);
            assert_eq!(path.as_deref(), Some("metadata.finalizers"));
            let more = with_finalizers(json!(["theirs", "new"]));
            assert_eq!(first_difference(&decided, &stored, &more, absent), None);
        }
    }

    #[test]
    fn admission_may_add_finalizers() {
        let with_finalizers = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
        let decided = with_finalizers(json!(["ours"]));
        let both = with_finalizers(json!(["theirs", "ours"]));
        assert_eq!(overruled_at(&decided, &Value::Null, &both), None);
        let path = overruled_at(&decided, &Value::Null, &with_finalizers(json!(["theirs"])));
        assert_eq!(path.as_deref(), Some("metadata.finalizers"));
    }

    #[test]
    fn long_lists_of_metadata_are_compared_in_well_under_quadratic_time() {
        let many: Vec<String> = (0..100_000).map(|index| format!("a.b/{index:06}")).collect();
        let decided = json!({"metadata": {"finalizers": many}});
        assert_eq!(overruled_at(&decided, &Value::Null, &decided), None);
    }

    #[test]
    fn pruned_fields_are_a_difference_only_if_no_value_is_present() {
        let first_path = |changed: Value| {
            let decided = json!({"spec": {"seedName": "a", "new": true, "zones": [], "score": 1.0}});
            first_difference(&decided, &json!({"spec": {}}), &changed, AbsentField::MayBePruned)
        };
        assert_eq!(first_path(json!({"spec": {"seedName": "a", "score": 1}})), None);
        let other = json!({"spec": {"seedName": "evil", "new": true}});
        assert_eq!(first_path(other).as_deref(), Some("spec.seedName"));
        let longer = json!({"spec": {"seedName": "a", "zones": ["z"]}});
        assert_eq!(first_path(longer).as_deref(), Some("spec.zones"));
        assert!(
            first_path(json!({"spec": {}})).is_some(),
            "nothing of it is there"
        );
        assert!(first_path(json!({})).is_some());
    }
}
