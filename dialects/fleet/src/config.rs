//! The dialect's part of a SchedulerConfiguration. KubeFleet has no configuration file; these two are options of its
//! scheduler (docs/systems/fleet.md, "Configuration").

use jiff::SignedDuration;
use meta::FieldError;
use serde_json::Value;

use crate::eligibility::Limits;

/// The fields.
const FIELDS: [&str; 2] = ["clusterHeartbeatCheckTimeout", "clusterHealthCheckTimeout"];

/// Reads `spec`, which stands at `path`; absent fields have their defaults, 5 minutes.
///
/// # Errors
/// Everything that is wrong, with paths.
pub(crate) fn read(spec: Option<&Value>, path: &str) -> Result<Limits, Vec<FieldError>> {
    let mut limits = Limits::default();
    let fields = match spec {
        None | Some(Value::Null) => return Ok(limits),
        Some(Value::Object(fields)) => fields,
        Some(other) => {
            return Err(vec![FieldError::type_invalid(
                path,
                other.clone(),
                "must be an object",
            )]);
        }
    };
    let mut errors = Vec::new();
    for (name, slot) in FIELDS
        .into_iter()
        .zip([&mut limits.heartbeat, &mut limits.health])
    {
        match fields.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => match duration(text) {
                Ok(length) => *slot = length,
                Err(problem) => {
                    errors.push(FieldError::invalid(
                        format!("{path}.{name}"),
                        text.as_str(),
                        problem,
                    ));
                }
            },
            Some(other) => {
                errors.push(FieldError::type_invalid(
                    format!("{path}.{name}"),
                    other.clone(),
                    "must be a string",
                ));
            }
        }
    }
    for (name, value) in fields.iter().filter(|(name, _)| !FIELDS.contains(&name.as_str())) {
        let detail = format!("unknown field: the dialect fleet has {}", FIELDS.join(" and "));
        errors.push(FieldError::invalid(
            format!("{path}.{name}"),
            value.clone(),
            detail,
        ));
    }
    if errors.is_empty() {
        Ok(limits)
    } else {
        Err(errors)
    }
}

/// How often members send a heartbeat unless they are told otherwise (docs/systems/fleet.md, "Configuration").
const BEAT: SignedDuration = SignedDuration::from_secs(60);

/// What is legal in `spec` but surely not meant, as sentences that name the field below `path`.
pub(crate) fn warnings(spec: &Value, path: &str) -> Vec<String> {
    let given = spec.get(FIELDS[0]).is_some_and(|value| !value.is_null());
    match read(Some(spec), path) {
        Ok(limits) if given && limits.heartbeat <= BEAT => vec![format!(
            "{path}.{}: members send a heartbeat every 60s, so that they will seem to be gone again and again",
            FIELDS[0]
        )],
        _ => Vec::new(),
    }
}

/// A positive duration as Kubernetes writes it: `300s`, `1h30m`.
fn duration(text: &str) -> Result<SignedDuration, String> {
    match meta::duration::parse(text) {
        Ok(length) if length.is_positive() => Ok(length),
        Ok(_) => Err("must be greater than 0".to_owned()),
        Err(problem) => Err(problem.to_string()),
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
    fn a_limit_that_no_heartbeat_keeps_is_warned_of() {
        let warnings = |limit: &str| warnings(&json!({"clusterHeartbeatCheckTimeout": limit}), "spec.fleet");
        assert_eq!(
            warnings("60s"),
            [
                "spec.fleet.clusterHeartbeatCheckTimeout: members send a heartbeat every 60s, so that they will seem to be \
              gone again and again"
            ]
        );
        assert!(warnings("61s").is_empty() && warnings("soon").is_empty());
    }

    #[test]
    fn every_mistake_is_told_with_its_path() {
        let spec =
            json!({"clusterHeartbeatCheckTimeout": "soon", "clusterHealthCheckTimeout": 5, "workers": 1});
        let errors = read(Some(&spec), "spec.fleet").unwrap_err();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "spec.fleet.clusterHeartbeatCheckTimeout: Invalid value: \"soon\": invalid duration \"soon\"",
                "spec.fleet.clusterHealthCheckTimeout: Invalid value: 5: must be a string",
                "spec.fleet.workers: Invalid value: 1: unknown field: the dialect fleet has \
                 clusterHeartbeatCheckTimeout and clusterHealthCheckTimeout",
            ]
        );
        for bad in ["", "0s", "-5m", "5", "5d"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
