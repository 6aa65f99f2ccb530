//! Types and rules that several kinds share.

use std::collections::{BTreeMap, BTreeSet};

use berth_apimachinery::selector::{LabelSelector, LabelSelectorRequirement, Selector};
use berth_apimachinery::{Cell, FieldError, Labels, Object};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cidr::{FAMILIES, Families, Range};

/// A selector of seeds by labels and provider types.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SeedSelector {
    /// The labels that a seed must have, with their values.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub match_labels: Labels,
    /// Requirements on the labels of a seed, all of which must be met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
    /// The provider types that a seed may have; "*" means all. If neither the cloud profile nor the shoot
    /// lists provider types, only seeds of the shoot's own provider type are used. By the current rules, the
    /// list of a shoot has no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provider_types: Vec<String>,
}

impl SeedSelector {
    /// Compiles the label selector.
    ///
    /// # Errors
    /// All invalid keys, operators and values, with their paths below `path`.
    pub fn compile(&self, path: &str) -> Result<Selector, Vec<FieldError>> {
        let labels = LabelSelector {
            match_labels: self.match_labels.clone(),
            match_expressions: self.match_expressions.clone(),
        };
        Selector::compile(&labels, path)
    }
}

/// A restriction of the access to a cluster, such as eu-access-only.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"], "x-kubernetes-preserve-unknown-fields" = true))]
pub struct AccessRestriction {
    /// The name of the access restriction.
    pub name: String,
}

/// A condition of a Shoot or a Seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Condition {
    /// The type of the condition, such as GardenletReady.
    pub r#type: String,
    /// The status of the condition: True, False, Unknown or Progressing.
    pub status: String,
    /// The reason for the status, as a CamelCase token.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The reason for the status, as a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The current or last operation on a Shoot or a Seed by its Gardener agent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct LastOperation {
    /// The type of the operation: Create, Reconcile, Delete, Migrate or Restore.
    pub r#type: String,
    /// The state of the operation: Pending, Processing, Succeeded, Error, Failed or Aborted.
    pub state: String,
    /// The progress of the operation, in percent.
    pub progress: i32,
    /// The description of the operation, as a sentence.
    pub description: String,
}

impl LastOperation {
    /// Whether the operation is part of a control plane migration from one seed to another.
    #[must_use]
    pub fn is_move(&self) -> bool {
        self.r#type == "Migrate" || (self.r#type == "Restore" && self.state != "Succeeded")
    }
}

/// The text of a cell without data.
pub(crate) const UNKNOWN: &str = "<unknown>";

/// The cell of the last operation on a shoot or a seed: `Reconcile Succeeded (100%)`.
pub(crate) fn last_operation_cell(object: &Object) -> Cell {
    let operation = &object.value()["status"]["lastOperation"];
    match LastOperation::deserialize(operation) {
        Ok(LastOperation {
            r#type,
            state,
            progress,
            ..
        }) => format!("{type} {state} ({progress}%)").into(),
        Err(_) => "<pending>".into(),
    }
}

/// The version of Gardener that last reconciled an object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct GardenerVersion {
    /// The version of Gardener.
    pub version: String,
}

/// The condition of the type `name` in `conditions`.
#[must_use]
pub fn condition<'a>(conditions: &'a [Condition], name: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.r#type == name)
}

/// Refuses an empty `text` at `path`. `hint` is the text of the error.
pub(crate) fn check_required(errors: &mut Vec<FieldError>, path: &str, text: &str, hint: &str) {
    if text.is_empty() {
        errors.push(FieldError::required(path, hint));
    }
}

/// Refuses a change from `old` to `new` if `old` is set.
pub(crate) fn check_immutable(
    errors: &mut Vec<FieldError>,
    path: &str,
    old: Option<&str>,
    new: Option<&str>,
) {
    if old.is_some() && old != new {
        errors.push(FieldError::invalid(
            path,
            new.unwrap_or_default(),
            "field is immutable",
        ));
    }
}

/// Refuses a `text` that is not a CIDR.
pub(crate) fn check_cidr(errors: &mut Vec<FieldError>, path: &str, text: Option<&str>) {
    if let Some(text) = text
        && let Err(problem) = Range::parse(text)
    {
        errors.push(FieldError::invalid(path, text, problem));
    }
}

/// Refuses unknown and duplicate IP families.
pub(crate) fn check_ip_families(errors: &mut Vec<FieldError>, path: &str, families: &[String]) {
    let mut seen = BTreeSet::new();
    for (index, family) in families.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if !FAMILIES.contains(&family.as_str()) {
            errors.push(FieldError::not_supported(path, family.as_str(), &FAMILIES));
        } else if !seen.insert(family) {
            errors.push(FieldError::duplicate(path, family.as_str()));
        }
    }
}

/// Refuses ranges of other IP families than `families`. Each range has its path.
pub(crate) fn check_families(
    errors: &mut Vec<FieldError>,
    families: &[String],
    ranges: &[(&'static str, Option<&str>)],
) {
    if families.iter().any(|family| !FAMILIES.contains(&family.as_str())) {
        // Unknown families are reported elsewhere, and it is not known which families were meant.
        return;
    }
    let families = Families::of(families.iter().map(String::as_str));
    for (path, text) in ranges {
        let Some(text) = text else { continue };
        // A value that is not a CIDR is reported elsewhere.
        if Range::parse(text).is_ok_and(|range| !families.admit(range)) {
            let detail = format!(
                "must be a range of the ipFamilies, which are {}",
                families.words()
            );
            errors.push(FieldError::invalid(*path, *text, detail));
        }
    }
}

/// Refuses ranges that overlap with a range that Gardener reserves. Each range has its path.
pub(crate) fn check_unreserved(errors: &mut Vec<FieldError>, ranges: &[(&'static str, Option<&str>)]) {
    for (path, text) in ranges {
        let Some(text) = text else { continue };
        if let Some(purpose) = Range::parse(text).ok().and_then(Range::reserved_for) {
            let detail = format!("must not overlap with {purpose}");
            errors.push(FieldError::invalid(*path, *text, detail));
        }
    }
}

/// Refuses ranges that overlap with one another. Each range has its path. A value that is not a CIDR is
/// reported elsewhere.
pub(crate) fn check_disjoint(errors: &mut Vec<FieldError>, ranges: &[(&'static str, Option<&str>)]) {
    let mut earlier: Vec<(&str, &str, Range)> = Vec::new();
    for (path, text) in ranges {
        let Some((text, range)) = text.and_then(|text| Some((text, Range::parse(text).ok()?))) else {
            continue;
        };
        for &(other_path, other_text, other) in &earlier {
            if range.overlaps(other) {
                let detail = format!("must not overlap with \"{other_path}\" (\"{other_text}\")");
                errors.push(FieldError::invalid(*path, text, detail));
            }
        }
        earlier.push((path, text, range));
    }
}

/// The first two numbers of a version, such as 1 and 34 of `1.34.1`. The version may begin with `v`.
pub(crate) fn minor_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.strip_prefix('v').unwrap_or(text).split('.');
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Validates a label key: a name, with an optional prefix that is a DNS subdomain and ends with `/`. The name
/// is a label value that is not empty.
pub(crate) fn check_label_key(key: &str) -> Result<(), String> {
    let name = match key.split_once('/') {
        Some((prefix, name)) => {
            berth_apimachinery::name::dns_subdomain(prefix)
                .map_err(|problem| format!("prefix part {problem}"))?;
            name
        }
        None => key,
    };
    if name.is_empty() {
        return Err("name part must be non-empty".to_owned());
    }
    check_label_value(name).map_err(|problem| format!("name part {problem}"))
}

/// Validates a label value: empty, or at most 63 letters, digits, `-`, `_` and `.`, alphanumeric at both
/// ends.
pub(crate) fn check_label_value(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    if bytes.len() > 63 {
        return Err("must be no more than 63 characters".to_owned());
    }
    let ends = bytes
        .first()
        .into_iter()
        .chain(bytes.last())
        .all(u8::is_ascii_alphanumeric);
    let inner = bytes
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
    if ends && inner {
        return Ok(());
    }
    Err("must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_keys_and_values_are_judged_as_kubernetes_does() {
        for good in ["a", "A.b_c-1", "example.com/a"] {
            assert!(check_label_key(good).is_ok(), "{good}");
        }
        for bad in ["", "/a", "a/", "-a", "a b", "UP/a", "a/b/c"] {
            assert!(check_label_key(bad).is_err(), "{bad}");
        }
        assert!(check_label_value("").is_ok());
        assert!(check_label_value(&"a".repeat(64)).is_err());
    }
}
