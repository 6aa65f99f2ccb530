//! Conditions of the WorkloadCluster that its syncer writes.

use berth_apimachinery::{Timestamp, time};
use berth_dialect_kcp::readiness::{CLUSTER_UNREACHABLE, SYNCED, SYNCER_READY};
use serde_json::{Value, json};

/// Content of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConditionText {
    kind: &'static str,
    /// The severity and the reason of a condition that is False.
    failure: Option<(&'static str, &'static str)>,
    message: String,
}

impl ConditionText {
    /// SyncerReady with status False: the cluster does not answer the syncer, because of `problem`.
    pub(super) fn unreachable(problem: &str) -> Self {
        Self {
            kind: SYNCER_READY,
            failure: Some(("Error", CLUSTER_UNREACHABLE)),
            message: format!("the cluster does not answer the syncer: {problem}"),
        }
    }

    /// SyncerReady with status True: the cluster answers the syncer.
    pub(super) fn reachable() -> Self {
        Self::with_status_true(SYNCER_READY)
    }

    /// Synced with status True: all objects that are placed on the cluster are synced.
    pub(super) fn synced() -> Self {
        Self::with_status_true(SYNCED)
    }

    /// Synced with status False: some objects are not synced.
    pub(super) fn not_synced(reason: &'static str, message: String) -> Self {
        Self {
            kind: SYNCED,
            failure: Some(("Warning", reason)),
            message,
        }
    }

    fn with_status_true(kind: &'static str) -> Self {
        Self {
            kind,
            failure: None,
            message: String::new(),
        }
    }

    /// Returns `conditions` with this condition set; `None` if nothing has to be written. The transition time
    /// changes when the status, the severity or the reason changes.
    pub(super) fn set_in(&self, conditions: &Value, now: Timestamp) -> Option<Value> {
        let mut list = conditions.as_array().cloned().unwrap_or_default();
        let slot = list.iter_mut().find(|known| known["type"] == self.kind);
        let status = if self.failure.is_some() { "False" } else { "True" };
        let (severity, reason) = self.failure.unwrap_or_default();
        let text = |known: &Value, field: &str| known[field].as_str().unwrap_or_default().to_owned();
        let unchanged = slot.as_ref().filter(|known| {
            known["status"] == status
                && text(known, "severity") == severity
                && text(known, "reason") == reason
        });
        // The message of SyncerReady is not compared, since the message of a failed request differs at each
        // attempt.
        if unchanged.is_some_and(|known| self.kind == SYNCER_READY || text(known, "message") == self.message)
        {
            return None;
        }
        let mut new = json!({"type": self.kind, "status": status});
        new["lastTransitionTime"] = match unchanged {
            Some(known) => known["lastTransitionTime"].clone(),
            None => time::rfc3339(now).into(),
        };
        if self.failure.is_some() {
            new["severity"] = severity.into();
            new["reason"] = reason.into();
            new["message"] = self.message.as_str().into();
        }
        match slot {
            Some(known) => *known = new,
            None => list.push(new),
        }
        Some(Value::Array(list))
    }
}

/// Whether the WorkloadCluster `cluster` has the condition that the cluster does not answer.
pub(super) fn reports_unreachable(cluster: &Value) -> bool {
    let conditions = cluster["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|known| {
        known["type"] == SYNCER_READY && known["status"] == "False" && known["reason"] == CLUSTER_UNREACHABLE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn an_unreachable_cluster_is_reported_once_until_it_answers_again() {
        let others = json!([{"type": "Ready", "status": "True"}]);
        let conditions = ConditionText::unreachable("connection refused")
            .set_in(&others, at(0))
            .unwrap();
        assert_eq!(conditions[0], others[0]);
        assert_eq!(
            (
                &conditions[1]["type"],
                &conditions[1]["status"],
                &conditions[1]["reason"]
            ),
            (
                &json!("SyncerReady"),
                &json!("False"),
                &json!("ClusterUnreachable")
            )
        );
        assert_eq!(
            conditions[1]["message"],
            "the cluster does not answer the syncer: connection refused"
        );
        let again = ConditionText::unreachable("no answer within 10 s").set_in(&conditions, at(1));
        assert_eq!(again, None);
        let cluster = json!({"status": {"conditions": conditions}});
        assert!(
            reports_unreachable(&cluster) && !reports_unreachable(&json!({"status": {"conditions": others}}))
        );
        let back = ConditionText::reachable().set_in(&conditions, at(2)).unwrap();
        assert_eq!(back[1]["status"], "True");
        assert_eq!(back[1].get("reason"), None);
        assert_eq!(ConditionText::reachable().set_in(&back, at(3)), None);
    }

    #[test]
    fn a_new_message_of_synced_is_written_and_its_transition_time_changes_only_with_the_reason() {
        let text = |reason, message: &str| ConditionText::not_synced(reason, message.to_owned());
        let conditions = text("A", "1 of 2").set_in(&Value::Null, at(1)).unwrap();
        let time = |list: &Value| list[0]["lastTransitionTime"].clone();
        assert_eq!(text("A", "1 of 2").set_in(&conditions, at(2)), None);
        let more = text("A", "2 of 2").set_in(&conditions, at(2)).unwrap();
        assert_eq!(
            (&more[0]["message"], time(&more)),
            (&json!("2 of 2"), time(&conditions))
        );
        let other = text("B", "2 of 2").set_in(&more, at(3)).unwrap();
        assert_ne!(time(&other), time(&conditions));
        let synced = ConditionText::synced().set_in(&other, at(4)).unwrap();
        assert_eq!(
            (synced.as_array().unwrap().len(), &synced[0]["status"]),
            (1, &json!("True"))
        );
        assert_eq!(ConditionText::synced().set_in(&synced, at(5)), None);
    }
}
