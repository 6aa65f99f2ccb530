//! Validation of a value against a node, in the words of kube-apiserver's CRD validation.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Number, Value};

use super::Node;
use super::node::{Bound, ListType, Size, Type};
use super::path::Path;
use crate::field::MAX_ERRORS;
use crate::field_error::FieldError;
use crate::time;

/// Adds the violations of `value` at `path`, whose schema is `node`. After [`MAX_ERRORS`] violations, no
/// further values are checked.
pub(super) fn check(node: &Node, value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if errors.len() >= MAX_ERRORS {
        return;
    }
    if value.is_null() {
        if !node.nullable && node.kind != Type::Any {
            errors.push(wrong_type(node, "null", path));
        }
        return;
    }
    if !has_type(node.kind, value) {
        errors.push(wrong_type(node, type_name(value), path));
        return;
    }
    if let Some(choices) = &node.choices
        && !choices.contains(value)
    {
        errors.push(not_supported(choices, value, path));
    }
    match value {
        Value::Object(fields) => object(node, fields, path, errors),
        Value::Array(elements) => array(node, elements, path, errors),
        Value::String(text) => string(node, text, path, errors),
        Value::Number(number) => numeric(node, number, path, errors),
        _ => {}
    }
}

/// Whether `value` has the JSON type `kind`.
pub(super) fn has_type(kind: Type, value: &Value) -> bool {
    match kind {
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::String => value.is_string(),
        Type::Integer => value.is_i64(),
        Type::Number => value.is_number(),
        Type::Boolean => value.is_boolean(),
        Type::IntOrString => value.is_i64() || value.is_string(),
        Type::Any => true,
    }
}

/// Name of the JSON type of `value` in messages.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Name of the type `kind` in messages.
pub(super) fn expected_type(kind: Type) -> &'static str {
    match kind {
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
        Type::IntOrString => "integer,string",
        Type::Any => "any",
    }
}

fn wrong_type(node: &Node, have: &str, path: &Path<'_>) -> FieldError {
    let want = expected_type(node.kind);
    FieldError::type_invalid(
        path.to_string(),
        have,
        format!("{path} in body must be of type {want}: \"{have}\""),
    )
}

fn not_supported(choices: &[Value], value: &Value, path: &Path<'_>) -> FieldError {
    let texts: Vec<String> = choices
        .iter()
        .map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    FieldError::not_supported(path.to_string(), value.clone(), &texts)
}

fn invalid(path: &Path<'_>, value: impl Into<Value>, rule: &str) -> FieldError {
    FieldError::invalid(path.to_string(), value, format!("{path} in body {rule}"))
}

fn object(node: &Node, fields: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for name in &node.required {
        let absent = match (fields.get(name), node.field(name)) {
            (None, _) => true,
            (Some(value), Some(field)) => value.is_null() && field.null_is_absent(),
            (Some(_), None) => false,
        };
        if absent {
            errors.push(FieldError::required(Path::Field(path, name).to_string(), ""));
        }
    }
    let count = fields.len();
    if node.entries.most.is_some_and(|most| count as u64 > most) {
        errors.push(too_many(path, count, node.entries));
    }
    if let Some(least) = node.entries.least.filter(|&least| (count as u64) < least) {
        errors.push(invalid(
            path,
            Value::Object(fields.clone()),
            &format!("should have at least {least} properties"),
        ));
    }
    for (name, value) in fields {
        let Some(field) = node.field(name) else { continue };
        // A `null` counts as an absent field. The absence of a required field was reported above.
        if value.is_null() && field.null_is_absent() && node.properties.contains_key(name) {
            continue;
        }
        check(field, value, &Path::Field(path, name), errors);
    }
}

fn array(node: &Node, elements: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let count = elements.len();
    if node.count.most.is_some_and(|most| count as u64 > most) {
        errors.push(too_many(path, count, node.count));
    }
    if let Some(least) = node.count.least.filter(|&least| (count as u64) < least) {
        errors.push(invalid(
            path,
            Value::Array(elements.to_vec()),
            &format!("should have at least {least} items"),
        ));
    }
    if let Some(items) = &node.items {
        for (index, element) in elements.iter().enumerate() {
            check(items, element, &Path::Index(path, index), errors);
        }
    }
    duplicates(node, elements, path, errors);
}

fn too_many(path: &Path<'_>, have: usize, size: Size) -> FieldError {
    let most = size
        .most
        .and_then(|most| usize::try_from(most).ok())
        .unwrap_or(usize::MAX);
    FieldError::too_many(path.to_string(), have, most)
}

/// Adds an error for each duplicate element of a set, or of a list with map keys.
fn duplicates(node: &Node, elements: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let identity = |element: &Value| -> Value {
        match &node.list {
            ListType::Map(keys) => {
                let known = keys.iter().filter_map(|key| {
                    let default = || node.items.as_ref()?.properties.get(key)?.default.as_ref();
                    let value = element.get(key).or_else(default)?;
                    Some((key.clone(), value.clone()))
                });
                known.collect::<Map<String, Value>>().into()
            }
            _ => element.clone(),
        }
    };
    if node.list == ListType::Atomic || node.may_repeat || elements.len() < 2 {
        return;
    }
    let mut identities = BTreeSet::new();
    for (index, element) in elements.iter().enumerate() {
        if errors.len() >= MAX_ERRORS {
            return;
        }
        let identity = identity(element);
        // Values have no order, but their canonical texts have.
        if !identities.insert(identity.to_string()) {
            errors.push(FieldError::duplicate(
                Path::Index(path, index).to_string(),
                identity,
            ));
        }
    }
}

fn string(node: &Node, text: &str, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let Size { least, most } = node.length;
    if least.is_some() || most.is_some() {
        let length = text.chars().count() as u64;
        if let Some(most) = most.filter(|&most| length > most) {
            errors.push(FieldError::too_long(
                path.to_string(),
                usize::try_from(most).unwrap_or(usize::MAX),
            ));
        }
        if let Some(least) = least.filter(|&least| length < least) {
            errors.push(invalid(
                path,
                text,
                &format!("should be at least {least} chars long"),
            ));
        }
    }
    if let Some(pattern) = node
        .pattern
        .as_ref()
        .filter(|pattern| !pattern.regex.is_match(text))
    {
        errors.push(invalid(path, text, &format!("should match '{}'", pattern.text)));
    }
    if let Some(format) = node.format.as_deref().filter(|format| !has_format(format, text)) {
        let detail = format!("{path} in body must be of type {format}: {text:?}");
        errors.push(FieldError::type_invalid(path.to_string(), text, detail));
    }
}

/// The form of dates in RFC 3339.
static DATE: LazyLock<Regex> = LazyLock::new(|| compiled("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"));
/// UUIDs, whose dashes may be missing, as in kube-apiserver.
static UUID: LazyLock<Regex> =
    LazyLock::new(|| compiled("^[0-9A-Fa-f]{8}(-?[0-9A-Fa-f]{4}){3}-?[0-9A-Fa-f]{12}$"));

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a regular expression")
}

/// Whether `text` has the format `format`; formats that are not checked match any text.
pub(super) fn has_format(format: &str, text: &str) -> bool {
    match format {
        "date-time" => is_rfc3339(text) && time::parse(text).is_some(),
        // The parser of dates also accepts a time, and other forms of ISO 8601.
        "date" => DATE.is_match(text) && text.parse::<jiff::civil::Date>().is_ok(),
        "uuid" => UUID.is_match(text),
        "byte" => {
            use base64::Engine as _;
            // Line breaks are allowed anywhere, as in the output of `base64`: Go's decoder skips them.
            let text: Vec<u8> = text
                .bytes()
                .filter(|byte| !matches!(byte, b'\r' | b'\n'))
                .collect();
            base64::engine::general_purpose::STANDARD.decode(text).is_ok()
        }
        "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        _ => true,
    }
}

/// Whether `text` has the form of RFC 3339. The parser of instants accepts other forms too, which clients may
/// not understand.
fn is_rfc3339(text: &str) -> bool {
    let bytes = text.as_bytes();
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let zone = text.ends_with('Z') || text.get(bytes.len().saturating_sub(6)..).is_some_and(is_offset);
    zone && separators
        .iter()
        .all(|&(at, separator)| bytes.get(at) == Some(&separator))
        && !text.contains('[')
}

/// Whether `text` is an offset such as `+02:00`.
fn is_offset(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes, [b'+' | b'-', _, _, b':', _, _])
}

/// Whether `number` is in the range of `int32`, or is not an `i64`.
pub(super) fn is_int32(number: &Number) -> bool {
    number.as_i64().is_none_or(|number| i32::try_from(number).is_ok())
}

fn numeric(node: &Node, number: &Number, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if node.format.as_deref() == Some("int32") && !is_int32(number) {
        let detail = format!("{path} in body must be of type int32: \"{number}\"");
        errors.push(FieldError::type_invalid(
            path.to_string(),
            Value::Number(number.clone()),
            detail,
        ));
    }
    let value = || Value::Number(number.clone());
    if let Some(Bound { limit, exclusive }) = &node.minimum {
        let order = compare(number, limit);
        if order == Ordering::Less || (*exclusive && order == Ordering::Equal) {
            let words = if *exclusive {
                "greater than"
            } else {
                "greater than or equal to"
            };
            errors.push(invalid(path, value(), &format!("should be {words} {limit}")));
        }
    }
    if let Some(Bound { limit, exclusive }) = &node.maximum {
        let order = compare(number, limit);
        if order == Ordering::Greater || (*exclusive && order == Ordering::Equal) {
            let words = if *exclusive {
                "less than"
            } else {
                "less than or equal to"
            };
            errors.push(invalid(path, value(), &format!("should be {words} {limit}")));
        }
    }
    if let Some(unit) = node.multiple_of.filter(|unit| !is_multiple(number, *unit)) {
        errors.push(invalid(path, value(), &format!("should be a multiple of {unit}")));
    }
}

/// Whether `number` is a multiple of `unit`: exactly for two integers, otherwise within the precision of
/// doubles, so that 0.3 is a multiple of 0.1.
fn is_multiple(number: &Number, unit: f64) -> bool {
    if let Some(number) = number.as_i128()
        && unit.fract() == 0.0
    {
        return number.checked_rem(unit as i128) == Some(0);
    }
    let ratio = number.as_f64().unwrap_or(f64::NAN) / unit;
    (ratio - ratio.round()).abs() <= 4.0 * f64::EPSILON * ratio.abs()
}

/// Compares numbers: integers exactly, others as doubles.
fn compare(a: &Number, b: &Number) -> Ordering {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let double = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
            double(a).total_cmp(&double(b))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn multiples_are_exact_for_integers_and_as_precise_as_doubles_otherwise() {
        let multiple = |number: &Value, unit| is_multiple(number.as_number().unwrap(), unit);
        for (number, unit) in [
            (json!(0.3), 0.1),
            (json!(4.35), 0.01),
            (json!(-1.5), 0.5),
            (json!(3), 0.1),
            (json!(0), 7.0),
            (json!(9_007_199_254_740_994_i64), 2.0),
            (json!(-6), 3.0),
        ] {
            assert!(multiple(&number, unit), "{number} {unit}");
        }
        for (number, unit) in [
            (json!(0.35), 0.1),
            (json!(1_000_000_000.5), 1.0),
            (json!(9_007_199_254_740_993_i64), 2.0),
            (json!(7), 3.0),
            (json!(7), 0.0),
        ] {
            assert!(!multiple(&number, unit), "{number} {unit}");
        }
    }

    #[test]
    fn dates_and_uuids_have_the_forms_that_kube_apiserver_accepts() {
        for (format, text) in [
            ("date", "2024-02-29"),
            ("uuid", "67e55044-10b1-426f-9247-bb680e5fe0c8"),
            ("uuid", "67E5504410B1426F9247BB680E5FE0C8"),
        ] {
            assert!(has_format(format, text), "{text}");
        }
        for (format, text) in [
            ("date", "20240229"),
            ("date", "2024-02-30"),
            ("date", "2024-02-29T10:00:00"),
            ("date", "+002024-02-29"),
            ("date", ""),
            ("uuid", "{67e55044-10b1-426f-9247-bb680e5fe0c8}"),
            ("uuid", "urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8"),
            ("uuid", "67e55044-10b1-426f-9247-bb680e5fe0c"),
        ] {
            assert!(!has_format(format, text), "{text}");
        }
    }
}
