//! The decision on one placement: kept bindings, picked clusters and released bindings, and the plan of the
//! writes (docs/systems/fleet.md, "Policy snapshots" to "What is written").

mod classify;
mod readable;
mod select;
mod selection;
pub(crate) mod status;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use berth_dialect_contract::{Action, Ask, BindingChange, ChoiceRefusal, CurrentPlace, Decision, Outcome};
use berth_scheduling::{Ix, PipelineOutcome};

use crate::code::{Code, Plugin};
use crate::columns::Columns;
use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::fleet::record::{BindingPhase, BindingRecord, PlacementRecord};
use crate::fulfilment::PolicyFulfilment;
use crate::kind::{ClusterDecision, State};
use crate::plan::{BindingStep, Plan, SnapshotPlan};
use crate::policy::{Mode, Policy};
use classify::Classes;
use selection::Selection;

/// Decides the placement in `record`.
pub(crate) fn decide(
    fleet: &Fleet,
    record: &PlacementRecord,
    ask: &Ask<'_>,
) -> Result<Decision, ChoiceRefusal> {
    if record.deleting() {
        return Ok(release_decision(fleet, record, ask));
    }
    match record.policy.as_ref() {
        Ok(policy) => decide_by_policy(fleet, record, policy, ask),
        Err(problem) => {
            let problem = format!("the policy cannot be understood: {problem}");
            Ok(invalid_decision(fleet, record, ask, "PlacementInvalid", &problem))
        }
    }
}

/// The clusters to which the placement is bound, by name, each once. Released clusters that are not cleaned
/// up yet are included.
fn current_places(fleet: &Fleet, ask: &Ask<'_>) -> Vec<CurrentPlace> {
    let places = fleet.bindings_by_cluster(ask.demand).into_iter();
    places
        .map(|binding| CurrentPlace {
            cluster_name: Arc::clone(&binding.cluster),
            state: binding.state.as_str(),
            amount: None,
        })
        .collect()
}

/// The changes for clusters whose bindings go when the scheduler removes its finalizer, without clusters that
/// are in `changes` already.
fn released_clusters(fleet: &Fleet, ask: &Ask<'_>, changes: &[BindingChange]) -> Vec<BindingChange> {
    let named: HashSet<&str> = changes.iter().map(|change| &*change.cluster_name).collect();
    let places = fleet.bindings_by_cluster(ask.demand).into_iter();
    places
        .filter(|binding| binding.phase() == BindingPhase::Released && !named.contains(&*binding.cluster))
        .map(|binding| change(Action::Unbind, &binding.cluster, binding.state.as_str(), ""))
        .collect()
}

/// A decision with `outcome` and `reason`, without a run of the pipeline and without changes.
fn base_decision(
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
        current: current_places(fleet, ask),
        changes: Vec::new(),
        fences: Vec::new(),
        // The passage of time alone moves no placed resource, and makes no cluster eligible
        // (docs/systems/fleet.md, "Eligibility" and "When it runs").
        due_at: None,
        now: ask.now,
        detail: Box::new(Detail::default()),
    }
}

/// One change by `action` for each of the `current` places; `to` returns the new state for the present state.
fn changes_of_all(
    current: &[CurrentPlace],
    action: Action,
    to: impl Fn(&'static str) -> &'static str,
) -> Vec<BindingChange> {
    let places = current.iter();
    places
        .map(|place| change(action, &place.cluster_name, place.state, to(place.state)))
        .collect()
}

/// The decision on a placement that is being deleted, which releases all its clusters.
fn release_decision(fleet: &Fleet, record: &PlacementRecord, ask: &Ask<'_>) -> Decision {
    let decision = base_decision(fleet, record, ask, Outcome::Released, "Terminating");
    let detail = Detail {
        released: Some(fleet.bindings_of(ask.demand).cloned().collect()),
        ..Detail::default()
    };
    Decision {
        changes: changes_of_all(&decision.current, Action::Unbind, |_| ""),
        detail: Box::new(detail),
        ..decision
    }
}

/// The decision on a placement whose policy is malformed or compares values that are not quantities: all
/// bindings stay. `problem` is a sentence for the report.
fn invalid_decision(
    fleet: &Fleet,
    record: &PlacementRecord,
    ask: &Ask<'_>,
    reason: &'static str,
    problem: &str,
) -> Decision {
    let decision = base_decision(fleet, record, ask, Outcome::Invalid, reason);
    let detail = Detail {
        problem: Some(problem.to_owned()),
        ..Detail::default()
    };
    let mut kept_changes = changes_of_all(&decision.current, Action::Keep, |state| state);
    kept_changes.retain(|change| change.from != State::Unscheduled.as_str());
    Decision {
        changes: kept_changes,
        detail: Box::new(detail),
        ..decision
    }
}

/// Decides a placement whose policy could be parsed.
fn decide_by_policy(
    fleet: &Fleet,
    record: &PlacementRecord,
    policy: &Policy,
    ask: &Ask<'_>,
) -> Result<Decision, ChoiceRefusal> {
    let columns = fleet.columns();
    let snapshot = SnapshotPlan::new(fleet, record, ask.demand);
    let classes = Classes::of(fleet, columns, ask.demand, snapshot.name());
    if let Some(problem) = readable::problem(policy, columns, &classes) {
        return Ok(invalid_decision(fleet, record, ask, "PropertyInvalid", &problem));
    }
    let selection = select::select(fleet, columns, policy, &classes, ask)?;
    let cluster_decisions = cluster_decisions(policy, &selection, ask);
    let (steps, mut changes) = steps(&classes, &selection, &cluster_decisions, columns);
    changes.extend(released_clusters(fleet, ask, &changes));
    let fulfilment = PolicyFulfilment::of(policy, &selection, columns);
    let listed = status::listed(
        fleet,
        ask.demand,
        policy,
        &selection,
        &classes,
        &cluster_decisions,
    );
    let plan = Plan {
        status: status::snapshot_changes(&snapshot, &listed, &fulfilment, record).then_some(listed),
        condition_changes: status::placement_changes(record, &fulfilment),
        snapshot,
        steps,
    };
    let bound = !selection.solved.picked.is_empty();
    let (outcome, reason) = outcome(policy, &fulfilment, &changes, bound, plan.has_writes());
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
        unknown: unknown_clusters(unknown),
        changes,
        detail: Box::new(Detail {
            fulfilment: Some(fulfilment),
            plan: Some(plan),
            filled,
            unfit,
            skews,
            emptiest,
            ..Detail::default()
        }),
        ..base_decision(fleet, record, ask, outcome, reason)
    })
}

/// The clusters of the policy that do not exist, each with plugin and reason.
fn unknown_clusters(names: Vec<Arc<str>>) -> Vec<(Arc<str>, &'static str, &'static str)> {
    let names = names.into_iter();
    names
        .map(|name| (name, Plugin::PickFixed.name(), Code::NotFound.name()))
        .collect()
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

/// The steps for the bindings, and the resulting changes. Bindings that are being deleted come first. Then
/// come the picks in their order, so that a decision after some of the steps continues this decision.
/// Unwanted bindings are released last.
fn steps(
    classes: &Classes<'_>,
    selection: &Selection,
    cluster_decisions: &[ClusterDecision],
    columns: &Columns,
) -> (Vec<BindingStep>, Vec<BindingChange>) {
    let mut steps: Vec<BindingStep> = classes
        .deleting
        .iter()
        .filter_map(|binding| BindingStep::release(binding))
        .collect();
    let kept = selection
        .kept
        .iter()
        .filter_map(|&candidate| Classes::find(&classes.present, candidate));
    let mut changes: Vec<BindingChange> = kept.map(|binding| keep(binding)).collect();
    for (pick, decision) in selection.picks.iter().zip(cluster_decisions) {
        let (step, change) = pick_step(classes, pick.candidate, decision.clone(), columns);
        steps.push(step);
        changes.push(change);
    }
    let mut reported = HashSet::new();
    for binding in unwanted(classes, selection) {
        // Two bindings to a cluster that no longer exists are one change.
        if reported.insert(&binding.cluster) {
            let (from, to) = (binding.state.as_str(), State::Unscheduled.as_str());
            changes.push(change(Action::Unbind, &binding.cluster, from, to));
        }
        steps.push(BindingStep::Unschedule(Arc::clone(binding)));
    }
    // Surplus bindings are to clusters with another binding, whose change is reported above.
    let surplus = classes.surplus.iter();
    steps.extend(surplus.map(|binding| BindingStep::Unschedule(Arc::clone(binding))));
    (steps, changes)
}

/// The step for the picked `candidate`, and the resulting change.
fn pick_step(
    classes: &Classes<'_>,
    candidate: Ix,
    decision: ClusterDecision,
    columns: &Columns,
) -> (BindingStep, BindingChange) {
    if let Some(binding) = Classes::find(&classes.obsolete, candidate) {
        (BindingStep::Repoint(Arc::clone(binding), decision), keep(binding))
    } else if let Some(binding) = Classes::find(&classes.unscheduled, candidate) {
        let state = binding.previous_state();
        let (from, to) = (State::Unscheduled.as_str(), state.as_str());
        let restored = change(Action::Restore, &binding.cluster, from, to);
        (
            BindingStep::Restore(Arc::clone(binding), state, decision),
            restored,
        )
    } else {
        let name = &columns.row(candidate).name;
        let bound = change(Action::Bind, name, "", State::Scheduled.as_str());
        (BindingStep::Create(Arc::clone(name), decision), bound)
    }
}

/// The bindings to release: bindings to clusters that no longer exist, bindings by an older policy to
/// clusters that are not picked, and present bindings that are not kept.
fn unwanted<'a>(classes: &Classes<'a>, selection: &Selection) -> Vec<&'a Arc<BindingRecord>> {
    let picked: HashSet<Ix> = selection.picks.iter().map(|pick| pick.candidate).collect();
    let dropped = classes
        .obsolete
        .iter()
        .filter(|(candidate, _)| !picked.contains(candidate));
    let released = selection
        .released
        .iter()
        .filter_map(|&candidate| Classes::find(&classes.present, candidate));
    let dangling = classes.dangling.iter().copied();
    dangling
        .chain(dropped.map(|(_, binding)| *binding))
        .chain(released)
        .collect()
}

/// The change of a binding that stays.
fn keep(binding: &BindingRecord) -> BindingChange {
    let state = binding.state.as_str();
    change(Action::Keep, &binding.cluster, state, state)
}

/// A change of the binding to a cluster.
fn change(action: Action, cluster_name: &Arc<str>, from: &'static str, to: &'static str) -> BindingChange {
    BindingChange {
        action,
        cluster_name: Arc::clone(cluster_name),
        from,
        to,
        amount_from: None,
        amount_to: None,
    }
}

/// The outcome of the decision, and the token of the reason. `bound` is whether any cluster is picked or
/// kept, and `writes` whether anything is written.
fn outcome(
    policy: &Policy,
    fulfilment: &PolicyFulfilment,
    changes: &[BindingChange],
    bound: bool,
    writes: bool,
) -> (Outcome, &'static str) {
    let new = changes
        .iter()
        .any(|change| matches!(change.action, Action::Bind | Action::Restore));
    let (outcome, reason) = match (fulfilment.fulfilled, bound) {
        // The policy requests every cluster that fits, so that it is fulfilled, although no cluster is
        // picked.
        (true, false) if policy.mode == Mode::All => (Outcome::Unschedulable, "NoClusterFits"),
        (true, _) => (Outcome::Scheduled, if new { "Picked" } else { "Kept" }),
        (false, true) => (Outcome::Partial, fulfilment.reason()),
        (false, false) => (Outcome::Unschedulable, fulfilment.reason()),
    };
    if bound && !writes {
        (Outcome::Unchanged, reason)
    } else {
        (outcome, reason)
    }
}
