//! Properties of every decision of every dialect, tested on generated worlds.
//!
//! A dialect implements [`Generator`] and calls [`properties!`](crate::properties!) in `tests/properties.rs`;
//! each [`Property`] becomes a test of its own. A failure is shrunk, and printed with its case as YAML. Each
//! property has 64 cases unless `PROPTEST_CASES` sets another number; `PROPTEST_RNG_SEED` fixes the cases.
//! Nothing is written to disk.
//!
//! Start reading at [`Property`]; `server` is the small API server that stores the writes, `laws` has the
//! properties of one decision, and `worlds` those of whole worlds.

mod advice;
mod case;
mod causes;
#[cfg(test)]
mod faulty;
mod laws;
mod plans;
mod server;
mod show;
#[cfg(test)]
mod tests;
mod worlds;

use std::sync::Arc;

use berth_dialect_contract::Dialect;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};
use serde_json::Value;

pub use case::{Case, Later};

/// Generator of worlds of one dialect.
pub trait Generator {
    /// The tested dialect.
    fn dialect(&self) -> Arc<dyn Dialect>;

    /// Fleets, demands, configurations and later changes of these. Names should be drawn from few, so that
    /// two cases have objects in common: one case is also reached from another by updates and deletes.
    fn case(&self) -> BoxedStrategy<Case>;

    /// Whether a second decision must change nothing in `case`. This is false only for documented exceptions
    /// (OCM with a negative Steady weight).
    fn settles(&self, _case: &Case) -> bool {
        true
    }

    /// Removes from a stored object the parts that may differ between two ways to one state, such as a
    /// generated name. Generation, uid, creation time and resourceVersion are already removed.
    fn even_out(&self, _object: &mut Value) {}
}

/// Properties that must hold (ARCHITECTURE.md, "A decision").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// After the writes, a second decision writes nothing, changes nothing and picks the same clusters.
    DecidingTwiceChangesNothing,
    /// Objects and configuration may arrive in any order, with decisions in between: every report is equal.
    InputOrderDoesNotMatter,
    /// One seed gives one answer, on the same world and on a rebuilt one.
    SameSeedSameAnswer,
    /// Newly bound and restored clusters pass every filter.
    NewlyBoundIsFeasible,
    /// Every target is either feasible or has a refusal; a feasible target that is not picked has the reason.
    EveryTargetIsExplained,
    /// The funnel adds up, and the sentence that names the cause is true of every target.
    TheCauseIsTrue,
    /// A target that no demand can use changes no pick, and has no effect after its deletion.
    InfeasibleTargetChangesNoPick,
    /// The changes in the report are exactly those in the demand's view after the writes.
    WritesGiveExactlyTheChanges,
    /// There is one amount for each pick, and none where nothing is divided. The sum is the wanted amount,
    /// where that is fulfilled.
    AmountsAddUp,
    /// After any prefix of the writes, a new decision ends with the same objects.
    AnyPrefixIsFinished,
    /// The writes of a decision never make the same demand due again.
    OwnWritesAreNotDue,
    /// No change alters the view of a demand or target without naming it.
    EveryViewThatChangesIsNamed,
    /// A snapshot does not change when later changes are folded.
    SnapshotsStand,
    /// Decisions on a world that was reached by updates and deletes equal those on a rebuilt one.
    FoldingIsIncremental,
    /// A plan of a change equals the effect of the change, and of the decisions that it makes due.
    PlanEqualsDoingIt,
    /// After the patches of an advice, the target fits as announced, and the server accepts every
    /// patch.
    AdviceHolds,
    /// All laws of one decision hold at every step while the fleet, the demands and the time change.
    LawsHoldAllAlong,
}

impl Property {
    /// All properties.
    pub const ALL: [Self; 17] = [
        Self::DecidingTwiceChangesNothing,
        Self::InputOrderDoesNotMatter,
        Self::SameSeedSameAnswer,
        Self::NewlyBoundIsFeasible,
        Self::EveryTargetIsExplained,
        Self::TheCauseIsTrue,
        Self::InfeasibleTargetChangesNoPick,
        Self::WritesGiveExactlyTheChanges,
        Self::AmountsAddUp,
        Self::AnyPrefixIsFinished,
        Self::OwnWritesAreNotDue,
        Self::EveryViewThatChangesIsNamed,
        Self::SnapshotsStand,
        Self::FoldingIsIncremental,
        Self::PlanEqualsDoingIt,
        Self::AdviceHolds,
        Self::LawsHoldAllAlong,
    ];

    fn holds(self, generator: &dyn Generator, trial: &Trial) -> Result<(), String> {
        let each = |law: laws::Law| worlds::each_demand(generator, trial, law);
        match self {
            Self::DecidingTwiceChangesNothing => each(laws::twice),
            Self::SameSeedSameAnswer => each(laws::same_seed),
            Self::NewlyBoundIsFeasible => each(laws::feasible),
            Self::EveryTargetIsExplained => each(laws::explained),
            Self::TheCauseIsTrue => each(causes::hold),
            Self::WritesGiveExactlyTheChanges => each(laws::exact),
            Self::AmountsAddUp => each(laws::divided),
            Self::AnyPrefixIsFinished => each(laws::prefixes),
            Self::OwnWritesAreNotDue => each(laws::not_due),
            Self::InputOrderDoesNotMatter => worlds::any_order(generator, trial),
            Self::InfeasibleTargetChangesNoPick => worlds::infeasible(generator, trial),
            Self::EveryViewThatChangesIsNamed => worlds::named(generator, trial),
            Self::SnapshotsStand => worlds::stand(generator, trial),
            Self::FoldingIsIncremental => worlds::incremental(generator, trial),
            Self::PlanEqualsDoingIt => plans::equal(generator, trial),
            Self::AdviceHolds => each(advice::holds),
            Self::LawsHoldAllAlong => worlds::all_along(generator, trial),
        }
    }
}

/// Input of one test.
#[derive(Clone, Debug)]
struct Trial {
    case: Case,
    /// World before, for [`Property::FoldingIsIncremental`].
    before: Option<Case>,
    /// Random value for shuffling and seeds.
    random: u64,
}

/// Number of cases of each property, unless `PROPTEST_CASES` sets another one.
const CASES: u32 = 64;

/// Tests `property` on the worlds of `generator`.
///
/// # Panics
/// When the property does not hold, with the smallest case found.
pub fn check(generator: &dyn Generator, property: Property) {
    if let Err(problem) = falsify(generator, property) {
        panic!("{problem}");
    }
}

/// Tests like [`check`], and returns the failure.
///
/// # Errors
/// The reason why `property` does not hold, with the smallest case found.
pub fn falsify(generator: &dyn Generator, property: Property) -> Result<(), String> {
    let from_environment = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig::default();
    let config = ProptestConfig {
        cases: if from_environment { default.cases } else { CASES },
        failure_persistence: None,
        ..default
    };
    let before = if property == Property::FoldingIsIncremental {
        generator.case().prop_map(Some).boxed()
    } else {
        Just(None).boxed()
    };
    let trials = (generator.case(), before, any::<u64>()).prop_map(|(case, before, random)| Trial {
        case,
        before,
        random,
    });
    let result = TestRunner::new(config).run(&trials, |trial| {
        property.holds(generator, &trial).map_err(TestCaseError::fail)
    });
    let name = generator.dialect().name();
    result.map_err(|error| match error {
        TestError::Abort(reason) => format!("{property:?} of {name} could not be tried: {reason}"),
        TestError::Fail(reason, trial) => {
            let mut text = format!(
                "{property:?} of {name} does not hold: {reason}\n\n# case\n{:?}",
                trial.case
            );
            if let Some(before) = trial.before {
                text.push_str(&format!("\n# reached from\n{before:?}"));
            }
            text
        }
    })
}

/// One test for each [`Property`] of a [`Generator`].
#[macro_export]
macro_rules! properties {
    ($generator:expr) => {
        $crate::properties!(@tests $generator,
            deciding_twice_changes_nothing DecidingTwiceChangesNothing,
            input_order_does_not_matter InputOrderDoesNotMatter,
            same_seed_same_answer SameSeedSameAnswer,
            newly_bound_is_feasible NewlyBoundIsFeasible,
            every_target_is_explained EveryTargetIsExplained,
            the_cause_is_true TheCauseIsTrue,
            infeasible_target_changes_no_pick InfeasibleTargetChangesNoPick,
            writes_give_exactly_the_changes WritesGiveExactlyTheChanges,
            amounts_add_up AmountsAddUp,
            any_prefix_is_finished AnyPrefixIsFinished,
            own_writes_are_not_due OwnWritesAreNotDue,
            every_view_that_changes_is_named EveryViewThatChangesIsNamed,
            snapshots_stand SnapshotsStand,
            folding_is_incremental FoldingIsIncremental,
            plan_equals_doing_it PlanEqualsDoingIt,
            advice_holds AdviceHolds,
            laws_hold_all_along LawsHoldAllAlong,
        );
    };
    (@tests $generator:expr, $($name:ident $property:ident,)*) => {
        $(
            #[test]
            fn $name() {
                $crate::properties::check(&$generator, $crate::properties::Property::$property);
            }
        )*
    };
}
