//! Defaults of a Deployment, and validation in addition to the schema.

use berth_apimachinery::selector::{LabelSelector, Selector, validate_labels};
use berth_apimachinery::{FieldError, Labels, name};
use serde::Deserialize;
use serde_json::{Value, json};

use super::number;
use crate::core::value;

/// Default of `maxUnavailable` and `maxSurge`.
const DEFAULT_SHARE: &str = "25%";

/// Fills in the defaults of `strategy`, in addition to the defaults of the schema. The cluster that runs the
/// Pods fills in other missing fields.
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
            rolling[field] = DEFAULT_SHARE.into();
        }
    }
}

/// Errors in a Deployment that the schema does not find.
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
    let mut errors = negative_errors(spec, &NUMBERS);
    if spec.get("progressDeadlineSeconds").is_some()
        && number(spec, &["progressDeadlineSeconds"]) <= number(spec, &["minReadySeconds"])
    {
        errors.push(FieldError::invalid(
            "spec.progressDeadlineSeconds",
            spec["progressDeadlineSeconds"].clone(),
            "must be greater than minReadySeconds",
        ));
    }
    errors.extend(selector_errors(spec, "deployment"));
    errors.extend(strategy_errors(&spec["strategy"]));
    errors.extend(pod_errors(&spec["template"]));
    errors.extend(selector_change_error(old, spec));
    errors
}

/// Errors in a workload, such as a StatefulSet, that the schema does not find. The Pods are selected by
/// labels and always restarted. `kind` names the workload in messages; the fields `numbers` of `spec` must
/// not be negative.
pub(crate) fn workload_errors(
    old: Option<&Value>,
    new: &Value,
    kind: &str,
    numbers: &[&str],
) -> Vec<FieldError> {
    let Some(spec) = new.get("spec").filter(|spec| spec.is_object()) else {
        return vec![FieldError::required("spec", "")];
    };
    let mut errors = negative_errors(spec, numbers);
    errors.extend(selector_errors(spec, kind));
    errors.extend(pod_errors(&spec["template"]));
    errors.extend(selector_change_error(old, spec));
    errors
}

/// Errors for negative values of `fields` in `spec`.
pub(crate) fn negative_errors(spec: &Value, fields: &[&str]) -> Vec<FieldError> {
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

fn selector_change_error(old: Option<&Value>, spec: &Value) -> Option<FieldError> {
    let differs = old.is_some_and(|old| !are_equal_selectors(&old["spec"]["selector"], &spec["selector"]));
    differs.then(|| FieldError::invalid("spec.selector", spec["selector"].clone(), "field is immutable"))
}

/// Whether two selectors have the same requirements: a missing map or list equals an empty one.
fn are_equal_selectors(before: &Value, after: &Value) -> bool {
    match (
        LabelSelector::deserialize(before),
        LabelSelector::deserialize(after),
    ) {
        (Ok(before), Ok(after)) => before == after,
        // The schema rejects wrong types.
        _ => before == after,
    }
}

/// Errors in the labels of the template, and in a selector that is empty or does not match these labels.
fn selector_errors(spec: &Value, kind: &str) -> Vec<FieldError> {
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

fn strategy_errors(strategy: &Value) -> Vec<FieldError> {
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
        match parse_amount(&rolling[field]) {
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
    let unavailable = &rolling["maxUnavailable"];
    if unavailable.is_string() && parse_amount(unavailable).is_ok_and(|percent| percent > 100) {
        errors.push(FieldError::invalid(
            format!("{path}.maxUnavailable"),
            unavailable.clone(),
            "must not be greater than 100%",
        ));
    }
    errors
}

/// Parses a number, or the number in a percentage.
fn parse_amount(value: &Value) -> Result<i64, &'static str> {
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

/// Path of the template's Pod spec in the workload.
const POD_SPEC: &str = "spec.template.spec";

/// Errors in the Pod spec of the template: see [`container_errors`]; and the restart policy must be Always.
fn pod_errors(template: &Value) -> Vec<FieldError> {
    let mut errors = container_errors(template);
    let policy = value::text(template, &["spec", "restartPolicy"]);
    if !matches!(policy, "" | "Always") {
        errors.push(FieldError::not_supported(
            format!("{POD_SPEC}.restartPolicy"),
            policy,
            &["Always"],
        ));
    }
    errors
}

/// Errors in the containers of the template: there must be a container, and every container needs a name and
/// an image.
pub(crate) fn container_errors(template: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if value::list(template, &["spec", "containers"]).is_empty() {
        errors.push(FieldError::required(format!("{POD_SPEC}.containers"), ""));
    }
    for list in ["containers", "initContainers"] {
        for (index, container) in value::list(template, &["spec", list]).iter().enumerate() {
            let path = format!("{POD_SPEC}.{list}[{index}]");
            let container_name = value::text(container, &["name"]);
            if container_name.is_empty() {
                errors.push(FieldError::required(format!("{path}.name"), ""));
            } else if let Err(problem) = name::dns_label(container_name) {
                errors.push(FieldError::invalid(
                    format!("{path}.name"),
                    container_name,
                    problem,
                ));
            }
            if value::text(container, &["image"]).trim().is_empty() {
                errors.push(FieldError::required(format!("{path}.image"), ""));
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_changes_only_if_its_requirements_change() {
        let old = json!({"spec": {"selector": {"matchLabels": {"app": "web"}}}});
        for (selector, is_same) in [
            (
                json!({"matchLabels": {"app": "web"}, "matchExpressions": []}),
                true,
            ),
            (json!({"matchLabels": {"app": "other"}}), false),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
                false,
            ),
        ] {
            let error = selector_change_error(Some(&old), &json!({"selector": selector}));
            assert_eq!(error.is_none(), is_same, "{selector}");
        }
    }

    #[test]
    fn at_most_all_pods_may_be_unavailable_and_more_than_all_may_be_added() {
        for (rolling, is_valid) in [
            (json!({"maxUnavailable": "100%", "maxSurge": "25%"}), true),
            (json!({"maxUnavailable": "101%", "maxSurge": "25%"}), false),
            (json!({"maxUnavailable": 101, "maxSurge": "101%"}), true),
        ] {
            let strategy = json!({"type": "RollingUpdate", "rollingUpdate": rolling});
            let errors = strategy_errors(&strategy);
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts.is_empty(), is_valid, "{rolling}: {texts:?}");
            for text in &texts {
                assert!(text.ends_with("must not be greater than 100%"), "{text}");
            }
        }
    }
}
