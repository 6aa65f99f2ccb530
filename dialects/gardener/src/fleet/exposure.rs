//! ExposureClasses, which add requirements to a new shoot (docs/systems/gardener.md, "Exposure classes").

use std::collections::HashSet;

use berth_apimachinery::{FieldError, Key, Object};
use serde_json::{Map, Value};

use super::Fleet;
use crate::kind::child;
use crate::kind::exposure_class::ExposureClass;
use crate::names::EXPOSURE_CLASSES;

/// The requirements of an ExposureClass on seeds.
#[derive(Debug, PartialEq)]
pub(crate) struct Exposure {
    /// The raw seed selector; null without one.
    selector: Value,
    /// The raw tolerations.
    tolerations: Vec<Value>,
}

impl Exposure {
    /// Parses an ExposureClass.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(object: &Object) -> Result<Self, String> {
        object
            .view::<ExposureClass>()
            .map_err(|error| error.to_string())?;
        let scheduling = &object.value()["scheduling"];
        let tolerations = scheduling["tolerations"].as_array();
        Ok(Self {
            selector: scheduling["seedSelector"].clone(),
            tolerations: tolerations.cloned().unwrap_or_default(),
        })
    }
}

/// Adds the requirements of the ExposureClass of the raw Shoot `new` to the Shoot. Returns the errors of a
/// missing class, and of requirements of the Shoot that contradict the class. Values of a wrong type are left
/// for the kind to refuse.
pub(crate) fn merge(fleet: &Fleet, new: &mut Value) -> Vec<FieldError> {
    let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) else {
        return Vec::new();
    };
    let name = spec.get("exposureClassName").and_then(Value::as_str);
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Vec::new();
    };
    let Some(class) = fleet.exposure_classes.get(name).cloned() else {
        let problem = fleet.unusable.problem(&Key::new(EXPOSURE_CLASSES, "", name));
        let detail = match problem {
            Some(problem) => format!("the ExposureClass cannot be read: {problem}"),
            None => "there is no such ExposureClass".to_owned(),
        };
        return vec![FieldError::invalid("spec.exposureClassName", name, detail)];
    };
    let mut errors = Vec::new();
    if class.selector.is_object()
        && let Some(selector) = child(spec, "seedSelector")
    {
        errors.extend(add_labels(selector, &class.selector["matchLabels"]));
        for list in ["matchExpressions", "providerTypes"] {
            for item in class.selector[list].as_array().into_iter().flatten() {
                push(selector, list, item);
            }
        }
    }
    // The keys before the class adds its tolerations, of which several may have one key.
    let own = spec.get("tolerations").and_then(Value::as_array);
    let own_keys: HashSet<String> = own
        .into_iter()
        .flatten()
        .map(|own| toleration_key(own).to_owned())
        .collect();
    for toleration in &class.tolerations {
        let key = toleration_key(toleration);
        if own_keys.contains(key) {
            let detail = format!(
                "the ExposureClass has a toleration with the key {key}, too: remove that of the Shoot"
            );
            errors.push(FieldError::forbidden("spec.tolerations", detail));
        } else {
            push(spec, "tolerations", toleration);
        }
    }
    errors
}

/// The key of a raw toleration; empty without one.
fn toleration_key(toleration: &Value) -> &str {
    toleration["key"].as_str().unwrap_or_default()
}

/// Adds `class`, the labels that an ExposureClass requires, to the `selector` of a Shoot. Returns the errors
/// of labels with other values in the selector.
fn add_labels(selector: &mut Map<String, Value>, class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in class.as_object().into_iter().flatten() {
        let Some(labels) = child(selector, "matchLabels") else {
            return errors;
        };
        match labels.get(key) {
            Some(own) if own != value => {
                let required = value.as_str().unwrap_or_default();
                errors.push(FieldError::invalid(
                    format!("spec.seedSelector.matchLabels[{key}]"),
                    own.clone(),
                    format!("the ExposureClass requires {key}={required}"),
                ));
            }
            _ => drop(labels.insert(key.clone(), value.clone())),
        }
    }
    errors
}

/// Adds `item` to the list in the field `list` of `parent`, unless the list contains it. A missing list is
/// created.
fn push(parent: &mut Map<String, Value>, list: &str, item: &Value) {
    let list = parent.entry(list).or_insert(Value::Null);
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    if let Some(list) = list.as_array_mut()
        && !list.contains(item)
    {
        list.push(item.clone());
    }
}

#[cfg(test)]
mod tests {
    use berth_dialect_contract::Inventory;
    use serde_json::json;

    use super::*;
    use crate::names::SHOOTS;
    use crate::testing::{fleet, shoot, with};

    fn class() -> Value {
        json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "ExposureClass", "metadata": {"name": "internet"},
            "handler": "h", "scheduling": {
                "seedSelector": {
                    "matchLabels": {"exposed": "yes"}, "providerTypes": ["aws", "gcp"],
                    "matchExpressions": [{"key": "a", "operator": "Exists"}],
                },
                "tolerations": [{"key": "exposed"}],
            },
        })
    }

    fn merged(shoot: &Value) -> Result<Value, Vec<String>> {
        let fleet = fleet(&[class()]);
        let mut new = shoot.clone();
        let errors = fleet.guarding().complete(SHOOTS, &mut new);
        match errors.is_empty() {
            true => Ok(new["spec"].clone()),
            false => Err(errors.iter().map(ToString::to_string).collect()),
        }
    }

    #[test]
    fn a_new_shoot_gets_the_requirements_of_its_class() {
        let plain = shoot("web", "eu-west-1");
        assert_eq!(merged(&plain).unwrap(), plain["spec"], "it has no class");
        for odd in [
            json!(7),
            json!({"seedSelector": "x", "tolerations": 5, "exposureClassName": "internet"}),
        ] {
            let odd = with(plain.clone(), "/spec", odd);
            assert_eq!(
                merged(&odd).unwrap(),
                odd["spec"],
                "that is for the kind to refuse"
            );
        }
        let of_class = with(plain, "/spec/exposureClassName", json!("internet"));
        let spec = merged(&of_class).unwrap();
        assert_eq!(spec["seedSelector"], class()["scheduling"]["seedSelector"]);
        assert_eq!(spec["tolerations"], json!([{"key": "exposed"}]));
        let own = json!({"matchLabels": {"exposed": "yes", "b": "c"}, "providerTypes": ["gcp", "azure"]});
        let both = with(of_class, "/spec/seedSelector", own);
        let spec = merged(&with(both, "/spec/tolerations", json!([{"key": "b"}]))).unwrap();
        assert_eq!(
            spec["seedSelector"],
            json!({
                "matchLabels": {"exposed": "yes", "b": "c"}, "providerTypes": ["gcp", "azure", "aws"],
                "matchExpressions": [{"key": "a", "operator": "Exists"}],
            })
        );
        assert_eq!(spec["tolerations"], json!([{"key": "b"}, {"key": "exposed"}]));
    }

    #[test]
    fn a_class_may_have_several_tolerations_with_one_key() {
        let several = json!([{"key": "exposed", "value": "a"}, {"key": "exposed", "value": "b"}]);
        let fleet = fleet(&[with(class(), "/scheduling/tolerations", several.clone())]);
        let mut new = with(
            shoot("web", "eu-west-1"),
            "/spec/exposureClassName",
            json!("internet"),
        );
        assert!(fleet.guarding().complete(SHOOTS, &mut new).is_empty());
        assert_eq!(new["spec"]["tolerations"], several);
    }

    #[test]
    fn contradictions_and_missing_classes_are_refused() {
        let of = |class: &str| with(shoot("web", "eu-west-1"), "/spec/exposureClassName", json!(class));
        assert_eq!(
            merged(&of("intranet")).unwrap_err(),
            ["spec.exposureClassName: Invalid value: \"intranet\": there is no such ExposureClass"]
        );
        let broken = fleet(&[with(class(), "/scheduling/tolerations", json!("x"))]);
        let errors = broken.guarding().complete(SHOOTS, &mut of("internet"));
        let start = "spec.exposureClassName: Invalid value: \"internet\": the ExposureClass cannot be read: invalid type";
        assert!(errors[0].to_string().starts_with(start), "{errors:?}");
        let clash = with(
            of("internet"),
            "/spec/seedSelector",
            json!({"matchLabels": {"exposed": "no"}}),
        );
        let clash = with(
            clash,
            "/spec/tolerations",
            json!([{"key": "exposed", "value": "x"}]),
        );
        assert_eq!(
            merged(&clash).unwrap_err(),
            [
                "spec.seedSelector.matchLabels[exposed]: Invalid value: \"no\": the ExposureClass requires exposed=yes",
                "spec.tolerations: Forbidden: the ExposureClass has a toleration with the key exposed, too: remove that of the \
                 Shoot",
            ]
        );
    }
}
