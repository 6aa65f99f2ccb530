//! The choice of clusters: filter, rank, select, divide. Groups of clusters are tried one after the other
//! until one has room for all replicas.

use std::collections::BTreeSet;

use berth_dialect_columns::Bits;
use berth_scheduling::{Filter, Ix, Refusals, Rejections};

use crate::code::Plugin;
use crate::divide::{self, Division, Shares, seats};
use crate::failure::Failure;
use crate::question::{GroupQuestion, Question};
use crate::room::{MAX_REPLICAS, Measure, Room, RoomLimit};
use crate::spread::{self, Terms};
use crate::standing::RankedCluster;
use crate::strategy::Strategy;

/// The score of a cluster that the binding lists already.
const LISTED_SCORE: i64 = 100;

/// Settings of Karmada's scheduler that affect the choice of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `--enable-empty-workload-propagation`: whether selected clusters without replicas are listed.
    pub(crate) lists_clusters_without_replicas: bool,
}

/// The outcome of a choice in one group of clusters, or of the whole placement if there are no groups.
#[derive(Debug)]
pub(crate) struct GroupOutcome {
    /// All refusals of all filters; empty until [`GroupOutcome::with_refusals`] adds them.
    pub(crate) rejections: Rejections,
    /// The clusters that fit, in the order of names.
    pub(crate) feasible: Vec<Ix>,
    /// The clusters that fit, best first.
    pub(crate) ranked: Vec<RankedCluster>,
    /// The limits of the room of the `feasible` clusters, in the same order.
    pub(crate) limits: Vec<RoomLimit>,
    /// The selected clusters, in the order of the division.
    pub(crate) selected: Vec<Ix>,
    /// The replicas of each cluster, or the reason why the replicas are not placed.
    pub(crate) outcome: Result<Shares, Failure>,
}

/// A group of clusters that was tried, with or without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupAttempt {
    /// The index of the group.
    pub(crate) group: usize,
    /// Number of clusters that fit.
    pub(crate) feasible: usize,
    /// Reason why the group cannot take the replicas; `None` if it can.
    pub(crate) failure: Option<Failure>,
}

/// The chosen clusters of a binding with their replicas, or the reason why there are none.
#[derive(Debug)]
pub(crate) struct Choice {
    /// The outcome of the first group that succeeds, or else of the group that was tried first.
    pub(crate) run: GroupOutcome,
    /// The index of the group of `run`; `None` if the placement has no groups.
    pub(crate) group: Option<usize>,
    /// The groups that were tried, in order.
    pub(crate) tried: Vec<GroupAttempt>,
}

/// Chooses clusters for `question`. Groups are tried in order until one succeeds: from the observed group on,
/// or from the first group if no group is observed or the binding is decided from scratch.
pub(crate) fn choose(question: &Question<'_>, settings: Settings) -> Choice {
    let common = CommonVerdicts::of(question);
    let groups = question.placement.groups();
    let observed = &question.record.status.scheduler_observed_affinity_name;
    let start = match question.record.is_rescheduled() {
        true => None,
        false => groups.iter().position(|group| group.name == *observed),
    };
    let mut first = None;
    let mut tried = Vec::new();
    for (place, group) in groups.iter().enumerate().skip(start.unwrap_or(0)) {
        let group_question = GroupQuestion::new(question, Some(group));
        let run = run(&group_question, &common, settings);
        tried.push(GroupAttempt {
            group: place,
            feasible: run.feasible.len(),
            failure: run.outcome.as_ref().err().copied(),
        });
        if run.outcome.is_ok() {
            return Choice {
                run: run.with_refusals(&group_question),
                group: Some(place),
                tried,
            };
        }
        first.get_or_insert((place, run));
    }
    if let Some((place, run)) = first {
        let group_question = GroupQuestion::new(question, groups.get(place));
        return Choice {
            run: run.with_refusals(&group_question),
            group: Some(place),
            tried,
        };
    }
    let group_question = GroupQuestion::new(question, None);
    let mut all = run(&group_question, &common, settings).with_refusals(&group_question);
    if question.placement.groups.is_some() {
        // With an empty list of groups, the binding is scheduled, but on no cluster.
        (all.selected, all.outcome) = (Vec::new(), Ok(Shares::new()));
    }
    Choice {
        run: all,
        group: None,
        tried,
    }
}

/// Verdicts and measures that are equal for all groups of a placement.
struct CommonVerdicts {
    /// The clusters that pass every filter except `ClusterAffinity`.
    passing: Bits,
    /// The share of a cluster's room that one replica takes, by the number of the cluster's shape.
    measures: Vec<Measure>,
}

impl CommonVerdicts {
    fn of(question: &Question<'_>) -> Self {
        let columns = question.columns;
        let group_question = GroupQuestion::new(question, None);
        let mut passing = Bits::all(columns.count());
        let others = Plugin::ALL
            .iter()
            .filter(|plugin| **plugin != Plugin::ClusterAffinity);
        for plugin in others {
            match plugin.refuse(&group_question, columns.count()) {
                Refusals::List(refused) => {
                    let refused = refused.into_iter();
                    refused.for_each(|(candidate, _)| passing.set(candidate, false));
                }
                Refusals::AllBut(..) => unreachable!("these filters list the clusters that they refuse"),
            }
        }
        let request = question.record.request.as_ref();
        Self {
            passing,
            measures: columns.shapes.judge(|shape| shape.measure(request)),
        }
    }

    /// The room of `candidate` for replicas of the binding.
    fn room(&self, question: &Question<'_>, candidate: Ix) -> Room {
        let record = question.record;
        if record.replicas() == 0 && record.spec.components.is_empty() {
            return Room {
                replicas: MAX_REPLICAS,
                limit: RoomLimit::Nothing,
            };
        }
        let measure = &self.measures[question.columns.shapes.number_of(candidate)];
        let free_resources = &question.cluster(candidate).free_resources;
        let mut room = free_resources
            .room(record.request.as_ref(), measure)
            .without(question.taken_of(candidate));
        // As in Karmada, the maximum means that the room is unknown. It then counts as room for the requested
        // replicas.
        if room.replicas >= MAX_REPLICAS {
            room.replicas = record.replicas();
        }
        room
    }
}

impl GroupOutcome {
    /// Adds the refusals of all filters.
    fn with_refusals(self, group_question: &GroupQuestion<'_>) -> Self {
        let (feasible, rejections) = berth_scheduling::filter(
            group_question,
            group_question.question.columns.count(),
            &Plugin::ALL.each_ref(),
        );
        debug_assert_eq!(
            feasible, self.feasible,
            "the filters pass the same clusters one by one and together"
        );
        Self { rejections, ..self }
    }
}

/// Divides the replicas among the `chosen` clusters alone, in the group of `whole`, and returns the outcome
/// with the index of this group. Spread constraints do not apply: a caller who chooses clusters is
/// responsible for their spread.
pub(crate) fn divide_among(
    question: &Question<'_>,
    whole: &Choice,
    chosen: &BTreeSet<Ix>,
    settings: Settings,
) -> (GroupOutcome, Option<usize>) {
    let group = whole
        .group
        .and_then(|place| question.placement.groups().get(place));
    let group_question = GroupQuestion::new(question, group);
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
        limits: whole.run.limits.clone(),
        selected: selected.iter().map(|cluster| cluster.candidate).collect(),
        outcome: share(&group_question, &selected, settings),
    };
    (run, whole.group)
}

/// Tries one group: filters, ranks and selects its clusters, and divides the replicas.
/// [`GroupOutcome::with_refusals`] adds the refusals.
fn run(group_question: &GroupQuestion<'_>, common: &CommonVerdicts, settings: Settings) -> GroupOutcome {
    let mut feasible = group_question.matching();
    feasible.intersect(&common.passing);
    let feasible: Vec<Ix> = feasible.iter().collect();
    let (mut ranked, limits) = rank_candidates(group_question, common, &feasible);
    ranked.sort_by_key(RankedCluster::rank);
    let mut run = GroupOutcome {
        rejections: Rejections::default(),
        feasible,
        limits,
        selected: Vec::new(),
        outcome: Err(Failure::NoClusterFit),
        ranked,
    };
    if run.feasible.is_empty() {
        return run;
    }
    match select(group_question, &run.ranked) {
        Err(failure) => run.outcome = Err(failure),
        Ok(selected) => {
            run.selected = selected.iter().map(|cluster| cluster.candidate).collect();
            run.outcome = share(group_question, &selected, settings);
        }
    }
    run
}

/// The `feasible` clusters with the data for their ranks, and the limits of their room.
fn rank_candidates(
    group_question: &GroupQuestion<'_>,
    common: &CommonVerdicts,
    feasible: &[Ix],
) -> (Vec<RankedCluster>, Vec<RoomLimit>) {
    let question = group_question.question;
    let mut ranked = Vec::with_capacity(feasible.len());
    let mut limits = Vec::with_capacity(feasible.len());
    for &candidate in feasible {
        let Room { replicas, limit } = common.room(question, candidate);
        ranked.push(RankedCluster {
            candidate,
            tier: group_question.tier(candidate),
            score: if question.is_listed(candidate) {
                LISTED_SCORE
            } else {
                0
            },
            room: replicas,
            held: question.held_by(candidate),
        });
        limits.push(limit);
    }
    (ranked, limits)
}

fn select(
    group_question: &GroupQuestion<'_>,
    ranked: &[RankedCluster],
) -> Result<Vec<RankedCluster>, Failure> {
    let placement = group_question.question.placement;
    let terms = Terms {
        columns: group_question.question.columns,
        constraints: &placement.raw.spread_constraints,
        is_ignored: placement.ignores_spread,
        is_duplicated: matches!(placement.strategy, Strategy::Duplicated),
        replicas: group_question.question.record.replicas(),
    };
    spread::select(ranked.to_vec(), &terms)
}

fn share(
    group_question: &GroupQuestion<'_>,
    selected: &[RankedCluster],
    settings: Settings,
) -> Result<Shares, Failure> {
    let question = group_question.question;
    let without_replicas = || selected.iter().map(|cluster| (cluster.candidate, 0));
    if !question.record.divides() {
        return Ok(without_replicas().collect());
    }
    let division = Division {
        strategy: &question.placement.strategy,
        replicas: question.record.replicas(),
        held: &question.held,
        is_from_scratch: question.record.is_rescheduled(),
        is_descending: seats::is_descending(&question.record.spec.resource.uid),
    };
    let has_tiers = group_question.group.is_some_and(|group| group.overflow.is_some());
    let mut shares = divide::divide(&division, selected, question.columns, has_tiers)?;
    if settings.lists_clusters_without_replicas {
        for (candidate, none) in without_replicas() {
            shares.entry(candidate).or_insert(none);
        }
    }
    Ok(shares)
}

#[cfg(test)]
mod tests;
