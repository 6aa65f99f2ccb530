//! Deciding: a pure function from the binding, the clusters and the instant to a decision.
//!
//! Clusters are chosen even if Karmada would not decide now. In this case, the listed clusters stay, and the
//! choice serves only as an explanation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::FieldError;
use berth_dialect_contract::{Action, Ask, BindingChange, ChoiceRefusal, Current, Decision, Outcome};
use berth_scheduling::{Ix, PipelineOutcome, ScoreColumn};

use crate::choice::{self, Choice, GroupOutcome};
use crate::code::Code;
use crate::detail::{Detail, ROOM};
use crate::divide::Shares;
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::ignored::IgnoreReason;
use crate::policy::Policy;
use crate::question::Question;
use crate::quota::Excess;
use crate::record::Record;
use crate::room::RoomLimit;
use crate::standing::RankedCluster;
use crate::trigger::Trigger;
use crate::writes;

/// Decides `record`, the binding of `ask`.
///
/// # Errors
/// If the caller chose clusters: that none is named, the clusters that do not exist or do not fit, the reason
/// why the replicas cannot be divided among them, or the quota that would be exceeded.
pub(crate) fn decide(fleet: &Fleet, record: &Record, ask: &Ask<'_>) -> Result<Decision, ChoiceRefusal> {
    if record.is_leaving() {
        return Ok(released(record, ask));
    }
    let ignored = IgnoreReason::of(record, &fleet.settings);
    let (Some(policy), None) = (&record.policy, ignored) else {
        return Ok(ignored_decision(
            record,
            ask,
            ignored.unwrap_or(IgnoreReason::Attached),
        ));
    };
    let around = fleet.around(ask.demand, record, Some(ask.now));
    let question = Question::new(fleet.columns(), record, policy, &around);
    let trigger = Trigger::of(record, &policy.raw, fleet.columns());
    let facts = BindingFacts {
        fleet,
        record,
        policy,
        ask,
        question: &question,
        trigger,
    };
    match ask.chosen {
        Some(names) => facts.chosen(names),
        None => Ok(facts.conclude(choice::choose(&question, facts.settings()))),
    }
}

/// The clusters that a binding lists now. Only divided bindings have amounts.
pub(crate) fn current(record: &Record) -> Vec<Current> {
    let divides = record.divides();
    let targets = record.spec.clusters.iter();
    targets
        .map(|target| Current {
            cluster_name: target.name.as_str().into(),
            state: "",
            amount: divides.then_some(i64::from(target.replicas)),
        })
        .collect()
}

/// A decision without a run of the pipeline.
fn unjudged(record: &Record, ask: &Ask<'_>, outcome: Outcome, reason: &'static str) -> Decision {
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
        ..unjudged(record, ask, Outcome::Ignored, reason.token())
    }
}

/// The decision on a binding that is being deleted: Karmada's own controllers release it.
fn released(record: &Record, ask: &Ask<'_>) -> Decision {
    let decision = unjudged(record, ask, Outcome::Released, "Terminating");
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

/// A binding that is being decided.
struct BindingFacts<'a> {
    fleet: &'a Fleet,
    record: &'a Record,
    policy: &'a Policy,
    ask: &'a Ask<'a>,
    question: &'a Question<'a>,
    trigger: Trigger,
}

impl BindingFacts<'_> {
    fn settings(&self) -> choice::Settings {
        self.fleet.settings.choice()
    }

    /// The decision that follows from `choice`.
    fn conclude(&self, choice: Choice) -> Decision {
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
            selected: in_order(&run.selected),
            bounds: run.bounds.clone(),
            is_chosen: false,
        };
        self.decision(run, detail)
    }

    /// The decision for the clusters that the caller chose: the replicas are divided among these.
    fn chosen(&self, names: &[String]) -> Result<Decision, ChoiceRefusal> {
        let columns = self.fleet.columns();
        let mut errors = Vec::new();
        let mut candidates = BTreeSet::new();
        let whole = choice::choose(self.question, self.settings());
        for (index, name) in names.iter().enumerate() {
            let path = format!("spec.targets[{index}]");
            match columns.find(name) {
                None => errors.push(FieldError::not_found(path, name.as_str())),
                Some(candidate) => match refusal(&whole.run, candidate) {
                    Some(code) => {
                        let detail = format!("{code} refuses the cluster");
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
                "a binding needs at least one cluster",
            ));
        }
        if !errors.is_empty() {
            return Err(ChoiceRefusal { errors });
        }
        let (run, group) = choice::among(self.question, &whole, &candidates, self.settings());
        match &run.outcome {
            Err(failure) => Err(ChoiceRefusal {
                errors: vec![FieldError::invalid(
                    "spec.targets",
                    names.join(", "),
                    crate::words::failure(*failure),
                )],
            }),
            Ok(shares) => {
                if let Some(excess) = self.excess(shares) {
                    let error = FieldError::invalid("spec.targets", names.join(", "), excess.to_string());
                    return Err(ChoiceRefusal { errors: vec![error] });
                }
                let detail = Detail {
                    ignored: None,
                    trigger: Some(self.trigger),
                    failure: None,
                    excess: None,
                    shares: Some(shares.clone()),
                    group,
                    tried: whole.tried,
                    selected: in_order(&run.selected),
                    bounds: run.bounds.clone(),
                    is_chosen: true,
                };
                Ok(self.decision(run, detail))
            }
        }
    }

    /// The quota that is exceeded by `shares`.
    fn excess(&self, shares: &Shares) -> Option<Excess> {
        let replicas: i64 = shares.values().sum();
        self.fleet.excess(self.ask.demand, self.record, replicas)
    }

    fn decision(&self, run: GroupOutcome, detail: Detail) -> Decision {
        let divides = self.record.divides();
        let now: BTreeMap<&str, i64> = self.listed().collect();
        let next: BTreeMap<&str, i64> = match &detail.shares {
            Some(shares) => shares
                .iter()
                .map(|(candidate, share)| (&*self.question.cluster(*candidate).name, *share))
                .collect(),
            None => now.clone(),
        };
        let changes = changes(&now, &next, divides);
        let columns = self.fleet.columns();
        let mut picked: Vec<Ix> = next.keys().filter_map(|name| columns.find(name)).collect();
        let ranks = ranks(&run, columns.count());
        picked.sort_by_key(|candidate| (ranks[*candidate as usize], *candidate));
        let amounts = picked
            .iter()
            .filter(|_| divides)
            .map(|candidate| next[&*self.question.cluster(*candidate).name]);
        let mut fences = self.fleet.quota_fences(self.ask.demand);
        fences.extend(self.fleet.room_fences(next.keys().copied()));
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
            ..unjudged(self.record, self.ask, Outcome::Scheduled, "Picked")
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
        let is_measured = |row: usize| run.bounds[row] != RoomLimit::Nothing;
        let mut columns: Vec<(&str, Vec<Option<i64>>)> = Vec::new();
        if self.policy.groups().iter().any(|group| group.overflow.is_some()) {
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

fn in_order(candidates: &[Ix]) -> Vec<Ix> {
    let mut candidates = candidates.to_vec();
    candidates.sort_unstable();
    candidates
}

fn refusal(run: &GroupOutcome, candidate: Ix) -> Option<Code> {
    let mut all = run.rejections.iter();
    let found = all.find(|rejection| rejection.candidate == candidate)?;
    Some(Code::of_reason(found.reason))
}

/// The changes from the clusters that are listed `now` to the clusters that are listed `next`.
fn changes(now: &BTreeMap<&str, i64>, next: &BTreeMap<&str, i64>, divides: bool) -> Vec<BindingChange> {
    let amount = |side: Option<&i64>| side.copied().filter(|_| divides);
    let all: BTreeSet<&str> = now.keys().chain(next.keys()).copied().collect();
    all.into_iter()
        .map(|name| {
            let (from, to) = (now.get(name), next.get(name));
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
