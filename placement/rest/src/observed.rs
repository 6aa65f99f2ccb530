//! Observed decisions: whether Berth agrees with the other scheduler's placement (docs/beside.md), as a
//! condition and as the difference.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_contract::{Decision, DemandView};
use berth_engine::Snapshot;
use berth_engine::agreement::{Agreement, Comparison, grace_end};
use berth_scheduling_api::decision::DecisionDifference;
use berth_scheduling_api::shared::{Token, none_if_empty_list};

/// Maximal number of losses, of gains and of resizes that `status.wouldChange` of a Decision lists. The
/// counts include the unlisted clusters.
pub const MAX_SHOWN: usize = 10;
/// Highest effort of the decisions that are made at once, in units of
/// [`berth_dialect_contract::Inventory::effort`]: some 15 ms.
const MAX_EFFORT: u32 = 100_000;
/// The reason of a condition about a place that is not compared yet.
pub const NOT_COMPARED: &str = "NotCompared";

/// Result of a comparison, cached until the next comparison.
#[derive(Clone, Debug)]
pub(crate) struct ComparisonCache {
    comparison: Comparison,
    /// Time since which Berth's decision differs from the placement.
    since: Option<Timestamp>,
    /// Hash of the compared placement, from [`placement_hash`].
    placement: u64,
    /// Next time at which the decision may change without a write.
    due_at: Option<Timestamp>,
}

/// Condition and difference of an observed Decision.
pub(crate) struct AgreementText {
    /// The status of the condition.
    pub(crate) status: &'static str,
    /// The reason of the condition.
    pub(crate) reason: &'static str,
    /// The message of the condition.
    pub(crate) message: String,
    /// The difference, if there is one.
    pub(crate) would_change: Option<DecisionDifference>,
    /// Next time at which the text changes without a write.
    pub(crate) due_at: Option<Timestamp>,
}

impl ComparisonCache {
    /// Compares a demand's present clusters with the `decision` on the demand; `before` is the previous
    /// comparison. A demand that differs in its first comparison has differed since its creation.
    pub(crate) fn of(
        snapshot: &Snapshot,
        decision: &Decision,
        view: &DemandView,
        before: Option<&Self>,
    ) -> Arc<Self> {
        let comparison = Comparison::of(snapshot, decision, view, MAX_SHOWN);
        let since = match before {
            _ if !comparison.differs() => None,
            Some(before) => Some(before.since.unwrap_or(decision.now)),
            None => Some(view.object.meta().creation_timestamp().unwrap_or_default()),
        };
        Arc::new(Self {
            comparison,
            since,
            placement: placement_hash(view),
            due_at: decision.due_at,
        })
    }
}

/// The text about a demand with `view`, where `compared` is the last comparison and the other scheduler has
/// `grace`.
pub(crate) fn agreement_text(
    view: &DemandView,
    compared: Option<&ComparisonCache>,
    grace: Duration,
    now: Timestamp,
) -> AgreementText {
    let known = compared.filter(|compared| compared.placement == placement_hash(view));
    let Some(compared) = known else {
        return AgreementText {
            status: "Unknown",
            reason: NOT_COMPARED,
            message: "the current placement has not been compared with Berth's decision yet".to_owned(),
            would_change: None,
            due_at: None,
        };
    };
    let would_change = would_change(&compared.comparison);
    let grace_ends = compared.since.and_then(|since| grace_end(since, grace));
    let comparison = compared.comparison.clone().within(compared.since, grace, now);
    let due = [compared.due_at, grace_ends.filter(|&end| end > now)];
    AgreementText {
        status: comparison.agreement.status(),
        reason: comparison.agreement.reason(),
        message: comparison.sentence(),
        would_change,
        due_at: due.into_iter().flatten().min(),
    }
}

/// `status.wouldChange`.
fn would_change(comparison: &Comparison) -> Option<DecisionDifference> {
    let Agreement::Different(verdict) = comparison.agreement else {
        return None;
    };
    Some(DecisionDifference {
        verdict: verdict.as_str().into(),
        message: comparison.sentence(),
        losses: comparison.losses.clone(),
        loss_count: comparison.loss_count,
        gains: comparison.gains.clone(),
        gain_count: comparison.gain_count,
        resizes: none_if_empty_list(comparison.resizes.clone()),
        resize_count: Some(comparison.resize_count).filter(|count| *count > 0),
        known_difference: comparison.known_difference.map(Token::from),
    })
}

/// A hash of a demand's uid and generation, and of its clusters with their amounts.
fn placement_hash(view: &DemandView) -> u64 {
    let mut hasher = DefaultHasher::new();
    let meta = view.object.meta();
    (meta.uid(), meta.generation()).hash(&mut hasher);
    for placed in view.placed.iter().filter(|placed| !placed.leaving) {
        (&placed.cluster_name, placed.amount).hash(&mut hasher);
    }
    hasher.finish()
}

/// Limit on the effort of decisions before other work gets its turn. The first decision is always within the
/// limit.
pub(crate) struct Budget(Option<u32>);

impl Budget {
    pub(crate) fn new() -> Self {
        Self(None)
    }

    /// Whether the budget allows a decision on `demand`. If so, the decision's effort is subtracted.
    pub(crate) fn allows(&mut self, snapshot: &Snapshot, demand: &Key) -> bool {
        self.subtract(snapshot.inventory.effort(demand))
    }

    fn subtract(&mut self, effort: u32) -> bool {
        let remaining = match self.0 {
            None => Some(MAX_EFFORT.saturating_sub(effort)),
            Some(remaining) => remaining.checked_sub(effort),
        };
        self.0 = remaining.or(self.0);
        remaining.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_decision_is_made_however_large_and_others_as_long_as_there_is_room() {
        let mut budget = Budget::new();
        assert!(budget.subtract(MAX_EFFORT * 2) && !budget.subtract(1));
        let mut budget = Budget::new();
        assert!(budget.subtract(1) && budget.subtract(MAX_EFFORT - 1) && !budget.subtract(1));
    }
}
