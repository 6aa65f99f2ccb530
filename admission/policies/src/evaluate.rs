//! Evaluation of the expressions of one policy on one write: cost budgets, variables, and access reviews that
//! must be made first.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

use berth_cel::{
    Decisions, Error, LazyVariables, MATCH_CONDITIONS_LIMIT, PER_CALL_LIMIT, POLICY_LIMIT, Review, Value,
};

use crate::expressions::Expression;
use crate::policy::Policy;

/// Message about a cost budget that is used up, in kube-apiserver's words.
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Access reviews that an evaluation needs and that are not made yet.
#[derive(Debug, Default)]
pub(crate) struct PendingReviews(RefCell<BTreeSet<Review>>);

impl PendingReviews {
    pub(crate) fn into_inner(self) -> BTreeSet<Review> {
        self.0.into_inner()
    }
}

/// Error of an evaluation that exceeds the budget of its policy, or of all policies together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfBudget;

impl OutOfBudget {
    pub(crate) fn text() -> String {
        OUT_OF_BUDGET.to_owned()
    }
}

/// Highest cost of all policies together for one write, each with all its parameters. When the budget is used
/// up, the `failurePolicy` of each further policy decides, as for a single policy that costs too much.
pub(crate) const WRITE_LIMIT: u64 = 10 * POLICY_LIMIT;

/// Cost of evaluating a policy once, in addition to the cost of its expressions.
pub(crate) const POLICY_COST: u64 = 500;

/// Remaining cost budget of all policies together for one write.
#[derive(Debug)]
pub(crate) struct RemainingBudget(Cell<u64>);

impl RemainingBudget {
    pub(crate) fn new(cost: u64) -> Self {
        Self(Cell::new(cost))
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.get()
    }

    /// Subtracts `cost` from the budget. A budget smaller than `cost` becomes 0.
    pub(crate) fn spend(&self, cost: u64) -> Result<(), OutOfBudget> {
        let left = self.0.get().checked_sub(cost);
        self.0.set(left.unwrap_or_default());
        left.map(drop).ok_or(OutOfBudget)
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.0.get() == 0
    }
}

/// Evaluation of the expressions of one policy on one write.
pub(crate) struct Evaluation<'a, 's> {
    values: &'a [Value<'a>],
    lazy: LazyVariables<'a>,
    pending: &'s PendingReviews,
    remaining: u64,
    total: &'s RemainingBudget,
}

impl<'a, 's> Evaluation<'a, 's> {
    pub(crate) fn new(
        policy: &'a Policy,
        values: &'a [Value<'a>],
        decisions: &Arc<Decisions>,
        pending: &'s PendingReviews,
        total: &'s RemainingBudget,
    ) -> Self {
        let limit = PER_CALL_LIMIT.min(total.get());
        let lazy = LazyVariables::new(&policy.variables, values, Arc::clone(decisions), limit);
        Self {
            values,
            lazy,
            pending,
            remaining: POLICY_LIMIT,
            total,
        }
    }

    /// Sets the budget to the budget of match conditions.
    pub(crate) fn for_conditions(self) -> Self {
        Self {
            remaining: MATCH_CONDITIONS_LIMIT,
            ..self
        }
    }

    /// Resets the budget to the full budget of one policy.
    pub(crate) fn reset_budget(&mut self) {
        self.remaining = POLICY_LIMIT;
    }

    /// Returns the value of `expression`, or the reason why it cannot be evaluated, in kube-apiserver's
    /// words.
    pub(crate) fn value(
        &mut self,
        expression: &'a Expression,
    ) -> Result<Result<Value<'a>, String>, OutOfBudget> {
        let program = match &expression.program {
            Ok(program) => program,
            Err(problem) => return Ok(Err(format!("compilation error: {problem}"))),
        };
        let limit = PER_CALL_LIMIT.min(self.total.get());
        let evaluation = program.evaluate_with(self.values, limit, &self.lazy);
        if let Err(Error::PendingReview(review)) = &evaluation.value {
            // The caller drops this result, and evaluates everything again once the review is made.
            self.pending.0.borrow_mut().insert((**review).clone());
            return Ok(Err("an access review is not made yet".to_owned()));
        }
        let cost = evaluation.cost.saturating_add(self.lazy.take_cost());
        self.total.spend(cost)?;
        self.remaining = self.remaining.checked_sub(cost).ok_or(OutOfBudget)?;
        Ok(evaluation
            .value
            .map_err(|problem| format!("expression '{}' resulted in error: {problem}", expression.source)))
    }
}

/// Whether all match conditions of a policy are true.
///
/// # Errors
/// When a condition cannot be evaluated and no other condition is false, or when the budget is used up before
/// a condition is found to be false.
pub(crate) fn conditions_hold<'a>(
    policy: &'a Policy,
    evaluation: Evaluation<'a, '_>,
) -> Result<bool, String> {
    let mut evaluation = evaluation.for_conditions();
    let mut problems: Vec<String> = Vec::new();
    for condition in &policy.conditions {
        match evaluation.value(condition) {
            Ok(Ok(Value::Bool(true))) => {}
            Ok(Ok(_)) => return Ok(false),
            Ok(Err(problem)) if problems.contains(&problem) => {}
            Ok(Err(problem)) => problems.push(problem),
            Err(OutOfBudget) => return Err(OutOfBudget::text()),
        }
    }
    match problems.as_slice() {
        [] => Ok(true),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}
