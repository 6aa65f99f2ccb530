//! Types and rules that several kinds share.

use std::collections::BTreeMap;

use berth_apimachinery::selector::{LabelSelector, LabelSelectorRequirement, Selector};
use berth_apimachinery::{Cell, FieldError, Labels, Object};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cidr::{FAMILIES, Families, Range};

/// A label selector on seeds, with the provider types they may have.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SeedSelector {
    /// Labels that a seed must have with exactly these values.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub match_labels: Labels,
    /// Requirements on single labels of a seed, all of which must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
    /// The provider types that a seed may have; "*" means all. If the cloud profile and the shoot list none,
    /// only seeds of the shoot's own provider type are used. By the current rules, the list of a shoot does
    /// not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provider_types: Vec<String>,
}

impl SeedSelector {
    /// Compiles the label selector.
    ///
    /// # Errors
    /// All invalid keys, operators and values, below `path`.
    pub fn compile(&self, path: &str) -> Result<Selector, Vec<FieldError>> {
        let labels = LabelSelector {
            match_labels: self.match_labels.clone(),
            match_expressions: self.match_expressions.clone(),
        };
        Selector::compile(&labels, path)
    }
}

/// Access restriction, which keeps parts of a cluster within borders.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"], "x-kubernetes-preserve-unknown-fields" = true))]
pub struct AccessRestriction {
    /// The name by which seeds offer the restriction.
    pub name: String,
}

/// A condition of an object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Condition {
    /// The type, such as GardenletReady.
    pub r#type: String,
    /// True, False, Unknown or Progressing.
    pub status: String,
    /// The reason as a CamelCase token.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The reason as a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The current or last operation of the responsible agent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct LastOperation {
    /// Create, Reconcile, Delete, Migrate or Restore.
    pub r#type: String,
    /// Pending, Processing, Succeeded, Error, Failed or Aborted.
    pub state: String,
    /// Progress, in percent.
    pub progress: i32,
    /// Description of the operation, as a sentence.
    pub description: String,
}

impl LastOperation {
    /// Whether the control plane is moving from one seed to another.
    #[must_use]
    pub fn is_move(&self) -> bool {
        self.r#type == "Migrate" || (self.r#type == "Restore" && self.state != "Succeeded")
    }
}

/// The text of a cell without data.
pub(crate) const UNKNOWN: &str = "<unknown>";

/// The cell of the last operation on a shoot or a seed: `Reconcile Succeeded (100%)`.
pub(crate) fn last_operation(object: &Object) -> Cell {
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
pub struct Gardener {
    /// The version.
    pub version: String,
}

/// The condition of the type `name`.
#[must_use]
pub fn condition<'a>(conditions: &'a [Condition], name: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.r#type == name)
}

/// Refuses an empty `text`.
pub(crate) fn required(errors: &mut Vec<FieldError>, path: &str, text: &str, hint: &str) {
    if text.is_empty() {
        errors.push(FieldError::required(path, hint));
    }
}

/// Refuses a change of a value that is set.
pub(crate) fn immutable(errors: &mut Vec<FieldError>, path: &str, old: Option<&str>, new: Option<&str>) {
    if old.is_some() && old != new {
        errors.push(FieldError::invalid(
            path,
            new.unwrap_or_default(),
            "field is immutable",
        ));
    }
}

/// Refuses a text that is not a CIDR.
pub(crate) fn cidr(errors: &mut Vec<FieldError>, path: &str, text: Option<&str>) {
    if let Some(text) = text
        && let Err(problem) = Range::parse(text)
    {
        errors.push(FieldError::invalid(path, text, problem));
    }
}

/// Refuses unknown and duplicate families of addresses.
pub(crate) fn ip_families(errors: &mut Vec<FieldError>, path: &str, families: &[String]) {
    for (index, family) in families.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if !FAMILIES.contains(&family.as_str()) {
            errors.push(FieldError::not_supported(path, family.as_str(), &FAMILIES));
        } else if families[..index].contains(family) {
            errors.push(FieldError::duplicate(path, family.as_str()));
        }
    }
}

/// Refuses ranges of other families than `families`.
pub(crate) fn of_families(
    errors: &mut Vec<FieldError>,
    families: &[String],
    ranges: &[(&'static str, Option<&str>)],
) {
    if families.iter().any(|family| !FAMILIES.contains(&family.as_str())) {
        // Invalid families are reported elsewhere, and the intended ones are unknown.
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

/// Refuses ranges that overlap with a range that Gardener reserves.
pub(crate) fn unreserved(errors: &mut Vec<FieldError>, ranges: &[(&'static str, Option<&str>)]) {
    for (path, text) in ranges {
        let Some(text) = text else { continue };
        if let Some(purpose) = Range::parse(text).ok().and_then(Range::reserved_for) {
            let detail = format!("must not meet {purpose}");
            errors.push(FieldError::invalid(*path, *text, detail));
        }
    }
}

/// Refuses ranges that overlap. A value that is not a CIDR is reported elsewhere.
pub(crate) fn disjoint(errors: &mut Vec<FieldError>, ranges: &[(&'static str, Option<&str>)]) {
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

/// The first two numbers of a version, which may begin with `v`: 1 and 34 of `1.34.1`.
pub(crate) fn minor_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.strip_prefix('v').unwrap_or(text).split('.');
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Validates a label key: an optional DNS subdomain and `/`, then a name, which is a label value that is not
/// empty.
pub(crate) fn label_key(key: &str) -> Result<(), String> {
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
    label_text(name).map_err(|problem| format!("name part {problem}"))
}

/// Validates a label value: empty, or at most 63 letters, digits, `-`, `_` and `.`, alphanumeric at both
/// ends.
pub(crate) fn label_text(text: &str) -> Result<(), String> {
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
            assert!(label_key(good).is_ok(), "{good}");
        }
        for bad in ["", "/a", "a/", "-a", "a b", "UP/a", "a/b/c"] {
            assert!(label_key(bad).is_err(), "{bad}");
        }
        assert!(label_text("").is_ok());
        assert!(label_text(&"a".repeat(64)).is_err());
    }
}
