//! JSON paths of printer columns and selectable fields, as in CustomResourceDefinitions: `.spec.seedName`,
//! `.status.conditions[?(@.type=="Ready")].status`, `.spec.urls[*].url`,
//! `.metadata.labels.example\.com/tier`.

use serde_json::Value;

/// Returns the value at `path` in `value`: the first value if the path matches several. `None` if there is no
/// value, or the path does not have a supported form.
#[must_use]
pub fn first<'a>(path: &str, value: &'a Value) -> Option<&'a Value> {
    let mut rest = path;
    let mut current = value;
    while !rest.is_empty() {
        if let Some(field) = rest.strip_prefix('.') {
            let (name, after) = field_name(field);
            current = current.get(name.as_ref())?;
            rest = after;
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            return selected_list(inside, current)?
                .iter()
                .find_map(|item| match inside {
                    "*" => first(after, item),
                    _ => matches(inside, item).then(|| first(after, item)).flatten(),
                });
        }
    }
    Some(current)
}

/// Whether `path` has a supported form: [`first`] returns no value for other paths.
#[must_use]
pub(crate) fn is_supported(path: &str) -> bool {
    let mut rest = path;
    while !rest.is_empty() {
        rest = if let Some(field) = rest.strip_prefix('.') {
            match field_name(field) {
                (name, _) if name.is_empty() => return false,
                (_, after) => after,
            }
        } else {
            match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((inside, after)) if is_selector(inside) => after,
                _ => return false,
            }
        };
    }
    true
}

/// Whether `[inside]` is a supported selector of elements.
fn is_selector(inside: &str) -> bool {
    inside == "*" || filter(inside).is_some()
}

/// Returns `current` as a list, if `[inside]` is a supported selector of elements.
fn selected_list<'a>(inside: &str, current: &'a Value) -> Option<&'a Vec<Value>> {
    is_selector(inside).then(|| current.as_array())?
}

/// Whether `item` matches the filter `?(@.field=="text")`.
fn matches(inside: &str, item: &Value) -> bool {
    filter(inside).is_some_and(|(field, text)| item[field] == text)
}

/// Parses the filter `?(@.field=="text")`, and returns the field and the text.
fn filter(inside: &str) -> Option<(&str, &str)> {
    let (field, quoted) = inside.strip_prefix("?(@.")?.strip_suffix(')')?.split_once("==")?;
    let (field, quoted) = (field.trim(), quoted.trim());
    let quote = if quoted.starts_with('"') { '"' } else { '\'' };
    let text = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
    // Other fields of the item, and further conditions, are not supported.
    let is_simple = !field.is_empty() && !field.contains(['.', '[', '\\']) && !text.contains(quote);
    is_simple.then_some((field, text))
}

/// Parses the name of a field, with `\.` for a dot, and returns the rest of the path.
fn field_name(text: &str) -> (std::borrow::Cow<'_, str>, &str) {
    let mut escaped = false;
    let end = text.char_indices().find(|(_, letter)| {
        let ends = !escaped && matches!(letter, '.' | '[');
        escaped = !escaped && *letter == '\\';
        ends
    });
    let (name, after) = text.split_at(end.map_or(text.len(), |(index, _)| index));
    match name.contains('\\') {
        true => (name.replace('\\', "").into(), after),
        false => (name.into(), after),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_of_printer_columns_are_read() {
        let value = json!({
            "metadata": {"labels": {"example.com/tier": "gold"}},
            "spec": {"seedName": "s", "urls": [{"other": 1}, {"url": "a"}, {"url": "b"}], "n": 3},
            "status": {"conditions": [{"type": "A", "status": "False"}, {"type": "Ready", "status": "True"}]},
        });
        for (path, expected) in [
            (".spec.seedName", json!("s")),
            (".spec.n", json!(3)),
            (".spec.urls[*].url", json!("a")),
            (r#".status.conditions[?(@.type=="Ready")].status"#, json!("True")),
            (".status.conditions[?(@.type == 'A')].status", json!("False")),
            (r".metadata.labels.example\.com/tier", json!("gold")),
        ] {
            assert_eq!(first(path, &value), Some(&expected), "{path}");
            assert!(is_supported(path), "{path}");
        }
        for (path, supported) in [
            (".spec.missing", true),
            (".spec.seedName.deeper", true),
            (r#".status.conditions[?(@.type=="Gone")].status"#, true),
            (r#".status.conditions[?(@.type!="A")].status"#, false),
            (".status.conditions[?(@.type==Ready)].status", false),
            (
                r#".status.conditions[?(@.type=="A" && @.status=="False")].status"#,
                false,
            ),
            (r#".status.conditions[?(@.a.b=="A")].status"#, false),
            (".spec.urls[0].url", false),
            (".spec['seedName']", false),
            ("..seedName", false),
            ("spec.seedName", false),
            ("{.spec.seedName}", false),
            (".spec.urls[*", false),
            ("[]", false),
        ] {
            assert_eq!(first(path, &value), None, "{path}");
            assert_eq!(is_supported(path), supported, "{path}");
        }
    }
}
