//! Decisions on a namespace, as by the placement controller.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::{FieldError, Timestamp};
use berth_dialect_contract::{Action, Ask, BindingChange, ChoiceRefusal, CurrentPlace, Decision, Outcome};
use berth_scheduling::{Ix, PipelineOutcome};
use jiff::SignedDuration;

use crate::code::Code;
use crate::condition;
use crate::detail::Detail;
use crate::fleet::{Fleet, NamespaceRecord};
use crate::placement::{Form, Placement, State, StoredPlacement};
use crate::select::{self, Choice, ClusterVerdicts, KeptEntries};
use crate::words;

/// The delay after which a namespace that lacks a cluster is decided again (docs/systems/kcp.md,
/// "Selection").
const RETRY: SignedDuration = SignedDuration::from_mins(2);

impl Fleet {
    /// Decides the namespace in `ask`; `None` if it is not a demand.
    pub(crate) fn decide_namespace(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        let record = Arc::clone(self.namespace(ask.demand)?);
        Some(self.judge_namespace(&record, ask))
    }

    fn judge_namespace(&self, record: &NamespaceRecord, ask: &Ask<'_>) -> Result<Decision, ChoiceRefusal> {
        let facts = PlacementFacts {
            fleet: self,
            record,
            ask,
        };
        let obstacle = match () {
            () if record.deleting => Some("the namespace is being deleted"),
            () if record.disabled => Some("scheduling is disabled for the namespace by label"),
            () if !self.is_subject(record) => Some("the namespace is no longer placed"),
            () => None,
        };
        if let Some((names, problem)) = ask.chosen.zip(obstacle)
            && !names.is_empty()
        {
            return Err(refuse_all(names, problem));
        }
        if record.deleting {
            return Ok(facts.base_decision(Outcome::Released, "Released"));
        }
        if record.disabled {
            return Ok(facts.ignored_decision());
        }
        if !self.is_subject(record) {
            return Ok(facts.drain_decision());
        }
        facts.placement_decision()
    }
}

/// The data for one decision.
struct PlacementFacts<'a> {
    fleet: &'a Fleet,
    record: &'a NamespaceRecord,
    ask: &'a Ask<'a>,
}

impl PlacementFacts<'_> {
    /// A decision that keeps all entries, without a run of the pipeline.
    fn base_decision(&self, outcome: Outcome, reason: &'static str) -> Decision {
        let entries = self.record.reading.placement.0.iter();
        let current = entries.map(|(place, state)| CurrentPlace {
            cluster_name: Arc::clone(&place.identifier),
            state: state.as_str(),
            amount: None,
        });
        Decision {
            demand: self.ask.demand.clone(),
            demand_revision: self.record.object.revision(),
            outcome,
            reason,
            solved: PipelineOutcome::default(),
            amounts: Vec::new(),
            scorers: Vec::new(),
            unknown: Vec::new(),
            current: current.collect(),
            changes: changes(&self.record.reading.placement, &self.record.reading.placement),
            fences: Vec::new(),
            due_at: None,
            now: self.ask.now,
            detail: Box::new(Detail::default()),
        }
    }

    /// The decision on a namespace whose label disables scheduling: only its condition is updated.
    fn ignored_decision(&self) -> Decision {
        let condition = condition::namespace_scheduled(true, &self.record.reading);
        let mut decision = self.base_decision(Outcome::Ignored, "SchedulingDisabled");
        decision.detail = Box::new(Detail {
            condition,
            ..Detail::default()
        });
        decision
    }

    /// The decision on a namespace that is no longer to be placed: every entry makes its next legal
    /// transition towards removal.
    fn drain_decision(&self) -> Decision {
        let kept = self.fleet.keep(self.record, false, self.ask.now);
        let mut decision = self.base_decision(Outcome::Released, "Released");
        decision.changes = changes(&self.record.reading.placement, &kept.placement);
        let mut detail = self.detail(&kept.placement);
        // Such a namespace gets no new condition, but an existing condition is still updated.
        detail.condition = detail.condition.filter(|_| self.record.has_condition);
        decision.detail = Box::new(detail);
        decision
    }

    /// The decision on a namespace that is to be placed.
    ///
    /// # Errors
    /// The errors in the clusters that the caller chose.
    fn placement_decision(&self) -> Result<Decision, ChoiceRefusal> {
        let kept = self.fleet.keep(self.record, true, self.ask.now);
        let verdicts = select::judge(self.fleet, &kept, self.ask.now);
        let (choices, unmet) = match self.ask.chosen.filter(|names| !names.is_empty()) {
            Some(names) => {
                let choices = self.caller_choices(&kept, &verdicts, names)?;
                let lacks = |location: &&Arc<str>| !choices.iter().any(|(name, _)| name == *location);
                let unmet = kept.reschedule.iter().filter(lacks).cloned().collect();
                (choices, unmet)
            }
            None => select::choose(self.fleet, &kept, &verdicts, self.ask.seed),
        };
        Ok(self.conclude(kept, verdicts, choices, unmet))
    }

    /// The decision with these choices. `unmet` are the locations that need a cluster and get none.
    fn conclude(
        &self,
        kept: KeptEntries,
        verdicts: ClusterVerdicts,
        choices: Vec<Choice>,
        unmet: Vec<Arc<str>>,
    ) -> Decision {
        let placement = select::with_choices(self.fleet, &kept, &choices);
        let detail = Detail {
            locations: kept.reschedule.clone(),
            unmet,
            settled: kept.wanted() == 0,
            is_chosen: self.ask.chosen.is_some_and(|names| !names.is_empty()),
            ..self.detail(&placement)
        };
        let is_incomplete = !detail.unmet.is_empty() || kept.anywhere && choices.is_empty();
        let (outcome, reason) = self.outcome(&kept, &detail, &choices, is_incomplete);
        let mut decision = self.base_decision(outcome, reason);
        decision.changes = changes(&self.record.reading.placement, &placement);
        decision.due_at = self.due_at(&kept, &choices, is_incomplete);
        decision.solved = solved(verdicts, &choices);
        decision.detail = Box::new(Detail {
            chosen_in: choices,
            ..detail
        });
        decision
    }

    fn outcome(
        &self,
        kept: &KeptEntries,
        detail: &Detail,
        choices: &[Choice],
        is_incomplete: bool,
    ) -> (Outcome, &'static str) {
        let malformed = matches!(self.record.reading.form, Form::Malformed(_));
        let is_placed = kept.active || !choices.is_empty();
        let writes = detail.annotation.is_some() || detail.condition_changes(self.record);
        match (is_placed, is_incomplete) {
            (true, true) if writes => (Outcome::Partial, "Unschedulable"),
            (true, true) => (Outcome::Unchanged, "Unschedulable"),
            (true, false) if !choices.is_empty() => (Outcome::Scheduled, "Picked"),
            (true, false) if writes => (Outcome::Scheduled, "Kept"),
            (true, false) => (Outcome::Unchanged, "Kept"),
            (false, _) if malformed => (Outcome::Invalid, "PlacementInvalid"),
            (false, _) => (Outcome::Unschedulable, "Unschedulable"),
        }
    }

    /// The next time at which the decision may change by itself: the start of an eviction from an active
    /// cluster, or the retry if clusters are missing.
    fn due_at(&self, kept: &KeptEntries, choices: &[Choice], is_incomplete: bool) -> Option<Timestamp> {
        let retry = if is_incomplete {
            self.ask.now.checked_add(RETRY).ok()
        } else {
            None
        };
        let evictions = choices
            .iter()
            .map(|(_, candidate)| self.fleet.row(*candidate).facts.evict_after)
            .filter(|&at| at < Timestamp::MAX);
        evictions.chain(kept.evicted_at).chain(retry).min()
    }

    /// The annotation and the condition to be written so that the namespace has `placement`.
    fn detail(&self, placement: &Placement) -> Detail {
        let reading = &self.record.reading;
        let must_write = match &reading.form {
            // An annotation that cannot be parsed is kept unless there are entries to write.
            Form::Malformed(_) => !placement.0.is_empty(),
            Form::Absent | Form::Null => true,
            Form::Map => *placement != reading.placement || !reading.dropped.is_empty(),
        };
        let annotation = must_write.then(|| placement.to_text());
        let after = match &annotation {
            Some(text) => StoredPlacement::of(Some(text)),
            None => reading.clone(),
        };
        Detail {
            condition: condition::namespace_scheduled(false, &after),
            annotation,
            ..Detail::default()
        }
    }

    /// The new clusters among the clusters `names` that the caller chose, each with its location. A cluster
    /// that already has the namespace may be named; it stays, and is not returned.
    ///
    /// # Errors
    /// An error for each cluster that is unknown, repeated or refused, and an error if there are more new
    /// clusters than the namespace needs.
    fn caller_choices(
        &self,
        kept: &KeptEntries,
        verdicts: &ClusterVerdicts,
        names: &[String],
    ) -> Result<Vec<Choice>, ChoiceRefusal> {
        let mut errors = Vec::new();
        let mut candidates: Vec<Ix> = Vec::new();
        let mut seen = BTreeSet::new();
        for (index, name) in names.iter().enumerate() {
            let path = format!("spec.targets[{index}]");
            let wrong = |detail: String| FieldError::invalid(path.as_str(), name.as_str(), detail);
            if !seen.insert(name) {
                errors.push(FieldError::duplicate(path, name.as_str()));
                continue;
            }
            let Some((candidate, row)) = self.fleet.find_row(name) else {
                errors.push(wrong(format!(
                    "there is no WorkloadCluster with the identifier \"{name}\""
                )));
                continue;
            };
            if verdicts.held.binary_search(&candidate).is_ok() {
                continue;
            }
            let refusals: Vec<String> = verdicts
                .rejections
                .of_candidate(candidate)
                .iter()
                .map(|rejection| {
                    let reason = rejection.reason;
                    let sentence = words::refusal(self.fleet, row, &kept.reschedule, self.ask.now, reason);
                    format!("{}: {sentence}", Code::of_reason(reason).name())
                })
                .collect();
            if !refusals.is_empty() {
                errors.push(wrong(refusals.join("; ")));
            } else if kept.wanted() == 0 {
                errors.push(wrong(words::settled(self.fleet, &verdicts.held)));
            } else {
                candidates.push(candidate);
            }
        }
        if candidates.len() > kept.wanted() {
            let max = kept.wanted() + verdicts.held.len();
            errors.push(FieldError::too_many("spec.targets", names.len(), max));
        }
        if !errors.is_empty() {
            return Err(ChoiceRefusal { errors });
        }
        select::assign(self.fleet, kept, &candidates, self.ask.seed).ok_or_else(|| {
            let detail = format!(
                "each workload cluster needs a location of its own, and the namespace needs clusters in: {}",
                kept.reschedule.join(", ")
            );
            ChoiceRefusal {
                errors: vec![FieldError::invalid("spec.targets", names.join(","), detail)],
            }
        })
    }
}

impl Detail {
    /// Whether the stored condition of `record` differs from the new condition.
    pub(crate) fn condition_changes(&self, record: &NamespaceRecord) -> bool {
        let stored = condition::stored(record.object.value());
        let new = self.condition.as_ref();
        new.is_some_and(|new| !stored.is_some_and(|stored| new.matches(stored)))
    }
}

/// The refusal of all targets in `names`, for the reason `problem`.
fn refuse_all(names: &[String], problem: &str) -> ChoiceRefusal {
    let error = |(index, name): (usize, &String)| {
        FieldError::invalid(format!("spec.targets[{index}]"), name.as_str(), problem)
    };
    ChoiceRefusal {
        errors: names.iter().enumerate().map(error).collect(),
    }
}

/// The outcome of the pipeline. The ranking has feasible picked clusters first (kept clusters before new
/// clusters), then the other feasible clusters by name.
fn solved(verdicts: ClusterVerdicts, choices: &[Choice]) -> PipelineOutcome {
    let mut picked = verdicts.held;
    picked.extend(choices.iter().map(|&(_, candidate)| candidate));
    let feasible = |candidate: &Ix| verdicts.feasible.binary_search(candidate).is_ok();
    let mut ranked: Vec<Ix> = picked.iter().copied().filter(feasible).collect();
    let mut first = ranked.clone();
    first.sort_unstable();
    let rest = verdicts.feasible.iter().copied();
    ranked.extend(rest.filter(|candidate| first.binary_search(candidate).is_err()));
    PipelineOutcome {
        rejections: verdicts.rejections,
        feasible: verdicts.feasible,
        ranked,
        picked,
        ..PipelineOutcome::default()
    }
}

/// The changes of clusters between two placements. Entries are compared by identifier, since one write may
/// replace a cluster's entry in one location by an entry in another location.
fn changes(before: &Placement, after: &Placement) -> Vec<BindingChange> {
    let states = |placement: &Placement| -> BTreeMap<Arc<str>, State> {
        let entries = placement.0.iter();
        entries
            .map(|(place, &state)| (Arc::clone(&place.identifier), state))
            .collect()
    };
    let (before, after) = (states(before), states(after));
    let mut names: Vec<&Arc<str>> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &Arc<str>| {
        let (from, to) = (before.get(name).copied(), after.get(name).copied());
        let action = match (from, to) {
            (from, to) if from == to => Action::Keep,
            (_, Some(State::Pending)) => Action::Bind,
            _ => Action::Unbind,
        };
        BindingChange {
            action,
            cluster_name: Arc::clone(name),
            from: from.map_or("", State::as_str),
            to: to.map_or("", State::as_str),
            amount_from: None,
            amount_to: None,
        }
    };
    names.into_iter().map(change).collect()
}

#[cfg(test)]
mod tests;
