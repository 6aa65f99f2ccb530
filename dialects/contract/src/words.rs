//! The trait [`Words`]: a decision in text, which is rendered only on request.

use berth_apimachinery::selector::{Requirement, Selector};
use berth_scheduling::{Ix, Reason};

use crate::decision::Decision;
use crate::rules::EffectiveRules;
use crate::view::Amount;

/// The weight of a refusal that no edit lifts, such as a refusal for the location of the target: in the order
/// of refused targets, it counts as this many changes.
pub const FINAL: usize = 3;

/// The texts of a dialect about decisions.
pub trait Words {
    /// The names of the filters, by [`berth_scheduling::Rejection::plugin`].
    fn filters(&self) -> &'static [&'static str];

    /// The token of a refusal.
    fn token(&self, plugin: u16, reason: Reason) -> &'static str;

    /// The sentence of a refusal in `decision`.
    fn sentence(&self, decision: &Decision, candidate: Ix, plugin: u16, reason: Reason) -> String;

    /// A number that groups refusals with equal sentences: two refusals in `decision` with the same `plugin`,
    /// `reason` and number have the same [`Words::sentence`]. `None` where the sentence may differ for each
    /// candidate.
    fn alike(&self, _decision: &Decision, _candidate: Ix, _plugin: u16, _reason: Reason) -> Option<u32> {
        None
    }

    /// The filter whose refusal means that a target is out of scope. Such a target is listed last, and other
    /// refusals of the target are not counted. `None` where all targets are in scope.
    fn scope(&self) -> Option<u16> {
        None
    }

    /// The system's nouns for one target and for several: `Seed` and `Seeds`.
    fn nouns(&self) -> [&'static str; 2] {
        ["cluster", "clusters"]
    }

    /// The labels that `filter` requires of every target, if it only tests labels. `None` for other filters.
    fn asked_labels<'a>(&'a self, _decision: &'a Decision, _filter: u16) -> Option<&'a Selector> {
        None
    }

    /// The value of the label `key` on `candidate`, for keys in [`Words::asked_labels`]; `None` if the
    /// candidate does not have the label.
    fn label(&self, _candidate: Ix, _key: &str) -> Option<&str> {
        None
    }

    /// The targets whose labels meet `asked`, as bits: the lowest bit of the first word belongs to the first
    /// target. `None` where the caller has to compare the labels of each target ([`Words::label`]).
    fn meeting(&self, _asked: &Requirement) -> Option<Vec<u64>> {
        None
    }

    /// Number of changes that lift a refusal for `reason`, by which refused targets are sorted. A refusal
    /// that no edit lifts, such as for the region or the deletion of a target, counts as [`FINAL`] changes.
    fn steps(&self, _reason: Reason) -> usize {
        1
    }

    /// The requested region, if `candidate` is the only target in it.
    fn only_in_region(&self, _decision: &Decision, _candidate: Ix) -> Option<&str> {
        None
    }

    /// The reason why a score of the feasible `candidate` is not a measured value; `None` if it is measured.
    /// `scorer` is an index in [`Decision::scorers`].
    fn score_message(&self, _decision: &Decision, _candidate: Ix, _scorer: u16) -> Option<String> {
        None
    }

    /// The rules in force, for a system whose newest release differs from the documentation that Berth
    /// follows; `None` for other systems.
    fn rules_in_force(&self) -> Option<EffectiveRules> {
        None
    }

    /// Warnings for the reader, whatever the outcome: fields without effect, values that do not count, rules
    /// that fail.
    fn warnings(&self, _decision: &Decision) -> Vec<String> {
        Vec::new()
    }

    /// The intended difference (docs/systems, "Differences from upstream") for which the system's own
    /// scheduler may choose otherwise than `decision`: a clause such as `OCM looks at scores that expire at
    /// the next event`. `None` where both schedulers should agree.
    fn known_difference(&self, _decision: &Decision) -> Option<&'static str> {
        None
    }

    /// The amount that `decision` divides among the picked clusters; `None` if the system divides none.
    /// [`Amount::placed`] is the sum of the parts of the picked clusters.
    fn amount(&self, _decision: &Decision) -> Option<Amount> {
        None
    }

    /// Token and sentence of the reason why a feasible `candidate`, with this `rank` (from 1), is not picked.
    fn not_picked(&self, decision: &Decision, candidate: Ix, rank: Option<usize>) -> (&'static str, String);

    /// The summary of a decision in one line, such as `2 of 5 seeds feasible; picked eu-1`.
    fn message(&self, decision: &Decision) -> String;

    /// The conditions as the system itself would report them, as JSON condition objects.
    fn conditions(&self, decision: &Decision) -> Vec<serde_json::Value>;
}
