//! Decisions with a Cluster that the caller has chosen.

use std::fmt::Display;

use berth_apimachinery::FieldError;
use berth_dialect_contract::ChoiceRefusal;
use berth_scheduling::{Ix, PipelineOutcome};

use super::DecisionParts;
use crate::code::Code;
use crate::fleet::{GrantedCluster, Place};
use crate::words;

impl DecisionParts<'_> {
    /// Requires that the caller's choice, if there is one, is the granted Cluster.
    pub(super) fn require_granted_choice(&self, granted: &GrantedCluster) -> Result<(), ChoiceRefusal> {
        let reason = format!(
            "the request is granted cluster {}, and a granted cluster cannot change",
            granted.cluster_name
        );
        self.require_choice(&granted.cluster_name, &reason)
    }

    /// Requires that the caller's choice, if there is one, is the Cluster that already has the request's
    /// finalizer.
    pub(super) fn require_held_choice(&self, place: &Place) -> Result<(), ChoiceRefusal> {
        let reason = format!("cluster {place} already has the finalizer of the request");
        self.require_choice(place, &reason)
    }

    /// Requires that the caller's choice, if there is one, is `only`; `reason` is the reason in the errors.
    fn require_choice(&self, only: &dyn Display, reason: &str) -> Result<(), ChoiceRefusal> {
        let Some(names) = self.ask.chosen else {
            return Ok(());
        };
        let only = only.to_string();
        let mut errors = too_many(names);
        for (index, name) in names.iter().enumerate().filter(|(_, name)| **name != only) {
            let missing = self.candidate(name).is_none();
            let detail = if missing {
                format!("there is no cluster \"{name}\"; {reason}")
            } else {
                reason.to_owned()
            };
            errors.push(FieldError::invalid(target_path(index), name.as_str(), detail));
        }
        refuse(errors)
    }

    /// The Cluster that the caller chose, if no filter refuses it.
    pub(super) fn choose(&self, names: &[String], solved: &PipelineOutcome) -> Result<Ix, ChoiceRefusal> {
        let mut errors = too_many(names);
        let mut chosen = None;
        for (index, name) in names.iter().enumerate() {
            let Some(candidate) = self.candidate(name) else {
                let detail = format!("there is no cluster \"{name}\"");
                errors.push(FieldError::invalid(target_path(index), name.as_str(), detail));
                continue;
            };
            let refusals = solved.rejections_of(candidate);
            if refusals.is_empty() {
                chosen = Some(candidate);
                continue;
            }
            let reasons: Vec<String> = refusals
                .iter()
                .map(|refusal| {
                    let sentence = words::refusal(self.fleet, self.request, candidate, refusal.reason);
                    format!("{}: {sentence}", Code::of_reason(refusal.reason).name())
                })
                .collect();
            errors.push(FieldError::invalid(
                target_path(index),
                name.as_str(),
                reasons.join("; "),
            ));
        }
        refuse(errors)?;
        chosen.ok_or_else(|| {
            let detail =
                "name one cluster as <namespace>/<name>, or give no targets to let the scheduler pick";
            ChoiceRefusal {
                errors: vec![FieldError::required("spec.targets", detail)],
            }
        })
    }

    fn candidate(&self, name: &str) -> Option<Ix> {
        let (candidate, _) = self.fleet.find(&Place::parse(name)?)?;
        Some(candidate)
    }
}

fn target_path(index: usize) -> String {
    format!("spec.targets[{index}]")
}

fn too_many(names: &[String]) -> Vec<FieldError> {
    if names.len() > 1 {
        vec![FieldError::too_many("spec.targets", names.len(), 1)]
    } else {
        Vec::new()
    }
}

fn refuse(errors: Vec<FieldError>) -> Result<(), ChoiceRefusal> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ChoiceRefusal { errors })
    }
}
