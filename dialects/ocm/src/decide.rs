//! One decision: the candidates, their order, the selected clusters, and the changes (docs/systems/ocm.md,
//! "Candidates" to "Conditions").

pub(crate) mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::{FieldError, Timestamp};
use berth_dialect_columns::Bits;
use berth_dialect_contract::{
    Action, Ask, BindingChange, ChoiceRefusal, CurrentPlace, Decision, Outcome, report,
};
use berth_scheduling::{Filter, Ix, PipelineOutcome, Scorer};
use jiff::SignedDuration;

use crate::code::Plugin;
use crate::columns::Columns;
use crate::columns::kept::{FilterOutcome, Values};
use crate::detail::Detail;
use crate::filters::{ClusterSet, FailingExpression, Lifecycle, Predicates, TaintToleration};
use crate::fleet::Fleet;
use crate::kind::Toleration;
use crate::outline::Outline;
use crate::plan::Plan;
use crate::policy::{Policy, Predicate, Prioritizer, Problem, ScoreSource};
use crate::record::{DecisionRecord, PlacementRecord};
use crate::satisfied::SatisfiedCondition;
use crate::scores::{AddOn, Allocatable, Balance, Steady};
use crate::words;

/// The longest time between two decisions on a placement (docs/systems/ocm.md, "When it runs").
const PERIOD: SignedDuration = SignedDuration::from_mins(5);

/// The outcome of the filters for one placement, at one time.
struct FilterRun {
    outcome: Arc<FilterOutcome>,
    /// The first time at which a toleration that was needed ends.
    ends: Option<Timestamp>,
    /// The expressions that fail on candidate clusters.
    failing: Vec<FailingExpression>,
}

/// The facts about one placement that are known before the pipeline runs.
struct PlacementFacts<'a> {
    fleet: &'a Fleet,
    columns: &'a Columns,
    record: &'a PlacementRecord,
    policy: &'a Policy,
    ask: &'a Ask<'a>,
    /// The PlacementDecisions of the placement.
    own: Vec<&'a Arc<DecisionRecord>>,
    /// The names of the clusters that `own` lists.
    current: Vec<Arc<str>>,
    /// The clusters that `own` lists and that exist.
    held: Bits,
    /// The outline of the whole fleet, if `fleet` is one part of the whole.
    whole: Option<&'a Outline>,
}

/// Decides the placement in `record`.
pub(crate) fn decide(
    fleet: &Fleet,
    record: &PlacementRecord,
    ask: &Ask<'_>,
) -> Result<Decision, ChoiceRefusal> {
    decide_part(fleet, record, ask, None)
}

/// Decides the placement in `record` over one part of a fleet; `whole` is the outline of all parts.
pub(crate) fn decide_part(
    fleet: &Fleet,
    record: &PlacementRecord,
    ask: &Ask<'_>,
    whole: Option<&Outline>,
) -> Result<Decision, ChoiceRefusal> {
    let own = fleet.own_decisions(ask.demand);
    let mut seen = BTreeSet::new();
    let listed = own.iter().flat_map(|decision| &decision.clusters);
    let current: Vec<Arc<str>> = listed
        .map(|cluster| Arc::clone(&cluster.name))
        .filter(|name| seen.insert(Arc::clone(name)))
        .collect();
    if record.terminating() {
        let changes = changes_of(&current, Action::Unbind);
        return Ok(base_decision(
            record,
            ask,
            current,
            Outcome::Released,
            "Terminating",
            changes,
        ));
    }
    if record.disabled() {
        let changes = changes_of(&current, Action::Keep);
        return Ok(base_decision(
            record,
            ask,
            current,
            Outcome::Ignored,
            "SchedulingDisabled",
            changes,
        ));
    }
    let columns = fleet.columns();
    let mut held = Bits::none(columns.count());
    for candidate in current.iter().filter_map(|name| columns.candidate(name)) {
        held.set(candidate, true);
    }
    PlacementFacts {
        fleet,
        columns,
        record,
        policy: &record.policy,
        ask,
        own,
        current,
        held,
        whole,
    }
    .judge()
}

/// The change by `action` for each cluster.
fn changes_of(current: &[Arc<str>], action: Action) -> Vec<BindingChange> {
    let change = |name: &Arc<str>| BindingChange {
        action,
        cluster_name: Arc::clone(name),
        from: "",
        to: "",
        amount_from: None,
        amount_to: None,
    };
    current.iter().map(change).collect()
}

fn entries(current: &[Arc<str>]) -> Vec<CurrentPlace> {
    current
        .iter()
        .map(|name| CurrentPlace {
            cluster_name: Arc::clone(name),
            state: "",
            amount: None,
        })
        .collect()
}

/// A decision with these changes, without a run of the pipeline and without writes.
fn base_decision(
    record: &PlacementRecord,
    ask: &Ask<'_>,
    current: Vec<Arc<str>>,
    outcome: Outcome,
    reason: &'static str,
    changes: Vec<BindingChange>,
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
        current: entries(&current),
        changes,
        fences: Vec::new(),
        due_at: None,
        now: ask.now,
        detail: Box::new(Detail::default()),
    }
}

impl PlacementFacts<'_> {
    /// The decision by the pipeline, or the decision on a malformed placement.
    fn judge(self) -> Result<Decision, ChoiceRefusal> {
        let bound = self.fleet.bound_sets(&self.ask.demand.namespace);
        let sets: Vec<&Arc<str>> = bound.iter().filter(|set| self.policy.requests(set)).collect();
        let namespace = &self.ask.demand.namespace;
        if let Some(problem) = self.fleet.unreadable_set(namespace, self.policy) {
            // Whether the sets have clusters is unknown, so they do not count as empty.
            return Ok(self.misconfigured(problem, &bound, &sets, true));
        }
        let mut scope = Bits::none(self.columns.count());
        for members in sets.iter().filter_map(|set| self.columns.sets.get(*set)) {
            scope.unite(members);
        }
        let has_clusters = scope.exceeds(&self.columns.terminating);
        if let Some(problem) = self.policy.problem(has_clusters).cloned() {
            return Ok(self.misconfigured(problem, &bound, &sets, has_clusters));
        }
        // A malformed part of the policy is only accepted if the sets have no clusters. Every cluster is then
        // refused because of its set or its deletion, so the part does not matter.
        let predicates = self.policy.predicates.as_deref().unwrap_or_default();
        let tolerations = self.policy.tolerations.as_deref().unwrap_or_default();
        let prioritizers = self.policy.prioritizers.as_deref().unwrap_or_default();
        let FilterRun {
            outcome,
            ends,
            failing,
        } = self.filter(&sets, &scope, predicates, tolerations);
        let (scores, totals, expires) = self.score(prioritizers, &outcome);
        // Candidates are numbered in name order.
        let ranked = berth_scheduling::rank_by_total(&outcome.feasible, &totals);
        let mut solved = PipelineOutcome {
            rejections: outcome.rejections.clone(),
            feasible: outcome.feasible.clone(),
            scores,
            totals,
            ranked,
            picked: Vec::new(),
        };
        solved.picked = self.pick(&solved, &self.kept(&scope))?;
        let satisfied = self.satisfied(&bound, &sets, has_clusters, &solved);
        let score_expiry = self
            .policy
            .reads_scores()
            .then(|| self.next_expiry(&scope))
            .flatten();
        let exact = [ends, expires, score_expiry].into_iter().flatten().min();
        let detail = Detail {
            policy: Some(Arc::clone(&self.record.policy)),
            in_scope: outcome.in_scope,
            held: Some(self.held.clone()),
            failing,
            ..Detail::default()
        };
        Ok(self.conclude(solved, prioritizers, satisfied, exact, detail))
    }

    /// Runs the filters over all clusters; `scope` are the clusters in any of `sets`. An outcome that depends
    /// only on the policy, the clusters and the sets is kept for later decisions.
    fn filter(
        &self,
        sets: &[&Arc<str>],
        scope: &Bits,
        predicates: &[Predicate],
        tolerations: &[Toleration],
    ) -> FilterRun {
        let policy = &self.record.policy;
        if let Some(outcome) = self.columns.kept.find(policy, sets) {
            return FilterRun {
                outcome,
                ends: None,
                failing: Vec::new(),
            };
        }
        let matching = Predicates::judge(predicates, self.fleet, self.ask.now, scope);
        let taints = TaintToleration::new(tolerations, scope, &self.held, self.ask.now);
        let in_set = ClusterSet(scope);
        let filters = Plugin::ALL.map(|filter| -> &dyn Filter<Columns> {
            match filter {
                Plugin::ClusterSet => &in_set,
                Plugin::Lifecycle => &Lifecycle,
                Plugin::Predicate => &matching,
                Plugin::TaintToleration => &taints,
            }
        });
        let (feasible, rejections) = berth_scheduling::filter(self.columns, self.columns.count(), &filters);
        let outcome = Arc::new(FilterOutcome {
            rejections,
            feasible,
            in_scope: scope.member_count(),
            cpu: Values::new(),
            memory: Values::new(),
        });
        if !policy.uses_cel() && !taints.varies() {
            self.columns.kept.keep(policy, sets, &outcome);
        }
        FilterRun {
            outcome,
            ends: taints.first_end(),
            failing: matching.failing,
        }
    }

    /// The condition PlacementSatisfied of the placement.
    fn satisfied(
        &self,
        bound: &[Arc<str>],
        sets: &[&Arc<str>],
        has_clusters: bool,
        solved: &PipelineOutcome,
    ) -> SatisfiedCondition {
        let namespace = &self.ask.demand.namespace;
        let available = status::AvailableSets {
            namespace,
            bound,
            missing: &self.fleet.missing_sets(namespace),
            asked: &self.policy.sets,
            sets,
            has_clusters,
        };
        status::satisfied(&available, self.policy.wanted, solved)
    }

    /// The time just after the next expiry of any score of a cluster in `scope`. Scores of all names count,
    /// since expressions compute names at run time.
    fn next_expiry(&self, scope: &Bits) -> Option<Timestamp> {
        let names = scope.iter().map(|candidate| &self.columns.row(candidate).name);
        let scored = names.filter_map(|name| self.fleet.scored.get(name));
        let ends = scored
            .flat_map(|scored| &scored.objects)
            .map(|scores| scores.until);
        let first = ends
            .filter(|&until| self.ask.now <= until && until != Timestamp::MAX)
            .min()?;
        first.checked_add(SignedDuration::from_nanos(1)).ok()
    }

    /// The values of every prioritizer for the feasible clusters, the weighted sum for each cluster, and the
    /// time at which the first of these values expires.
    fn score(
        &self,
        prioritizers: &[Prioritizer],
        outcome: &FilterOutcome,
    ) -> (Vec<berth_scheduling::ScoreColumn>, Vec<i64>, Option<Timestamp>) {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for cluster in self.own.iter().flat_map(|decision| &decision.clusters) {
            *counts.entry(&cluster.name).or_default() += 1;
        }
        let own_counts: Vec<(Ix, u32)> = counts
            .iter()
            .filter_map(|(name, &count)| Some((self.columns.candidate(name)?, count)))
            .collect();
        let mut expires: Option<Timestamp> = None;
        let boxed: Vec<Box<dyn Scorer<Columns> + '_>> = prioritizers
            .iter()
            .map(
                |Prioritizer { weight, scoring, .. }| -> Box<dyn Scorer<Columns> + '_> {
                    let weight = *weight;
                    match scoring {
                        ScoreSource::Balance => Box::new(Balance {
                            weight,
                            own: &own_counts,
                            highest: self.fleet.tally.highest_without(&counts),
                        }),
                        ScoreSource::Steady => Box::new(Steady {
                            weight,
                            held: &self.held,
                        }),
                        ScoreSource::Cpu => Box::new(Allocatable {
                            weight,
                            amounts: &self.columns.cpu,
                            range: self.whole.map(|whole| whole.cpu),
                            known: &outcome.cpu,
                        }),
                        ScoreSource::Memory => Box::new(Allocatable {
                            weight,
                            amounts: &self.columns.memory,
                            range: self.whole.map(|whole| whole.memory),
                            known: &outcome.memory,
                        }),
                        ScoreSource::AddOn { resource, score } => {
                            let column = self.columns.scores(resource, score).map(|column| &**column);
                            let scorer = AddOn {
                                weight,
                                column,
                                now: self.ask.now,
                            };
                            let expiry = scorer.expires(&outcome.feasible);
                            expires = [expires, expiry].into_iter().flatten().min();
                            Box::new(scorer)
                        }
                    }
                },
            )
            .collect();
        let scorers: Vec<&dyn Scorer<Columns>> = boxed.iter().map(|scorer| &**scorer).collect();
        let (columns, totals) = berth_scheduling::score(self.columns, &outcome.feasible, &scorers);
        (columns, totals, expires)
    }

    /// The selected clusters that cannot be read, in name order. They stay selected while they are in `scope`
    /// and not being deleted: a typing error must not move workloads.
    fn kept(&self, scope: &Bits) -> Vec<Ix> {
        let unreadable = self.columns.unreadable.iter();
        let kept = unreadable.filter(|&candidate| {
            self.held.has(candidate) && scope.has(candidate) && !self.columns.terminating.has(candidate)
        });
        kept.collect()
    }

    /// The picked clusters: the clusters in `kept` and then the best ranked clusters, up to the requested
    /// number, or the clusters that the caller chose.
    ///
    /// # Errors
    /// The errors in the clusters that the caller chose.
    fn pick(&self, solved: &PipelineOutcome, kept: &[Ix]) -> Result<Vec<Ix>, ChoiceRefusal> {
        let in_order = kept.iter().chain(&solved.ranked).copied();
        let Some(chosen) = self.ask.chosen.filter(|chosen| !chosen.is_empty()) else {
            let number = self.policy.wanted.unwrap_or(usize::MAX);
            return Ok(in_order.take(number).collect());
        };
        let mut errors = Vec::new();
        let mut picked = BTreeSet::new();
        for (index, name) in chosen.iter().enumerate() {
            let path = format!("spec.targets[{index}]");
            match self.columns.candidate(name) {
                None => {
                    let detail = format!("there is no ManagedCluster \"{name}\"");
                    errors.push(FieldError::invalid(path, name.as_str(), detail));
                }
                Some(candidate)
                    if solved.row_of(candidate).is_none() && kept.binary_search(&candidate).is_err() =>
                {
                    let facts = words::RefusalFacts {
                        fleet: self.fleet,
                        policy: Some(self.policy),
                        held: Some(&self.held),
                        now: self.ask.now,
                    };
                    let reasons = facts.refusals(solved, candidate);
                    errors.push(FieldError::invalid(path, name.as_str(), reasons));
                }
                Some(candidate) => {
                    if !picked.insert(candidate) {
                        errors.push(FieldError::duplicate(path, name.as_str()));
                    }
                }
            }
        }
        if let Some(number) = self.policy.wanted.filter(|&number| chosen.len() > number) {
            errors.push(FieldError::too_many("spec.targets", chosen.len(), number));
        }
        if errors.is_empty() {
            Ok(in_order.filter(|candidate| picked.contains(candidate)).collect())
        } else {
            Err(ChoiceRefusal { errors })
        }
    }

    /// The decision on a malformed placement, or on one with a set that cannot be read: the placement keeps its
    /// clusters, except for clusters that do not exist or are being deleted (docs/systems/ocm.md, "Conditions").
    fn misconfigured(
        &self,
        problem: Problem,
        bound: &[Arc<str>],
        sets: &[&Arc<str>],
        has_clusters: bool,
    ) -> Decision {
        // What is wrong with a set says nothing against the selected clusters, which count as before.
        let held = self.held.iter().filter(|_| problem.is_of_set());
        let kept = PipelineOutcome {
            picked: held
                .filter(|&candidate| !self.columns.terminating.has(candidate))
                .collect(),
            ..PipelineOutcome::default()
        };
        let satisfied = self.satisfied(bound, sets, has_clusters, &kept);
        let stays = |name: &str| {
            let candidate = self.columns.candidate(name);
            candidate.is_some_and(|candidate| !self.columns.terminating.has(candidate))
        };
        let mut changes = changes_of(&self.current, Action::Keep);
        for change in changes.iter_mut().filter(|change| !stays(&change.cluster_name)) {
            change.action = Action::Unbind;
        }
        let plan = Plan::retain(self.record, self.ask.demand, &self.own, stays);
        let current = self.current.clone();
        let mut decision = base_decision(
            self.record,
            self.ask,
            current,
            Outcome::Invalid,
            "Misconfigured",
            changes,
        );
        let mut detail = Detail {
            problem: Some(problem),
            satisfied: Some(satisfied),
            plan: Some(plan),
            ..Detail::default()
        };
        detail.status_changes = status::differs(&self.record.status, &detail);
        decision.detail = Box::new(detail);
        decision.due_at = self.ask.now.checked_add(PERIOD).ok();
        decision
    }

    /// The decision after a run of the pipeline. `exact` is the first known time at which the decision may
    /// change.
    fn conclude(
        &self,
        solved: PipelineOutcome,
        prioritizers: &[Prioritizer],
        satisfied: SatisfiedCondition,
        exact: Option<Timestamp>,
        mut detail: Detail,
    ) -> Decision {
        let plan = Plan::for_selection(
            self.fleet,
            self.columns,
            self.record,
            self.ask.demand,
            &self.own,
            &solved.picked,
        );
        let changes = self.changes(&solved.picked);
        let (outcome, reason) = outcome(&satisfied, &changes, &solved);
        let is_short = !satisfied.status && self.policy.wanted != Some(0);
        detail.satisfied = Some(satisfied);
        detail.plan = Some(plan);
        let periodic = self.ask.now.checked_add(PERIOD).ok();
        let mut decision = Decision {
            outcome,
            reason,
            solved,
            scorers: prioritizers
                .iter()
                .map(|prioritizer| Arc::clone(&prioritizer.name))
                .collect(),
            due_at: [exact, periodic].into_iter().flatten().min(),
            detail: Box::new(detail),
            ..base_decision(
                self.record,
                self.ask,
                self.current.clone(),
                outcome,
                reason,
                changes,
            )
        };
        // The cause is computed from the finished decision.
        let cause = is_short
            .then(|| report::cause(self.fleet, &decision))
            .flatten()
            .map(|cause| cause.to_string());
        if let Some(detail) = decision.detail.downcast_mut::<Detail>() {
            if let (Some(satisfied), Some(cause)) = (&mut detail.satisfied, &cause) {
                status::add_cause(satisfied, cause);
            }
            detail.cause = cause;
            detail.status_changes = status::differs(&self.record.status, detail);
            let writes = detail.status_changes || detail.plan.as_ref().is_some_and(Plan::writes);
            if !self.current.is_empty() && !writes && outcome != Outcome::Unschedulable {
                decision.outcome = Outcome::Unchanged;
            }
        }
        decision
    }

    /// The changes of picked clusters in rank order, then the changes of released clusters.
    fn changes(&self, picked: &[Ix]) -> Vec<BindingChange> {
        let mut stays = Bits::none(self.columns.count());
        let change = |action, cluster_name| BindingChange {
            action,
            cluster_name,
            from: "",
            to: "",
            amount_from: None,
            amount_to: None,
        };
        let mut changes = Vec::with_capacity(picked.len() + self.current.len());
        for &candidate in picked {
            stays.set(candidate, true);
            let action = if self.held.has(candidate) {
                Action::Keep
            } else {
                Action::Bind
            };
            changes.push(change(action, Arc::clone(&self.columns.row(candidate).name)));
        }
        let released = self.current.iter().filter(|name| {
            !self
                .columns
                .candidate(name)
                .is_some_and(|candidate| stays.has(candidate))
        });
        changes.extend(released.map(|name| change(Action::Unbind, Arc::clone(name))));
        changes
    }
}

/// The outcome and the token of a decision whose pipeline ran.
fn outcome(
    satisfied: &SatisfiedCondition,
    changes: &[BindingChange],
    solved: &PipelineOutcome,
) -> (Outcome, &'static str) {
    if solved.picked.is_empty() {
        return (Outcome::Unschedulable, satisfied.reason);
    }
    if !satisfied.status {
        return (Outcome::Partial, satisfied.reason);
    }
    let has_new = changes.iter().any(|change| change.action == Action::Bind);
    (Outcome::Scheduled, if has_new { "Picked" } else { "Kept" })
}
