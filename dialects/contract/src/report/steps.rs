//! The number of changes after which a refused target would fit, by which refused targets are sorted.

use berth_apimachinery::selector::{Requirement, Selector};
use berth_scheduling::Rejection;

use crate::decision::Decision;
use crate::inventory::Inventory;

/// The labels that a filter requires.
pub(super) struct LabelRequirements<'a> {
    inventory: &'a dyn Inventory,
    /// The requirements, each with the targets that meet it, as bits; `None` where the labels of each target
    /// are compared ([`Words::meeting`](crate::Words::meeting)).
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

    /// Whether `candidate` meets the requirement with the index `number`.
    pub(super) fn meets(&self, number: usize, candidate: u32) -> bool {
        let (requirement, meeting) = &self.requirements[number];
        match meeting {
            Some(bits) => bits[candidate as usize / 64] >> (candidate % 64) & 1 == 1,
            None => requirement.matches(self.inventory.label(candidate, &requirement.key)),
        }
    }

    /// Number of requirements that `candidate` does not meet.
    fn unmet_count(&self, candidate: u32) -> usize {
        let all = 0..self.requirements.len();
        all.filter(|&number| !self.meets(number, candidate)).count()
    }
}

/// Counter of the steps after which a refused target would fit: the sum of the steps of all refusals. A
/// refusal by a filter that only tests labels counts the labels to change; another refusal counts as many
/// steps as [`Words::steps`] returns.
///
/// [`Words::steps`]: crate::Words::steps
pub(super) struct Steps<'a> {
    inventory: &'a dyn Inventory,
    /// The labels that each filter requires, if the filter only tests labels.
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
            Some(labels) => labels.unmet_count(refusal.candidate).max(1),
            None => self.inventory.steps(refusal.reason),
        };
        refusals.iter().map(step).sum()
    }
}
