//! Validation of the data of ConfigMaps and Secrets: keys, encodings, size and immutability.

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine as _};
use berth_apimachinery::FieldError;
use serde_json::Value;

use crate::core::value;

/// Highest total number of bytes of the values of an object.
const SIZE_LIMIT: usize = 1024 * 1024;

/// Checks that `key` is a valid key of `data`: it must be usable as a file name in a volume.
fn validate_key(key: &str) -> Result<(), String> {
    if key.len() > 253 {
        return Err("must be no more than 253 characters".to_owned());
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.is_empty() || !key.bytes().all(allowed) {
        return Err(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  \
                    or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    match key {
        "." | ".." => Err(format!("must not be '{key}'")),
        _ if key.starts_with("..") => Err("must not start with '..'".to_owned()),
        _ => Ok(()),
    }
}

/// Errors for invalid keys of the map in `field`.
pub(crate) fn key_errors(object: &Value, field: &str) -> Vec<FieldError> {
    let entries = value::object(object, &[field]).into_iter().flatten();
    entries
        .filter_map(|(key, _)| {
            validate_key(key)
                .err()
                .map(|problem| FieldError::invalid(format!("{field}[{key}]"), key.as_str(), problem))
        })
        .collect()
}

/// Removes line breaks from the base64 values of the map in `field`. The output of the program `base64` has
/// line breaks; stored values have none.
pub(crate) fn remove_line_breaks(object: &mut Value, field: &str) {
    let Some(entries) = object.get_mut(field).and_then(Value::as_object_mut) else {
        return;
    };
    for entry in entries.values_mut() {
        if let Value::String(text) = entry
            && text.contains(['\r', '\n'])
        {
            text.retain(|letter| !matches!(letter, '\r' | '\n'));
        }
    }
}

/// Errors for values of the map in `field` that are not base64.
pub(crate) fn encoding_errors(object: &Value, field: &str) -> Vec<FieldError> {
    let entries = value::object(object, &[field]).into_iter().flatten();
    entries
        .filter_map(|(key, entry)| {
            // The detail has the position but not the byte: the value may be secret, and is removed from
            // errors about confidential fields.
            let problem = match STANDARD.decode(entry.as_str()?).err()? {
                DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => {
                    format!("illegal data at input byte {at}")
                }
                DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => {
                    "wrong length or padding".to_owned()
                }
            };
            let detail =
                format!("must be base64 as RFC 4648 section 4 describes it, with padding: {problem}");
            Some(FieldError::invalid(
                format!("{field}[{key}]"),
                entry.clone(),
                detail,
            ))
        })
        .collect()
}

/// Error if the values of `fields` have too many bytes together. The flag of a field is true if the values of
/// the field are base64.
pub(crate) fn size_error(object: &Value, fields: &[(&str, bool)]) -> Option<FieldError> {
    let mut total = 0;
    for (field, encoded) in fields {
        let values = value::object(object, &[field])
            .into_iter()
            .flat_map(|entries| entries.values());
        let lengths = values.filter_map(Value::as_str).map(|text| match encoded {
            true => text.trim_end_matches('=').len() * 3 / 4,
            false => text.len(),
        });
        total += lengths.sum::<usize>();
    }
    (total > SIZE_LIMIT).then(|| FieldError::too_long(fields[0].0, SIZE_LIMIT))
}

/// Errors for changes of `fields`, or of the field `immutable`, if the old object is `immutable`.
pub(crate) fn immutability_errors(old: &Value, new: &Value, fields: &[&str]) -> Vec<FieldError> {
    const DETAIL: &str = "field is immutable when `immutable` is set";
    if !value::flag(old, &["immutable"]) {
        return Vec::new();
    }
    let mut errors = Vec::new();
    if !value::flag(new, &["immutable"]) {
        errors.push(FieldError::forbidden("immutable", DETAIL));
    }
    let entries = |object: &Value, field: &str| value::object(object, &[field]).cloned().unwrap_or_default();
    for field in fields {
        if entries(old, field) != entries(new, field) {
            errors.push(FieldError::forbidden(*field, DETAIL));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_must_be_file_names() {
        for good in ["a", "key.name", "KEY_NAME", "a-b", ".hidden", "0"] {
            assert!(validate_key(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "..a", "a b", "a/b", "\u{e4}"] {
            assert!(validate_key(bad).is_err(), "{bad}");
        }
        assert!(validate_key(&"a".repeat(254)).is_err());
    }
}
