//! The stored SchedulerConfiguration of a system, and changes of it.

use berth_configuration::{DECIDING, Mode, OwnSchedulerPolicy};
use berth_dialect_contract::config;
use serde_json::{Value, json};

use crate::check::condition;

/// The stored SchedulerConfiguration of a system; empty if none is stored.
#[derive(Debug, Default)]
pub(super) struct StoredConfiguration {
    object: Value,
    pub(super) generation: i64,
}

impl StoredConfiguration {
    pub(super) fn new(object: Value) -> Self {
        let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
        Self { object, generation }
    }

    /// Whether the configuration is stored.
    pub(super) fn exists(&self) -> bool {
        !self.object.is_null()
    }

    /// Whether Berth decides, with the message, according to the condition `Deciding`; `None` if the
    /// condition is missing or older than `generation`.
    pub(super) fn deciding(&self, generation: i64) -> Option<(bool, String)> {
        let conditions = self.object["status"]["conditions"].as_array()?;
        let deciding_condition = conditions
            .iter()
            .find(|condition| condition["type"] == DECIDING)?;
        let observed_generation = deciding_condition["observedGeneration"]
            .as_i64()
            .unwrap_or_default();
        (observed_generation >= generation)
            .then(|| condition(&self.object, DECIDING))
            .flatten()
    }

    /// The value of `field` of the spec as text; `nothing` if the field is missing.
    fn text_of(&self, field: &str) -> String {
        match &self.object["spec"][field] {
            Value::Null => "nothing".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Change of a SchedulerConfiguration.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) mode: Mode,
    /// The new value of `spec.requests`, null for all requests; `None` leaves the field unchanged.
    pub(super) requests: Option<Value>,
    /// Whether Berth decides even if another scheduler runs.
    pub(super) beside: bool,
}

impl Change {
    /// The changed fields of the spec; null removes a field.
    fn spec(&self) -> Value {
        let mut spec = json!({"mode": self.mode.as_str(), "otherScheduler": null});
        if self.beside {
            spec["otherScheduler"] = OwnSchedulerPolicy::Ignore.as_str().into();
        }
        if let Some(requests) = &self.requests {
            spec["requests"] = requests.clone();
        }
        spec
    }

    /// The merge patch of the change.
    pub(super) fn patch(&self) -> Value {
        json!({"spec": self.spec()})
    }

    /// The SchedulerConfiguration of `system` to create if none is stored.
    pub(super) fn object(&self, system: &str) -> Value {
        let mut spec = self.spec();
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        json!({
            "apiVersion": format!("{}/{}", config::GROUP, config::VERSION), "kind": config::KIND,
            "metadata": {"name": system}, "spec": spec,
        })
    }

    /// Whether the change selects only some requests.
    pub(super) fn selects_some_requests(&self) -> bool {
        self.requests.as_ref().is_some_and(Value::is_object)
    }

    /// Describes the change in words, with the `stored` values in parentheses.
    pub(super) fn describe(&self, system: &str, stored: &StoredConfiguration) -> String {
        let mut text = format!(
            "set mode: {} in the SchedulerConfiguration {system} (now: {})",
            self.mode.as_str(),
            stored.text_of("mode")
        );
        match &self.requests {
            Some(Value::Null) => {
                text.push_str(&format!(
                    "; all requests, no spec.requests (now: {})",
                    stored.text_of("requests")
                ));
            }
            Some(requests) => text.push_str(&format!(
                "; spec.requests: {requests} (now: {})",
                stored.text_of("requests")
            )),
            None => {}
        }
        if self.beside {
            text.push_str("; spec.otherScheduler: Ignore");
        } else if !stored.object["spec"]["otherScheduler"].is_null() {
            text.push_str(&format!(
                "; no spec.otherScheduler (now: {})",
                stored.text_of("otherScheduler")
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_removes_fields_of_an_earlier_change() {
        let mut change = Change {
            mode: Mode::Decide,
            requests: Some(Value::Null),
            beside: false,
        };
        let all = json!({"spec": {"mode": "Decide", "otherScheduler": null, "requests": null}});
        assert_eq!(change.patch(), all);
        assert_eq!(change.object("ocm")["spec"], json!({"mode": "Decide"}));
        change.requests = Some(json!({"selector": {}}));
        change.beside = true;
        assert_eq!(
            change.object("ocm")["spec"],
            json!({"mode": "Decide", "otherScheduler": "Ignore", "requests": {"selector": {}}})
        );
        let back = Change {
            mode: Mode::Observe,
            requests: None,
            beside: false,
        };
        assert_eq!(
            back.patch(),
            json!({"spec": {"mode": "Observe", "otherScheduler": null}})
        );
    }

    #[test]
    fn the_description_names_a_stored_exception_that_the_change_removes() {
        let change = Change {
            mode: Mode::Observe,
            requests: None,
            beside: false,
        };
        let stored =
            StoredConfiguration::new(json!({"spec": {"mode": "Decide", "otherScheduler": "Ignore"}}));
        assert_eq!(
            change.describe("ocm", &stored),
            "set mode: Observe in the SchedulerConfiguration ocm (now: Decide); no spec.otherScheduler (now: Ignore)"
        );
        assert_eq!(
            change.describe("ocm", &StoredConfiguration::default()),
            "set mode: Observe in the SchedulerConfiguration ocm (now: nothing)"
        );
    }

    #[test]
    fn a_condition_from_before_the_change_does_not_count() {
        let stored = |observed: i64| {
            StoredConfiguration::new(json!({
                "metadata": {"generation": 2},
                "status": {"conditions": [{
                    "type": "Deciding", "status": "True", "message": "it does", "observedGeneration": observed,
                }]},
            }))
        };
        assert_eq!(stored(2).deciding(2), Some((true, "it does".to_owned())));
        assert_eq!(stored(1).deciding(2), None);
        assert_eq!(StoredConfiguration::default().deciding(0), None);
    }
}
