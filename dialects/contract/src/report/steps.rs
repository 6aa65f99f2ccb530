//! The measure of how far a refused target is from fitting.

use berth_apimachinery::selector::{Requirement, Selector};
use berth_scheduling::Rejection;

use crate::decision::Decision;
use crate::inventory::Inventory;

/// The labels that a filter requires, each with the targets that meet the requirement.
pub(super) struct LabelRequirements<'a> {
    inventory: &'a dyn Inventory,
    requirements: Vec<(&'a Requirement, Option<Vec<u64>>)>,
}

impl<'a> LabelRequirements<'a> {
    pub(super) fn of(inventory: &'a dyn Inventory, selector: &'a Selector) -> Self {
        let requirements = selector.requirements.iter();
        Self {
            inventory,
            requirements: requirements
                .map(|requirement| (requirement, inventory.meeting(requirement)))
                .collect(),
        }
    }

    /// Whether `candidate` meets the requirement of this number.
    pub(super) fn meets(&self, number: usize, candidate: u32) -> bool {
        let (requirement, meeting) = &self.requirements[number];
        match meeting {
            Some(bits) => bits[candidate as usize / 64] >> (candidate % 64) & 1 == 1,
            None => requirement.matches(self.inventory.label(candidate, &requirement.key)),
        }
    }

    /// Number of labels of `candidate` that would have to change.
    fn unmet(&self, candidate: u32) -> usize {
        let all = 0..self.requirements.len();
        all.filter(|&number| !self.meets(number, candidate)).count()
    }
}

/// The distance of a refused target from fitting: each refusal counts one step, or as many as
/// [`Words::steps`] returns. A refusal by labels counts the labels to change.
///
/// [`Words::steps`]: crate::Words::steps
pub(super) struct Steps<'a> {
    inventory: &'a dyn Inventory,
    /// The labels that each filter requires, where the filter tests nothing else.
    labels: Vec<Option<LabelRequirements<'a>>>,
}

impl<'a> Steps<'a> {
    pub(super) fn of(inventory: &'a dyn Inventory, decision: &'a Decision) -> Self {
        let labels = (0..).zip(inventory.filters()).map(|(filter, _)| {
            let selector = inventory.asked_labels(decision, filter)?;
            Some(LabelRequirements::of(inventory, selector))
        });
        Self {
            inventory,
            labels: labels.collect(),
        }
    }

    /// The number of steps after which a target with these refusals would fit.
    pub(super) fn count(&self, refusals: &[Rejection]) -> usize {
        let step = |refusal: &Rejection| match &self.labels[usize::from(refusal.plugin)] {
            Some(labels) => labels.unmet(refusal.candidate).max(1),
            None => self.inventory.steps(refusal.reason),
        };
        refusals.iter().map(step).sum()
    }
}
