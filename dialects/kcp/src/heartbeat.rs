//! The heartbeat controller, as a pure function over a stored WorkloadCluster (docs/systems/kcp.md,
//! "Heartbeats"). The controller reports in the condition HeartbeatHealthy whether the syncer sends
//! heartbeats, and adjusts the condition Ready.
//!
//! If a syncer has never sent a heartbeat, the threshold applies from the cluster's creation on. After the
//! threshold, the cluster is not healthy, unless another program reports its readiness.

use berth_apimachinery::Timestamp;
use berth_dialect_contract::wording::Sentences;
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use crate::readiness::{CLUSTER_UNREACHABLE, HEARTBEAT_HEALTHY, PARTS, READY};

/// The reason of HeartbeatHealthy while the syncer is silent, and of Ready unless Ready was already False for
/// another reason.
pub const ERROR_HEARTBEAT: &str = "ErrorHeartbeat";

/// The beginnings of the messages about missing heartbeats.
const SENTENCES: Sentences = Sentences(&[
    "no heartbeat of the syncer since ",
    "no heartbeat of the syncer was ever seen",
]);

/// Time of the last heartbeat of the syncer of `cluster`.
fn last_heartbeat(cluster: &Value) -> Option<Timestamp> {
    cluster["status"]["lastSyncerHeartbeatTime"]
        .as_str()
        .and_then(berth_apimachinery::time::parse)
}

/// The instant since which a heartbeat of the syncer of `cluster` is awaited: the last heartbeat, or else
/// the creation of the cluster.
#[must_use]
pub fn awaited_since(cluster: &Value) -> Option<Timestamp> {
    let created = || cluster["metadata"]["creationTimestamp"].as_str();
    last_heartbeat(cluster).or_else(|| created().and_then(berth_apimachinery::time::parse))
}

/// Returns `cluster` with the conditions HeartbeatHealthy and Ready at `now`; `None` if they do not change. A
/// heartbeat whose age is exactly the threshold is still healthy.
///
/// A missing heartbeat makes Ready False. When heartbeats resume, Ready summarizes the other conditions
/// again, and once more when SyncerReady no longer reports that the cluster is unreachable. If Ready is False
/// for another reason, it is not changed.
#[must_use]
pub fn reconcile(cluster: &Value, threshold: SignedDuration, now: Timestamp) -> Option<Value> {
    let last = last_heartbeat(cluster);
    let until = awaited_since(cluster)?.checked_add(threshold);
    let in_time = until.is_ok_and(|until| now <= until);
    let healthy = last.is_some() && in_time;
    let list = cluster["status"]["conditions"].as_array();
    let mut conditions = Conditions(list.cloned().unwrap_or_default());
    if last.is_none() && (in_time || conditions.is_reported_elsewhere()) {
        return None;
    }
    let text = if healthy {
        ConditionText::met()
    } else {
        ConditionText::no_heartbeat(last)
    };
    conditions.put(HEARTBEAT_HEALTHY, &text, now);
    let ready_condition = conditions.find(READY);
    let is_false = ready_condition.is_some_and(|ready| ready["status"] == "False");
    let has_reason = |reason: &str| ready_condition.is_some_and(|ready| ready["reason"] == reason);
    let is_by_heartbeat = has_reason(ERROR_HEARTBEAT);
    // A syncer may correct SyncerReady only after the heartbeat at which Ready copied it.
    let is_copied = has_reason(CLUSTER_UNREACHABLE);
    if !healthy && (!is_false || is_by_heartbeat) {
        conditions.put(READY, &text, now);
    } else if healthy && (ready_condition.is_none() || is_false && (is_by_heartbeat || is_copied)) {
        let summary = conditions.summary();
        conditions.put(READY, &summary, now);
    }
    let conditions = Value::Array(conditions.0);
    (conditions != cluster["status"]["conditions"]).then(|| {
        let mut new = cluster.clone();
        new["status"]["conditions"] = conditions;
        new
    })
}

/// The content of a condition.
struct ConditionText {
    status: bool,
    severity: String,
    reason: String,
    message: String,
}

impl ConditionText {
    /// The content of a condition that is True.
    fn met() -> Self {
        Self {
            status: true,
            severity: String::new(),
            reason: String::new(),
            message: String::new(),
        }
    }

    /// The content of a condition that is False because of missing heartbeats, the last of which came at
    /// `last`.
    fn no_heartbeat(last: Option<Timestamp>) -> Self {
        Self {
            status: false,
            severity: "Warning".to_owned(),
            reason: ERROR_HEARTBEAT.to_owned(),
            message: match last {
                Some(last) => format!(
                    "no heartbeat of the syncer since {}",
                    berth_apimachinery::time::rfc3339(last)
                ),
                None => "no heartbeat of the syncer was ever seen".to_owned(),
            },
        }
    }
}

/// The conditions of a cluster.
struct Conditions(Vec<Value>);

impl Conditions {
    fn find(&self, r#type: &str) -> Option<&Value> {
        self.0.iter().find(|condition| condition["type"] == r#type)
    }

    /// Whether another program reports the readiness of the cluster: it has set the condition Ready, or,
    /// without Ready, has set a condition that Ready summarizes to True.
    fn is_reported_elsewhere(&self) -> bool {
        match self.find(READY) {
            Some(ready) => ready["reason"] != ERROR_HEARTBEAT,
            None => PARTS.into_iter().any(|part| {
                part != HEARTBEAT_HEALTHY && self.find(part).is_some_and(|part| part["status"] == "True")
            }),
        }
    }

    /// Sets the condition with this type. The transition time changes only with the content.
    fn put(&mut self, r#type: &str, content: &ConditionText, now: Timestamp) {
        let mut fields = Map::new();
        fields.insert("type".to_owned(), r#type.into());
        fields.insert(
            "status".to_owned(),
            if content.status { "True" } else { "False" }.into(),
        );
        let optional = [
            ("severity", &content.severity),
            ("reason", &content.reason),
            ("message", &content.message),
        ];
        for (name, text) in optional.into_iter().filter(|(_, text)| !text.is_empty()) {
            fields.insert(name.to_owned(), text.as_str().into());
        }
        let mut new = Value::Object(fields);
        let slot = self.0.iter_mut().find(|condition| condition["type"] == r#type);
        let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let message_stays = |old: &str, new: &str| match SENTENCES.matches(new) {
            true => SENTENCES.keeps(old, new),
            // Other messages, such as those copied from a part of Ready, are compared.
            false => old == new,
        };
        if let Some(old) = &slot
            && ["status", "severity", "reason"]
                .iter()
                .all(|name| text(old, name) == text(&new, name))
            && message_stays(&text(old, "message"), &text(&new, "message"))
        {
            return;
        }
        new["lastTransitionTime"] = json!(berth_apimachinery::time::rfc3339(now));
        match slot {
            Some(old) => *old = new,
            None => self.0.push(new),
        }
    }

    /// The content of Ready as a summary: the most severe of its parts that are False, or True if none is.
    fn summary(&self) -> ConditionText {
        let text = |part: &Value, name: &str| part[name].as_str().unwrap_or_default().to_owned();
        let parts = PARTS.into_iter().filter_map(|part| self.find(part));
        let failing = parts.filter(|part| part["status"] == "False");
        let severity = |part: &&Value| match part["severity"].as_str() {
            Some("Error") => 0,
            Some("Warning") => 1,
            Some("Info") => 2,
            _ => 3,
        };
        failing
            .min_by_key(severity)
            .map_or_else(ConditionText::met, |part| ConditionText {
                status: false,
                severity: text(part, "severity"),
                reason: text(part, "reason"),
                message: text(part, "message"),
            })
    }
}

#[cfg(test)]
mod tests;
