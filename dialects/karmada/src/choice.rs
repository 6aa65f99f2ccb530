//! The choice of clusters: filter, rank, select, divide. Groups of clusters are tried one after the other
//! until one has room for all replicas.

use std::collections::BTreeSet;

use berth_dialect_columns::Bits;
use berth_scheduling::{Filter, Ix, Refusals, Rejections};

use crate::code::Plugin;
use crate::divide::{self, ReplicaDemand, Shares, seats};
use crate::failure::Failure;
use crate::question::{Question, Try};
use crate::room::{MOST, Measure, Room, RoomLimit};
use crate::spread::{self, Terms};
use crate::standing::RankedCluster;
use crate::strategy::Strategy;

/// The score of a cluster that has the template already.
const LISTED: i64 = 100;

/// Settings of Karmada's scheduler that change decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `--enable-empty-workload-propagation`: whether selected clusters without replicas are listed, too.
    pub(crate) lists_empty: bool,
}

/// Outcome for one group of clusters, or for the whole placement if there are no groups.
#[derive(Debug)]
pub(crate) struct GroupOutcome {
    /// Every refusal of every filter.
    pub(crate) rejections: Rejections,
    /// The clusters that fit, in the order of names.
    pub(crate) feasible: Vec<Ix>,
    /// The clusters that fit, best first.
    pub(crate) ranked: Vec<RankedCluster>,
    /// The limit of each cluster's room, aligned with `feasible`.
    pub(crate) bounds: Vec<RoomLimit>,
    /// The selected clusters, in the order of the division.
    pub(crate) selected: Vec<Ix>,
    /// Replicas by cluster, or the reason why there are none.
    pub(crate) outcome: Result<Shares, Failure>,
}

/// A group that was tried, with or without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupAttempt {
    /// The index of the group.
    pub(crate) group: usize,
    /// Number of clusters that fit.
    pub(crate) feasible: usize,
    /// Reason why the template is not scheduled on the group; `None` if it is.
    pub(crate) failure: Option<Failure>,
}

/// Clusters with their replicas, or the reason why there are none.
#[derive(Debug)]
pub(crate) struct Choice {
    /// Outcome of the group with room for all replicas, or else of the group that was tried first.
    pub(crate) run: GroupOutcome,
    /// The index of the group of `run`; `None` without groups.
    pub(crate) group: Option<usize>,
    /// The groups that were tried, in order.
    pub(crate) tried: Vec<GroupAttempt>,
}

/// Chooses clusters for `question`. Groups are tried in order until one succeeds: from the observed group on,
/// or from the first group if no group is observed or the binding is decided from scratch.
pub(crate) fn choose(question: &Question<'_>, settings: Settings) -> Choice {
    let common = Common::of(question);
    let groups = question.policy.groups();
    let observed = &question.record.status.scheduler_observed_affinity_name;
    let start = match question.record.is_rescheduled() {
        true => None,
        false => groups.iter().position(|group| group.name == *observed),
    };
    let mut first = None;
    let mut tried = Vec::new();
    for (place, group) in groups.iter().enumerate().skip(start.unwrap_or(0)) {
        let attempt = Try::new(question, Some(group));
        let run = run(&attempt, &common, settings);
        tried.push(GroupAttempt {
            group: place,
            feasible: run.feasible.len(),
            failure: run.outcome.as_ref().err().copied(),
        });
        if run.outcome.is_ok() {
            return Choice {
                run: run.with_refusals(&attempt),
                group: Some(place),
                tried,
            };
        }
        first.get_or_insert((place, run));
    }
    if let Some((place, run)) = first {
        let attempt = Try::new(question, groups.get(place));
        return Choice {
            run: run.with_refusals(&attempt),
            group: Some(place),
            tried,
        };
    }
    let attempt = Try::new(question, None);
    let mut all = run(&attempt, &common, settings).with_refusals(&attempt);
    if question.policy.groups.is_some() {
        // With an empty list of groups, the binding is scheduled, but on no cluster.
        (all.selected, all.outcome) = (Vec::new(), Ok(Shares::new()));
    }
    Choice {
        run: all,
        group: None,
        tried,
    }
}

/// Verdicts and measures that do not depend on the group.
struct Common {
    /// The clusters that pass every filter other than the filter of the group.
    passing: Bits,
    /// The share of a cluster's room that one replica takes, by the shape of the cluster.
    measures: Vec<Measure>,
}

impl Common {
    fn of(question: &Question<'_>) -> Self {
        let columns = question.columns;
        let attempt = Try::new(question, None);
        let mut passing = Bits::all(columns.count());
        let others = Plugin::ALL
            .iter()
            .filter(|plugin| **plugin != Plugin::ClusterAffinity);
        for plugin in others {
            match plugin.refuse(&attempt, columns.count()) {
                Refusals::These(refused) => {
                    let refused = refused.into_iter();
                    refused.for_each(|(candidate, _)| passing.set(candidate, false));
                }
                Refusals::AllBut(..) => unreachable!("these filters list what they refuse"),
            }
        }
        let request = question.record.request.as_ref();
        Self {
            passing,
            measures: columns.shapes.judge(|shape| shape.measure(request)),
        }
    }

    /// The room of `candidate`.
    fn room(&self, question: &Question<'_>, candidate: Ix) -> Room {
        let record = question.record;
        if record.replicas() == 0 && record.spec.components.is_empty() {
            return Room {
                replicas: MOST,
                bound: RoomLimit::Nothing,
            };
        }
        let measure = &self.measures[question.columns.shapes.of(candidate)];
        let reserve = &question.cluster(candidate).reserve;
        let mut room = reserve
            .room(record.request.as_ref(), measure)
            .without(question.taken_of(candidate));
        // Unknown room counts as room for the requested number.
        if room.replicas >= MOST {
            room.replicas = record.replicas();
        }
        room
    }
}

impl GroupOutcome {
    /// Adds the refusals of every filter.
    fn with_refusals(self, attempt: &Try<'_>) -> Self {
        let (feasible, rejections) =
            berth_scheduling::filter(attempt, attempt.question.columns.count(), &Plugin::ALL.each_ref());
        debug_assert_eq!(feasible, self.feasible, "filters say the same alone and together");
        Self { rejections, ..self }
    }
}

/// Divides the replicas among the `chosen` clusters alone, in the group of `whole`. Spread constraints do
/// not apply: a caller who names clusters is responsible for their spread.
pub(crate) fn among(
    question: &Question<'_>,
    whole: &Choice,
    chosen: &BTreeSet<Ix>,
    settings: Settings,
) -> (GroupOutcome, Option<usize>) {
    let group = whole.group.and_then(|place| question.policy.groups().get(place));
    let attempt = Try::new(question, group);
    let ranked = whole.run.ranked.iter();
    let selected: Vec<RankedCluster> = ranked
        .clone()
        .filter(|cluster| chosen.contains(&cluster.candidate))
        .copied()
        .collect();
    let run = GroupOutcome {
        rejections: whole.run.rejections.clone(),
        feasible: whole.run.feasible.clone(),
        ranked: ranked.copied().collect(),
        bounds: whole.run.bounds.clone(),
        selected: selected.iter().map(|cluster| cluster.candidate).collect(),
        outcome: share(&attempt, &selected, settings),
    };
    (run, whole.group)
}

/// Tries one group: filters, ranks and selects its clusters, and divides the replicas.
/// [`GroupOutcome::with_refusals`] adds the refusals.
fn run(attempt: &Try<'_>, common: &Common, settings: Settings) -> GroupOutcome {
    let mut feasible = attempt.matching();
    feasible.intersect(&common.passing);
    let feasible: Vec<Ix> = feasible.iter().collect();
    let (mut ranked, bounds) = rank_candidates(attempt, common, &feasible);
    ranked.sort_by_key(RankedCluster::rank);
    let mut run = GroupOutcome {
        rejections: Rejections::default(),
        feasible,
        bounds,
        selected: Vec::new(),
        outcome: Err(Failure::NoClusterFit),
        ranked,
    };
    if run.feasible.is_empty() {
        return run;
    }
    match select(attempt, &run.ranked) {
        Err(failure) => run.outcome = Err(failure),
        Ok(selected) => {
            run.selected = selected.iter().map(|cluster| cluster.candidate).collect();
            run.outcome = share(attempt, &selected, settings);
        }
    }
    run
}

/// The `feasible` clusters with the data for their ranking, and the limit of the room of each cluster.
fn rank_candidates(
    attempt: &Try<'_>,
    common: &Common,
    feasible: &[Ix],
) -> (Vec<RankedCluster>, Vec<RoomLimit>) {
    let question = attempt.question;
    let mut ranked = Vec::with_capacity(feasible.len());
    let mut bounds = Vec::with_capacity(feasible.len());
    for &candidate in feasible {
        let Room { replicas, bound } = common.room(question, candidate);
        ranked.push(RankedCluster {
            candidate,
            tier: attempt.tier(candidate),
            score: if question.is_listed(candidate) { LISTED } else { 0 },
            room: replicas,
            held: question.held_by(candidate),
        });
        bounds.push(bound);
    }
    (ranked, bounds)
}

fn select(attempt: &Try<'_>, ranked: &[RankedCluster]) -> Result<Vec<RankedCluster>, Failure> {
    let policy = attempt.question.policy;
    let terms = Terms {
        columns: attempt.question.columns,
        constraints: &policy.raw.spread_constraints,
        is_ignored: policy.ignores_spread,
        is_duplicated: matches!(policy.strategy, Strategy::Duplicated),
        replicas: attempt.question.record.replicas(),
    };
    spread::select(ranked.to_vec(), &terms)
}

fn share(attempt: &Try<'_>, selected: &[RankedCluster], settings: Settings) -> Result<Shares, Failure> {
    let question = attempt.question;
    let without_replicas = || selected.iter().map(|cluster| (cluster.candidate, 0));
    if !question.record.divides() {
        return Ok(without_replicas().collect());
    }
    let demand = ReplicaDemand {
        strategy: &question.policy.strategy,
        replicas: question.record.replicas(),
        held: &question.held,
        is_fresh: question.record.is_rescheduled(),
        is_descending: seats::is_descending(&question.record.spec.resource.uid),
    };
    let has_tiers = attempt.group.is_some_and(|group| group.overflow.is_some());
    let mut shares = divide::divide(&demand, selected, question.columns, has_tiers)?;
    if settings.lists_empty {
        for (candidate, none) in without_replicas() {
            shares.entry(candidate).or_insert(none);
        }
    }
    Ok(shares)
}

#[cfg(test)]
mod tests;
