//! Comparison of a report with the expectation of a scenario, which is a subset, written by hand from the
//! rule.

use serde_json::Value;

/// The expected value of a field that must not exist.
const ABSENT: &str = "!absent";

/// Every difference between `expected` and `found`, each with its path. Fields that `expected` does not name
/// are ignored; a list has exactly the expected elements, in their order.
#[must_use]
pub fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut list = Vec::new();
    compare("", expected, Some(found), &mut list);
    list
}

fn compare(path: &str, expected: &Value, found: Option<&Value>, list: &mut Vec<String>) {
    if expected == ABSENT {
        if let Some(found) = found {
            list.push(format!("{path}: expected to be absent, found {found}"));
        }
        return;
    }
    let Some(found) = found else {
        list.push(format!("{path}: expected {expected}, found nothing"));
        return;
    };
    match (expected, found) {
        (Value::Object(fields), Value::Object(have)) => {
            for (field, value) in fields {
                let path = if path.is_empty() {
                    field.clone()
                } else {
                    format!("{path}.{field}")
                };
                compare(&path, value, have.get(field), list);
            }
        }
        (Value::Array(elements), Value::Array(have)) => {
            if elements.len() != have.len() {
                let (wanted, have_count) = (elements.len(), have.len());
                list.push(format!(
                    "{path}: expected {wanted} elements, found {have_count}: {found}"
                ));
                return;
            }
            for (index, (element, have)) in elements.iter().zip(have).enumerate() {
                compare(&format!("{path}[{index}]"), element, Some(have), list);
            }
        }
        _ if expected == found => {}
        _ => list.push(format!("{path}: expected {expected}, found {found}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_named_is_not_looked_at() {
        let found = json!({"a": 1, "b": [{"c": 1, "d": 2}]});
        assert!(differences(&json!({"b": [{"d": 2}]}), &found).is_empty());
        assert!(differences(&json!({"e": "!absent"}), &found).is_empty());
    }

    #[test]
    fn every_difference_is_told_with_its_path() {
        let found = json!({"a": 1, "b": [{"c": 1}], "d": []});
        let expected = json!({"a": 2, "b": [{"c": 2}], "d": [1], "e": 1});
        assert_eq!(
            differences(&expected, &found),
            [
                "a: expected 2, found 1",
                "b[0].c: expected 2, found 1",
                "d: expected 1 elements, found 0: []",
                "e: expected 1, found nothing",
            ]
        );
        assert_eq!(
            differences(&json!({"a": "!absent"}), &found),
            ["a: expected to be absent, found 1"]
        );
    }
}
