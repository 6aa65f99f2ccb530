//! Answers about one decision: its clusters, each as flat keys that templates can use.

use berth_apimachinery::{FieldError, Status, Timestamp, field};
use berth_engine::Snapshot;
use berth_multicluster::flat::{self, DecisionName, Entry};
use berth_scheduling_rest::names;
use berth_scheduling_rest::projection::{CLUSTER_DECISIONS, DECISIONS};
use serde_json::{Value, json};

/// Reference to a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DecisionReference {
    /// The decision's namespace; empty for a ClusterDecision.
    pub(super) namespace: String,
    /// The decision's name: `<source>.<system>`.
    pub(super) name: String,
}

impl DecisionReference {
    /// Parses Argo CD's `input.parameters`, which name a decision.
    ///
    /// # Errors
    /// All unknown keys and all values that are not strings; if there are none of these, a missing name.
    pub(super) fn from_parameters(parameters: &Value) -> Result<Self, Status> {
        const PATH: &str = "input.parameters";
        let mut errors = Vec::new();
        let keys = parameters.as_object();
        for key in keys.into_iter().flat_map(|keys| keys.keys()) {
            if key != "name" && key != "namespace" {
                errors.push(FieldError::not_supported(
                    PATH,
                    key.as_str(),
                    &["name", "namespace"],
                ));
            }
        }
        let mut text = |field: &str| match &parameters[field] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => {
                errors.push(FieldError::type_invalid(
                    format!("{PATH}.{field}"),
                    other.clone(),
                    "must be a string",
                ));
                String::new()
            }
        };
        let (namespace, name) = (text("namespace"), text("name"));
        if name.is_empty() && errors.is_empty() {
            let detail =
                "the name of a Decision, <object>.<system>; without namespace, the name of a ClusterDecision";
            errors.push(FieldError::required(format!("{PATH}.name"), detail));
        }
        if errors.is_empty() {
            return Ok(Self { namespace, name });
        }
        Err(Status::bad_request(field::aggregate(&errors)))
    }

    /// The system in the decision's name.
    ///
    /// # Errors
    /// 404 when the name does not contain a system.
    pub(super) fn system(&self) -> Result<&str, Status> {
        names::split(&self.name)
            .map(|(_, system)| system)
            .ok_or_else(|| self.not_found())
    }

    /// The error 404, in place of an empty list of clusters, with which the tools would remove objects.
    pub(super) fn not_found(&self) -> Status {
        let resource = if self.namespace.is_empty() {
            CLUSTER_DECISIONS
        } else {
            DECISIONS
        };
        Status::not_found(resource, &self.name)
    }
}

/// The clusters of the decision `reference`.
///
/// # Errors
/// 404 when the decision does not exist.
pub(super) fn clusters(
    snapshot: &Snapshot,
    reference: &DecisionReference,
    now: Timestamp,
) -> Result<Vec<Value>, Status> {
    let dialect = &*snapshot.dialect;
    let (source, _) = names::split(&reference.name).ok_or_else(|| reference.not_found())?;
    let demand = names::demand(dialect, &*snapshot.inventory, &reference.namespace, source);
    let view = demand.and_then(|demand| snapshot.inventory.demand(&demand, now));
    let view = view.ok_or_else(|| reference.not_found())?;
    let decision_name = DecisionName {
        system: dialect.name(),
        namespace: &reference.namespace,
        decision: &reference.name,
    };
    let entries = flat::entries(decision_name, &*snapshot.inventory, &view, now);
    Ok(entries.into_iter().map(flat_entry).collect())
}

/// The flat keys of one cluster, with the labels of the cluster in the key `labels`.
fn flat_entry(entry: Entry) -> Value {
    let mut flat_entry = json!(entry.keys);
    flat_entry["labels"] = entry
        .target
        .map_or_else(|| json!({}), |(_, view)| json!(view.labels));
    flat_entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_name_one_decision_and_nothing_else() {
        let read = |value: Value| DecisionReference::from_parameters(&value).map_err(|status| status.message);
        let reference = read(json!({"name": "p.ocm", "namespace": "n"})).unwrap();
        assert_eq!(
            (reference.name.as_str(), reference.namespace.as_str()),
            ("p.ocm", "n")
        );
        assert_eq!(reference.system().unwrap(), "ocm");
        assert!(read(json!({"name": "p.fleet"})).unwrap().namespace.is_empty());
        for (bad, word) in [
            (json!({}), "input.parameters.name"),
            (json!({"name": 1}), "must be a string"),
            (json!({"name": "p.ocm", "selector": "a=b"}), "selector"),
        ] {
            let message = read(bad).unwrap_err();
            assert!(message.contains(word), "{message}");
        }
    }
}
