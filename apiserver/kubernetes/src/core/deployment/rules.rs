//! Defaults of a Deployment, and rules beyond its schema.

use berth_apimachinery::selector::{LabelSelector, Selector, validate_labels};
use berth_apimachinery::{FieldError, Labels, name};
use serde::Deserialize;
use serde_json::{Value, json};

use super::number;
use crate::core::value;

/// Default share of the Pods that a rolling update replaces at a time.
const SHARE: &str = "25%";

/// Fills in the strategy and its numbers, in addition to the defaults of the schema. The cluster that runs
/// the Pods fills in the other missing fields.
pub(super) fn prepare(new: &mut Value) {
    let Some(spec) = new.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    let strategy = &mut spec["strategy"];
    if strategy.is_null() {
        *strategy = json!({});
    }
    let strategy_type = value::text(strategy, &["type"]);
    if strategy_type.is_empty() && strategy.is_object() {
        strategy["type"] = "RollingUpdate".into();
    }
    if value::text(strategy, &["type"]) != "RollingUpdate" {
        return;
    }
    let rolling = &mut strategy["rollingUpdate"];
    if rolling.is_null() {
        *rolling = json!({});
    }
    for field in ["maxUnavailable", "maxSurge"] {
        if rolling.is_object() && rolling[field].is_null() {
            rolling[field] = SHARE.into();
        }
    }
}

/// Errors of the deployment, beyond its schema.
pub(super) fn validate(old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    const NUMBERS: [&str; 4] = [
        "replicas",
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ];
    let Some(spec) = new.get("spec").filter(|spec| spec.is_object()) else {
        return vec![FieldError::required("spec", "")];
    };
    let mut errors = negative(spec, &NUMBERS);
    if spec.get("progressDeadlineSeconds").is_some()
        && number(spec, &["progressDeadlineSeconds"]) <= number(spec, &["minReadySeconds"])
    {
        errors.push(FieldError::invalid(
            "spec.progressDeadlineSeconds",
            spec["progressDeadlineSeconds"].clone(),
            "must be greater than minReadySeconds",
        ));
    }
    errors.extend(selector(spec, "deployment"));
    errors.extend(strategy(&spec["strategy"]));
    errors.extend(pods(&spec["template"]));
    errors.extend(selector_changed(old, spec));
    errors
}

/// Errors, beyond the schema, of an object whose Pods are selected by labels and always restarted. The fields
/// `numbers` must not be negative.
pub(crate) fn workload_errors(
    old: Option<&Value>,
    new: &Value,
    kind: &str,
    numbers: &[&str],
) -> Vec<FieldError> {
    let Some(spec) = new.get("spec").filter(|spec| spec.is_object()) else {
        return vec![FieldError::required("spec", "")];
    };
    let mut errors = negative(spec, numbers);
    errors.extend(selector(spec, kind));
    errors.extend(pods(&spec["template"]));
    errors.extend(selector_changed(old, spec));
    errors
}

/// Errors for negative values in `fields` of a spec.
pub(crate) fn negative(spec: &Value, fields: &[&str]) -> Vec<FieldError> {
    let numbers = fields.iter().map(|field| (field, number(spec, &[field])));
    numbers
        .filter(|(_, number)| *number < 0)
        .map(|(field, number)| {
            FieldError::invalid(
                format!("spec.{field}"),
                number,
                "must be greater than or equal to 0",
            )
        })
        .collect()
}

fn selector_changed(old: Option<&Value>, spec: &Value) -> Option<FieldError> {
    let differs = old.is_some_and(|old| old["spec"]["selector"] != spec["selector"]);
    differs.then(|| FieldError::invalid("spec.selector", spec["selector"].clone(), "field is immutable"))
}

/// Checks the labels of the template, and that the selector is not empty and matches these labels.
fn selector(spec: &Value, kind: &str) -> Vec<FieldError> {
    let labels = value::object(spec, &["template", "metadata", "labels"]);
    let labels = labels.into_iter().flatten();
    let labels: Labels = labels
        .filter_map(|(key, value)| Some((key, value.as_str()?)))
        .collect();
    let mut errors = validate_labels(labels.iter(), "spec.template.metadata.labels");
    // The schema rejects wrong types.
    let Ok(selector) = LabelSelector::deserialize(&spec["selector"]) else {
        return errors;
    };
    match Selector::compile(&selector, "spec.selector") {
        Err(problems) => errors.extend(problems),
        Ok(selector) if selector.is_everything() => {
            let detail = format!("empty selector is invalid for {kind}");
            errors.push(FieldError::invalid(
                "spec.selector",
                spec["selector"].clone(),
                detail,
            ));
        }
        Ok(selector) if !selector.matches(&labels) => errors.push(FieldError::invalid(
            "spec.template.metadata.labels",
            json!(labels),
            "`selector` does not match template `labels`",
        )),
        Ok(_) => {}
    }
    errors
}

fn strategy(strategy: &Value) -> Vec<FieldError> {
    let path = "spec.strategy.rollingUpdate";
    let rolling = strategy
        .get("rollingUpdate")
        .filter(|rolling| rolling.is_object());
    let Some(rolling) = rolling else { return Vec::new() };
    if value::text(strategy, &["type"]) == "Recreate" {
        let detail = "may not be specified when strategy `type` is 'Recreate'";
        return vec![FieldError::forbidden(path, detail)];
    }
    let mut errors = Vec::new();
    let mut all_zero = true;
    for field in ["maxUnavailable", "maxSurge"] {
        match count(&rolling[field]) {
            Ok(amount) => all_zero &= amount == 0,
            Err(detail) => {
                all_zero = false;
                errors.push(FieldError::invalid(
                    format!("{path}.{field}"),
                    rolling[field].clone(),
                    detail,
                ));
            }
        }
    }
    if all_zero {
        errors.push(FieldError::invalid(
            format!("{path}.maxUnavailable"),
            rolling["maxUnavailable"].clone(),
            "may not be 0 when `maxSurge` is 0",
        ));
    }
    errors
}

/// Parses a number, or the number of a percentage.
fn count(value: &Value) -> Result<i64, &'static str> {
    const MALFORMED: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
                         regex used for validation is '[0-9]+%')";
    match value {
        Value::String(text) => {
            let digits = text
                .strip_suffix('%')
                .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|digits| digits.parse().ok()).ok_or(MALFORMED)
        }
        _ => match value.as_i64().unwrap_or_default() {
            number if number < 0 => Err("must be greater than or equal to 0"),
            number => Ok(number),
        },
    }
}

/// Path of the template's Pod spec.
const PATH: &str = "spec.template.spec";

/// Errors in the Pods: containers need names and images, and a restart policy must be Always.
fn pods(template: &Value) -> Vec<FieldError> {
    let mut errors = container_errors(template);
    let policy = value::text(template, &["spec", "restartPolicy"]);
    if !matches!(policy, "" | "Always") {
        errors.push(FieldError::not_supported(
            format!("{PATH}.restartPolicy"),
            policy,
            &["Always"],
        ));
    }
    errors
}

/// All errors of the containers: there must be some, with names and images.
pub(crate) fn container_errors(template: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if value::list(template, &["spec", "containers"]).is_empty() {
        errors.push(FieldError::required(format!("{PATH}.containers"), ""));
    }
    for list in ["containers", "initContainers"] {
        for (index, container) in value::list(template, &["spec", list]).iter().enumerate() {
            let path = format!("{PATH}.{list}[{index}]");
            let own = value::text(container, &["name"]);
            if own.is_empty() {
                errors.push(FieldError::required(format!("{path}.name"), ""));
            } else if let Err(problem) = name::dns_label(own) {
                errors.push(FieldError::invalid(format!("{path}.name"), own, problem));
            }
            if value::text(container, &["image"]).trim().is_empty() {
                errors.push(FieldError::required(format!("{path}.image"), ""));
            }
        }
    }
    errors
}
