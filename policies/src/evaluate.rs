//! Evaluating the expressions of one policy on one write: budgets, variables, reviews that must be made first.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use cel::{Decisions, Error, Lazy, MATCH_CONDITIONS_LIMIT, PER_CALL_LIMIT, POLICY_LIMIT, Review, Value};

use crate::expressions::Expression;
use crate::policy::Policy;

/// What is said where the budget of a policy is used up.
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The reviews that must be made before it is known what a policy says.
#[derive(Debug, Default)]
pub(crate) struct Unasked(RefCell<BTreeSet<Review>>);

impl Unasked {
    pub(crate) fn into_inner(self) -> BTreeSet<Review> {
        self.0.into_inner()
    }
}

/// What a policy costs together was more than it may.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfBudget;

impl OutOfBudget {
    pub(crate) fn text() -> String {
        OUT_OF_BUDGET.to_owned()
    }
}

/// The expressions of one policy over one write.
pub(crate) struct Evaluation<'a, 's> {
    values: &'a [Value<'a>],
    lazy: Lazy<'a>,
    unasked: &'s Unasked,
    left: u64,
}

impl<'a, 's> Evaluation<'a, 's> {
    pub(crate) fn new(
        policy: &'a Policy,
        values: &'a [Value<'a>],
        decisions: &Arc<Decisions>,
        unasked: &'s Unasked,
    ) -> Self {
        let lazy = Lazy::new(&policy.variables, values, Arc::clone(decisions), PER_CALL_LIMIT);
        Self {
            values,
            lazy,
            unasked,
            left: POLICY_LIMIT,
        }
    }

    /// The same with what match conditions may cost.
    pub(crate) fn of_conditions(self) -> Self {
        Self {
            left: MATCH_CONDITIONS_LIMIT,
            ..self
        }
    }

    /// Begins a new budget.
    pub(crate) fn renew(&mut self) {
        self.left = POLICY_LIMIT;
    }

    /// The value of `expression`, or why it has none, in kube-apiserver's words.
    pub(crate) fn value(
        &mut self,
        expression: &'a Expression,
    ) -> Result<Result<Value<'a>, String>, OutOfBudget> {
        let program = match &expression.program {
            Ok(program) => program,
            Err(problem) => return Ok(Err(format!("compilation error: {problem}"))),
        };
        let evaluation = program.evaluate_with(self.values, PER_CALL_LIMIT, &self.lazy);
        if let Err(Error::Unasked(review)) = &evaluation.value {
            // What is said now is thrown away: everything is evaluated again once the answer is there.
            self.unasked.0.borrow_mut().insert((**review).clone());
            return Ok(Err("an access review is not made yet".to_owned()));
        }
        let cost = evaluation.cost.saturating_add(self.lazy.take_cost());
        self.left = self.left.checked_sub(cost).ok_or(OutOfBudget)?;
        Ok(evaluation
            .value
            .map_err(|problem| format!("expression '{}' resulted in error: {problem}", expression.source)))
    }
}

/// Whether the match conditions of a policy hold; an error when that could not be found out and no other excludes the
/// write.
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
