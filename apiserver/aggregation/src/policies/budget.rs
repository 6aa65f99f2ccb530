//! Cost budget of the match conditions of all webhooks together, and the place of their evaluation.

use std::sync::Arc;

use berth_cel::{Decisions, MATCH_CONDITIONS_LIMIT};
use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::conditions::{Conditions, ConditionsResult};

/// Highest cost of the match conditions of all webhooks together in one pass over a write, as for policies.
/// Conditions that need access reviews are evaluated again, at their cost, when the reviews are made.
const PASS_LIMIT: u64 = 40 * MATCH_CONDITIONS_LIMIT;

/// Highest cost of an evaluation on the calling thread, where it delays other tasks.
const INLINE_LIMIT: u64 = 100_000;

/// Remaining cost budget of one pass.
pub(super) struct PassBudget {
    left: u64,
}

impl PassBudget {
    /// Creates the budget of a pass.
    pub(super) fn new() -> Self {
        Self { left: PASS_LIMIT }
    }

    /// Evaluates `conditions` for `request`, with the results of the access reviews so far, and subtracts the
    /// cost. A cheap evaluation ends on the calling thread. For an expensive one, which starts again, the
    /// other tasks of the thread move to another thread.
    pub(super) fn evaluate(
        &mut self,
        conditions: &Conditions,
        request: &Value,
        decisions: &Arc<Decisions>,
    ) -> ConditionsResult {
        let inline_budget = INLINE_LIMIT.min(self.left);
        let mut left = inline_budget;
        let result = conditions.evaluate(request, decisions, &mut left);
        if left > 0 {
            self.left -= inline_budget - left;
            return result;
        }
        run_blocking(|| conditions.evaluate(request, decisions, &mut self.left))
    }
}

/// Runs `work`, which may take long, while the other tasks of this thread run on another one, if there are
/// several.
fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    let can_move_tasks =
        Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if can_move_tasks {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use berth_admission::client::Condition;
    use serde_json::json;

    use super::*;

    /// A condition that costs some 530,000.
    fn expensive() -> Conditions {
        Conditions::compile(&[Condition {
            name: "c".to_owned(),
            expression: "lists.range(400).all(x, lists.range(330).all(y, true))".to_owned(),
        }])
    }

    #[test]
    fn all_evaluations_of_a_pass_have_one_budget() {
        let (conditions, request) = (expensive(), json!({"operation": "CREATE"}));
        let mut budget = PassBudget { left: 1_300_000 };
        let mut evaluate = || budget.evaluate(&conditions, &request, &Arc::default());
        assert_eq!(
            [evaluate(), evaluate()],
            [ConditionsResult::Match, ConditionsResult::Match]
        );
        match evaluate() {
            ConditionsResult::Failed(problem) => assert!(problem.contains("it costs more than"), "{problem}"),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn the_only_thread_runs_other_tasks_during_an_expensive_evaluation() {
        let (sender, receiver) = mpsc::channel();
        let evaluating = tokio::spawn(async move {
            tokio::spawn(async move { sender.send(()).unwrap() });
            run_blocking(|| receiver.recv_timeout(Duration::from_secs(10)).is_ok())
        });
        assert!(evaluating.await.unwrap(), "the other task did not run");
    }
}
