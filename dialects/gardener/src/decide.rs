//! The decisions of the dialect: a seed for a shoot.

use std::sync::Arc;

use berth_apimachinery::FieldError;
use berth_dialect_contract::{Action, Ask, BindingChange, ChoiceRefusal, CurrentPlace, Decision, Outcome};
use berth_scheduling::{Ix, PipelineOutcome};

use crate::code::Code;
use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::fleet::shoot::ShootRecord;
use crate::request::{EffectiveStrategy, Request};
use crate::solve::{Solution, solve};
use crate::words;

impl Fleet {
    /// Decides the shoot in `ask`; `None` if there is no such shoot that can be parsed.
    pub(crate) fn decide_shoot(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        let shoot = Arc::clone(self.shoot(ask.demand)?);
        Some(self.judge(&shoot, ask))
    }

    /// Decides `shoot`: the first case that applies determines the outcome.
    fn judge(&self, shoot: &ShootRecord, ask: &Ask<'_>) -> Result<Decision, ChoiceRefusal> {
        let base = DecisionBase { shoot, ask };
        if shoot.deleting {
            let mut decision = base.without_solution(Outcome::Released, "Released");
            decision.changes = base.changes(Action::Unbind);
            return Ok(decision);
        }
        if !shoot.requirements.is_ours() {
            return Ok(base.without_solution(Outcome::Ignored, "Ignored"));
        }
        if let Some(seed) = &shoot.seed {
            return self.keep(&base, seed);
        }
        if self.config_problem.is_some() {
            return Ok(base.without_solution(Outcome::Invalid, "ConfigInvalid"));
        }
        let Some(profile) = self.profile_of(&shoot.requirements) else {
            return Ok(base.without_solution(Outcome::Invalid, "CloudProfileNotFound"));
        };
        let needs_distances = EffectiveStrategy::of(self.config.strategy, &shoot.requirements)
            == EffectiveStrategy::MinimalDistance;
        if needs_distances && self.distances_problem(&shoot.requirements).is_some() {
            return Ok(base.without_solution(Outcome::Invalid, "RegionConfigInvalid"));
        }
        let solution = solve(&Request::new(
            self,
            &shoot.requirements,
            profile,
            &shoot.occupied.0,
        ));
        let picked = match ask.chosen {
            Some(names) => Some(self.choose(shoot, &solution, names)?),
            None => solution.solved.ranked.first().copied(),
        };
        Ok(self.scheduled(&base, solution, picked))
    }

    /// The decision after a run of the pipeline, with the `picked` seed, if any.
    fn scheduled(&self, base: &DecisionBase<'_>, solution: Solution, picked: Option<Ix>) -> Decision {
        let Some(candidate) = picked else {
            return base.with_solution(Outcome::Unschedulable, "NoSuitableSeed", self, solution);
        };
        let mut decision = base.with_solution(Outcome::Scheduled, "Picked", self, solution);
        let cluster_name = Arc::clone(&self.row(candidate).name);
        decision.fences = vec![fence(&cluster_name)];
        decision.changes = vec![BindingChange {
            action: Action::Bind,
            cluster_name,
            from: "",
            to: "",
            amount_from: None,
            amount_to: None,
        }];
        decision.solved.picked = vec![candidate];
        decision
    }

    /// The decision on a bound shoot, which stays on `seed`. The pipeline only runs to explain the decision.
    fn keep(&self, base: &DecisionBase<'_>, seed: &Arc<str>) -> Result<Decision, ChoiceRefusal> {
        if let Some(names) = base.ask.chosen {
            self.refuse_other_seeds(names, seed)?;
        }
        let shoot = base.shoot;
        let mut decision = match self.profile_of(&shoot.requirements) {
            Some(profile) => {
                let solution = solve(&Request::new(
                    self,
                    &shoot.requirements,
                    profile,
                    &shoot.occupied.0,
                ));
                base.with_solution(Outcome::Unchanged, "Kept", self, solution)
            }
            None => base.without_solution(Outcome::Unchanged, "Kept"),
        };
        decision.solved.picked = self
            .seed(seed)
            .map(|(candidate, _)| candidate)
            .into_iter()
            .collect();
        decision.changes = base.changes(Action::Keep);
        Ok(decision)
    }

    /// Refuses `names`, the choice of the caller, if they are not only `seed`, to which the shoot is bound. A
    /// move to another seed is a control plane migration, which Gardener only accepts through
    /// `shoots/binding`.
    ///
    /// # Errors
    /// An error for every other name, and for a choice of several seeds.
    fn refuse_other_seeds(&self, names: &[String], seed: &str) -> Result<(), ChoiceRefusal> {
        let mut errors = too_many(names);
        for (index, name) in names.iter().enumerate().filter(|(_, name)| name.as_str() != seed) {
            let path = format!("spec.targets[{index}]");
            let detail = if self.seed(name).is_none() {
                let missing = words::missing_seed(self, name);
                format!("{missing}; the shoot is bound to seed \"{seed}\"")
            } else {
                format!(
                    "the shoot is bound to seed \"{seed}\"; a move is a control plane migration: use the subresource \
                     shoots/binding"
                )
            };
            errors.push(FieldError::invalid(path, name.as_str(), detail));
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(ChoiceRefusal { errors })
        }
    }

    /// The seed that the caller chose by `names`.
    ///
    /// # Errors
    /// An error for each name that is no seed, and for each seed that a filter refuses; one error if there is
    /// no name, or several.
    fn choose(
        &self,
        shoot: &ShootRecord,
        solution: &Solution,
        names: &[String],
    ) -> Result<Ix, ChoiceRefusal> {
        let mut errors = too_many(names);
        let mut chosen = None;
        for (index, name) in names.iter().enumerate() {
            let path = format!("spec.targets[{index}]");
            let Some((candidate, row)) = self.seed(name) else {
                errors.push(FieldError::invalid(
                    path,
                    name.as_str(),
                    words::missing_seed(self, name),
                ));
                continue;
            };
            let refusals = solution.solved.rejections_of(candidate);
            if refusals.is_empty() {
                chosen = Some(candidate);
                continue;
            }
            let minimum = solution.minimum;
            let reasons: Vec<String> = refusals
                .iter()
                .map(|refusal| {
                    let sentence = words::refusal(self, row, &shoot.requirements, minimum, refusal.reason);
                    format!("{}: {sentence}", Code::of_reason(refusal.reason).name())
                })
                .collect();
            errors.push(FieldError::invalid(path, name.as_str(), reasons.join("; ")));
        }
        match chosen {
            Some(candidate) if errors.is_empty() => Ok(candidate),
            None if errors.is_empty() => {
                let detail = "name one seed, or give no targets to let the scheduler pick";
                Err(ChoiceRefusal {
                    errors: vec![FieldError::required("spec.targets", detail)],
                })
            }
            _ => Err(ChoiceRefusal { errors }),
        }
    }
}

/// The error of a choice of several seeds.
fn too_many(names: &[String]) -> Vec<FieldError> {
    if names.len() > 1 {
        vec![FieldError::too_many("spec.targets", names.len(), 1)]
    } else {
        Vec::new()
    }
}

/// The name of the fence of `seed`. Every write that depends on the number of shoots on the seed passes this
/// fence.
pub(crate) fn fence(seed: &str) -> Arc<str> {
    format!("gardener/seeds/{seed}").into()
}

/// The inputs of a decision, from which the parts are built that do not depend on the outcome.
struct DecisionBase<'a> {
    shoot: &'a ShootRecord,
    ask: &'a Ask<'a>,
}

impl DecisionBase<'_> {
    /// A decision without a run of the pipeline.
    fn without_solution(&self, outcome: Outcome, reason: &'static str) -> Decision {
        let detail = Detail {
            strategy: None,
            minimum: None,
            chosen: self.ask.chosen.is_some(),
        };
        Decision {
            demand: self.ask.demand.clone(),
            demand_revision: self.shoot.object.revision(),
            outcome,
            reason,
            solved: PipelineOutcome::default(),
            amounts: Vec::new(),
            scorers: Vec::new(),
            unknown: Vec::new(),
            current: self.current(),
            changes: Vec::new(),
            fences: Vec::new(),
            due_at: None,
            now: self.ask.now,
            detail: Box::new(detail),
        }
    }

    /// A decision with the result of the pipeline.
    fn with_solution(
        &self,
        outcome: Outcome,
        reason: &'static str,
        fleet: &Fleet,
        solution: Solution,
    ) -> Decision {
        let strategy = Some(EffectiveStrategy::of(
            fleet.config.strategy,
            &self.shoot.requirements,
        ));
        let detail = Detail {
            strategy,
            minimum: solution.minimum,
            chosen: self.ask.chosen.is_some(),
        };
        Decision {
            solved: solution.solved,
            amounts: Vec::new(),
            scorers: solution.scorers,
            detail: Box::new(detail),
            ..self.without_solution(outcome, reason)
        }
    }

    /// The seed to which the shoot is bound.
    fn current(&self) -> Vec<CurrentPlace> {
        let seed = self.shoot.seed.iter();
        seed.map(|name| CurrentPlace {
            cluster_name: Arc::clone(name),
            state: "",
            amount: None,
        })
        .collect()
    }

    /// The change of the present binding by `action`; empty without a binding.
    fn changes(&self, action: Action) -> Vec<BindingChange> {
        let seed = self.shoot.seed.iter();
        seed.map(|name| BindingChange {
            action,
            cluster_name: Arc::clone(name),
            from: "",
            to: "",
            amount_from: None,
            amount_to: None,
        })
        .collect()
    }
}

#[cfg(test)]
mod tests;
