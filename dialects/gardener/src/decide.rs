//! Decisions on a shoot.

use std::sync::Arc;

use berth_apimachinery::FieldError;
use berth_dialect_contract::{Action, Ask, BindingChange, ChoiceRefusal, Current, Decision, Outcome};
use berth_scheduling::{Ix, PipelineOutcome};

use crate::code::Code;
use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::fleet::shoot::Record;
use crate::request::{Request, Rule};
use crate::solve::{Solution, solve};
use crate::words;

impl Fleet {
    /// Decides the shoot in `ask`.
    pub(crate) fn decide_shoot(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        let shoot = Arc::clone(self.shoot(ask.demand)?);
        Some(self.judge(&shoot, ask))
    }

    fn judge(&self, shoot: &Record, ask: &Ask<'_>) -> Result<Decision, ChoiceRefusal> {
        let base = DecisionBase { shoot, ask };
        if shoot.deleting {
            let mut decision = base.without_a_run(Outcome::Released, "Released");
            decision.changes = base.changes(Action::Unbind);
            return Ok(decision);
        }
        if !shoot.wants.is_ours() {
            return Ok(base.without_a_run(Outcome::Ignored, "Ignored"));
        }
        if let Some(seed) = &shoot.seed {
            return self.keep(&base, seed);
        }
        if self.config_problem.is_some() {
            return Ok(base.without_a_run(Outcome::Invalid, "ConfigInvalid"));
        }
        let Some(profile) = self.profile_of(&shoot.wants) else {
            return Ok(base.without_a_run(Outcome::Invalid, "CloudProfileNotFound"));
        };
        let is_measured = Rule::of(self.config.strategy, &shoot.wants) == Rule::MinimalDistance;
        if is_measured && self.distances_problem(&shoot.wants).is_some() {
            return Ok(base.without_a_run(Outcome::Invalid, "RegionConfigInvalid"));
        }
        let solution = solve(&Request::new(self, &shoot.wants, profile, &shoot.seats.0));
        let picked = match ask.chosen {
            Some(names) => Some(self.choose(shoot, &solution, names)?),
            None => solution.solved.ranked.first().copied(),
        };
        Ok(self.scheduled(&base, solution, picked))
    }

    fn scheduled(&self, base: &DecisionBase<'_>, solution: Solution, picked: Option<Ix>) -> Decision {
        let Some(candidate) = picked else {
            return base.after_a_run(Outcome::Unschedulable, "NoSuitableSeed", self, solution);
        };
        let mut decision = base.after_a_run(Outcome::Scheduled, "Picked", self, solution);
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

    /// The decision on a bound shoot, which stays on `seed`: the pipeline only runs for the explanation.
    fn keep(&self, base: &DecisionBase<'_>, seed: &Arc<str>) -> Result<Decision, ChoiceRefusal> {
        if let Some(names) = base.ask.chosen {
            self.must_be_kept(names, seed)?;
        }
        let shoot = base.shoot;
        let mut decision = match self.profile_of(&shoot.wants) {
            Some(profile) => {
                let solution = solve(&Request::new(self, &shoot.wants, profile, &shoot.seats.0));
                base.after_a_run(Outcome::Unchanged, "Kept", self, solution)
            }
            None => base.without_a_run(Outcome::Unchanged, "Kept"),
        };
        decision.solved.picked = self
            .seed(seed)
            .map(|(candidate, _)| candidate)
            .into_iter()
            .collect();
        decision.changes = base.changes(Action::Keep);
        Ok(decision)
    }

    /// Refuses the choice of another seed for a bound shoot: this is a control plane migration, which
    /// Gardener only accepts through its own subresource.
    fn must_be_kept(&self, names: &[String], seed: &str) -> Result<(), ChoiceRefusal> {
        let mut errors = too_many(names);
        for (index, name) in names.iter().enumerate().filter(|(_, name)| name.as_str() != seed) {
            let path = format!("spec.targets[{index}]");
            let detail = if self.seed(name).is_none() {
                format!("there is no seed \"{name}\"; the shoot is bound to seed \"{seed}\"")
            } else {
                format!(
                    "the shoot is bound to seed \"{seed}\"; moving it is a control plane migration, which is written \
                     through shoots/binding"
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

    /// The seed that the caller chose, if no filter refuses it.
    fn choose(&self, shoot: &Record, solution: &Solution, names: &[String]) -> Result<Ix, ChoiceRefusal> {
        let mut errors = too_many(names);
        let mut chosen = None;
        for (index, name) in names.iter().enumerate() {
            let path = format!("spec.targets[{index}]");
            let Some((candidate, row)) = self.seed(name) else {
                errors.push(FieldError::invalid(
                    path,
                    name.as_str(),
                    format!("there is no seed \"{name}\""),
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
                    let sentence = words::refusal(self, row, &shoot.wants, minimum, refusal.reason);
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

fn too_many(names: &[String]) -> Vec<FieldError> {
    if names.len() > 1 {
        vec![FieldError::too_many("spec.targets", names.len(), 1)]
    } else {
        Vec::new()
    }
}

/// Name of the fence of a seed. Every write that depends on the number of the seed's shoots passes this
/// fence.
pub(crate) fn fence(seed: &str) -> Arc<str> {
    format!("gardener/seeds/{seed}").into()
}

/// The parts of a decision that do not depend on its outcome.
struct DecisionBase<'a> {
    shoot: &'a Record,
    ask: &'a Ask<'a>,
}

impl DecisionBase<'_> {
    fn without_a_run(&self, outcome: Outcome, reason: &'static str) -> Decision {
        let detail = Detail {
            rule: None,
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

    fn after_a_run(
        &self,
        outcome: Outcome,
        reason: &'static str,
        fleet: &Fleet,
        solution: Solution,
    ) -> Decision {
        let rule = Some(Rule::of(fleet.config.strategy, &self.shoot.wants));
        let detail = Detail {
            rule,
            minimum: solution.minimum,
            chosen: self.ask.chosen.is_some(),
        };
        Decision {
            solved: solution.solved,
            amounts: Vec::new(),
            scorers: solution.scorers,
            detail: Box::new(detail),
            ..self.without_a_run(outcome, reason)
        }
    }

    fn current(&self) -> Vec<Current> {
        let seed = self.shoot.seed.iter();
        seed.map(|name| Current {
            cluster_name: Arc::clone(name),
            state: "",
            amount: None,
        })
        .collect()
    }

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
