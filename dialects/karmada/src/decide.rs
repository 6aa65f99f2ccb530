//! Decisions on bindings: a pure function of the fleet (clusters, bindings, quotas and settings), the binding
//! and the time.
//!
//! Clusters are chosen even if Karmada would not decide the binding now. In this case, the listed clusters
//! stay, and the choice only explains the decision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::FieldError;
use berth_apimachinery::types::Time;
use berth_dialect_contract::{Action, Ask, BindingChange, ChoiceRefusal, CurrentPlace, Decision, Outcome};
use berth_scheduling::{Ix, PipelineOutcome, ScoreColumn};

use crate::choice::{self, Choice, GroupOutcome};
use crate::code::Code;
use crate::compiled_placement::CompiledPlacement;
use crate::detail::{Detail, ROOM};
use crate::divide::Shares;
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::ignored::IgnoreReason;
use crate::kind::binding::TargetCluster;
use crate::question::Question;
use crate::quota::Excess;
use crate::record::{AppliedPlacement, Record};
use crate::room::RoomLimit;
use crate::standing::RankedCluster;
use crate::trigger::Trigger;
use crate::{settled, writes};

/// The refusal of chosen clusters that would not stay.
const DECIDED_AGAIN: &str = "Karmada decides this binding at every look, since its replicas are not divided \
                             among clusters, and would at once choose other clusters: change the \
                             placement of its policy, such as clusterAffinity, so that it selects these clusters";

/// Decides `record`, the binding of `ask`.
///
/// # Errors
/// Only if the caller chose clusters: no cluster is named, a cluster does not exist or does not fit, the
/// replicas cannot be divided among the clusters, a quota would be exceeded, or the next decision would choose
/// other clusters.
pub(crate) fn decide(fleet: &Fleet, record: &Record, ask: &Ask<'_>) -> Result<Decision, ChoiceRefusal> {
    if record.is_deleting() {
        return Ok(released(record, ask));
    }
    let ignored = IgnoreReason::of(record, &fleet.settings);
    let (Some(placement), None) = (&record.placement, ignored) else {
        return Ok(ignored_decision(
            record,
            ask,
            ignored.unwrap_or(IgnoreReason::Attached),
        ));
    };
    let neighbors = fleet.neighbors(ask.demand, record, Some(ask.now));
    let question = Question::new(fleet.columns(), record, placement, &neighbors);
    let trigger = Trigger::of(record, &placement.raw, fleet.columns());
    let context = BindingContext {
        fleet,
        record,
        placement,
        ask,
        question: &question,
        trigger,
    };
    match ask.chosen {
        Some(names) => context.decide_chosen(names),
        None => Ok(context.decide_choice(choice::choose(&question, context.settings()))),
    }
}

/// The clusters that a binding lists now. Only a binding whose replicas can be divided has amounts.
pub(crate) fn current(record: &Record) -> Vec<CurrentPlace> {
    let divides = record.divides();
    let targets = record.spec.clusters.iter();
    targets
        .map(|target| CurrentPlace {
            cluster_name: target.name.as_str().into(),
            state: "",
            amount: divides.then_some(i64::from(target.replicas)),
        })
        .collect()
}

/// The decision on a binding without a run of the pipeline.
fn without_run(record: &Record, ask: &Ask<'_>, outcome: Outcome, reason: &'static str) -> Decision {
    Decision {
        demand: ask.demand.clone(),
        demand_revision: record.object.revision(),
        outcome,
        reason,
        solved: PipelineOutcome::default(),
        amounts: Vec::new(),
        scorers: Vec::new(),
        unknown: Vec::new(),
        current: current(record),
        changes: Vec::new(),
        fences: Vec::new(),
        due_at: None,
        now: ask.now,
        detail: Box::new(Detail::default()),
    }
}

fn ignored_decision(record: &Record, ask: &Ask<'_>, reason: IgnoreReason) -> Decision {
    Decision {
        detail: Box::new(Detail {
            ignored: Some(reason),
            ..Detail::default()
        }),
        ..without_run(record, ask, Outcome::Ignored, reason.token())
    }
}

/// The decision on a binding that is being deleted: Karmada's own controllers release it.
fn released(record: &Record, ask: &Ask<'_>) -> Decision {
    let decision = without_run(record, ask, Outcome::Released, "Terminating");
    let leaves = decision.current.iter().map(|current| BindingChange {
        action: Action::Unbind,
        cluster_name: Arc::clone(&current.cluster_name),
        from: "",
        to: "",
        amount_from: current.amount,
        amount_to: None,
    });
    Decision {
        changes: leaves.collect(),
        ..decision
    }
}

/// The inputs of the decision on one binding.
struct BindingContext<'a> {
    fleet: &'a Fleet,
    record: &'a Record,
    placement: &'a CompiledPlacement,
    ask: &'a Ask<'a>,
    question: &'a Question<'a>,
    trigger: Trigger,
}

impl BindingContext<'_> {
    fn settings(&self) -> choice::Settings {
        self.fleet.settings.choice()
    }

    /// The decision that follows from `choice`.
    fn decide_choice(&self, choice: Choice) -> Decision {
        let Choice { run, group, tried } = choice;
        let decides = self.trigger != Trigger::Nothing;
        let excess = match &run.outcome {
            Ok(shares) if decides => self.excess(shares),
            _ => None,
        };
        let (shares, failure) = match &run.outcome {
            // Karmada would not decide now, and the binding lists no cluster that could stay: the failure is
            // reported.
            Err(failure) if !decides && self.record.spec.clusters.is_empty() => (None, Some(*failure)),
            _ if !decides => (None, None),
            Ok(_) if excess.is_some() => (None, Some(Failure::QuotaExceeded)),
            Ok(shares) => (Some(shares.clone()), None),
            // No cluster fits, so the listed clusters are released.
            Err(Failure::NoClusterFit) => (Some(Shares::new()), Some(Failure::NoClusterFit)),
            Err(failure) => (None, Some(*failure)),
        };
        let detail = Detail {
            ignored: None,
            trigger: Some(self.trigger),
            failure,
            excess,
            shares,
            group,
            tried,
            selected: sorted(&run.selected),
            limits: run.limits.clone(),
            is_chosen: false,
        };
        self.decision(run, detail)
    }

    /// The decision for the clusters that the caller chose: the replicas are divided among these.
    fn decide_chosen(&self, names: &[String]) -> Result<Decision, ChoiceRefusal> {
        let whole = choice::choose(self.question, self.settings());
        let candidates = self.chosen_candidates(names, &whole.run)?;
        let refused = |problem: String| ChoiceRefusal {
            errors: vec![FieldError::invalid("spec.targets", names.join(", "), problem)],
        };
        let (run, group) = choice::divide_among(self.question, &whole, &candidates, self.settings());
        let shares = match &run.outcome {
            Ok(shares) => shares.clone(),
            Err(failure) => return Err(refused(crate::words::failure(*failure))),
        };
        if let Some(excess) = self.excess(&shares) {
            return Err(refused(excess.to_string()));
        }
        if !self.would_stay(&shares, group) {
            return Err(refused(DECIDED_AGAIN.to_owned()));
        }
        let detail = Detail {
            ignored: None,
            trigger: Some(self.trigger),
            failure: None,
            excess: None,
            shares: Some(shares),
            group,
            tried: whole.tried,
            selected: sorted(&run.selected),
            limits: run.limits.clone(),
            is_chosen: true,
        };
        Ok(self.decision(run, detail))
    }

    /// Whether the clusters of `shares`, which the caller chose in this group, would stay when they are written.
    /// A binding that Karmada decides in every run would at once be decided again, by its placement alone.
    fn would_stay(&self, shares: &Shares, group: Option<usize>) -> bool {
        let mut written = self.record.clone();
        let targets = shares.iter().map(|(candidate, share)| TargetCluster {
            name: self.question.cluster(*candidate).name.to_string(),
            replicas: i32::try_from(*share).unwrap_or(i32::MAX),
        });
        written.spec.clusters = targets.collect();
        written.applied = AppliedPlacement::Placement(Box::new(self.placement.raw.clone()));
        written.status.last_scheduled_time = Some(Time(self.ask.now));
        // A request to reschedule that a fast clock dates into the future makes nothing due at once.
        written.spec.reschedule_triggered_at = None;
        if let Some(group) = group.and_then(|place| self.placement.groups().get(place)) {
            written
                .status
                .scheduler_observed_affinity_name
                .clone_from(&group.name);
        }
        let neighbors = self.fleet.neighbors(self.ask.demand, &written, None);
        settled::is_settled(self.fleet.columns(), &neighbors, &written, &self.fleet.settings)
    }

    /// The candidates that the caller chose by `names`.
    ///
    /// # Errors
    /// No cluster is named, or a cluster does not exist or is refused in `run`.
    fn chosen_candidates(&self, names: &[String], run: &GroupOutcome) -> Result<BTreeSet<Ix>, ChoiceRefusal> {
        let columns = self.fleet.columns();
        let mut errors = Vec::new();
        let mut candidates = BTreeSet::new();
        for (index, name) in names.iter().enumerate() {
            let path = format!("spec.targets[{index}]");
            match columns.find(name) {
                None => errors.push(FieldError::not_found(path, name.as_str())),
                Some(candidate) => match first_refusal(run, candidate) {
                    Some(code) => {
                        let detail = format!("the cluster is refused: {code}");
                        errors.push(FieldError::invalid(path, name.as_str(), detail));
                    }
                    None => {
                        candidates.insert(candidate);
                    }
                },
            }
        }
        if errors.is_empty() && candidates.is_empty() {
            errors.push(FieldError::required(
                "spec.targets",
                "name at least one cluster, or give no targets to let the scheduler pick",
            ));
        }
        if errors.is_empty() {
            Ok(candidates)
        } else {
            Err(ChoiceRefusal { errors })
        }
    }

    /// The quota that `shares` would exceed.
    fn excess(&self, shares: &Shares) -> Option<Excess> {
        let replicas: i64 = shares.values().sum();
        self.fleet.excess(self.ask.demand, self.record, replicas)
    }

    /// The decision with the outcome in `run` and the results in `detail`.
    fn decision(&self, run: GroupOutcome, detail: Detail) -> Decision {
        let divides = self.record.divides();
        let listed: BTreeMap<&str, i64> = self.listed().collect();
        let next: BTreeMap<&str, i64> = match &detail.shares {
            Some(shares) => shares
                .iter()
                .map(|(candidate, share)| (&*self.question.cluster(*candidate).name, *share))
                .collect(),
            None => listed.clone(),
        };
        let changes = changes(&listed, &next, divides);
        let columns = self.fleet.columns();
        let mut picked: Vec<Ix> = next.keys().filter_map(|name| columns.find(name)).collect();
        let ranks = ranks(&run, columns.count());
        picked.sort_by_key(|candidate| (ranks[*candidate as usize], *candidate));
        let amounts = picked
            .iter()
            .filter(|_| divides)
            .map(|candidate| next[&*self.question.cluster(*candidate).name]);
        let mut fences = self.fleet.room_fences(next.keys().copied());
        fences.extend(self.fleet.quota_fence(self.ask.demand));
        let (scores, scorers) = self.scores(&run, &ranks);
        let mut decision = Decision {
            amounts: amounts.collect(),
            solved: PipelineOutcome {
                ranked: run.ranked.iter().map(|cluster| cluster.candidate).collect(),
                rejections: run.rejections,
                feasible: run.feasible,
                scores,
                totals: Vec::new(),
                picked,
            },
            scorers,
            changes,
            fences,
            ..without_run(self.record, self.ask, Outcome::Scheduled, "Picked")
        };
        if let Some(failure) = detail.failure {
            (decision.outcome, decision.reason) = (Outcome::Unschedulable, failure.token());
        }
        decision.detail = Box::new(detail);
        let stays_bound = decision.outcome == Outcome::Scheduled && !next.is_empty();
        if stays_bound && writes::writes(self.fleet, &decision).is_empty() {
            (decision.outcome, decision.reason) = (Outcome::Unchanged, "Kept");
        }
        decision
    }

    /// The listed clusters with their replicas.
    fn listed(&self) -> impl Iterator<Item = (&str, i64)> {
        let targets = self.record.spec.clusters.iter();
        targets.map(|target| (target.name.as_str(), i64::from(target.replicas)))
    }

    /// The score columns of the feasible clusters, and the names of the columns: first the columns that rank
    /// clusters, the most important column first, then the room.
    fn scores(&self, run: &GroupOutcome, ranks: &[usize]) -> (Vec<ScoreColumn>, Vec<Arc<str>>) {
        let feasible_ranks: Vec<usize> = run
            .feasible
            .iter()
            .map(|candidate| ranks[*candidate as usize])
            .collect();
        let is_measured = |row: usize| run.limits[row] != RoomLimit::Nothing;
        let mut columns: Vec<(&str, Vec<Option<i64>>)> = Vec::new();
        if self
            .placement
            .groups()
            .iter()
            .any(|group| group.overflow.is_some())
        {
            let tiers = feasible_ranks
                .iter()
                .map(|&rank| Some(i64::from(run.ranked[rank].tier)));
            columns.push(("Overflow", tiers.collect()));
        }
        let scores = feasible_ranks.iter().map(|&rank| Some(run.ranked[rank].score));
        columns.push(("ClusterLocality", scores.collect()));
        let measured = |value: fn(&RankedCluster) -> i64| -> Vec<Option<i64>> {
            let values = feasible_ranks.iter().enumerate();
            values
                .map(|(row, &rank)| is_measured(row).then(|| value(&run.ranked[rank])))
                .collect()
        };
        columns.push(("Available", measured(RankedCluster::available)));
        columns.push((ROOM, measured(|cluster| cluster.room)));
        let scorers = columns.iter().map(|(name, _)| Arc::from(*name)).collect();
        let columns = (0..).zip(columns).map(|(plugin, (_, values))| ScoreColumn {
            plugin,
            weight: 1,
            values,
        });
        (columns.collect(), scorers)
    }
}

/// The rank of each of `count` candidates, from 0; `usize::MAX` for a candidate that does not fit.
fn ranks(run: &GroupOutcome, count: Ix) -> Vec<usize> {
    let mut ranks = vec![usize::MAX; count as usize];
    for (rank, cluster) in run.ranked.iter().enumerate() {
        ranks[cluster.candidate as usize] = rank;
    }
    ranks
}

fn sorted(candidates: &[Ix]) -> Vec<Ix> {
    let mut candidates = candidates.to_vec();
    candidates.sort_unstable();
    candidates
}

/// The reason of the first refusal of `candidate`; `None` if the candidate fits.
fn first_refusal(run: &GroupOutcome, candidate: Ix) -> Option<Code> {
    let refusals = run.rejections.of_candidate(candidate);
    Some(Code::of_reason(refusals.first()?.reason))
}

/// The changes from the `listed` clusters to the clusters that are listed `next`.
fn changes(listed: &BTreeMap<&str, i64>, next: &BTreeMap<&str, i64>, divides: bool) -> Vec<BindingChange> {
    let amount = |side: Option<&i64>| side.copied().filter(|_| divides);
    let all: BTreeSet<&str> = listed.keys().chain(next.keys()).copied().collect();
    all.into_iter()
        .map(|name| {
            let (from, to) = (listed.get(name), next.get(name));
            BindingChange {
                action: match (from, to) {
                    (None, _) => Action::Bind,
                    (Some(_), None) => Action::Unbind,
                    (Some(from), Some(to)) if divides && from != to => Action::Resize,
                    (Some(_), Some(_)) => Action::Keep,
                },
                cluster_name: name.into(),
                from: "",
                to: "",
                amount_from: amount(from),
                amount_to: amount(to),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
