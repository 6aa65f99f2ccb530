//! A field error: the problem and its place, in kube-apiserver's words.

use std::fmt;

use serde_json::Value;

/// The type of a field error, which determines the `reason` of a cause in a `Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// A required value is missing.
    Required,
    /// The value is malformed.
    Invalid,
    /// The value is of the wrong JSON type.
    TypeInvalid,
    /// The value has the wrong JSON type, since YAML read it in another way than the author meant: an
    /// unquoted `On` is a boolean. The error explains this, and replaces `TypeInvalid`.
    Misread,
    /// The value is not one of the supported ones.
    NotSupported,
    /// The value is a duplicate.
    Duplicate,
    /// The field must not be set or changed.
    Forbidden,
    /// The text is too long.
    TooLong,
    /// The list is too long.
    TooMany,
    /// No object has the name in the value.
    NotFound,
}

impl FieldErrorKind {
    /// The `reason` of the cause in a `Status`.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid | Self::Misread => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid | Self::Misread => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
        }
    }
}

/// One error in one field. [`fmt::Display`] formats path and message (`spec.x: Invalid value: "y": detail`).
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// Type of the error.
    pub kind: FieldErrorKind,
    /// Path from the object's root: `spec.predicates[0].weight`, `metadata.labels[app]`.
    pub path: String,
    /// The invalid value, where it helps to include it.
    pub value: Option<Value>,
    /// The rule that the value violates; may be empty.
    pub detail: String,
}

impl FieldError {
    fn new(
        kind: FieldErrorKind,
        path: impl Into<String>,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            path: path.into(),
            value,
            detail: detail.into(),
        }
    }

    /// The error of a missing value.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, path, None, detail)
    }

    /// The error of a malformed value.
    pub fn invalid(path: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, path, Some(value.into()), detail)
    }

    /// The error of a value of the wrong JSON type.
    pub fn type_invalid(path: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::TypeInvalid, path, Some(value.into()), detail)
    }

    /// The error of a value that YAML read in another way than the author meant; `detail` explains how to
    /// write it.
    pub fn misread(path: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Misread, path, Some(value.into()), detail)
    }

    /// The error of an unsupported value; the message lists the supported ones.
    pub fn not_supported(path: impl Into<String>, value: impl Into<Value>, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|text| format!("\"{text}\"")).collect();
        let detail = format!("supported values: {}", list.join(", "));
        Self::new(FieldErrorKind::NotSupported, path, Some(value.into()), detail)
    }

    /// The error of a duplicate value.
    pub fn duplicate(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::Duplicate, path, Some(value.into()), "")
    }

    /// The error of a field that must not be set or changed.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, path, None, detail)
    }

    /// The error of a text longer than `max`. As in kube-apiserver, the message calls the unit bytes, also
    /// where characters are counted.
    pub fn too_long(path: impl Into<String>, max: usize) -> Self {
        Self::new(
            FieldErrorKind::TooLong,
            path,
            None,
            format!("may not be more than {max} bytes"),
        )
    }

    /// The error of a list with more than `max` entries.
    pub fn too_many(path: impl Into<String>, have: usize, max: usize) -> Self {
        Self::new(
            FieldErrorKind::TooMany,
            path,
            Some(have.into()),
            format!("must have at most {max} items"),
        )
    }

    /// The error of a value that names no existing object.
    pub fn not_found(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::NotFound, path, Some(value.into()), "")
    }

    /// Removes the value from the error, if the path is at or below one of the top-level `fields`.
    #[must_use]
    pub fn redacted(mut self, fields: &[&str]) -> Self {
        let first = self.path.split(['.', '[']).next().unwrap_or_default();
        let Some(value) = self.value.as_ref().filter(|_| fields.contains(&first)) else {
            return self;
        };
        // Some rules quote the value again at the end of their detail.
        if let Some(start) = self.detail.find(&value.to_string()) {
            self.detail.truncate(start);
            let length = self.detail.trim_end_matches([':', ' ']).len();
            self.detail.truncate(length);
        }
        self.value = Some("<contents redacted>".into());
        self
    }

    /// The text without the path, as the `message` of a `Status` cause.
    #[must_use]
    pub fn message(&self) -> String {
        let mut text = self.kind.words().to_owned();
        if let Some(value) = &self.value {
            text.push_str(": ");
            text.push_str(&format_value(value));
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

/// Formats a value as JSON for an error message; a text of more than 256 bytes is truncated.
fn format_value(value: &Value) -> String {
    let mut text = value.to_string();
    if text.len() > 256 {
        let mut cut = 253;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        text.truncate(cut);
        text.push_str("...");
    }
    text
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_kubernetes_writes_them() {
        let cases = [
            (FieldError::required("spec.x", ""), "spec.x: Required value"),
            (
                FieldError::invalid("spec.x", 11, "must be at most 10"),
                "spec.x: Invalid value: 11: must be at most 10",
            ),
            (
                FieldError::not_supported("spec.mode", "Most", &["Additive", "Exact"]),
                "spec.mode: Unsupported value: \"Most\": supported values: \"Additive\", \"Exact\"",
            ),
            (
                FieldError::duplicate("spec.l[1]", "a"),
                "spec.l[1]: Duplicate value: \"a\"",
            ),
            (
                FieldError::forbidden("spec.x", "is immutable"),
                "spec.x: Forbidden: is immutable",
            ),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn a_redacted_error_has_no_value() {
        let error = |path: &str| FieldError::invalid(path, "hunter2", "must be base64").redacted(&["data"]);
        let text = error("data[password]").to_string();
        assert_eq!(
            text,
            "data[password]: Invalid value: \"<contents redacted>\": must be base64"
        );
        let twice = FieldError::invalid("data.a", "hunter2", "must be of type byte: \"hunter2\"");
        assert_eq!(
            twice.redacted(&["data"]).to_string(),
            "data.a: Invalid value: \"<contents redacted>\": must be of type byte"
        );
        assert!(error("data").to_string().contains("redacted"));
        assert!(error("type").to_string().contains("hunter2"));
    }
}
