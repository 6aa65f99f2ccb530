//! The location controller's report about a Location (docs/systems/kcp.md, "API objects"): counts in the
//! status, and the labels as one text in an annotation.

use berth_apimachinery::{Labels, Timestamp};
use serde_json::{Value, json};

use crate::names::LOCATION_LABELS;

/// The numbers of workload clusters in a location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of workload clusters that the selector matches.
    pub instances: u32,
    /// Number of ready workload clusters that are not cordoned. Evictions do not matter.
    pub available: u32,
}

/// The data of a workload cluster for [`Counts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The instant until which the cluster is ready without a further heartbeat; `None` if it is not ready by
    /// its conditions.
    pub ready_until: Option<Timestamp>,
    /// Whether the cluster is cordoned.
    pub unschedulable: bool,
}

/// Counts the members of a location at `now`.
#[must_use]
pub fn counts(members: impl IntoIterator<Item = Member>, now: Timestamp) -> Counts {
    let mut counts = Counts::default();
    for member in members {
        counts.instances += 1;
        let ready = member.ready_until.is_some_and(|until| now <= until);
        counts.available += u32::from(ready && !member.unschedulable);
    }
    counts
}

/// The labels as one text: `k=v`, sorted by key and separated by spaces.
#[must_use]
pub fn labels_text(labels: &Labels) -> String {
    let pairs: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    pairs.join(" ")
}

/// Returns `location` with `counts` in its status; `None` if these counts are stored already.
#[must_use]
pub fn with_counts(location: &Value, counts: Counts) -> Option<Value> {
    let mut new = location.clone();
    if !new["status"].is_object() {
        new["status"] = json!({});
    }
    new["status"]["instances"] = counts.instances.into();
    new["status"]["availableInstances"] = counts.available.into();
    (new["status"] != location["status"]).then_some(new)
}

/// Returns `location` with the annotation of its present labels; `None` if this annotation is stored already.
#[must_use]
pub fn with_labels_annotation(location: &Value) -> Option<Value> {
    let labels = location["metadata"]["labels"].as_object();
    let pairs = labels.into_iter().flatten();
    let labels: Labels = pairs
        .filter_map(|(key, value)| Some((key, value.as_str()?)))
        .collect();
    let text = labels_text(&labels);
    if location["metadata"]["annotations"][LOCATION_LABELS] == text.as_str() {
        return None;
    }
    let mut new = location.clone();
    if !new["metadata"]["annotations"].is_object() {
        new["metadata"]["annotations"] = json!({});
    }
    new["metadata"]["annotations"][LOCATION_LABELS] = text.into();
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_are_the_ready_that_are_not_cordoned() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let member = |until: Option<i64>, unschedulable| Member {
            ready_until: until.map(at),
            unschedulable,
        };
        let members = [
            member(Some(10), false),
            member(Some(10), true),
            member(Some(9), false),
            member(None, false),
        ];
        let expected = Counts {
            instances: 4,
            available: 1,
        };
        assert_eq!(counts(members, at(10)), expected);
    }

    #[test]
    fn only_what_differs_is_written() {
        let location = json!({"metadata": {"name": "a", "labels": {"region": "eu", "cloud": "gcp"}}});
        let labelled = with_labels_annotation(&location).unwrap();
        assert_eq!(
            labelled["metadata"]["annotations"][LOCATION_LABELS],
            "cloud=gcp region=eu"
        );
        assert_eq!(with_labels_annotation(&labelled), None);
        let counts = Counts {
            instances: 2,
            available: 1,
        };
        let counted = with_counts(&labelled, counts).unwrap();
        assert_eq!(
            counted["status"],
            json!({"instances": 2, "availableInstances": 1})
        );
        assert_eq!(with_counts(&counted, counts), None);
        let bare = with_labels_annotation(&json!({"metadata": {"name": "a"}})).unwrap();
        assert_eq!(bare["metadata"]["annotations"][LOCATION_LABELS], "");
    }
}
