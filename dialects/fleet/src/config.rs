//! The dialect's part of a SchedulerConfiguration. KubeFleet has no configuration file; the two settings are
//! options of its scheduler (docs/systems/fleet.md, "Configuration").

use std::sync::LazyLock;

use berth_apimachinery::field::below;
use berth_apimachinery::{FieldError, Schema};
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::eligibility::Limits;

/// KubeFleet has no configuration file: these are options of its scheduler.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Settings {
    /// Age of a member's last heartbeat above which no resources are placed on the member: a positive
    /// duration such as 300s or 1h30m. Members send a heartbeat every 60s by default.
    cluster_heartbeat_check_timeout: String,
    /// Time for which a member may be unhealthy until no resources are placed on it: a positive duration
    /// such as 300s or 1h30m.
    cluster_health_check_timeout: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cluster_heartbeat_check_timeout: "5m".to_owned(),
            cluster_health_check_timeout: "5m".to_owned(),
        }
    }
}

/// The field with the limit on the age of the last heartbeat.
const HEARTBEAT: &str = "clusterHeartbeatCheckTimeout";
/// The field with the limit on the time of bad health.
const HEALTH: &str = "clusterHealthCheckTimeout";

/// The schema of the settings.
pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::part::<Settings>);

/// Reads `spec`, the dialect's part of a SchedulerConfiguration at `path`. Absent fields have defaults.
///
/// # Errors
/// All errors in `spec`, with the paths of the fields.
pub(crate) fn read(spec: Option<&Value>, path: &str) -> Result<Limits, Vec<FieldError>> {
    let mut settings = SCHEMA.read::<Settings>(spec.unwrap_or(&Value::Null), path);
    let Settings {
        cluster_heartbeat_check_timeout: heartbeat,
        cluster_health_check_timeout: health,
    } = settings.value.clone();
    let limits = Limits {
        heartbeat: settings.positive_duration(HEARTBEAT, &heartbeat),
        health: settings.positive_duration(HEALTH, &health),
    };
    settings.finish(|_| limits)
}

/// The default interval of members' heartbeats (docs/systems/fleet.md, "Configuration").
const HEARTBEAT_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// Warnings about values in `spec` that are valid but surely not intended: sentences that begin with the path
/// of the field, below `path`.
pub(crate) fn warnings(spec: &Value, path: &str) -> Vec<String> {
    match read(Some(spec), path) {
        Ok(limits) if limits.heartbeat <= HEARTBEAT_INTERVAL => vec![format!(
            "{}: members send a heartbeat every 60s by default, so that members would repeatedly be refused as \
             HeartbeatStale: set a longer time",
            below(path, HEARTBEAT)
        )],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_have_defaults_and_can_be_set() {
        assert_eq!(read(None, "spec.fleet"), Ok(Limits::default()));
        let spec = json!({"clusterHeartbeatCheckTimeout": "1h30m", "clusterHealthCheckTimeout": null});
        let limits = read(Some(&spec), "spec.fleet").unwrap();
        assert_eq!(limits.heartbeat, SignedDuration::from_mins(90));
        assert_eq!(limits.health, SignedDuration::from_mins(5));
    }

    #[test]
    fn a_limit_below_the_heartbeat_interval_has_a_warning() {
        let warnings = |limit: &str| warnings(&json!({"clusterHeartbeatCheckTimeout": limit}), "spec.fleet");
        assert_eq!(
            warnings("60s"),
            [
                "spec.fleet.clusterHeartbeatCheckTimeout: members send a heartbeat every 60s by default, so that \
                 members would repeatedly be refused as HeartbeatStale: set a longer time"
            ]
        );
        assert!(warnings("61s").is_empty() && warnings("soon").is_empty());
    }

    #[test]
    fn every_error_has_its_path() {
        let spec =
            json!({"clusterHeartbeatCheckTimeout": "soon", "clusterHealthCheckTimeout": 5, "workers": 1});
        let errors = read(Some(&spec), "spec.fleet").unwrap_err();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "spec.fleet.clusterHealthCheckTimeout: Invalid value: \"integer\": spec.fleet.clusterHealthCheckTimeout in \
                 body must be of type string: \"integer\"",
                "spec.fleet.workers: Forbidden: unknown field",
                "spec.fleet.clusterHeartbeatCheckTimeout: Invalid value: \"soon\": invalid duration \"soon\": write it such as 15s, 1m30s or 500ms",
            ]
        );
        for bad in ["", "0s", "-5m", "5", "5d"] {
            let spec = json!({HEALTH: bad});
            assert_eq!(read(Some(&spec), "").unwrap_err().len(), 1, "{bad}");
        }
    }
}
