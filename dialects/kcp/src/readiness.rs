//! The readiness of a WorkloadCluster: its condition Ready, and its heartbeat (docs/systems/kcp.md, "API
//! objects" and "Heartbeats").
//!
//! Ready summarizes SyncerReady, APIImporterReady and HeartbeatHealthy. If Ready is not reported, this module
//! computes the summary. A cluster whose heartbeats have stopped is not ready in any case, even before a
//! controller has reported this.

use berth_apimachinery::Timestamp;

use crate::condition::{Condition, find};
use crate::kind::workload_cluster::WorkloadClusterStatus;

/// The condition that summarizes SyncerReady, APIImporterReady and HeartbeatHealthy.
pub const READY: &str = "Ready";
/// The condition about heartbeats.
pub const HEARTBEAT_HEALTHY: &str = "HeartbeatHealthy";
/// The condition about the syncer and its cluster.
pub const SYNCER_READY: &str = "SyncerReady";
/// The reason of SyncerReady while the cluster does not answer its syncer. Ready has this reason only as a
/// copy of SyncerReady.
pub const CLUSTER_UNREACHABLE: &str = "ClusterUnreachable";
/// The condition about placed objects that are not synced to the cluster. This condition does not affect
/// Ready: a single invalid object must not prevent namespaces from being placed on the cluster.
pub const SYNCED: &str = "Synced";
/// The conditions that Ready summarizes.
pub(crate) const PARTS: [&str; 3] = [SYNCER_READY, "APIImporterReady", HEARTBEAT_HEALTHY];

/// The readiness of a cluster by its conditions, regardless of the age of heartbeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportedConditions {
    /// The cluster is ready.
    Ready,
    /// The condition of this type is False: Ready, or a condition that Ready summarizes.
    False(&'static str),
    /// The condition Ready is Unknown. Without Ready: a condition that Ready summarizes is Unknown, none is
    /// True or False, and there is no heartbeat.
    Unknown,
    /// There is no condition about readiness, and no heartbeat.
    Nothing,
}

/// Summarizes the conditions of `status`.
#[must_use]
pub fn reported(status: &WorkloadClusterStatus) -> ReportedConditions {
    let conditions = &status.conditions;
    if let Some(ready) = find(conditions, READY) {
        return match ready.status.as_str() {
            "True" => ReportedConditions::Ready,
            "False" => ReportedConditions::False(READY),
            _ => ReportedConditions::Unknown,
        };
    }
    let has_heartbeat = status.last_syncer_heartbeat_time.is_some();
    let has_status =
        |part: &str, wanted: &str| find(conditions, part).is_some_and(|condition| condition.status == wanted);
    // If there is a heartbeat, its time is compared elsewhere: it is newer than the condition
    // HeartbeatHealthy.
    let parts = || {
        PARTS
            .into_iter()
            .filter(|&part| part != HEARTBEAT_HEALTHY || !has_heartbeat)
    };
    if let Some(part) = parts().find(|part| has_status(part, "False")) {
        ReportedConditions::False(part)
    } else if has_heartbeat || parts().any(|part| has_status(part, "True")) {
        ReportedConditions::Ready
    } else if parts().any(|part| has_status(part, "Unknown")) {
        ReportedConditions::Unknown
    } else {
        ReportedConditions::Nothing
    }
}

/// The last instant at which the heartbeat counts as healthy. A heartbeat whose age is exactly the threshold
/// is still healthy. [`Timestamp::MAX`] without a heartbeat.
#[must_use]
pub fn fresh_until(status: &WorkloadClusterStatus, threshold: jiff::SignedDuration) -> Timestamp {
    let last = status.last_syncer_heartbeat_time;
    last.map_or(Timestamp::MAX, |last| {
        last.checked_add(threshold).unwrap_or(Timestamp::MAX)
    })
}

/// The sentence about a condition that is False, with the message of the condition if there is one.
pub(crate) fn false_condition_text(conditions: &[Condition], r#type: &str) -> String {
    let message = find(conditions, r#type).map(|condition| condition.message.as_str());
    match message.filter(|message| !message.is_empty()) {
        Some(message) => format!("condition {type} is False: {message}"),
        None => format!("condition {type} is False"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(conditions: &[(&str, &str)], beats: bool) -> WorkloadClusterStatus {
        let conditions = conditions.iter().map(|&(kind, status)| Condition {
            r#type: kind.to_owned(),
            status: status.to_owned(),
            ..Condition::default()
        });
        WorkloadClusterStatus {
            conditions: conditions.collect(),
            last_syncer_heartbeat_time: beats.then_some(Timestamp::UNIX_EPOCH),
            ..WorkloadClusterStatus::default()
        }
    }

    #[test]
    fn ready_is_believed_or_summed_up() {
        let of = |conditions: &[(&str, &str)], beats| reported(&status(conditions, beats));
        assert_eq!(
            of(&[("Ready", "True"), ("SyncerReady", "False")], false),
            ReportedConditions::Ready
        );
        assert_eq!(
            of(&[("Ready", "False")], true),
            ReportedConditions::False("Ready")
        );
        assert_eq!(of(&[("Ready", "Unknown")], true), ReportedConditions::Unknown);
        assert_eq!(
            of(&[("SyncerReady", "True"), ("APIImporterReady", "Unknown")], false),
            ReportedConditions::Ready
        );
        assert_eq!(
            of(&[("SyncerReady", "True"), ("APIImporterReady", "False")], true),
            ReportedConditions::False("APIImporterReady")
        );
        assert_eq!(
            of(&[("HeartbeatHealthy", "False")], false),
            ReportedConditions::False("HeartbeatHealthy")
        );
        assert_eq!(
            of(&[("HeartbeatHealthy", "False")], true),
            ReportedConditions::Ready
        );
        assert_eq!(
            of(&[("SyncerReady", "Unknown")], false),
            ReportedConditions::Unknown
        );
        assert_eq!(of(&[], false), ReportedConditions::Nothing);
        assert_eq!(of(&[], true), ReportedConditions::Ready);
    }

    #[test]
    fn a_heartbeat_is_fresh_up_to_the_threshold() {
        let minute = jiff::SignedDuration::from_mins(1);
        assert_eq!(
            fresh_until(&status(&[], true), minute),
            Timestamp::from_second(60).unwrap()
        );
        assert_eq!(fresh_until(&status(&[], false), minute), Timestamp::MAX);
    }
}
