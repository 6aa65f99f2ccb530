//! The scheduling report (docs/reference.md, "The scheduling report"), built from a [`Decision`] in the same
//! way for all dialects.

mod cause;
mod counts;
mod funnel;
mod steps;
mod wire;
mod writer;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use berth_scheduling::{Rejection, Rejections, ScoreColumn};

use crate::decision::Decision;
use crate::inventory::Inventory;
use crate::view::Amount;
use steps::Steps;

pub use cause::{Cause, CauseKind, cause};
pub use counts::{reason_counts, score_cell};
pub use wire::{
    AmountEntry, Candidate, ChangeEntry, Condition, CurrentEntry, FunnelStep, Pick, ReasonCount,
    RejectionEntry, Report, RulesInForce, Score, Token, WriteEntry,
};
pub use writer::{StreamedCandidates, Writer};

/// Returns the report of `decision`, which the dialect named `dialect` has made on `inventory` at `revision`.
#[must_use]
pub fn report(dialect: &str, inventory: &dyn Inventory, revision: u64, decision: &Decision) -> Report {
    let places = Places::of(inventory, decision);
    let view = View {
        dialect,
        inventory,
        decision,
        places: &places,
    };
    let entries = view.entries().into_iter();
    view.report(
        revision,
        entries.map(|entry| view.candidate(entry, true)).collect(),
        writes(inventory, decision),
    )
}

/// Returns the writes that bind `decision`, in order.
#[must_use]
pub fn writes(inventory: &dyn Inventory, decision: &Decision) -> Vec<WriteEntry> {
    let writes = inventory.writes(decision).into_iter();
    writes
        .map(|write| WriteEntry {
            verb: write.verb.as_str().into(),
            subresource: write.subresource.into(),
            object: write.object,
            changed_paths: None,
        })
        .collect()
}

/// The refusal, among the `refusals` of a target, for which the target is out of scope. `scope` is the filter
/// whose refusals mean so ([`Words::scope`](crate::Words::scope)).
fn out_of_scope(scope: Option<u16>, refusals: &[Rejection]) -> Option<&Rejection> {
    let scope = scope?;
    refusals.iter().find(|refusal| refusal.plugin == scope)
}

/// The rank, amount and refusals of every candidate of a decision, collected in one pass, so that a lookup
/// needs no search.
#[derive(Clone, Debug)]
pub struct Places {
    /// The rank of each candidate, from 1; 0 for a candidate without a rank.
    ranks: Vec<u32>,
    /// Whether each candidate is in the resulting set.
    picked: Vec<bool>,
    /// The amount of each candidate; empty where the system divides nothing.
    amounts: Vec<i64>,
    /// The refusals of the decision.
    rejections: Rejections,
    /// Number of targets.
    count: u32,
}

impl Places {
    /// Collects the places in `decision`, which was made on `inventory`.
    #[must_use]
    pub fn of(inventory: &dyn Inventory, decision: &Decision) -> Self {
        let count = inventory.count() as usize;
        let mut ranks = vec![0; count];
        for (place, &candidate) in (1..).zip(&decision.solved.ranked) {
            ranks[candidate as usize] = place;
        }
        let mut picked = vec![false; count];
        for &candidate in &decision.solved.picked {
            picked[candidate as usize] = true;
        }
        let divides = !decision.amounts.is_empty();
        let mut amounts = vec![0; if divides { count } else { 0 }];
        for (&candidate, &amount) in decision.solved.picked.iter().zip(&decision.amounts) {
            amounts[candidate as usize] = amount;
        }
        Self {
            ranks,
            picked,
            amounts,
            rejections: decision.solved.rejections.clone(),
            count: inventory.count(),
        }
    }

    /// The rank of `candidate`, from 1; `None` for an infeasible candidate.
    #[must_use]
    pub fn rank(&self, candidate: u32) -> Option<usize> {
        Some(self.ranks[candidate as usize] as usize).filter(|&rank| rank > 0)
    }

    /// The range of the refusals of `candidate` among the refusals of the decision.
    fn refusals(&self, candidate: u32) -> Range<usize> {
        let (starts, at) = (self.rejections.starts(self.count), candidate as usize);
        starts[at] as usize..starts[at + 1] as usize
    }

    /// Number of bytes on the heap, apart from the list of refusals, which is shared with the decision.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // The starts of the refusals have one entry more than the ranks.
        (2 * self.ranks.len() + 1) * size_of::<u32>()
            + self.picked.len()
            + self.amounts.len() * size_of::<i64>()
    }

    /// Whether `candidate` is in the resulting set.
    #[must_use]
    pub fn is_picked(&self, candidate: u32) -> bool {
        self.picked[candidate as usize]
    }

    /// The amount that `candidate` gets, if it is in the resulting set and the system divides an amount.
    #[must_use]
    pub fn amount(&self, candidate: u32) -> Option<i64> {
        let amount = self.amounts.get(candidate as usize)?;
        self.is_picked(candidate).then_some(*amount)
    }
}

/// Number of groups of targets by their number of steps: 0, 1, and so on. The last group has all targets with
/// more steps.
const STEP_GROUPS: usize = 16;

/// The targets without a rank, the nearest to fitting first: targets in scope before other targets, then
/// targets with fewer [`Steps`] (15 and more count alike), then by name. The order takes one pass, without a
/// sort.
#[must_use]
pub fn nearest(inventory: &dyn Inventory, decision: &Decision, places: &Places) -> Vec<u32> {
    let scope = inventory.scope();
    let steps = Steps::of(inventory, decision);
    let mut by_steps: [Vec<u32>; STEP_GROUPS] = Default::default();
    let mut outside = Vec::new();
    for candidate in (0..inventory.count()).filter(|&candidate| places.rank(candidate).is_none()) {
        let refusals = &decision.solved.rejections[places.refusals(candidate)];
        if out_of_scope(scope, refusals).is_some() {
            outside.push(candidate);
        } else {
            by_steps[steps.count(refusals).min(STEP_GROUPS - 1)].push(candidate);
        }
    }
    let mut order = by_steps.concat();
    order.append(&mut outside);
    order
}

/// An entry in a report's list of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The candidate with this number.
    Target(u32),
    /// The missing cluster at this index of [`Decision::unknown`].
    Unknown(u32),
}

/// A view of a decision and of the inventory on which it was made. Each candidate is rendered on demand.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The name of the dialect.
    pub dialect: &'a str,
    /// The inventory on which the decision was made.
    pub inventory: &'a dyn Inventory,
    /// The decision.
    pub decision: &'a Decision,
    /// The places of the candidates.
    pub places: &'a Places,
}

impl View<'_> {
    /// All considered targets: targets with a rank in rank order, then the other targets in the order of
    /// [`nearest`], then missing clusters.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let rest = match self.considered_count() {
            0 => Vec::new(),
            _ => nearest(self.inventory, self.decision, self.places),
        };
        let ranked = self.decision.solved.ranked.iter().copied();
        let unknown = (0..)
            .zip(&self.decision.unknown)
            .map(|(index, _)| Entry::Unknown(index));
        ranked.chain(rest).map(Entry::Target).chain(unknown).collect()
    }

    /// All considered targets by number, which is by name, then missing clusters.
    #[must_use]
    pub fn entries_by_number(&self) -> Vec<Entry> {
        let unknown = (0..)
            .zip(&self.decision.unknown)
            .map(|(index, _)| Entry::Unknown(index));
        (0..self.considered_count())
            .map(Entry::Target)
            .chain(unknown)
            .collect()
    }

    /// Number of targets that the pipeline considered: all, or none if it did not run.
    fn considered_count(&self) -> u32 {
        let solved = &self.decision.solved;
        let considered = !solved.feasible.is_empty() || !solved.rejections.is_empty();
        if considered { self.inventory.count() } else { 0 }
    }

    /// The system's own name of the cluster of `entry`.
    #[must_use]
    pub fn cluster_name(&self, entry: Entry) -> Arc<str> {
        match entry {
            Entry::Target(candidate) => self.inventory.cluster_name(candidate),
            Entry::Unknown(index) => Arc::clone(&self.decision.unknown[index as usize].0),
        }
    }

    /// The name of the Target object of `entry`; empty for a missing cluster.
    #[must_use]
    pub fn target_name(&self, entry: Entry) -> String {
        match entry {
            Entry::Target(candidate) => self.target(candidate),
            Entry::Unknown(_) => String::new(),
        }
    }

    /// Whether no filter refuses the target of `entry` now.
    #[must_use]
    pub fn is_feasible(&self, entry: Entry) -> bool {
        match entry {
            Entry::Target(candidate) => self.refusals(candidate).is_empty(),
            Entry::Unknown(_) => false,
        }
    }

    /// Whether the target of `entry` is out of scope.
    #[must_use]
    pub fn is_out_of_scope(&self, entry: Entry) -> bool {
        match entry {
            Entry::Target(candidate) => self.is_outside(self.refusals(candidate)),
            Entry::Unknown(_) => false,
        }
    }

    /// Whether a target with these `refusals` is out of scope.
    fn is_outside(&self, refusals: &[Rejection]) -> bool {
        out_of_scope(self.inventory.scope(), refusals).is_some()
    }

    /// Whether the target of `entry` is in the resulting set.
    #[must_use]
    pub fn is_picked(&self, entry: Entry) -> bool {
        match entry {
            Entry::Target(candidate) => self.places.is_picked(candidate),
            Entry::Unknown(_) => false,
        }
    }

    /// The report with these `candidates` and `writes`.
    pub fn report<C, W, A>(&self, revision: u64, candidates: C, writes: W) -> Report<C, W, A> {
        Report {
            outcome: self.decision.outcome.as_str().into(),
            reason: self.decision.reason.into(),
            message: self.inventory.message(self.decision),
            wanted: self
                .inventory
                .demand(&self.decision.demand, self.decision.now)
                .and_then(|view| view.wanted),
            warnings: self.inventory.warnings(self.decision),
            rules: self.inventory.rules_in_force().map(|in_force| RulesInForce {
                name: in_force.rules.as_str().into(),
                message: in_force.because,
                at_odds: in_force.is_at_odds,
            }),
            evaluated_at: berth_apimachinery::time::rfc3339(self.decision.now),
            inventory_revision: revision.to_string(),
            amount: self.amount(),
            picked: self.picked(),
            current: self.current(),
            changes: self.changes(),
            candidates,
            remaining_candidates: None,
            reason_counts: None,
            funnel: match self.considered_count() {
                0 => Vec::new(),
                _ => funnel::steps(self.inventory, self.decision),
            },
            conditions: self.inventory.conditions(self.decision),
            writes,
            advice: None,
        }
    }

    /// The candidate of `entry`; the reasons of a target only if `with_reasons` is set.
    #[must_use]
    pub fn candidate(&self, entry: Entry, with_reasons: bool) -> Candidate {
        match entry {
            Entry::Target(candidate) => self.target_candidate(candidate, with_reasons),
            Entry::Unknown(index) => self.unknown_candidate(index),
        }
    }

    /// The name of the Target object of `candidate`.
    fn target(&self, candidate: u32) -> String {
        format!("{}.{}", self.inventory.target_name(candidate), self.dialect)
    }

    /// The name of the Target object of a cluster; empty if the cluster is no candidate.
    fn target_of(&self, cluster_name: &str) -> String {
        self.inventory
            .candidate(cluster_name)
            .map(|candidate| self.target(candidate))
            .unwrap_or_default()
    }

    fn rank(&self, candidate: u32) -> Option<usize> {
        self.places.rank(candidate)
    }

    fn refusals(&self, candidate: u32) -> &[Rejection] {
        &self.decision.solved.rejections[self.places.refusals(candidate)]
    }

    fn scores(&self, candidate: u32) -> Vec<Score> {
        let Some(row) = self.decision.solved.row_of(candidate) else {
            return Vec::new();
        };
        let columns = self.decision.solved.scores.iter();
        columns.map(|column| self.score(column, row, candidate)).collect()
    }

    /// The score that the scorer of `column` gave the feasible `candidate`, which is at `row`.
    fn score(&self, column: &ScoreColumn, row: usize, candidate: u32) -> Score {
        Score {
            plugin: Arc::clone(&self.decision.scorers[usize::from(column.plugin)]),
            value: column.values[row],
            weight: column.weight,
            weighted: column.values[row].unwrap_or(0).saturating_mul(column.weight),
            message: self
                .inventory
                .score_message(self.decision, candidate, column.plugin)
                .unwrap_or_default(),
        }
    }

    fn picked(&self) -> Vec<Pick> {
        // A set, since both the current and the picked clusters may be as many as the targets.
        let current = self.decision.current.iter();
        let mut current_names: HashSet<&str> = current.map(|current| &*current.cluster_name).collect();
        // A cluster that is bound or restored although it has a binding was being released before.
        let renewed = self
            .decision
            .changes
            .iter()
            .filter(|change| matches!(change.action, crate::Action::Bind | crate::Action::Restore));
        renewed.for_each(|change| {
            current_names.remove(&*change.cluster_name);
        });
        let picks = self.decision.solved.picked.iter();
        let mut list: Vec<Pick> = picks
            .enumerate()
            .map(|(index, &candidate)| {
                let cluster_name = self.inventory.cluster_name(candidate);
                let is_kept = current_names.contains(&*cluster_name);
                Pick {
                    reason: if is_kept { "Kept" } else { "Picked" }.into(),
                    cluster_name,
                    target: self.target(candidate),
                    rank: self.rank(candidate),
                    score: self.decision.solved.total_of(candidate),
                    scores: self.scores(candidate),
                    amount: self.decision.amount_of_pick(index),
                }
            })
            .collect();
        let created = self
            .decision
            .changes
            .iter()
            .filter(|change| change.action == crate::Action::Create);
        list.extend(created.map(|change| Pick {
            cluster_name: Arc::clone(&change.cluster_name),
            target: self.target_of(&change.cluster_name),
            rank: None,
            score: None,
            scores: Vec::new(),
            amount: change.amount_to,
            reason: "Created".into(),
        }));
        list
    }

    fn amount(&self) -> Option<AmountEntry> {
        let Amount { name, wanted, placed } = self.inventory.amount(self.decision)?;
        Some(AmountEntry {
            name: name.into(),
            wanted,
            placed,
        })
    }

    fn current(&self) -> Vec<CurrentEntry> {
        let entries = self.decision.current.iter();
        entries
            .map(|current| CurrentEntry {
                cluster_name: Arc::clone(&current.cluster_name),
                target: self.target_of(&current.cluster_name),
                state: current.state.into(),
                amount: current.amount,
            })
            .collect()
    }

    fn changes(&self) -> Vec<ChangeEntry> {
        let changes = self.decision.changes.iter();
        changes
            .map(|change| ChangeEntry {
                action: change.action.as_str().into(),
                cluster_name: Arc::clone(&change.cluster_name),
                from: change.from.into(),
                to: change.to.into(),
                amount_from: change.amount_from,
                amount_to: change.amount_to,
            })
            .collect()
    }

    fn unknown_candidate(&self, index: u32) -> Candidate {
        let (name, plugin, reason) = &self.decision.unknown[index as usize];
        Candidate {
            cluster_name: Arc::clone(name),
            target: String::new(),
            feasible: false,
            out_of_scope: false,
            picked: false,
            amount: None,
            rank: None,
            score: None,
            scores: Vec::new(),
            rejections: vec![RejectionEntry {
                plugin: (*plugin).into(),
                reason: (*reason).into(),
                message: format!("there is no cluster \"{name}\""),
            }],
        }
    }

    /// The reasons why `candidate` is refused, or not picked.
    fn reasons(&self, candidate: u32, refusals: &[Rejection]) -> Vec<RejectionEntry> {
        let refused = refusals.iter().map(|refusal| self.refusal(candidate, refusal));
        refused.chain(self.not_picked(candidate, refusals)).collect()
    }

    fn refusal(&self, candidate: u32, refusal: &Rejection) -> RejectionEntry {
        RejectionEntry {
            plugin: self.inventory.filters()[usize::from(refusal.plugin)].into(),
            reason: self.inventory.token(refusal.plugin, refusal.reason).into(),
            message: self
                .inventory
                .sentence(self.decision, candidate, refusal.plugin, refusal.reason),
        }
    }

    /// The reason why `candidate` is not picked although no filter refuses it.
    fn not_picked(&self, candidate: u32, refusals: &[Rejection]) -> Option<RejectionEntry> {
        if !refusals.is_empty() || self.places.picked[candidate as usize] {
            return None;
        }
        let rank = self.rank(candidate);
        let (reason, message) = self.inventory.not_picked(self.decision, candidate, rank);
        Some(RejectionEntry {
            plugin: "".into(),
            reason: reason.into(),
            message,
        })
    }

    fn target_candidate(&self, candidate: u32, with_reasons: bool) -> Candidate {
        let refusals = self.refusals(candidate);
        let rejections = match with_reasons {
            true => self.reasons(candidate, refusals),
            false => Vec::new(),
        };
        Candidate {
            cluster_name: self.inventory.cluster_name(candidate),
            target: self.target(candidate),
            feasible: refusals.is_empty(),
            out_of_scope: self.is_outside(refusals),
            picked: self.places.picked[candidate as usize],
            amount: self.places.amount(candidate),
            rank: self.rank(candidate),
            score: self.decision.solved.total_of(candidate),
            scores: self.scores(candidate),
            rejections,
        }
    }
}
