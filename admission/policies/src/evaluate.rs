//! Evaluation of the expressions of one policy on one write: budgets, variables, and reviews that must be
//! made first.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

use berth_cel::{
    Decisions, Error, Lazy, MATCH_CONDITIONS_LIMIT, PER_CALL_LIMIT, POLICY_LIMIT, Review, Value,
};

use crate::expressions::Expression;
use crate::policy::Policy;

/// Message about a used up budget.
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The reviews that an evaluation still needs.
#[derive(Debug, Default)]
pub(crate) struct PendingReviews(RefCell<BTreeSet<Review>>);

impl PendingReviews {
    pub(crate) fn into_inner(self) -> BTreeSet<Review> {
        self.0.into_inner()
    }
}

/// Error of an evaluation that exceeds its own budget, or the budget of all policies together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfBudget;

impl OutOfBudget {
    pub(crate) fn text() -> String {
        OUT_OF_BUDGET.to_owned()
    }
}

/// Highest cost of all policies together for one write, each with all its parameters: ten times the limit of
/// one policy. Beyond this limit, the `failurePolicy` of each policy decides, as for a single policy that
/// costs too much.
pub(crate) const WRITE_LIMIT: u64 = 10 * POLICY_LIMIT;

/// Cost of evaluating a policy, in addition to its expressions.
pub(crate) const EACH: u64 = 500;

/// Remaining budget of all policies together.
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

    pub(crate) fn is_out(&self) -> bool {
        self.0.get() == 0
    }
}

/// The expressions of one policy over one write.
pub(crate) struct Evaluation<'a, 's> {
    values: &'a [Value<'a>],
    lazy: Lazy<'a>,
    pending: &'s PendingReviews,
    remaining: u64,
    all: &'s RemainingBudget,
}

impl<'a, 's> Evaluation<'a, 's> {
    pub(crate) fn new(
        policy: &'a Policy,
        values: &'a [Value<'a>],
        decisions: &Arc<Decisions>,
        pending: &'s PendingReviews,
        all: &'s RemainingBudget,
    ) -> Self {
        let most = PER_CALL_LIMIT.min(all.get());
        let lazy = Lazy::new(&policy.variables, values, Arc::clone(decisions), most);
        Self {
            values,
            lazy,
            pending,
            remaining: POLICY_LIMIT,
            all,
        }
    }

    /// Sets the budget to the budget of match conditions.
    pub(crate) fn of_conditions(self) -> Self {
        Self {
            remaining: MATCH_CONDITIONS_LIMIT,
            ..self
        }
    }

    /// Resets the budget to the budget of one policy.
    pub(crate) fn renew(&mut self) {
        self.remaining = POLICY_LIMIT;
    }

    /// Returns the value of `expression`, or the reason why it has none, in kube-apiserver's words.
    pub(crate) fn value(
        &mut self,
        expression: &'a Expression,
    ) -> Result<Result<Value<'a>, String>, OutOfBudget> {
        let program = match &expression.program {
            Ok(program) => program,
            Err(problem) => return Ok(Err(format!("compilation error: {problem}"))),
        };
        let most = PER_CALL_LIMIT.min(self.all.get());
        let evaluation = program.evaluate_with(self.values, most, &self.lazy);
        if let Err(Error::Unasked(review)) = &evaluation.value {
            // This result is dropped: everything is evaluated again once the review is answered.
            self.pending.0.borrow_mut().insert((**review).clone());
            return Ok(Err("an access review is not made yet".to_owned()));
        }
        let cost = evaluation.cost.saturating_add(self.lazy.take_cost());
        self.all.spend(cost)?;
        self.remaining = self.remaining.checked_sub(cost).ok_or(OutOfBudget)?;
        Ok(evaluation
            .value
            .map_err(|problem| format!("expression '{}' resulted in error: {problem}", expression.source)))
    }
}

/// Whether the match conditions of a policy hold. An error when a condition cannot be evaluated and no other
/// excludes the write, or when the budget is used up before one excludes it.
pub(crate) fn conditions_hold<'a>(
    policy: &'a Policy,
    evaluation: Evaluation<'a, '_>,
) -> Result<bool, String> {
    let mut evaluation = evaluation.of_conditions();
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
