//! Escaping of field names that are not identifiers, as in Kubernetes' expressions.

use crate::parser::is_reserved_word;

/// Escapes the field `name` for expressions over typed objects; `None` when expressions cannot name the
/// field.
#[must_use]
pub fn escaped(name: &str) -> Option<String> {
    if is_reserved_word(name) {
        return Some(format!("__{name}__"));
    }
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(letter) = rest.chars().next() {
        let (replacement, length) = match letter {
            _ if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            '_' => ("_", 1),
            letter if letter.is_ascii_alphanumeric() => (&rest[..1], 1),
            _ => return None,
        };
        escaped.push_str(replacement);
        rest = &rest[length..];
    }
    Some(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_in_kubernetes_documentation() {
        for (name, wanted) in [
            ("namespace", Some("__namespace__")),
            ("x-prop", Some("x__dash__prop")),
            ("redact__d", Some("redact__underscores__d")),
            ("string", Some("string")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("_x", Some("_x")),
            ("1st", None),
            ("", None),
            ("a b", None),
            ("größe", None),
        ] {
            assert_eq!(escaped(name).as_deref(), wanted, "{name}");
        }
    }
}
