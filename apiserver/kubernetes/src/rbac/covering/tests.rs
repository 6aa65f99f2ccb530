//! Whether rights cover others, without expanding them.

use super::*;

fn words(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n}")).collect()
}

fn rule(verbs: usize, groups: usize, resources: usize) -> PolicyRule {
    PolicyRule {
        verbs: words("v", verbs),
        api_groups: words("g", groups),
        resources: words("r", resources),
        ..PolicyRule::default()
    }
}

#[test]
fn a_role_that_multiplies_to_millions_of_rights_is_refused_without_writing_them_out() {
    let mut budget = budget();
    let refused = search(
        [&rule(1, 1, 1)].into_iter(),
        &[rule(100, 400, 400)],
        50,
        &mut budget,
    );
    let text = refused.unwrap_err();
    assert!(text.contains("16000000 combinations"), "{text}");
    assert!(text.contains("more than 10000"), "{text}");
    assert!(budget.steps() < 10_000, "{}", budget.steps());
}

#[test]
fn looking_for_what_is_missing_stops_at_the_first_fifty() {
    let mut budget = budget();
    let missing = search(
        std::iter::empty(),
        &vec![rule(10, 10, 100); 10_000],
        50,
        &mut budget,
    )
    .unwrap();
    assert_eq!((missing.rules.len(), missing.more), (50, true));
    assert!(budget.steps() < 100, "{}", budget.steps());
}

#[test]
fn who_holds_a_rule_as_a_whole_may_give_it_however_many_rights_it_is() {
    let all = PolicyRule {
        verbs: vec!["*".into()],
        api_groups: vec!["*".into()],
        resources: vec!["*".into()],
        ..PolicyRule::default()
    };
    let missing = uncovered([&all].into_iter(), &[rule(100, 400, 400)], 50).unwrap();
    assert!(missing.rules.is_empty() && !missing.more);
    let large = rule(100, 400, 400);
    assert!(
        uncovered([&large].into_iter(), std::slice::from_ref(&large), 50)
            .unwrap()
            .rules
            .is_empty()
    );
}

#[test]
fn many_rules_against_many_held_end_after_counted_steps() {
    let held: Vec<PolicyRule> = (0..20_000)
        .map(|n| PolicyRule {
            resources: vec![n.to_string()],
            ..rule(1, 1, 0)
        })
        .collect();
    let wanted: Vec<PolicyRule> = (0..20_000)
        .map(|n| PolicyRule {
            resources: vec![format!("{n}")],
            ..rule(1, 1, 0)
        })
        .collect();
    let mut budget = budget();
    let refused = search(held.iter(), &wanted, 50, &mut budget).unwrap_err();
    assert!(refused.contains("5000000 steps"), "{refused}");
    assert!(budget.steps() < MAX_STEPS + 1000);
}

#[test]
fn words_that_are_repeated_count_once() {
    let mut wanted = rule(1, 1, 1);
    wanted.resources = vec!["r0".into(); 100_000];
    let mut other = rule(1, 1, 1);
    other.resources = vec!["other".into(); 100_000];
    let missing = uncovered([&other].into_iter(), &[wanted], 50).unwrap();
    assert_eq!(missing.rules.len(), 1);
}
