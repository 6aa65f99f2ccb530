//! The reason why no target fits, or no further target: labels that no target has, or the nearest target and
//! its refusals.

use std::fmt;

use berth_apimachinery::selector::{Operator, Requirement, Selector};
use berth_scheduling::Rejection;

use super::steps::{LabelRequirements, Steps};
use super::{Places, out_of_scope};
use crate::decision::{Decision, Outcome};
use crate::inventory::Inventory;

/// Highest number of reasons of the nearest target that the sentence names.
const LISTED: usize = 2;

/// The cause, and the number of targets in scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The nouns for one target and for several.
    pub nouns: [&'static str; 2],
    /// Whether other targets are picked.
    pub others: bool,
    /// Number of targets in scope.
    pub among: usize,
    /// The reason why none of them fits.
    pub lack: Lack,
}

/// The reason why no target in scope fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// No target has all requested labels: the requirements, each with the number of targets that meet it.
    Labels(Vec<(Requirement, usize)>),
    /// All targets are refused, for various reasons: the target that is nearest to fitting.
    Nearest {
        /// The system's name of the target that needs the fewest changes to fit; of several such targets,
        /// the first by name.
        cluster_name: String,
        /// The sentences of its refusals, in the order of the filters.
        reasons: Vec<String>,
        /// Number of other targets that need as few changes.
        as_near: usize,
        /// The requested region, if this is the only target in it.
        only_in: Option<String>,
    },
}

/// The cause for which `decision` has no target, or no further ones. `None` if targets would fit, if every
/// target in scope is picked (or none is in scope), or if the filters did not run.
#[must_use]
pub fn cause(inventory: &dyn Inventory, decision: &Decision) -> Option<Cause> {
    let solved = &decision.solved;
    let without_filters = [
        Outcome::Invalid,
        Outcome::Ignored,
        Outcome::Released,
        Outcome::Provision,
    ];
    let places = Places::of(inventory, decision);
    let would_fit = |candidate: &u32| !places.is_picked(*candidate);
    if without_filters.contains(&decision.outcome) || solved.feasible.iter().any(would_fit) {
        return None;
    }
    let scope = inventory.scope();
    let of_one_target = |one: &Rejection, next: &Rejection| one.candidate == next.candidate;
    let refused = solved.rejections.chunk_by(of_one_target);
    let refused: Vec<&[Rejection]> = refused
        .filter(|refusals| out_of_scope(scope, refusals).is_none())
        .collect();
    let labels = solved
        .picked
        .is_empty()
        .then(|| labels(inventory, decision, &refused));
    let lack = labels
        .flatten()
        .or_else(|| nearest(inventory, decision, &places, &refused))?;
    Some(Cause {
        nouns: inventory.nouns(),
        others: !solved.picked.is_empty(),
        among: refused.len() + solved.feasible.len(),
        lack,
    })
}

/// The labels that one filter requires, where it refuses all targets.
fn labels(inventory: &dyn Inventory, decision: &Decision, refused: &[&[Rejection]]) -> Option<Lack> {
    let (first, rest) = refused.split_first()?;
    let is_refused_by =
        |filter: u16, refusals: &[Rejection]| refusals.iter().any(|refusal| refusal.plugin == filter);
    let selector_of = |filter: u16| -> Option<&Selector> {
        let selector = inventory.asked_labels(decision, filter)?;
        rest.iter()
            .all(|refusals| is_refused_by(filter, refusals))
            .then_some(selector)
    };
    let selector = first.iter().find_map(|refusal| selector_of(refusal.plugin))?;
    let labels = LabelRequirements::of(inventory, selector);
    let meeting_count = |number: usize| {
        let candidates = refused.iter().map(|refusals| refusals[0].candidate);
        candidates
            .filter(|&candidate| labels.meets(number, candidate))
            .count()
    };
    let requirements = selector.requirements.iter().enumerate();
    let counted = requirements.map(|(number, requirement)| (requirement.clone(), meeting_count(number)));
    Some(Lack::Labels(counted.collect()))
}

/// The first of the targets that need the fewest changes and are not picked.
fn nearest(
    inventory: &dyn Inventory,
    decision: &Decision,
    places: &Places,
    refused: &[&[Rejection]],
) -> Option<Lack> {
    let steps = Steps::of(inventory, decision);
    let mut least = usize::MAX;
    let mut first: Option<&[Rejection]> = None;
    let mut near = 0;
    for refusals in refused
        .iter()
        .filter(|refusals| !places.is_picked(refusals[0].candidate))
    {
        // Each refusal is at least one step.
        if refusals.len() > least {
            continue;
        }
        let count = steps.count(refusals);
        if count < least {
            (least, first, near) = (count, Some(*refusals), 1);
        } else if count == least {
            near += 1;
        }
    }
    let refusals = first?;
    let candidate = refusals[0].candidate;
    let reasons = refusals
        .iter()
        .map(|refusal| inventory.sentence(decision, candidate, refusal.plugin, refusal.reason));
    Some(Lack::Nearest {
        cluster_name: inventory.cluster_name(candidate).to_string(),
        reasons: reasons.collect(),
        as_near: near - 1,
        only_in: inventory.only_in_region(decision, candidate).map(str::to_owned),
    })
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, _] = self.nouns;
        write!(f, "No {}{one} fits", if self.others { "other " } else { "" })?;
        match &self.lack {
            Lack::Labels(requirements) => {
                write!(f, ": of {} ", self.among)?;
                unmet(f, requirements)
            }
            Lack::Nearest {
                cluster_name,
                reasons,
                as_near,
                only_in,
            } => {
                let listed = &reasons[..reasons.len().min(LISTED)];
                write!(f, ". Nearest: {cluster_name}: {}", listed.join("; "))?;
                match reasons.len() - listed.len() {
                    0 => {}
                    1 => f.write_str("; and 1 more reason")?,
                    more => write!(f, "; and {more} more reasons")?,
                }
                if let Some(region) = only_in {
                    write!(f, "; it is the only {one} in {region}")?;
                }
                match as_near {
                    0 => Ok(()),
                    1 => f.write_str("; 1 more is as near"),
                    more => write!(f, "; {more} more are as near"),
                }
            }
        }
    }
}

/// `none has region=eu-west-9; 297 have cloud=gcp`, or `none has all of cloud=gcp (297), region=eu-west-1
/// (12)`.
fn unmet(f: &mut fmt::Formatter<'_>, requirements: &[(Requirement, usize)]) -> fmt::Result {
    // The word "has" fits neither a label that must be absent nor a comparison.
    let plain = |requirement: &Requirement| match requirement.operator {
        Operator::Exists => true,
        Operator::In => requirement.values.len() == 1,
        _ => false,
    };
    let (has, have) = match requirements.iter().all(|(requirement, _)| plain(requirement)) {
        true => ("has", "have"),
        false => ("matches", "match"),
    };
    let unmatched: Vec<String> = requirements
        .iter()
        .filter(|(_, count)| *count == 0)
        .map(|(requirement, _)| format!("none {has} {requirement}"))
        .collect();
    if unmatched.is_empty() {
        let all: Vec<String> = requirements
            .iter()
            .map(|(requirement, count)| format!("{requirement} ({count})"))
            .collect();
        return write!(f, "none {has} all of {}", all.join(", "));
    }
    f.write_str(&unmatched.join(", "))?;
    for (requirement, count) in requirements.iter().filter(|(_, count)| *count > 0) {
        let verb = if *count == 1 { has } else { have };
        write!(f, "; {count} {verb} {requirement}")?;
    }
    Ok(())
}
