//! The score of a target as the cell of a table, and the number of targets that are refused for each reason.

use berth_scheduling::{Group, Rejection};

use super::ReasonCount;
use crate::decision::Decision;
use crate::inventory::Inventory;

/// The cell of a table for a score: the total, or, if the system ranks by one score after the other and has
/// no total, all scores in this order. Empty where nothing was scored.
#[must_use]
pub fn score_cell(total: Option<i64>, parts: impl Iterator<Item = Option<i64>>) -> String {
    if let Some(total) = total {
        return total.to_string();
    }
    let parts: Vec<String> = parts
        .map(|part| part.map_or_else(|| "–".to_owned(), |part| part.to_string()))
        .collect();
    if parts.iter().all(|part| part == "–") {
        return String::new();
    }
    parts.join("/")
}

/// The numbers of targets that are refused for each reason, by plugin in pipeline order. A target that is out
/// of scope counts only for the refusal that means so ([`Words::scope`](crate::Words::scope)).
#[must_use]
pub fn reason_counts(inventory: &dyn Inventory, decision: &Decision) -> Vec<ReasonCount> {
    // Refusals are counted in groups by reason, since there are many refusals and few reasons. Reasons that
    // differ only in details have one token, and are counted together.
    let groups = decision.solved.rejections.groups(inventory.scope()).into_iter();
    let mut counts: Vec<((u16, &'static str), i64, Rejection)> = groups
        .map(|Group { first, count }| {
            let name = (first.plugin, inventory.token(first.plugin, first.reason));
            (name, i64::try_from(count).unwrap_or(i64::MAX), first)
        })
        .collect();
    counts.sort_unstable_by_key(|(name, _, first)| (*name, first.candidate));
    counts.dedup_by(|next, first| {
        let same = next.0 == first.0;
        first.1 += if same { next.1 } else { 0 };
        same
    });
    counts
        .into_iter()
        .map(|((plugin, reason), targets, first)| ReasonCount {
            plugin: inventory.filters()[usize::from(plugin)].into(),
            reason: reason.into(),
            targets,
            message: inventory.sentence(decision, first.candidate, plugin, first.reason),
        })
        .collect()
}
