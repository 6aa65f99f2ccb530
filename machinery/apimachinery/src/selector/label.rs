//! Validation of label keys and values, in Kubernetes' words.

use std::fmt;

use crate::field::MAX_ERRORS;
use crate::field_error::FieldError;
use crate::name::{self, NameError};

const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                          '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                          'my_value',  or '12345', regex used for validation is \
                          '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Highest length of a label's value and of the name part of a key, in bytes.
const MAX_LENGTH: usize = 63;

/// A problem of a label's key or value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelProblem {
    /// The key has more than one `/`.
    #[error(
        "a qualified name {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    )]
    NotQualified,
    /// The key has a `/` with nothing before it.
    #[error("prefix part must be non-empty")]
    EmptyPrefix,
    /// The part of the key before the `/` is not a subdomain.
    #[error("prefix part {0}")]
    Prefix(NameError),
    /// The name part of the key is empty.
    #[error("name part must be non-empty")]
    EmptyName,
    /// The name part of the key has too many bytes.
    #[error("name part must be no more than {MAX_LENGTH} characters")]
    LongName,
    /// The name part of the key has invalid characters, or does not start and end with an alphanumeric
    /// character.
    #[error("name part {NAME_RULE}")]
    NameShape,
    /// The value has too many bytes.
    #[error("must be no more than {MAX_LENGTH} characters")]
    LongValue,
    /// The value has invalid characters, or does not start and end with an alphanumeric character.
    #[error("{VALUE_RULE}")]
    ValueShape,
}

/// All problems of a label's key or value, in Kubernetes' words and joined by `; `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelError(pub Vec<LabelProblem>);

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for LabelError {}

impl From<LabelError> for String {
    fn from(error: LabelError) -> Self {
        error.to_string()
    }
}

fn has_name_shape(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.into_iter()
        .all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Checks that `key` is a qualified name: a name of at most 63 bytes, after an optional DNS subdomain and
/// `/`. Label keys, annotation keys and finalizers follow this rule.
///
/// # Errors
/// All problems of the key.
pub fn validate_label_key(key: &str) -> Result<(), LabelError> {
    let mut problems = Vec::new();
    let mut parts = key.split('/');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    if parts.next().is_some() {
        return Err(LabelError(vec![LabelProblem::NotQualified]));
    }
    let part = match second {
        None => first,
        Some(part) => {
            if first.is_empty() {
                problems.push(LabelProblem::EmptyPrefix);
            } else if let Err(problem) = name::dns_subdomain(first) {
                problems.push(LabelProblem::Prefix(problem));
            }
            part
        }
    };
    if part.is_empty() {
        problems.push(LabelProblem::EmptyName);
    } else if part.len() > MAX_LENGTH {
        problems.push(LabelProblem::LongName);
    }
    if !has_name_shape(part) {
        problems.push(LabelProblem::NameShape);
    }
    into_result(problems)
}

/// Checks that `value` is valid as a label's value: empty, or with the form of the name part of a key.
///
/// # Errors
/// All problems of the value.
pub fn validate_label_value(value: &str) -> Result<(), LabelError> {
    let mut problems = Vec::new();
    if value.len() > MAX_LENGTH {
        problems.push(LabelProblem::LongValue);
    }
    if !value.is_empty() && !has_name_shape(value) {
        problems.push(LabelProblem::ValueShape);
    }
    into_result(problems)
}

/// Returns an error with `problems`, if there are any.
fn into_result(problems: Vec<LabelProblem>) -> Result<(), LabelError> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(LabelError(problems))
    }
}

/// Checks every key and value of the label map at `path` (`metadata.labels`, `spec.selector.matchLabels`),
/// until there are [`MAX_ERRORS`] errors.
#[must_use]
pub fn validate_labels<K: AsRef<str>, V: AsRef<str>>(
    labels: impl IntoIterator<Item = (K, V)>,
    path: &str,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels {
        if errors.len() >= MAX_ERRORS {
            break;
        }
        let (key, value) = (key.as_ref(), value.as_ref());
        if let Err(problem) = validate_label_key(key) {
            errors.push(FieldError::invalid(path, key, problem));
        }
        if let Err(problem) = validate_label_value(value) {
            errors.push(FieldError::invalid(path, value, problem));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_names_are_label_keys() {
        let long = "a".repeat(63);
        for good in ["a", "A_b.c-d", "example.com/a", "kubernetes.io/os", "1", &long] {
            assert!(validate_label_key(good).is_ok(), "{good}");
        }
        let longer = "a".repeat(64);
        for bad in [
            "",
            "/a",
            "a/",
            "a/b/c",
            "-a",
            "a-",
            "a b",
            "Example.com/a",
            "ü",
            &longer,
        ] {
            assert!(validate_label_key(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn label_values_may_be_empty_but_not_long_or_odd() {
        let long = "a".repeat(63);
        for good in ["", "a", "A_b.c-d", &long] {
            assert!(validate_label_value(good).is_ok(), "{good}");
        }
        let longer = "a".repeat(64);
        for bad in ["a b", "-", "a/", "ü", &longer] {
            assert!(validate_label_value(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_bad_label_of_a_map_is_reported() {
        let errors = validate_labels([("a b", "-"), ("ok", "ok")], "metadata.labels");
        assert_eq!(errors.len(), 2);
        assert!(
            errors[0]
                .to_string()
                .starts_with("metadata.labels: Invalid value: \"a b\": name part must consist")
        );
    }
}
