//! Label and field selectors: the string form of requests and the object form of specs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field::FieldError;

/// `metav1.LabelSelector`. An empty selector matches everything; requirements are ANDed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must be there with exactly these values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Requirements on single labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One requirement of a [`LabelSelector`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LabelSelectorRequirement {
    /// The label key the requirement is about.
    pub key: String,
    /// How the key relates to the values: In, NotIn, Exists or DoesNotExist.
    pub operator: String,
    /// The values for In and NotIn; empty for Exists and DoesNotExist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// A parsed label selector, ready to match. Both the string and the object form become one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The requirements, all of which must hold.
    pub requirements: Vec<Requirement>,
}

/// One parsed requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label key.
    pub key: String,
    /// The operator.
    pub operator: Operator,
    /// The values, sorted.
    pub values: Vec<String>,
}

/// The operators of both forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The value is one of the values (`=`, `==`, `in`).
    In,
    /// The value is none of the values, or the key is absent (`!=`, `notin`).
    NotIn,
    /// The key is there.
    Exists,
    /// The key is not there.
    DoesNotExist,
    /// The value is an integer above the one value (string form only).
    GreaterThan,
    /// The value is an integer below the one value (string form only).
    LessThan,
}

impl Selector {
    /// Parses the string form (`a=b,c!=d,e in (f,g),!h,i`), as `kubectl -l` sends it.
    ///
    /// # Errors
    /// A sentence in the words of Kubernetes' parser.
    pub fn parse(_text: &str) -> Result<Self, String> {
        todo!()
    }

    /// Compiles the object form. `path` is the field it stands in.
    ///
    /// # Errors
    /// Every bad key, operator and value.
    pub fn compile(_selector: &LabelSelector, _path: &str) -> Result<Self, Vec<FieldError>> {
        todo!()
    }

    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether `labels` satisfies every requirement.
    #[must_use]
    pub fn matches(&self, _labels: &BTreeMap<String, String>) -> bool {
        todo!()
    }

    /// As [`Selector::matches`], with the labels behind a look-up.
    pub fn matches_with<'a>(&self, _lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
        todo!()
    }
}

impl std::fmt::Display for Selector {
    /// The string form, as Kubernetes writes it (`a in (b,c),d=e,!f`).
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}

/// A parsed field selector (`metadata.name=x,spec.seedName!=y`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// The terms, all of which must hold: path, whether equal is asked for (else unequal), value.
    pub terms: Vec<(String, bool, String)>,
}

impl FieldSelector {
    /// Parses the string form, with `\,`, `\=` and `\\` escapes.
    ///
    /// # Errors
    /// A sentence in the words of Kubernetes' parser.
    pub fn parse(_text: &str) -> Result<Self, String> {
        todo!()
    }
}
