//! The reason why no target fits, or no further target: labels that no target has, or the nearest target and
//! its refusals.

use std::fmt;

use berth_apimachinery::selector::{Operator, Requirement, Selector};
use berth_scheduling::Rejection;

use super::steps::{LabelRequirements, Steps};
use super::{Places, out_of_scope};
use crate::decision::{Decision, Outcome};
use crate::inventory::Inventory;

/// Highest number of reasons that the sentence about the nearest target names.
const MAX_REASONS: usize = 2;

/// The reason why no target fits, or no further target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The nouns for one target and for several.
    pub nouns: [&'static str; 2],
    /// Whether some targets are picked, so that only no further target fits.
    pub has_picked: bool,
    /// Number of targets in scope.
    pub in_scope: usize,
    /// The kind of the reason.
    pub kind: CauseKind,
}

/// The kind of the reason why no target in scope fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// No target has all requested labels. The value has the requirements, each with the number of targets
    /// that meet the requirement.
    Labels(Vec<(Requirement, usize)>),
    /// All targets are refused, for various reasons. The fields describe the target that is nearest to
    /// fitting.
    Nearest {
        /// The system's name of the target that needs the fewest changes to fit; of several such targets,
        /// the first by name.
        cluster_name: String,
        /// The sentences of the refusals of the target, in the order of the filters.
        reasons: Vec<String>,
        /// Number of other targets that need as few changes.
        as_near: usize,
        /// The requested region, if the target is the only target in the region.
        only_in: Option<String>,
    },
}

/// The reason why no target fits in `decision`, or no further target. `None` if a target that is not picked
/// would fit, if every target in scope is picked, if no target is in scope, if a new target will be created,
/// or if the filters did not run.
#[must_use]
pub fn cause(inventory: &dyn Inventory, decision: &Decision) -> Option<Cause> {
    let solved = &decision.solved;
    let without_cause = [
        Outcome::Invalid,
        Outcome::Ignored,
        Outcome::Released,
        Outcome::Provision,
    ];
    let places = Places::of(inventory, decision);
    let would_fit = |candidate: &u32| !places.is_picked(*candidate);
    if without_cause.contains(&decision.outcome) || solved.feasible.iter().any(would_fit) {
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
    let kind = labels
        .flatten()
        .or_else(|| nearest(inventory, decision, &places, &refused))?;
    Some(Cause {
        nouns: inventory.nouns(),
        has_picked: !solved.picked.is_empty(),
        in_scope: refused.len() + solved.feasible.len(),
        kind,
    })
}

/// The requirements of a filter that requires labels and refuses all targets in scope; `None` if there is no
/// such filter.
fn labels(inventory: &dyn Inventory, decision: &Decision, refused: &[&[Rejection]]) -> Option<CauseKind> {
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
    Some(CauseKind::Labels(counted.collect()))
}

/// The first of the targets that need the fewest changes and are not picked.
fn nearest(
    inventory: &dyn Inventory,
    decision: &Decision,
    places: &Places,
    refused: &[&[Rejection]],
) -> Option<CauseKind> {
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
    Some(CauseKind::Nearest {
        cluster_name: inventory.cluster_name(candidate).to_string(),
        reasons: reasons.collect(),
        as_near: near - 1,
        only_in: inventory.only_in_region(decision, candidate).map(str::to_owned),
    })
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, _] = self.nouns;
        write!(f, "No {}{one} fits", if self.has_picked { "other " } else { "" })?;
        match &self.kind {
            CauseKind::Labels(requirements) => {
                write!(f, ": of {} ", self.in_scope)?;
                write_requirements(f, requirements)
            }
            CauseKind::Nearest {
                cluster_name,
                reasons,
                as_near,
                only_in,
            } => {
                let listed = &reasons[..reasons.len().min(MAX_REASONS)];
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

/// Writes `none has region=eu-west-9; 297 have cloud=gcp`, or `none has all of cloud=gcp (297),
/// region=eu-west-1 (12)`.
fn write_requirements(f: &mut fmt::Formatter<'_>, requirements: &[(Requirement, usize)]) -> fmt::Result {
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
