//! Changes of a file that the server refuses, and that yield to the stored object. A scheduler sets fields
//! that users must not change afterwards. A file that is older lacks these fields, and a file that was read
//! from the server earlier may have outdated values.

use berth_apimachinery::Status;
use serde_json::Value;

/// Reason of a cause in a `Status` with code 403: the field belongs to another writer.
const OWNED: &str = "FieldValueForbidden";

/// Reverts the changes in `next` that `status` refuses, so that the rest can be written. Three kinds of
/// changes are reverted: the change of a field that `object` does not have, the removal of entries from a
/// map, and the change of a field outside of `spec` that belongs to another writer. The last kind adds a line
/// to `kept` if `object` has the field.
///
/// Returns false if no change was reverted, or if the server also refuses a change that the user requested:
/// the caller then reports the refusal.
pub(super) fn revert_refused_changes(
    object: &Value,
    next: &mut Value,
    stored: &Value,
    status: &Status,
    kept: &mut Vec<String>,
) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let before = next.clone();
    let mut lines = Vec::new();
    for cause in causes {
        let field = Field::parse(&cause.field);
        let requested = field.is_requested(object);
        let belongs_to_other =
            status.code == 403 && cause.reason == OWNED && !cause.field.starts_with("spec");
        if requested && !belongs_to_other {
            // A map may lack an entry that must not be removed.
            if field.fill(next, stored) {
                continue;
            }
            return false;
        }
        field.restore(next, stored);
        if requested {
            lines.push(format!(
                "{} stays as it is stored: {}",
                cause.field, cause.message
            ));
        }
    }
    if *next == before {
        return false;
    }
    kept.append(&mut lines);
    true
}

/// A field in a cause: `status.cluster`, or `metadata.finalizers[example.com/hold]` for an element of a list
/// or an entry of a map.
struct Field<'a> {
    path: Vec<&'a str>,
    element: Option<&'a str>,
}

impl<'a> Field<'a> {
    fn parse(text: &'a str) -> Self {
        let (path, element) = match text.split_once('[') {
            Some((path, rest)) => (path, rest.strip_suffix(']')),
            None => (text, None),
        };
        Self {
            path: path.split('.').filter(|part| !part.is_empty()).collect(),
            element,
        }
    }

    /// Returns the value of the path in `object`; `None` when the value is null.
    fn value_in<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        let found = self.path.iter().try_fold(object, |value, part| value.get(part));
        found.filter(|value| !value.is_null())
    }

    /// Whether `object` has the field. For an element of a list, the list is sufficient.
    fn is_requested(&self, object: &Value) -> bool {
        match (self.value_in(object), self.element) {
            (Some(Value::Object(map)), Some(key)) => map.contains_key(key),
            (found, _) => found.is_some(),
        }
    }

    /// Adds to the map in `next` the entries that only the map in `stored` has. Returns whether there were
    /// any; false if the field is an entry or an element itself.
    fn fill(&self, next: &mut Value, stored: &Value) -> bool {
        let found = self.path.iter().try_fold(next, |value, part| value.get_mut(part));
        let (Some(Value::Object(map)), Some(Value::Object(before))) = (found, self.value_in(stored)) else {
            return false;
        };
        let count = map.len();
        for (name, value) in before {
            map.entry(name).or_insert_with(|| value.clone());
        }
        self.element.is_none() && map.len() > count
    }

    /// Sets the field in `next` to its value in `stored`.
    fn restore(&self, next: &mut Value, stored: &Value) {
        let Some((last, parents)) = self.path.split_last() else {
            return;
        };
        let mut target = next;
        for part in parents {
            let Some(parent) = target.as_object_mut() else {
                return;
            };
            target = parent
                .entry(*part)
                .or_insert_with(|| Value::Object(serde_json::Map::new()));
        }
        let Some(parent) = target.as_object_mut() else {
            return;
        };
        let before = self.value_in(stored);
        if let Some(element) = self.element {
            let entry = parent.entry(*last).or_insert(Value::Null);
            restore_part(entry, before, element);
            return;
        }
        match before {
            Some(before) => drop(parent.insert((*last).to_owned(), before.clone())),
            None => drop(parent.remove(*last)),
        }
    }
}

/// Restores one element of a list of strings, or one entry of a map, from `before`.
fn restore_part(entry: &mut Value, before: Option<&Value>, element: &str) {
    match entry {
        Value::Object(map) => match before.and_then(|before| before.get(element)) {
            Some(value) => drop(map.insert(element.to_owned(), value.clone())),
            None => drop(map.remove(element)),
        },
        Value::Array(list) => {
            let is_element = |value: &Value| value == element;
            let had = before
                .and_then(Value::as_array)
                .is_some_and(|list| list.iter().any(is_element));
            list.retain(|value| !is_element(value));
            if had {
                list.push(element.into());
            }
        }
        _ => *entry = before.cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(code: u16, causes: &[(&str, &str)]) -> Status {
        let status = Status::failure(code, "Forbidden", "no");
        causes.iter().fold(status, |status, (reason, field)| {
            status.with_cause(reason, "only berth:scheduler writes it", field)
        })
    }

    #[test]
    fn what_a_file_does_not_say_and_may_not_change_stays() {
        let object = json!({"spec": {"region": "r"}});
        let stored = json!({"spec": {"region": "r", "seedName": "a", "networking": {"pods": "10.0.0.0/8"}}});
        let mut next = object.clone();
        let mut notes = Vec::new();
        let seed = refusal(403, &[(OWNED, "spec.seedName")]);
        assert!(revert_refused_changes(
            &object, &mut next, &stored, &seed, &mut notes
        ));
        let pods = refusal(422, &[("FieldValueInvalid", "spec.networking.pods")]);
        assert!(revert_refused_changes(
            &object, &mut next, &stored, &pods, &mut notes
        ));
        assert_eq!((&next, notes.len()), (&stored, 0));
        assert!(
            !revert_refused_changes(&object, &mut next, &stored, &pods, &mut notes),
            "nothing is left to revert"
        );
    }

    #[test]
    fn a_refused_change_that_the_user_requested_is_not_reverted() {
        let object = json!({"spec": {"region": "x", "seedName": "b"}});
        let stored = json!({"spec": {"region": "r", "seedName": "a"}});
        for (code, reason, field) in [
            (422, "FieldValueInvalid", "spec.region"),
            (403, OWNED, "spec.seedName"),
            (422, OWNED, "spec.seedName"),
        ] {
            let mut next = object.clone();
            let status = refusal(code, &[(reason, field)]);
            assert!(
                !revert_refused_changes(&object, &mut next, &stored, &status, &mut Vec::new()),
                "{field}"
            );
        }
        let mut next = object.clone();
        let silent = Status::failure(403, "Forbidden", "users cannot do that");
        assert!(!revert_refused_changes(
            &object,
            &mut next,
            &stored,
            &silent,
            &mut Vec::new()
        ));
    }

    #[test]
    fn what_cannot_be_taken_out_of_a_map_stays() {
        let object = json!({"status": {"phase": "Pending"}});
        let stored = json!({"status": {"phase": "Granted", "cluster": {"name": "c"}}});
        let mut next = object.clone();
        let status = refusal(422, &[("FieldValueInvalid", "status")]);
        assert!(revert_refused_changes(
            &object,
            &mut next,
            &stored,
            &status,
            &mut Vec::new()
        ));
        assert_eq!(
            next,
            json!({"status": {"phase": "Pending", "cluster": {"name": "c"}}})
        );
        assert!(
            !revert_refused_changes(&object, &mut next, &stored, &status, &mut Vec::new()),
            "nothing more is missing"
        );
    }

    #[test]
    fn what_belongs_to_the_scheduler_stays_with_a_note() {
        let object = json!({
            "metadata": {"finalizers": ["x.example/y", "old"]}, "status": {"phase": "Pending", "n": 1},
        });
        let stored = json!({
            "metadata": {"finalizers": ["used"]}, "status": {"phase": "Granted", "cluster": {"name": "c"}},
        });
        let mut next = object.clone();
        let mut notes = Vec::new();
        let fields = [
            "status.cluster",
            "status.phase",
            "metadata.finalizers[used]",
            "metadata.finalizers[old]",
        ];
        let status = refusal(403, &fields.map(|field| (OWNED, field)));
        assert!(revert_refused_changes(
            &object, &mut next, &stored, &status, &mut notes
        ));
        let expected = json!({
            "metadata": {"finalizers": ["x.example/y", "used"]},
            "status": {"phase": "Granted", "n": 1, "cluster": {"name": "c"}},
        });
        assert_eq!(next, expected);
        assert_eq!(notes.len(), 3, "the cluster was not in the file: {notes:?}");
        assert_eq!(
            notes[0],
            "status.phase stays as it is stored: only berth:scheduler writes it"
        );
    }
}
