//! Warnings for the reader of a decision: fields without effect, sets that do not exist, missing and expired
//! scores, expressions that fail.

use std::collections::BTreeMap;

use berth_dialect_contract::{Decision, listing};
use berth_scheduling::Ix;

use crate::detail::Detail;
use crate::evaluate::{Evaluator, Failure};
use crate::filters::FailingExpression;
use crate::fleet::Fleet;
use crate::kind::without_effect;
use crate::policy::{Policy, Prioritizer, ScoreSource, expression_path};
use crate::scores::Absence;

/// All warnings about `decision`.
pub(crate) fn all(fleet: &Fleet, decision: &Decision) -> Vec<String> {
    let Some(record) = fleet.placements.get(&decision.demand) else {
        return Vec::new();
    };
    let mut list = without_effect(&record.policy.spec);
    let Some(detail) = decision.detail::<Detail>() else {
        return list;
    };
    let Some(policy) = detail.policy.as_deref() else {
        return list;
    };
    list.extend(missing_sets(fleet, decision, policy));
    list.extend(
        detail
            .failing
            .iter()
            .filter_map(|failing| failure(fleet, decision, policy, failing)),
    );
    for prioritizer in policy.prioritizers.iter().flatten() {
        list.extend(absences(fleet, decision, prioritizer));
    }
    list
}

/// Reason why the AddOn score with index `scorer` counts as 0 for `candidate`; `None` if the measured value
/// counts, or the score is built in.
pub(crate) fn score_message(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    scorer: u16,
) -> Option<String> {
    let policy = decision.detail::<Detail>()?.policy.as_deref()?;
    let prioritizer = policy.prioritizers.as_ref().ok()?.get(usize::from(scorer))?;
    let ScoreSource::AddOn { resource, score } = &prioritizer.scoring else {
        return None;
    };
    let column = fleet.columns().scores(resource, score);
    let absence = Absence::of(
        fleet,
        column.map(|column| &**column),
        resource,
        candidate,
        decision.now,
    )?;
    Some(absence_text(absence, resource, score))
}

fn absence_text(absence: Absence, resource: &str, score: &str) -> String {
    match absence {
        Absence::Expired(until) => format!("expired at {}", berth_apimachinery::time::rfc3339(until)),
        Absence::NoObject => format!("there is no AddOnPlacementScore {resource}"),
        Absence::NoScore => format!("AddOnPlacementScore {resource} has no score {score}"),
    }
}

/// Warnings about bindings of missing sets, and about entries of `spec.clusterSets` that are not bound. There
/// are none if no existing set is bound.
fn missing_sets(fleet: &Fleet, decision: &Decision, policy: &Policy) -> Vec<String> {
    let namespace = &decision.demand.namespace;
    let bound = fleet.bound_sets(namespace);
    if bound.is_empty() {
        // The condition PlacementSatisfied reports that no set is bound.
        return Vec::new();
    }
    let missing = fleet.missing_sets(namespace);
    let mut list: Vec<String> = missing
        .iter()
        .map(|set| {
            format!("ManagedClusterSetBinding {set} has no effect: there is no ManagedClusterSet {set}")
        })
        .collect();
    let unbound = policy
        .sets
        .iter()
        .filter(|set| !bound.contains(set) && !missing.contains(set));
    list.extend(
        unbound
            .map(|set| format!("spec.clusterSets names {set}, which is not bound to namespace {namespace}")),
    );
    list
}

/// The warning about an expression that fails on some clusters, with the reason for the first cluster.
pub(crate) fn failure(
    fleet: &Fleet,
    decision: &Decision,
    policy: &Policy,
    failing: &FailingExpression,
) -> Option<String> {
    let predicate = policy.predicates.as_ref().ok()?.get(failing.predicate)?;
    let (source, expression) = predicate.expressions.get(failing.index)?;
    let evaluator = Evaluator::new(fleet, decision.now);
    let first = failing.failures.first;
    let reason = match failing.failures.reason {
        Failure::Value => evaluator.failure(expression, first)?,
        reason @ (Failure::Predicate | Failure::Decision(_)) => reason.to_string(),
    };
    let path = expression_path(failing.predicate, failing.index);
    let clusters = match failing.failures.count {
        1 => "1 cluster".to_owned(),
        count => format!("{count} clusters"),
    };
    let name = &fleet.columns().row(first).name;
    Some(format!(
        "{path}: {source} fails on {clusters} to choose from and does not match there; on {name}: {reason}"
    ))
}

/// The warning about feasible clusters whose score counts as 0 because it is missing or has expired. The
/// clusters are grouped by the reason.
fn absences(fleet: &Fleet, decision: &Decision, prioritizer: &Prioritizer) -> Option<String> {
    let ScoreSource::AddOn { resource, score } = &prioritizer.scoring else {
        return None;
    };
    let columns = fleet.columns();
    let column = columns.scores(resource, score).map(|column| &**column);
    let feasible = decision.solved.feasible.iter();
    let absences: Vec<(Absence, &str)> = feasible
        .filter_map(|&candidate| {
            let absence = Absence::of(fleet, column, resource, candidate, decision.now)?;
            Some((absence, &*columns.row(candidate).name))
        })
        .collect();
    // If scores expired at different times, the first time is reported: the minimum, since Expired is the
    // first variant.
    let first = absences.iter().map(|(absence, _)| *absence).min();
    let mut by_reason: BTreeMap<Absence, Vec<&str>> = BTreeMap::new();
    for (absence, name) in absences {
        let reason = match absence {
            Absence::Expired(_) => first.unwrap_or(absence),
            Absence::NoObject | Absence::NoScore => absence,
        };
        by_reason.entry(reason).or_default().push(name);
    }
    if by_reason.is_empty() {
        return None;
    }
    let count: usize = by_reason.values().map(Vec::len).sum();
    let parts: Vec<String> = by_reason
        .into_iter()
        .map(|(absence, clusters)| {
            format!(
                "{} ({})",
                absence_text(absence, resource, score),
                listing::clusters(clusters.into_iter())
            )
        })
        .collect();
    let weight = prioritizer.weight;
    let effect = match weight < 0 {
        true => format!("; with weight {weight}, 0 is better than any higher score"),
        false => String::new(),
    };
    Some(format!(
        "{} counts as 0 for {count} of {} feasible clusters: {}{effect}",
        prioritizer.name,
        decision.solved.feasible.len(),
        parts.join("; ")
    ))
}
