//! Properties of every decision of every dialect, tried on generated worlds.
//!
//! A dialect implements [`Generator`] and calls [`properties!`](crate::properties!) in `tests/properties.rs`;
//! each [`Property`] becomes a test of its own. A failure is shrunk and shown with its case as YAML. 64 cases
//! each unless `PROPTEST_CASES` says otherwise, `PROPTEST_RNG_SEED` fixes them; nothing is written to disk.
//!
//! Start reading at [`Property`]; `server` is the small API server the writes go through, `laws` says what
//! must hold of one decision, `worlds` what must hold of whole worlds.

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

/// Makes worlds of one dialect.
pub trait Generator {
    /// The dialect that is tried.
    fn dialect(&self) -> Arc<dyn Dialect>;

    /// Fleets, demands, configurations and what happens to them later. Names should be drawn from few, so
    /// that two cases have objects in common: one case is also reached from another by updates and deletes.
    fn case(&self) -> BoxedStrategy<Case>;

    /// Whether deciding again must change nothing in `case`: false only for documented exceptions (OCM with a
    /// negative Steady weight).
    fn settles(&self, _case: &Case) -> bool {
        true
    }

    /// Takes out of a stored object what may differ between two ways to one state, such as a generated name.
    /// Generation, uid, creation time and resourceVersion are gone already.
    fn even_out(&self, _object: &mut Value) {}
}

/// Properties that must hold (ARCHITECTURE.md, "A decision").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// Once the writes are made, deciding again writes nothing, changes nothing and picks the same.
    DecidingTwiceChangesNothing,
    /// Objects and configuration may arrive in any order, with decisions in between: every report is the
    /// same.
    InputOrderDoesNotMatter,
    /// One seed gives one answer, on the same world and on one built anew.
    SameSeedSameAnswer,
    /// Whatever is newly bound or restored passes every filter.
    NewlyBoundIsFeasible,
    /// Every target is feasible or says why not, and never both; what is feasible and not picked says so.
    EveryTargetIsExplained,
    /// The funnel adds up, and the sentence that names the cause is true of every target.
    TheCauseIsTrue,
    /// A target that no demand can use changes no pick, and leaves no trace once it is gone.
    InfeasibleTargetChangesNoPick,
    /// The changes that the report announces are those that the demand's view shows after the writes, no more
    /// and no less.
    WritesGiveExactlyTheChanges,
    /// Amounts are one for each pick, together what is wanted where that is fulfilled, and none where nothing
    /// is divided.
    AmountsAddUp,
    /// Wherever the writes are cut off, deciding again ends in the same objects.
    AnyPrefixIsFinished,
    /// The writes of a decision never make the same demand due again.
    OwnWritesAreNotDue,
    /// No change alters the view of a demand or target without naming it.
    EveryViewThatChangesIsNamed,
    /// A snapshot goes on saying what it said, whatever is folded into later ones.
    SnapshotsStand,
    /// A world reached by updates and deletes decides as one built afresh.
    FoldingIsIncremental,
    /// A plan of a change says exactly what making the change, and deciding what it makes due, does.
    PlanEqualsDoingIt,
    /// Advice applied makes the target fit, as it says, and the server takes every patch.
    AdviceHolds,
    /// All laws of one decision hold at every step while the fleet, the demands and the time change.
    LawsHoldAllAlong,
}

impl Property {
    /// All of them.
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

/// Parts of one try.
#[derive(Clone, Debug)]
struct Trial {
    case: Case,
    /// World before, for [`Property::FoldingIsIncremental`].
    before: Option<Case>,
    /// For shuffling and seeds.
    random: u64,
}

/// Number of cases that each property is tried with, unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 64;

/// Tries `property` on the worlds of `generator`.
///
/// # Panics
/// When it does not hold, with the smallest case found.
pub fn check(generator: &dyn Generator, property: Property) {
    if let Err(problem) = falsify(generator, property) {
        panic!("{problem}");
    }
}

/// As [`check`], giving the failure.
///
/// # Errors
/// Why `property` does not hold, with the smallest case found.
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
