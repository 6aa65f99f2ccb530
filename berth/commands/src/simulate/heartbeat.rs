//! Times of the last heartbeats of clusters in the input.

use berth_apimachinery::{Timestamp, time};
use serde_json::Value;

/// Returns the newest time in an object's status, from the fields whose names contain "heartbeat".
pub(super) fn newest(object: &Value) -> Option<Timestamp> {
    let mut rest = vec![object.get("status")?];
    let mut newest = None;
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(items) => rest.extend(items),
            Value::Object(fields) => {
                for (name, field) in fields {
                    match field {
                        Value::String(text) if name.to_ascii_lowercase().contains("heartbeat") => {
                            newest = newest.max(time::parse(text));
                        }
                        _ => rest.push(field),
                    }
                }
            }
            _ => {}
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_heartbeat_is_found_wherever_it_stands() {
        let object = json!({"spec": {"heartbeatPeriod": "2030-01-01T00:00:00Z"}, "status": {"agents": [
            {"lastReceivedHeartbeat": "2026-11-26T10:00:00Z"}, {"lastReceivedHeartbeat": "2026-11-26T09:00:00Z"}, {"heartbeat": "x"},
        ]}});
        assert_eq!(
            newest(&object).map(time::rfc3339).as_deref(),
            Some("2026-11-26T10:00:00Z")
        );
        assert_eq!(newest(&json!({"status": {}})), None);
    }
}
