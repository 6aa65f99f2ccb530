//! Type checks of all fields of a kind, for kinds whose schema has only the fields that this server uses: the
//! object is parsed as Kubernetes' clients parse it. An object that they cannot parse would end every typed
//! list and watch of its collection.

use berth_apimachinery::{FieldError, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Highest number of characters of a problem in an error: the problem may quote the request.
const MAX_PROBLEM_CHARS: usize = 300;

/// Error of the first field that prevents `new` from being parsed as a client's `T`; none where `schema`
/// rejects the object already.
pub(super) fn errors<T: DeserializeOwned>(schema: &Schema, new: &Value) -> Vec<FieldError> {
    if parse::<T>(new).is_ok() {
        return Vec::new();
    }
    // Go accepts numbers as quantities too, and a missing time as the zero time.
    let mut lenient = new.clone();
    convert_like_go(&mut lenient);
    let Err((path, problem)) = parse::<T>(&lenient) else {
        return Vec::new();
    };
    if !schema.validate(new).is_empty() {
        return Vec::new();
    }
    let problem: String = problem.chars().take(MAX_PROBLEM_CHARS).collect();
    let detail = format!("json: cannot unmarshal into field {path}: {problem}");
    vec![FieldError::type_invalid(path, found_type(&problem), detail)]
}

fn parse<T: DeserializeOwned>(value: &Value) -> Result<T, (String, String)> {
    serde_path_to_error::deserialize(value)
        .map_err(|problem| (problem.path().to_string(), problem.inner().to_string()))
}

/// Type of the value that serde found, such as `string` or `integer`; empty if the problem is not the type.
fn found_type(problem: &str) -> String {
    let found = problem.strip_prefix("invalid type: ").unwrap_or_default();
    found.split([' ', ',']).next().unwrap_or_default().to_owned()
}

/// Converts values that Go accepts and the Rust types reject: numbers to strings where Pods have quantities,
/// and missing times of conditions to a time.
fn convert_like_go(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(convert_like_go),
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field) {
                    ("limits" | "requests" | "overhead", Value::Object(list)) => numbers_to_texts(list),
                    ("sizeLimit" | "divisor", field) => number_to_text(field),
                    ("conditions", Value::Array(conditions)) => conditions.iter_mut().for_each(fill_time),
                    (_, field) => convert_like_go(field),
                }
            }
        }
        _ => {}
    }
}

/// Fills in the missing time of a condition.
fn fill_time(condition: &mut Value) {
    if let Value::Object(fields) = condition {
        let time = fields.entry("lastTransitionTime").or_insert(Value::Null);
        if time.is_null() {
            *time = "1970-01-01T00:00:00Z".into();
        }
    }
}

fn numbers_to_texts(list: &mut Map<String, Value>) {
    list.values_mut().for_each(number_to_text);
}

fn number_to_text(value: &mut Value) {
    if let Value::Number(number) = value {
        *value = number.to_string().into();
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Kind;
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::Service;
    use serde_json::json;

    use super::*;

    fn pod_errors(pod: &Value) -> Vec<String> {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod},
            },
        });
        let schema = crate::core::deployment::Deployment.schema("v1");
        let errors = errors::<Deployment>(schema, &deployment);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_condition_needs_no_time() {
        let error_count = |condition: &Value| {
            let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                "spec": {"ports": [{"port": 80}]}, "status": {"conditions": [condition]}});
            errors::<Service>(crate::core::service::Service.schema("v1"), &service).len()
        };
        let condition = json!({"type": "Ready", "status": "True", "reason": "Tried", "message": ""});
        assert_eq!(error_count(&condition), 0);
        for time in [Value::Null, json!("2026-11-27T00:00:00Z")] {
            let mut condition = condition.clone();
            condition["lastTransitionTime"] = time;
            assert_eq!(error_count(&condition), 0, "{condition}");
        }
    }

    #[test]
    fn a_field_that_no_client_can_parse_is_refused_at_any_depth() {
        let container =
            json!({"name": "c", "image": "i", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}});
        let fine = json!({
            "containers": [container], "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 3}],
            "overhead": {"cpu": 0.5}, "newerField": {"any": ["thing"]}, "hostNetwork": null,
            "volumes": [{"name": "v", "emptyDir": {"sizeLimit": 1024}}],
        });
        assert_eq!(pod_errors(&fine), [""; 0]);
        for (pod, path) in [
            (json!({"containers": [], "tolerations": "x"}), "tolerations"),
            (
                json!({"containers": [], "tolerations": [{"tolerationSeconds": "3"}]}),
                "tolerations[0].tolerationSeconds",
            ),
            (
                json!({"containers": [], "volumes": [{"name": "v", "secret": {"defaultMode": 1.5}}]}),
                "volumes[0].secret.defaultMode",
            ),
        ] {
            let errors = pod_errors(&pod);
            let path = format!("spec.template.spec.{path}");
            assert_eq!(errors.len(), 1, "{pod}");
            assert!(
                errors[0].starts_with(&format!("{path}: Invalid value: "))
                    && errors[0].contains(&format!("cannot unmarshal into field {path}: invalid type")),
                "{errors:?}"
            );
        }
        let known = pod_errors(&json!({"containers": "x", "tolerations": "x"}));
        assert_eq!(known, [""; 0], "the schema reports it");
    }
}
