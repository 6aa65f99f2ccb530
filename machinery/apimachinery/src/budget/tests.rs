//! A budget counts steps and bytes, and fails at its limits.

use super::*;

#[test]
fn a_spent_budget_names_the_work_and_the_limit() {
    let mut budget = Budget::new("the patch", 10, 100);
    budget.spend(10).unwrap();
    let status = Status::from(budget.spend(1).unwrap_err());
    assert_eq!(status.code, 422);
    assert_eq!(
        status.message,
        "the patch takes more than the limit of 10 steps of work"
    );
    budget.spend_bytes(100).unwrap();
    let status = Status::from(budget.spend_bytes(usize::MAX).unwrap_err());
    assert_eq!(status.code, 413);
    assert!(status.message.contains("100 bytes"), "{}", status.message);
}

#[test]
fn work_nobody_waits_for_ends_within_some_steps() {
    let abandoned = AbandonedFlag::default();
    let mut budget = abandoned.scope(|| Budget::new("the patch", u64::MAX, 0));
    budget.spend(1).unwrap();
    abandoned.set();
    let steps = (0..2 * CHECK_INTERVAL).find(|_| budget.spend(1).is_err());
    assert!(steps.is_some_and(|steps| steps <= CHECK_INTERVAL));
    assert_eq!(Status::from(BudgetExceeded::Abandoned).code, 504);
}

#[test]
fn what_nobody_waits_for_is_unwanted_on_its_own_thread_only() {
    let (outer, inner) = (AbandonedFlag::default(), AbandonedFlag::default());
    inner.set();
    outer.scope(|| {
        assert_eq!(inner.scope(check_needed), Err(BudgetExceeded::Abandoned));
        assert_eq!(check_needed(), Ok(()), "the outer work goes on");
        outer.set();
        assert_eq!(check_needed(), Err(BudgetExceeded::Abandoned));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(check_needed(), Ok(())));
        });
    });
    let broken = std::panic::catch_unwind(|| outer.scope(|| panic!("broken")));
    assert!(broken.is_err());
    assert_eq!(
        check_needed(),
        Ok(()),
        "a panic does not leave its request behind"
    );
}
