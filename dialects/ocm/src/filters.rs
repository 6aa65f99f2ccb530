//! The filters ClusterSet, Lifecycle, Predicate and TaintToleration (docs/systems/ocm.md, "Filters").

use std::cell::Cell;

use berth_apimachinery::Timestamp;
use berth_dialect_columns::Bits;
use berth_scheduling::{Filter, Ix, Reason, Refusals, Verdict};
use jiff::SignedDuration;

use crate::code::{Code, Plugin};
use crate::columns::Columns;
use crate::columns::taints::ClusterTaints;
use crate::evaluate::{Evaluator, Failures};
use crate::fleet::Fleet;
use crate::kind::{Taint, Toleration};
use crate::policy::Predicate;

/// Requires membership in one of the sets to choose from.
pub(crate) struct ClusterSet<'a>(pub(crate) &'a Bits);

impl Filter<Columns> for ClusterSet<'_> {
    fn plugin(&self) -> u16 {
        Plugin::ClusterSet.number()
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
        Code::NotInSet.unless(self.0.has(candidate))
    }

    fn refuse(&self, _columns: &Columns, _count: Ix) -> Refusals<'_> {
        Refusals::AllBut(self.0.words(), Code::NotInSet.with(0))
    }
}

/// Refuses clusters that are being deleted, and clusters that cannot be read.
pub(crate) struct Lifecycle;

impl Lifecycle {
    /// Reason why `candidate`, which is being deleted or cannot be read, is refused.
    fn refusal(columns: &Columns, candidate: Ix) -> Code {
        match columns.terminating.has(candidate) {
            true => Code::Terminating,
            false => Code::Unreadable,
        }
    }
}

impl Filter<Columns> for Lifecycle {
    fn plugin(&self) -> u16 {
        Plugin::Lifecycle.number()
    }

    fn check(&self, columns: &Columns, candidate: Ix) -> Verdict {
        let is_refused = columns.terminating.has(candidate) || columns.unreadable.has(candidate);
        Self::refusal(columns, candidate).unless(!is_refused)
    }

    fn refuse(&self, columns: &Columns, _count: Ix) -> Refusals<'_> {
        let mut refused = columns.terminating.clone();
        refused.unite(&columns.unreadable);
        let refusals = refused
            .iter()
            .map(|candidate| (candidate, Self::refusal(columns, candidate).with(0)));
        Refusals::List(refusals.collect())
    }
}

/// Requires one matching predicate. Selectors are matched for the whole fleet at once; expressions are
/// evaluated only on clusters that the selectors match.
pub(crate) struct Predicates {
    matching: Option<Bits>,
    /// The clusters on which an expression exceeds a cost limit.
    costly: Option<Bits>,
    /// The expressions that fail on candidate clusters.
    pub(crate) failing: Vec<FailingExpression>,
}

/// An expression that fails on some clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FailingExpression {
    /// The index of the predicate.
    pub(crate) predicate: usize,
    /// The index of the expression in the predicate.
    pub(crate) index: usize,
    /// The clusters on which the expression fails.
    pub(crate) failures: Failures,
}

impl Predicates {
    /// Evaluates `predicates` over the clusters of `fleet` at `now`. Without predicates, every cluster
    /// passes. Failing expressions are recorded only for clusters in `scope`.
    pub(crate) fn judge(predicates: &[Predicate], fleet: &Fleet, now: Timestamp, scope: &Bits) -> Self {
        let mut failing = Vec::new();
        if predicates.is_empty() {
            return Self {
                matching: None,
                costly: None,
                failing,
            };
        }
        let columns = fleet.columns();
        let count = columns.count();
        let mut evaluator = Evaluator::new(fleet, now);
        let mut all = Bits::none(count);
        for (predicate_index, predicate) in predicates.iter().enumerate() {
            let mut matching = columns.labels.select(&predicate.labels, count);
            if !predicate.claims.is_everything() {
                matching.intersect(&columns.claims.select(&predicate.claims, count));
            }
            evaluator.begin_predicate();
            for (index, (_, expression)) in predicate.expressions.iter().enumerate() {
                let failures = evaluator.retain(expression, scope, &mut matching);
                failing.extend(failures.map(|failures| FailingExpression {
                    predicate: predicate_index,
                    index,
                    failures,
                }));
            }
            all.unite(&matching);
        }
        Self {
            matching: Some(all),
            costly: evaluator.costly.take(),
            failing,
        }
    }

    /// Reason why `candidate`, which matches no predicate, is refused.
    fn refusal(&self, candidate: Ix) -> Code {
        match self.costly.as_ref().is_some_and(|costly| costly.has(candidate)) {
            true => Code::ExpressionTooCostly,
            false => Code::PredicateMismatch,
        }
    }
}

impl Filter<Columns> for Predicates {
    fn plugin(&self) -> u16 {
        Plugin::Predicate.number()
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
        match &self.matching {
            Some(matching) => self.refusal(candidate).unless(matching.has(candidate)),
            None => Verdict::Pass,
        }
    }

    fn refuse(&self, _columns: &Columns, count: Ix) -> Refusals<'_> {
        match (&self.matching, &self.costly) {
            (Some(matching), None) => Refusals::AllBut(matching.words(), Code::PredicateMismatch.with(0)),
            (Some(matching), Some(_)) => {
                let refused = (0..count).filter(|candidate| !matching.has(*candidate));
                let refusals = refused.map(|candidate| (candidate, self.refusal(candidate).with(0)));
                Refusals::List(refusals.collect())
            }
            (None, _) => Refusals::List(Vec::new()),
        }
    }
}

/// Requires that every taint is tolerated, and records the time at which the first toleration in use ends.
pub(crate) struct TaintToleration<'a> {
    tolerations: &'a [Toleration],
    /// The clusters of the chosen sets. The ends of tolerations are recorded only for these clusters.
    scope: &'a Bits,
    /// The clusters that this placement has selected already.
    held: &'a Bits,
    now: Timestamp,
    first_end: Cell<Option<Timestamp>>,
    /// Whether a verdict depended on times, or on the current selection.
    varies: Cell<bool>,
}

/// A verdict on a list of taints, independent of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaintVerdict {
    /// All taints are tolerated forever.
    Tolerated,
    /// The taint with this index is not tolerated.
    Untolerated(u32),
    /// The verdict depends on times, or on the current selection.
    Depends,
}

impl<'a> TaintToleration<'a> {
    /// Creates the filter for a decision at `now`.
    pub(crate) fn new(
        tolerations: &'a [Toleration],
        scope: &'a Bits,
        held: &'a Bits,
        now: Timestamp,
    ) -> Self {
        Self {
            tolerations,
            scope,
            held,
            now,
            first_end: Cell::new(None),
            varies: Cell::new(false),
        }
    }

    /// Whether a verdict so far depended on times, or on the current selection.
    pub(crate) fn varies(&self) -> bool {
        self.varies.get()
    }

    /// The first time at which a toleration in use ends.
    pub(crate) fn first_end(&self) -> Option<Timestamp> {
        self.first_end.get()
    }

    /// Judges `taints` without regard to their cluster.
    fn judge(&self, taints: &[Taint]) -> TaintVerdict {
        for (index, taint) in (0..).zip(taints) {
            if taint.effect == "PreferNoSelect" {
                continue;
            }
            let matches_taint = |toleration: &&Toleration| matches(toleration, taint);
            match self.tolerations.iter().find(matches_taint) {
                Some(toleration) if toleration.toleration_seconds.is_none() => {}
                None if taint.effect != "NoSelectIfNew" => return TaintVerdict::Untolerated(index),
                _ => return TaintVerdict::Depends,
            }
        }
        TaintVerdict::Tolerated
    }

    /// Whether `taint` is tolerated; `is_selected` tells whether its cluster is selected already. If
    /// `in_scope` is true, the end of the toleration is recorded.
    fn tolerates(&self, taint: &Taint, is_selected: bool, in_scope: bool) -> bool {
        if taint.effect == "PreferNoSelect" || (taint.effect == "NoSelectIfNew" && is_selected) {
            return true;
        }
        for toleration in self
            .tolerations
            .iter()
            .filter(|toleration| matches(toleration, taint))
        {
            match end(toleration, taint) {
                TolerationEnd::Never => return true,
                TolerationEnd::At(instant) if self.now < instant => {
                    if in_scope && self.first_end.get().is_none_or(|known| instant < known) {
                        self.first_end.set(Some(instant));
                    }
                    return true;
                }
                TolerationEnd::At(_) | TolerationEnd::Past => {}
            }
        }
        false
    }

    /// The untolerated taints among `taints`; `is_selected` tells whether their cluster is selected already.
    pub(crate) fn untolerated<'t>(
        &self,
        taints: &'t [Taint],
        is_selected: bool,
    ) -> impl Iterator<Item = &'t Taint> {
        taints
            .iter()
            .filter(move |taint| !self.tolerates(taint, is_selected, false))
    }

    /// Reason why `candidate` is refused; `verdict` is the verdict on its list of taints.
    fn refusal(&self, columns: &Columns, candidate: Ix, verdict: TaintVerdict) -> Option<Reason> {
        let index = match verdict {
            TaintVerdict::Tolerated => None,
            TaintVerdict::Untolerated(index) => Some(index),
            TaintVerdict::Depends => {
                self.varies.set(true);
                let (is_selected, in_scope) = (self.held.has(candidate), self.scope.has(candidate));
                let taints = columns.row(candidate).taints();
                let mut indexed = (0..).zip(taints);
                let refusing = indexed.find(|(_, taint)| !self.tolerates(taint, is_selected, in_scope));
                refusing.map(|(index, _)| index)
            }
        };
        index.map(|index| Code::Untolerated.with(index))
    }
}

/// The end of the toleration of a taint.
enum TolerationEnd {
    /// The toleration never ends.
    Never,
    /// The toleration ends at this instant, which may have passed.
    At(Timestamp),
    /// The toleration has ended, whatever the time of the decision.
    Past,
}

/// The end of the toleration of `taint` by `toleration`, which matches it.
fn end(toleration: &Toleration, taint: &Taint) -> TolerationEnd {
    let Some(seconds) = toleration.toleration_seconds else {
        return TolerationEnd::Never;
    };
    // A taint without timeAdded counts as added in the year 1, so any number of seconds has run out.
    let Some(added) = taint.time_added else {
        return TolerationEnd::Past;
    };
    match added.checked_add(SignedDuration::from_secs(seconds)) {
        Ok(instant) => TolerationEnd::At(instant),
        Err(_) if seconds > 0 => TolerationEnd::Never,
        Err(_) => TolerationEnd::Past,
    }
}

/// Whether `toleration` matches `taint`, regardless of time.
fn matches(toleration: &Toleration, taint: &Taint) -> bool {
    let matches_effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let matches_key = toleration.key.is_empty() || toleration.key == taint.key;
    let matches_value = match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        _ => false,
    };
    matches_effect && matches_key && matches_value
}

impl Filter<Columns> for TaintToleration<'_> {
    fn plugin(&self) -> u16 {
        Plugin::TaintToleration.number()
    }

    fn check(&self, columns: &Columns, candidate: Ix) -> Verdict {
        let verdict = match columns.taints.of(candidate) {
            ClusterTaints::Untainted => TaintVerdict::Tolerated,
            ClusterTaints::Shared(index) => self.judge(columns.taints.list(index)),
            ClusterTaints::Own => TaintVerdict::Depends,
        };
        match self.refusal(columns, candidate, verdict) {
            Some(reason) => Verdict::Reject(reason),
            None => Verdict::Pass,
        }
    }

    fn refuse(&self, columns: &Columns, _count: Ix) -> Refusals<'_> {
        // Each shared list of taints is judged once, at the first cluster with it.
        let mut verdicts = Vec::new();
        let mut refused = Vec::new();
        for (candidate, list_index) in columns.taints.tainted() {
            let verdict = match list_index {
                None => TaintVerdict::Depends,
                Some(index) => {
                    verdicts.resize(columns.taints.list_count(), None);
                    let judge = || self.judge(columns.taints.list(index));
                    *verdicts[index as usize].get_or_insert_with(judge)
                }
            };
            refused.extend(
                self.refusal(columns, candidate, verdict)
                    .map(|reason| (candidate, reason)),
            );
        }
        Refusals::List(refused)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    fn tolerated(
        toleration: &serde_json::Value,
        taint: &serde_json::Value,
        held: bool,
    ) -> (bool, Option<String>) {
        let tolerations: Vec<Toleration> = Deserialize::deserialize(toleration).unwrap();
        let taint = Taint::deserialize(taint).unwrap();
        let now = "2021-10-28T09:00:00Z".parse().unwrap();
        let bits = Bits::all(1);
        let filter = TaintToleration::new(&tolerations, &bits, &bits, now);
        let passes = filter.tolerates(&taint, held, true);
        (passes, filter.first_end().map(berth_apimachinery::time::rfc3339))
    }

    #[test]
    fn taints_are_tolerated_as_documented() {
        let taint =
            json!({"key": "gpu", "value": "yes", "effect": "NoSelect", "timeAdded": "2021-10-28T08:59:00Z"});
        for (tolerations, passes) in [
            (json!([]), false),
            (json!([{"key": "gpu", "value": "yes"}]), true),
            (json!([{"key": "gpu", "operator": "Equal", "value": "no"}]), false),
            (json!([{"key": "gpu", "operator": "Exists"}]), true),
            (json!([{"operator": "Exists"}]), true),
            (json!([{"operator": "Exists", "effect": "NoSelectIfNew"}]), false),
            (json!([{"key": "gpu", "operator": "Near", "value": "yes"}]), false),
            (
                json!([{"key": "gpu", "operator": "Exists", "tolerationSeconds": 61}]),
                true,
            ),
            (
                json!([{"key": "gpu", "operator": "Exists", "tolerationSeconds": 60}]),
                false,
            ),
            (
                json!([{"operator": "Exists", "tolerationSeconds": 1}, {"operator": "Exists"}]),
                true,
            ),
        ] {
            assert_eq!(tolerated(&tolerations, &taint, false).0, passes, "{tolerations}");
        }
        assert!(
            tolerated(
                &json!([]),
                &json!({"key": "a", "effect": "PreferNoSelect"}),
                false
            )
            .0
        );
        assert!(tolerated(&json!([]), &json!({"key": "a", "effect": "NoSelectIfNew"}), true).0);
        assert!(!tolerated(&json!([]), &json!({"key": "a", "effect": "NoSelectIfNew"}), false).0);
    }

    #[test]
    fn an_end_is_noted_and_a_taint_without_time_has_run_out() {
        let forever = i64::MAX;
        let some = json!([{"operator": "Exists", "tolerationSeconds": 120}]);
        let taint = json!({"key": "a", "effect": "NoSelect", "timeAdded": "2021-10-28T08:59:00Z"});
        assert_eq!(
            tolerated(&some, &taint, false),
            (true, Some("2021-10-28T09:01:00Z".to_owned()))
        );
        assert_eq!(
            tolerated(&some, &json!({"key": "a", "effect": "NoSelect"}), false),
            (false, None)
        );
        let long = json!([{"operator": "Exists", "tolerationSeconds": forever}]);
        assert_eq!(tolerated(&long, &taint, false), (true, None));
    }
}
