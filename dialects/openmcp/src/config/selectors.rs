//! Label selectors in the configuration.

use meta::FieldError;
use meta::selector::{LabelSelector, LabelSelectorRequirement, Selector};
use serde_json::Value;

use super::fields::Fields;

/// The selector `value` at `path`, or `None` with everything that is wrong with it.
pub(super) fn read(value: &Value, path: &str, errors: &mut Vec<FieldError>) -> Option<Selector> {
    let before = errors.len();
    let mut fields = Fields::of(value, path, errors)?;
    let match_labels = fields.texts("matchLabels", errors);
    let at = fields.at("matchExpressions");
    let mut match_expressions = Vec::new();
    match fields.get("matchExpressions") {
        None => {}
        Some(Value::Array(list)) => {
            for (index, value) in list.iter().enumerate() {
                match_expressions.extend(requirement(value, &format!("{at}[{index}]"), errors));
            }
        }
        Some(other) => errors.push(FieldError::type_invalid(at, other.clone(), "must be a list")),
    }
    fields.end(errors);
    if errors.len() > before {
        return None;
    }
    let selector = LabelSelector {
        match_labels: match_labels?,
        match_expressions,
    };
    Selector::compile(&selector, path)
        .map_err(|problems| errors.extend(problems))
        .ok()
}

fn requirement(value: &Value, path: &str, errors: &mut Vec<FieldError>) -> Option<LabelSelectorRequirement> {
    let mut fields = Fields::of(value, path, errors)?;
    let mut text = |name| fields.text(name, errors).unwrap_or_default().to_owned();
    let (key, operator) = (text("key"), text("operator"));
    let at = fields.at("values");
    let mut values = Vec::new();
    match fields.get("values") {
        None => {}
        Some(Value::Array(list)) => {
            for (index, value) in list.iter().enumerate() {
                match value.as_str() {
                    Some(text) => values.push(text.to_owned()),
                    None => errors.push(FieldError::type_invalid(
                        format!("{at}[{index}]"),
                        value.clone(),
                        "must be a string",
                    )),
                }
            }
        }
        Some(other) => errors.push(FieldError::type_invalid(at, other.clone(), "must be a list")),
    }
    fields.end(errors);
    Some(LabelSelectorRequirement {
        key,
        operator,
        values,
    })
}

/// The selector that asks for all that `a` and `b` ask for.
pub(super) fn both(a: &Selector, b: &Selector) -> Selector {
    let mut requirements = a.requirements.clone();
    requirements.extend(
        b.requirements
            .iter()
            .filter(|one| !a.requirements.contains(one))
            .cloned(),
    );
    requirements.sort_by(|one, two| one.key.cmp(&two.key));
    Selector { requirements }
}
