//! Counts of a decision in one cell of a table: the score of a target, and how many targets each reason
//! refuses.

use std::ptr;

use berth_scheduling::Rejection;

use super::{ReasonCount, out_of_scope};
use crate::decision::Decision;
use crate::inventory::Inventory;

/// The score as a table shows it: the total, or where the system ranks by one score after the other and adds
/// nothing up, all of them in that order. Empty where nothing was scored.
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

/// Numbers of targets that each reason refuses, by plugin in pipeline order. Targets out of scope count
/// for that reason alone.
#[must_use]
pub fn reason_counts(inventory: &dyn Inventory, decision: &Decision) -> Vec<ReasonCount> {
    // Refusals are as many as targets, reasons are few.
    let mut found: Vec<((u16, &'static str), i64, Rejection)> = Vec::new();
    let scope = inventory.scope();
    let targets_of = |one: &Rejection, next: &Rejection| one.candidate == next.candidate;
    let counted = decision
        .solved
        .rejections
        .chunk_by(targets_of)
        .flat_map(|refusals| {
            let outside = out_of_scope(scope, refusals);
            outside.map_or(refusals, std::slice::from_ref)
        });
    // Neighbours are mostly refused alike.
    let mut counted = counted.peekable();
    while let Some(&first) = counted.next() {
        let Rejection { plugin, reason, .. } = first;
        let mut targets = 1;
        while counted
            .next_if(|next| (next.plugin, next.reason) == (plugin, reason))
            .is_some()
        {
            targets += 1;
        }
        let token = inventory.token(plugin, reason);
        // Tokens are constants: most often it is the very same one, and its text need not be compared.
        let same = |((of, known), ..): &&mut ((u16, &'static str), i64, Rejection)| {
            *of == plugin && ptr::eq(*known, token)
        };
        match found.iter_mut().find(same) {
            Some((_, so_far, _)) => *so_far += targets,
            None => found.push(((plugin, token), targets, first)),
        }
    }
    found.sort_unstable_by_key(|(name, _, first)| (*name, first.candidate));
    found.dedup_by(|next, first| {
        let same = next.0 == first.0;
        first.1 += if same { next.1 } else { 0 };
        same
    });
    found
        .into_iter()
        .map(|((plugin, reason), targets, first)| ReasonCount {
            plugin: inventory.filters()[usize::from(plugin)].into(),
            reason: reason.into(),
            targets,
            message: inventory.sentence(decision, first.candidate, plugin, first.reason),
        })
        .collect()
}
