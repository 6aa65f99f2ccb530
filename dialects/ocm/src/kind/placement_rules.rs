//! Rules for a Placement's spec beyond its schema. All errors are returned at once, each with its field.
//!
//! The rules refuse specs that would make the placement Misconfigured (docs/systems/ocm.md, "Placement
//! spec"), and tolerations that would tolerate nothing. OCM's API has none of these rules, so such placements
//! exist in files and on hubs, where most of them are Misconfigured. Invalid expressions are accepted here as
//! in OCM, and the scheduler reports the compiler's message.

use std::collections::BTreeSet;

use berth_apimachinery::FieldError;
use berth_apimachinery::selector::{LabelSelector, Selector};
use serde_json::Value;

use super::coordinate::{BUILT_IN, Coordinate};
use super::group_size::GroupSize;
use super::placement_spec::{ClaimSelector, GroupStrategy, PlacementSpec, PrioritizerPolicy, Toleration};
use crate::names::{MAX_PRIORITIZERS, MAX_SELECTORS};

/// The lists of limited length, each with its largest length.
const LIMITED_LISTS: [(&str, usize); 3] = [
    ("spec.predicates", MAX_SELECTORS),
    ("spec.prioritizerPolicy.configurations", MAX_PRIORITIZERS),
    (
        "spec.decisionStrategy.groupStrategy.decisionGroups",
        MAX_SELECTORS,
    ),
];

/// All errors in `new`, a placement that is created or replaces `old`; `spec` is its parsed spec.
pub(super) fn errors(old: Option<&Value>, new: &Value, spec: &PlacementSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    add_count_errors(old, new, &mut errors);
    for (index, predicate) in spec.predicates.iter().enumerate() {
        let path = format!("spec.predicates[{index}].requiredClusterSelector");
        let selector = &predicate.required_cluster_selector;
        add_selector_errors(
            &selector.label_selector,
            &selector.claim_selector,
            &path,
            &mut errors,
        );
    }
    add_prioritizer_errors(&spec.prioritizer_policy, &mut errors);
    for (index, toleration) in spec.tolerations.iter().enumerate() {
        add_toleration_errors(toleration, &format!("spec.tolerations[{index}]"), &mut errors);
    }
    add_group_errors(&spec.decision_strategy.group_strategy, &mut errors);
    errors
}

/// Sentences about the fields of `spec` without effect: fields that no release of OCM reads, and tolerations
/// that Berth refuses in writes, but that files and hubs may have.
pub(crate) fn without_effect(spec: &PlacementSpec) -> Vec<String> {
    let mut list = Vec::new();
    let constraints = &spec.spread_policy.spread_constraints;
    if !constraints.is_empty() {
        let is_strict = constraints
            .iter()
            .any(|constraint| constraint.when_unsatisfiable.as_deref() == Some("DoNotSchedule"));
        let strict_note = if is_strict { ", not even DoNotSchedule" } else { "" };
        list.push(format!(
            "spec.spreadPolicy has no effect{strict_note}: OCM's scheduler does not read it"
        ));
    }
    if spec.sort_by.as_deref() == Some("Score") {
        list.push(
            "spec.sortBy: Score has no effect: decisions are listed by the names of clusters".to_owned(),
        );
    }
    if spec
        .score_rate_limit
        .as_deref()
        .is_some_and(|limit| limit != "1m")
    {
        list.push("spec.scoreRateLimit has no effect: decisions follow scores at once".to_owned());
    }
    for (index, toleration) in spec.tolerations.iter().enumerate() {
        let operator = toleration.operator.as_str();
        if !matches!(operator, "" | "Equal" | "Exists") {
            list.push(format!(
                "spec.tolerations[{index}] tolerates nothing: its operator is \"{operator}\", not Equal or Exists"
            ));
        }
    }
    list
}

/// Converts a claim selector to a label selector with the same operators and without `matchLabels`.
pub(crate) fn claims_as_labels(claims: &ClaimSelector) -> LabelSelector {
    LabelSelector {
        match_expressions: claims.match_expressions.clone(),
        ..LabelSelector::default()
    }
}

/// Adds the errors of lists in `new` with too many entries. A placement that is stored with such a list (in
/// `old`) may keep it, so that its other fields can still be changed.
fn add_count_errors(old: Option<&Value>, new: &Value, errors: &mut Vec<FieldError>) {
    for (path, max) in LIMITED_LISTS {
        let pointer = format!("/{}", path.replace('.', "/"));
        let list = new.pointer(&pointer);
        let count = list.and_then(Value::as_array).map_or(0, Vec::len);
        if count > max && old.and_then(|old| old.pointer(&pointer)) != list {
            errors.push(FieldError::too_many(path, count, max));
        }
    }
}

fn add_selector_errors(
    labels: &LabelSelector,
    claims: &ClaimSelector,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    errors.extend(
        Selector::compile(labels, &format!("{path}.labelSelector"))
            .err()
            .unwrap_or_default(),
    );
    let claims = claims_as_labels(claims);
    errors.extend(
        Selector::compile(&claims, &format!("{path}.claimSelector"))
            .err()
            .unwrap_or_default(),
    );
}

fn add_prioritizer_errors(policy: &PrioritizerPolicy, errors: &mut Vec<FieldError>) {
    const PATH: &str = "spec.prioritizerPolicy";
    if !matches!(policy.mode.as_str(), "" | "Additive" | "Exact") {
        let mode = policy.mode.as_str();
        errors.push(FieldError::not_supported(
            format!("{PATH}.mode"),
            mode,
            &["Additive", "Exact"],
        ));
    }
    let mut seen: BTreeSet<Coordinate> = BTreeSet::new();
    for (index, config) in policy.configurations.iter().enumerate() {
        let path = format!("{PATH}.configurations[{index}]");
        let coordinate = match Coordinate::of(config) {
            Ok(coordinate) => coordinate,
            Err(error) => {
                errors.push(error.into_field_error(&path));
                continue;
            }
        };
        if let Coordinate::BuiltIn(name) = &coordinate
            && config.weight != Some(0)
            && !BUILT_IN.contains(&name.as_str())
        {
            let path = format!("{path}.{}", Coordinate::built_in_field(config));
            errors.push(FieldError::not_supported(path, name.as_str(), BUILT_IN));
        }
        let text = coordinate.to_string();
        if !seen.insert(coordinate) {
            errors.push(FieldError::duplicate(path, text));
        }
    }
}

/// Adds the errors of one toleration (docs/systems/ocm.md, "Taints and tolerations").
fn add_toleration_errors(toleration: &Toleration, path: &str, errors: &mut Vec<FieldError>) {
    let operator = toleration.operator.as_str();
    if !matches!(operator, "" | "Equal" | "Exists") {
        errors.push(FieldError::not_supported(
            format!("{path}.operator"),
            operator,
            &["Equal", "Exists"],
        ));
    }
    if toleration.key.is_empty() && operator != "Exists" {
        let detail = "must be Exists when key is empty, which means every key and value";
        errors.push(FieldError::invalid(format!("{path}.operator"), operator, detail));
    }
    if operator == "Exists" && !toleration.value.is_empty() {
        let detail = "must be empty when operator is Exists";
        errors.push(FieldError::invalid(
            format!("{path}.value"),
            toleration.value.as_str(),
            detail,
        ));
    }
}

fn add_group_errors(strategy: &GroupStrategy, errors: &mut Vec<FieldError>) {
    const PATH: &str = "spec.decisionStrategy.groupStrategy";
    for (index, group) in strategy.decision_groups.iter().enumerate() {
        let selector = &group.group_cluster_selector;
        let path = format!("{PATH}.decisionGroups[{index}].groupClusterSelector");
        add_selector_errors(&selector.label_selector, &selector.claim_selector, &path, errors);
    }
    if let Some(size) = &strategy.clusters_per_decision_group
        && !is_checked_by_schema(size)
        && let Err(problem) = GroupSize::parse(size)
    {
        errors.push(FieldError::invalid(
            format!("{PATH}.clustersPerDecisionGroup"),
            size.clone(),
            problem,
        ));
    }
}

/// Whether the schema has checked `size` completely. It does not check the range of numbers, or of texts that
/// consist of digits.
fn is_checked_by_schema(size: &Value) -> bool {
    match size {
        Value::Number(_) => false,
        Value::String(text) => text.starts_with('0') || !text.bytes().all(|byte| byte.is_ascii_digit()),
        _ => true,
    }
}
