//! The funnel: the number of targets that remain after each filter.

use std::collections::HashMap;

use berth_scheduling::{Reason, Rejection};

use super::wire::FunnelStep;
use crate::decision::Decision;
use crate::inventory::Inventory;

/// Refusals by one filter for one reason. Refusals for one reason are in several groups if
/// [`Words::alike`](crate::Words::alike) distinguishes their sentences.
struct RefusalGroup<'a> {
    /// Number of refused targets.
    targets: i64,
    /// The refusal of the first target.
    first: &'a Rejection,
}

/// The steps of the funnel of `decision`, one for each filter in pipeline order. Every refused target counts
/// at the first filter that refuses it.
pub(super) fn steps(inventory: &dyn Inventory, decision: &Decision) -> Vec<FunnelStep> {
    let groups = groups(inventory, decision);
    let mut remaining = i64::from(inventory.count());
    let filters = (0..).zip(inventory.filters());
    let step = |(filter, plugin): (u16, &&'static str)| {
        let own = || groups.iter().filter(|group| group.first.plugin == filter);
        let refused: i64 = own().map(|group| group.targets).sum();
        let before = remaining;
        remaining -= refused;
        let words = |group: &RefusalGroup<'_>| {
            let Rejection {
                candidate, reason, ..
            } = *group.first;
            let sentence = inventory.sentence(decision, candidate, filter, reason);
            (inventory.token(filter, reason), sentence)
        };
        // Of the largest groups, the group with the first target.
        let largest = own().max_by_key(|group| (group.targets, std::cmp::Reverse(group.first.candidate)));
        let (reason, message) = largest.map(words).unwrap_or_default();
        FunnelStep {
            plugin: (*plugin).into(),
            before,
            after: remaining,
            reason: reason.into(),
            message,
        }
    };
    filters.map(step).collect()
}

/// The groups of the first refusals of all targets. Consecutive targets mostly have the same refusal, so the
/// last group is tried before the lookup in `places`.
fn groups<'a>(inventory: &dyn Inventory, decision: &'a Decision) -> Vec<RefusalGroup<'a>> {
    let of_one_target = |one: &Rejection, next: &Rejection| one.candidate == next.candidate;
    let refused = decision.solved.rejections.chunk_by(of_one_target);
    let mut places: HashMap<(u16, Reason, Option<u32>), usize> = HashMap::new();
    let mut groups: Vec<RefusalGroup<'a>> = Vec::new();
    let mut last = None;
    for first in refused.filter_map(<[Rejection]>::first) {
        let &Rejection {
            candidate,
            plugin,
            reason,
        } = first;
        let key = (
            plugin,
            reason,
            inventory.alike(decision, candidate, plugin, reason),
        );
        let place = match last {
            Some((known, place)) if known == key => place,
            _ => *places.entry(key).or_insert_with(|| {
                groups.push(RefusalGroup { targets: 0, first });
                groups.len() - 1
            }),
        };
        last = Some((key, place));
        groups[place].targets += 1;
    }
    groups
}
