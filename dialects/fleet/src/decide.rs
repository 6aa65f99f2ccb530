//! One decision: the kept bindings, the picked clusters, and the released bindings (docs/systems/fleet.md,
//! "Policy snapshots" to "What is written").

mod classify;
mod readable;
mod select;
mod selection;
pub(crate) mod status;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use berth_dialect_contract::{Action, Ask, BindingChange, ChoiceRefusal, Current, Decision, Outcome};
use berth_scheduling::{Ix, PipelineOutcome};

use crate::code::{Code, Plugin};
use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::fleet::record::{Hold, PlacementRecord};
use crate::kind::{ClusterDecision, State};
use crate::plan::{Plan, SnapshotPlan, Step};
use crate::policy::{Mode, Policy};
use crate::satisfied::PolicyFulfilment;
use classify::Classes;
use selection::Selection;

/// Decides the placement in `record`.
pub(crate) fn decide(
    fleet: &Fleet,
    record: &PlacementRecord,
    ask: &Ask<'_>,
) -> Result<Decision, ChoiceRefusal> {
    if record.deleting() {
        return Ok(released(fleet, record, ask));
    }
    match record.policy.as_ref() {
        Ok(policy) => judge(fleet, record, policy, ask),
        Err(problem) => {
            let problem = format!("the policy cannot be understood: {problem}");
            Ok(invalid(fleet, record, ask, "PlacementInvalid", &problem))
        }
    }
}

/// The clusters to which the placement is bound, by name. Each cluster is listed once, including released
/// clusters that are not cleaned up yet.
fn current(fleet: &Fleet, ask: &Ask<'_>) -> Vec<Current> {
    let places = fleet.places_of(ask.demand).into_iter();
    places
        .map(|binding| Current {
            cluster_name: Arc::clone(&binding.cluster),
            state: binding.state.as_str(),
            amount: None,
        })
        .collect()
}

/// Changes for the clusters that are released when the scheduler removes its finalizer, without clusters that
/// are in `changes` already.
fn released_clusters(fleet: &Fleet, ask: &Ask<'_>, changes: &[BindingChange]) -> Vec<BindingChange> {
    let named: HashSet<&str> = changes.iter().map(|change| &*change.cluster_name).collect();
    let places = fleet.places_of(ask.demand).into_iter();
    places
        .filter(|binding| binding.hold() == Hold::Released && !named.contains(&*binding.cluster))
        .map(|binding| BindingChange {
            action: Action::Unbind,
            cluster_name: Arc::clone(&binding.cluster),
            from: binding.state.as_str(),
            to: "",
            amount_from: None,
            amount_to: None,
        })
        .collect()
}

/// A decision without a run of the pipeline.
fn unjudged(
    fleet: &Fleet,
    record: &PlacementRecord,
    ask: &Ask<'_>,
    outcome: Outcome,
    reason: &'static str,
) -> Decision {
    Decision {
        demand: ask.demand.clone(),
        demand_revision: record.object.revision(),
        outcome,
        reason,
        solved: PipelineOutcome::default(),
        amounts: Vec::new(),
        scorers: Vec::new(),
        unknown: Vec::new(),
        current: current(fleet, ask),
        changes: Vec::new(),
        fences: Vec::new(),
        // The passage of time alone moves no placed resource, and makes no cluster eligible
        // (docs/systems/fleet.md, "Eligibility" and "When it runs").
        due_at: None,
        now: ask.now,
        detail: Box::new(Detail::default()),
    }
}

fn changes(
    current: &[Current],
    action: Action,
    to: impl Fn(&'static str) -> &'static str,
) -> Vec<BindingChange> {
    let change = |entry: &Current| BindingChange {
        action,
        cluster_name: Arc::clone(&entry.cluster_name),
        from: entry.state,
        to: to(entry.state),
        amount_from: None,
        amount_to: None,
    };
    current.iter().map(change).collect()
}

/// The decision on a placement that is being deleted, which releases all its clusters.
fn released(fleet: &Fleet, record: &PlacementRecord, ask: &Ask<'_>) -> Decision {
    let decision = unjudged(fleet, record, ask, Outcome::Released, "Terminating");
    let detail = Detail {
        released: Some(fleet.bindings_of(ask.demand).cloned().collect()),
        ..Detail::default()
    };
    Decision {
        changes: changes(&decision.current, Action::Unbind, |_| ""),
        detail: Box::new(detail),
        ..decision
    }
}

/// The decision where a stored policy is malformed, or has values that cannot be compared: all bindings
/// stay.
fn invalid(
    fleet: &Fleet,
    record: &PlacementRecord,
    ask: &Ask<'_>,
    reason: &'static str,
    problem: &str,
) -> Decision {
    let decision = unjudged(fleet, record, ask, Outcome::Invalid, reason);
    let detail = Detail {
        problem: Some(problem.to_owned()),
        ..Detail::default()
    };
    let mut kept_changes = changes(&decision.current, Action::Keep, |state| state);
    kept_changes.retain(|change| change.from != State::Unscheduled.as_str());
    Decision {
        changes: kept_changes,
        detail: Box::new(detail),
        ..decision
    }
}

fn judge(
    fleet: &Fleet,
    record: &PlacementRecord,
    policy: &Policy,
    ask: &Ask<'_>,
) -> Result<Decision, ChoiceRefusal> {
    let columns = fleet.columns();
    let snapshot = SnapshotPlan::make(fleet, record, ask.demand);
    let classes = Classes::of(fleet, columns, ask.demand, snapshot.name());
    if let Some(problem) = readable::problem(policy, columns, &classes) {
        return Ok(invalid(fleet, record, ask, "PropertyInvalid", &problem));
    }
    let selection = select::select(fleet, columns, policy, &classes, ask)?;
    let cluster_decisions = cluster_decisions(policy, &selection, ask);
    let (steps, mut changes) = steps(&classes, &selection, &cluster_decisions, columns);
    changes.extend(released_clusters(fleet, ask, &changes));
    let satisfied = PolicyFulfilment::of(policy, &selection, columns);
    let listed = status::listed(
        fleet,
        ask.demand,
        policy,
        &selection,
        &classes,
        &cluster_decisions,
    );
    let plan = Plan {
        status: status::changes(&snapshot, &listed, &satisfied, record).then_some(listed),
        placement_status: status::placement_changes(record, &satisfied),
        snapshot,
        steps,
    };
    let bound = !selection.solved.picked.is_empty();
    let (outcome, reason) = outcome(policy, &satisfied, &changes, bound, plan.writes());
    let filled = matches!(policy.mode, Mode::Number(wanted) if selection.kept.len() >= wanted);
    let unfit = selection.unfit();
    let Selection {
        solved,
        unknown,
        skews,
        emptiest,
        scorers,
        ..
    } = selection;
    Ok(Decision {
        solved,
        amounts: Vec::new(),
        scorers: scorers.into_iter().map(|scorer| scorer.name().into()).collect(),
        unknown: unknown
            .into_iter()
            .map(|name| (name, Plugin::PickFixed.name(), Code::NotFound.name()))
            .collect(),
        changes,
        detail: Box::new(Detail {
            satisfied: Some(satisfied),
            plan: Some(plan),
            filled,
            unfit,
            skews,
            emptiest,
            ..Detail::default()
        }),
        ..unjudged(fleet, record, ask, outcome, reason)
    })
}

/// The decision to record for every pick, in the order of the picks.
fn cluster_decisions(policy: &Policy, selection: &Selection, ask: &Ask<'_>) -> Vec<ClusterDecision> {
    let by_request = ask.chosen.is_some_and(|chosen| !chosen.is_empty());
    let reason = if by_request {
        "picked by a binding request"
    } else {
        "picked by scheduling policy"
    };
    let picks = selection.picks.iter();
    picks
        .map(|pick| ClusterDecision {
            cluster_name: selection.name(pick.candidate),
            selected: true,
            cluster_score: (!matches!(policy.mode, Mode::Fixed(_))).then(|| status::score(pick)),
            reason: reason.to_owned(),
        })
        .collect()
}

/// The steps for each binding, and the resulting changes. Bindings that are being deleted come first. Then
/// come the picks in their order, so that a decision after some of the steps continues this one. Unwanted
/// bindings are released last.
fn steps(
    classes: &Classes<'_>,
    selection: &Selection,
    cluster_decisions: &[ClusterDecision],
    columns: &crate::columns::Columns,
) -> (Vec<Step>, Vec<BindingChange>) {
    let mut steps: Vec<Step> = classes
        .deleting
        .iter()
        .filter_map(|binding| Step::release(binding))
        .collect();
    let mut changes = Vec::new();
    let mut change = |action, cluster_name: &Arc<str>, from, to| {
        changes.push(BindingChange {
            action,
            cluster_name: Arc::clone(cluster_name),
            from,
            to,
            amount_from: None,
            amount_to: None,
        });
    };
    for &candidate in &selection.kept {
        if let Some(binding) = Classes::find(&classes.present, candidate) {
            change(
                Action::Keep,
                &binding.cluster,
                binding.state.as_str(),
                binding.state.as_str(),
            );
        }
    }
    for (pick, decision) in selection.picks.iter().zip(cluster_decisions) {
        let decision = decision.clone();
        if let Some(binding) = Classes::find(&classes.obsolete, pick.candidate) {
            change(
                Action::Keep,
                &binding.cluster,
                binding.state.as_str(),
                binding.state.as_str(),
            );
            steps.push(Step::Repoint(Arc::clone(binding), decision));
        } else if let Some(binding) = Classes::find(&classes.unscheduled, pick.candidate) {
            let state = binding.previous();
            change(
                Action::Restore,
                &binding.cluster,
                State::Unscheduled.as_str(),
                state.as_str(),
            );
            steps.push(Step::Restore(Arc::clone(binding), state, decision));
        } else {
            let row = columns.row(pick.candidate);
            change(Action::Bind, &row.name, "", State::Scheduled.as_str());
            steps.push(Step::Create(Arc::clone(&row.name), decision));
        }
    }
    let picked: HashSet<Ix> = selection.picks.iter().map(|pick| pick.candidate).collect();
    let dropped = classes
        .obsolete
        .iter()
        .filter(|(candidate, _)| !picked.contains(candidate));
    let released = selection
        .released
        .iter()
        .filter_map(|&candidate| Classes::find(&classes.present, candidate));
    let to_unschedule = classes
        .dangling
        .iter()
        .copied()
        .chain(dropped.map(|(_, binding)| *binding))
        .chain(released);
    let mut reported = HashSet::new();
    for binding in to_unschedule {
        // Two bindings to a cluster that no longer exists are one change.
        if reported.insert(&binding.cluster) {
            let (from, to) = (binding.state.as_str(), State::Unscheduled.as_str());
            change(Action::Unbind, &binding.cluster, from, to);
        }
        steps.push(Step::Unschedule(Arc::clone(binding)));
    }
    // Surplus bindings are to clusters that stay bound, whose change is reported above.
    steps.extend(
        classes
            .surplus
            .iter()
            .map(|binding| Step::Unschedule(Arc::clone(binding))),
    );
    (steps, changes)
}

/// The outcome of the decision, and the token of its reason.
fn outcome(
    policy: &Policy,
    satisfied: &PolicyFulfilment,
    changes: &[BindingChange],
    bound: bool,
    writes: bool,
) -> (Outcome, &'static str) {
    let new = changes
        .iter()
        .any(|change| matches!(change.action, Action::Bind | Action::Restore));
    let (outcome, reason) = match (satisfied.fulfilled, bound) {
        // The policy requests every cluster that fits, so that it is fulfilled, although no cluster is
        // picked.
        (true, false) if policy.mode == Mode::All => (Outcome::Unschedulable, "NoClusterFits"),
        (true, _) => (Outcome::Scheduled, if new { "Picked" } else { "Kept" }),
        (false, true) => (Outcome::Partial, satisfied.reason()),
        (false, false) => (Outcome::Unschedulable, satisfied.reason()),
    };
    if bound && !writes {
        (Outcome::Unchanged, reason)
    } else {
        (outcome, reason)
    }
}
