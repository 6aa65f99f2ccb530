//! Remedies for label selectors: label changes after which a selector matches, and the removal of
//! requirements that labels do not meet.

use std::collections::BTreeMap;

use berth_apimachinery::LabelSet;
use berth_apimachinery::selector::{
    LabelSelector, LabelSelectorRequirement, Operator, Requirement, Selector,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Changes of labels: the new value of each label, or `None` to remove the label.
pub type LabelChanges = BTreeMap<String, Option<String>>;

/// The last parts of label keys that are about a location.
const LOCATIONS: [&str; 6] = ["region", "cloud", "provider", "country", "location", "datacenter"];
/// The label key for zones, whose last part alone does not show that it is about a location.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The highest number of values in a selector that are tried for one label. Each is compared with all
/// requirements on the label, of which a user may write any number.
const MAX_VALUES: usize = 100;

/// Whether `key` is about a location. Such a label states a fact, which advice must not change.
fn is_about_location(key: &str) -> bool {
    let last = key.rsplit(['/', '.']).next().unwrap_or(key);
    key == ZONE || LOCATIONS.contains(&last)
}

/// Returns changes of `labels` after which `selector` matches. A label gets a value that the selector names,
/// is removed, or gets the value `true` or an empty value. `None` if no such changes make the selector match,
/// or if an existing label about a location would have to change.
#[must_use]
pub fn to_match(selector: &Selector, labels: &impl LabelSet) -> Option<LabelChanges> {
    let mut by_key: BTreeMap<&str, Vec<&Requirement>> = BTreeMap::new();
    for requirement in &selector.requirements {
        by_key.entry(&requirement.key).or_default().push(requirement);
    }
    let mut changes = LabelChanges::new();
    for (key, of_key) in by_key {
        let meets = |value: Option<&str>| of_key.iter().all(|requirement| requirement.matches(value));
        if meets(labels.value(key)) {
            continue;
        }
        if is_about_location(key) && labels.value(key).is_some_and(|value| !value.is_empty()) {
            return None;
        }
        let named = of_key
            .iter()
            .filter(|requirement| requirement.operator == Operator::In)
            .flat_map(|requirement| requirement.values.iter().map(String::as_str))
            .take(MAX_VALUES);
        let value = named
            .map(Some)
            .chain([None, Some("true"), Some("")])
            .find(|value| meets(*value))?;
        changes.insert(key.to_owned(), value.map(str::to_owned));
    }
    Some(changes)
}

/// Returns `changes` as a merge patch.
#[must_use]
pub fn patch(changes: &LabelChanges) -> Value {
    json!({"metadata": {"labels": changes}})
}

/// The changes as a clause, such as `label the cluster gpu=yes and take its label zone away` if `what` is
/// `the cluster`.
#[must_use]
pub fn words(what: &str, changes: &LabelChanges) -> String {
    let (set, removed): (Vec<_>, Vec<_>) = changes.iter().partition(|(_, value)| value.is_some());
    let set: Vec<String> = set
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_deref().unwrap_or_default()))
        .collect();
    let removed: Vec<&str> = removed.iter().map(|(key, _)| key.as_str()).collect();
    match (set.is_empty(), removed.is_empty()) {
        (false, false) => format!(
            "label {what} {} and take its label {} away",
            set.join(","),
            removed.join(",")
        ),
        (true, _) => format!("take the label {} of {what} away", removed.join(",")),
        (false, true) => format!("label {what} {}", set.join(",")),
    }
}

/// Removes from `selector`, a label selector as an object, the requirements that `labels` do not meet.
/// Returns the removed requirements as text. Requirements that cannot be parsed stay.
pub fn relax(selector: &mut Value, labels: &impl LabelSet) -> Vec<String> {
    let mut removed = Vec::new();
    let mut is_unmet = |requirement: &LabelSelector| match Selector::compile(requirement, "") {
        Ok(compiled) if compiled.matches(labels) => false,
        Ok(compiled) => {
            removed.push(compiled.to_string());
            true
        }
        // A requirement that cannot be parsed stays.
        Err(_) => false,
    };
    if let Some(requirements) = selector.get_mut("matchLabels").and_then(Value::as_object_mut) {
        requirements.retain(|key, value| {
            let requirement = LabelSelector {
                match_labels: [(key, value.as_str().unwrap_or_default())].into_iter().collect(),
                ..LabelSelector::default()
            };
            !is_unmet(&requirement)
        });
    }
    if let Some(requirements) = selector.get_mut("matchExpressions").and_then(Value::as_array_mut) {
        requirements.retain(|expression| {
            let Ok(requirement) = LabelSelectorRequirement::deserialize(expression) else {
                return true;
            };
            let requirement = LabelSelector {
                match_expressions: vec![requirement],
                ..LabelSelector::default()
            };
            !is_unmet(&requirement)
        });
    }
    for field in ["matchLabels", "matchExpressions"] {
        let is_empty = |value: &Value| {
            value.as_object().is_some_and(serde_json::Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty)
        };
        if !removed.is_empty()
            && selector.get(field).is_some_and(is_empty)
            && let Some(fields) = selector.as_object_mut()
        {
            fields.remove(field);
        }
    }
    removed
}
