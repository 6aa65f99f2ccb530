//! Label and field selectors: the string form in requests and the object form in specs.

mod field_selector;
mod fingerprint;
mod label;
mod parser;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field::MAX_ERRORS;
use crate::field_error::FieldError;
use crate::labels::{LabelSet, Labels};

pub use fingerprint::LabelFingerprint;
pub use label::{LabelError, LabelProblem, validate_label_key, validate_label_value, validate_labels};

/// Reason why a text is not a selector: a sentence in the words of Kubernetes' parser, which clients show
/// unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(String);

impl From<String> for SelectorError {
    fn from(sentence: String) -> Self {
        Self(sentence)
    }
}

impl From<SelectorError> for String {
    fn from(error: SelectorError) -> Self {
        error.0
    }
}

/// `metav1.LabelSelector`. An object matches if its labels satisfy all requirements; an empty selector
/// matches every object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LabelSelector {
    /// Labels that an object must have, with exactly these values.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub match_labels: Labels,
    /// Requirements on single labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One requirement of a [`LabelSelector`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["key", "operator"]))]
pub struct LabelSelectorRequirement {
    /// The label key to which the requirement applies.
    pub key: String,
    /// Relation of the key to the values: In, NotIn, Exists or DoesNotExist.
    pub operator: String,
    /// The values for In and NotIn; empty for Exists and DoesNotExist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// A parsed label selector, from the string form or the object form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Requirements, all of which must hold.
    pub requirements: Vec<Requirement>,
}

/// One parsed requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Key of the label.
    pub key: String,
    /// Operator of the requirement.
    pub operator: Operator,
    /// Values of the requirement, sorted.
    pub values: Vec<String>,
}

/// Operator of a requirement, in the string form or the object form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The label's value is one of the requirement's values (`=`, `==`, `in`).
    In,
    /// The label's value is not one of the requirement's values, or the key is absent (`!=`, `notin`).
    NotIn,
    /// The key is present.
    Exists,
    /// The key is absent.
    DoesNotExist,
    /// The label's value is an integer above the requirement's only value (string form only).
    GreaterThan,
    /// The label's value is an integer below the requirement's only value (string form only).
    LessThan,
}

impl Operator {
    /// Returns the operator with the name `name` in the object form: `In`, `NotIn`, `Exists` or
    /// `DoesNotExist`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "In" => Some(Self::In),
            "NotIn" => Some(Self::NotIn),
            "Exists" => Some(Self::Exists),
            "DoesNotExist" => Some(Self::DoesNotExist),
            _ => None,
        }
    }
}

impl Requirement {
    /// Whether `value`, the value of the label with the requirement's key, satisfies the requirement. `None`
    /// means that there is no such label.
    #[must_use]
    pub fn matches(&self, value: Option<&str>) -> bool {
        let listed = |value: &str| {
            self.values
                .binary_search_by(|known| known.as_str().cmp(value))
                .is_ok()
        };
        match self.operator {
            Operator::In => value.is_some_and(listed),
            Operator::NotIn => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compares(value, |have, bound| have > bound),
            Operator::LessThan => self.compares(value, |have, bound| have < bound),
        }
    }

    fn compares(&self, value: Option<&str>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let bound = self.values.first().and_then(|bound| bound.parse().ok());
        match (value.and_then(|value| value.parse().ok()), bound) {
            (Some(have), Some(bound)) => holds(have, bound),
            _ => false,
        }
    }
}

impl Selector {
    /// Parses the string form (`a=b,c!=d,e in (f,g),!h,i`), as in `kubectl -l`. The parsed requirements are
    /// sorted by key.
    ///
    /// # Errors
    /// The syntax error, in the words of Kubernetes' parser.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parser::parse(text)
    }

    /// Parses the object form of the field at `path`.
    ///
    /// # Errors
    /// Every invalid key, operator and value, up to [`MAX_ERRORS`].
    pub fn compile(selector: &LabelSelector, path: &str) -> Result<Self, Vec<FieldError>> {
        let mut errors = validate_labels(selector.match_labels.iter(), &format!("{path}.matchLabels"));
        let mut requirements: Vec<Requirement> = selector
            .match_labels
            .iter()
            .map(|(key, value)| Requirement {
                key: key.to_owned(),
                operator: Operator::In,
                values: vec![value.to_owned()],
            })
            .collect();
        for (index, expression) in selector.match_expressions.iter().enumerate() {
            if errors.len() >= MAX_ERRORS {
                break;
            }
            let path = format!("{path}.matchExpressions[{index}]");
            requirements.extend(expression.compile(&path, &mut errors));
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        if errors.is_empty() {
            Ok(Self { requirements })
        } else {
            Err(errors)
        }
    }

    /// Whether the selector has no requirements.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether `labels` satisfy every requirement.
    #[must_use]
    pub fn matches(&self, labels: &impl LabelSet) -> bool {
        self.matches_with(|key| labels.value(key))
    }

    /// Whether labels satisfy every requirement. `lookup` returns the value of a label.
    pub fn matches_with<'a>(&self, lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(lookup(&requirement.key)))
    }
}

impl LabelSelectorRequirement {
    /// Parses the requirement at `path`. If it is invalid, adds the errors to `errors` and returns `None`.
    fn compile(&self, path: &str, errors: &mut Vec<FieldError>) -> Option<Requirement> {
        let before = errors.len();
        let operator = Operator::named(&self.operator);
        match operator {
            Some(Operator::In | Operator::NotIn) if self.values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(format!("{path}.values"), detail));
            }
            Some(Operator::Exists | Operator::DoesNotExist) if !self.values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(format!("{path}.values"), detail));
            }
            Some(_) => {}
            None => {
                let detail = "not a valid selector operator";
                errors.push(FieldError::invalid(
                    format!("{path}.operator"),
                    self.operator.as_str(),
                    detail,
                ));
            }
        }
        if let Err(problem) = validate_label_key(&self.key) {
            errors.push(FieldError::invalid(
                format!("{path}.key"),
                self.key.as_str(),
                problem,
            ));
        }
        for (index, value) in self.values.iter().enumerate() {
            if errors.len() >= MAX_ERRORS {
                break;
            }
            if let Err(problem) = validate_label_value(value) {
                errors.push(FieldError::invalid(
                    format!("{path}.values[{index}]"),
                    value.as_str(),
                    problem,
                ));
            }
        }
        if errors.len() > before {
            return None;
        }
        let mut values = self.values.clone();
        values.sort_unstable();
        values.dedup();
        operator.map(|operator| Requirement {
            key: self.key.clone(),
            operator,
            values,
        })
    }
}

impl std::fmt::Display for Selector {
    /// Formats the string form as Kubernetes does (`a in (b,c),d=e,!f`), except that `in` and `notin` with a
    /// single value become `=` and `!=`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Requirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = &self.key;
        match (self.operator, self.values.as_slice()) {
            (Operator::Exists, _) => f.write_str(key),
            (Operator::DoesNotExist, _) => write!(f, "!{key}"),
            (Operator::In, [value]) => write!(f, "{key}={value}"),
            (Operator::NotIn, [value]) => write!(f, "{key}!={value}"),
            (Operator::In, values) => write!(f, "{key} in ({})", values.join(",")),
            (Operator::NotIn, values) => write!(f, "{key} notin ({})", values.join(",")),
            (Operator::GreaterThan, values) => write!(f, "{key}>{}", values.concat()),
            (Operator::LessThan, values) => write!(f, "{key}<{}", values.concat()),
        }
    }
}

/// A parsed field selector (`metadata.name=x,spec.seedName!=y`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// Terms, all of which must match: the path of the field, whether the text must be equal (or else
    /// different), and the text.
    pub terms: Vec<(String, bool, String)>,
}

impl FieldSelector {
    /// Parses the string form, with `\,`, `\=` and `\\` escapes.
    ///
    /// # Errors
    /// The syntax error, in the words of Kubernetes' parser.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        field_selector::parse(text)
    }

    /// Whether every term matches. `read` returns the text of the field at a path.
    pub fn matches_with<'a>(&self, read: impl Fn(&str) -> std::borrow::Cow<'a, str>) -> bool {
        self.terms
            .iter()
            .all(|(path, equal, value)| (read(path) == value.as_str()) == *equal)
    }
}
