//! Conversion of Events between the forms of `v1` and `events.k8s.io/v1`. Fields that are not in [`NAMES`]
//! have the same name in both forms.

use serde_json::Value;

/// Fields with different names: the name in `v1`, and the name in `events.k8s.io/v1`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Converts the form of `events.k8s.io/v1` to the form of `v1`.
pub(crate) fn to_core(value: &mut Value) {
    for (core, new) in NAMES {
        rename(value, new, core);
    }
}

/// Converts the form of `v1` to the form of `events.k8s.io/v1`.
pub(crate) fn to_new(value: &mut Value) {
    for (core, new) in NAMES {
        rename(value, core, new);
    }
}

/// Converts the path of a field in the stored form to the path in `events.k8s.io/v1`.
pub(crate) fn served_path(path: &str) -> String {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (first, rest) = path.split_at(end);
    let name = NAMES
        .iter()
        .find(|(core, _)| *core == first)
        .map_or(first, |(_, new)| new);
    format!("{name}{rest}")
}

fn rename(value: &mut Value, from: &str, to: &str) {
    if let Some(fields) = value.as_object_mut()
        && let Some(field) = fields.remove(from)
    {
        fields.insert(to.to_owned(), field);
    }
}
