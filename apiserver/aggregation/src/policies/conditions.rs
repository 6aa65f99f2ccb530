//! `matchConditions` of a webhook: CEL expressions about the request, the object and the old object. The
//! webhook is called if all of them are true.
//!
//! If a condition does not compile, cannot be evaluated or exceeds the cost budget, the `failurePolicy` of
//! the webhook decides. An evaluation has no side effects: it returns the access reviews that expressions
//! with `authorizer` need. When the reviews are made, all conditions are evaluated again with the results.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use berth_admission::client::Condition;
use berth_cel::{
    AdmissionVariable, Decisions, Environment, Error, LazyVariables, MATCH_CONDITIONS_LIMIT, PER_CALL_LIMIT,
    Program, Review, ReviewSubject, Type, Value,
};
use serde_json::Value as Json;

/// Variables and functions of match conditions.
static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(Environment::match_conditions);

/// Variables that may be null, with their names.
const OBJECTS: [(&str, AdmissionVariable); 2] = [
    ("object", AdmissionVariable::Object),
    ("oldObject", AdmissionVariable::OldObject),
];

/// Divisor for lowering the highest cost: each cheaper evaluation lowers it by `1 / COST_DECAY`.
const COST_DECAY: u64 = 256;

/// Compiled match conditions of one webhook.
pub(super) struct Conditions {
    all: Vec<CompiledCondition>,
    /// Highest cost of recent evaluations.
    highest_cost: AtomicU64,
}

struct CompiledCondition {
    name: String,
    program: Result<Program, String>,
}

/// Result of evaluating the conditions, which decides whether to call the webhook.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConditionsResult {
    /// All conditions are true.
    Match,
    /// A condition is false.
    NoMatch,
    /// No condition is false, but some conditions cannot be evaluated, for the given reason.
    Failed(String),
    /// The result depends on access reviews that are not made yet.
    NeedsReviews(BTreeSet<Review>),
}

impl Conditions {
    pub(super) fn compile(conditions: &[Condition]) -> Self {
        Self {
            all: conditions.iter().map(CompiledCondition::new).collect(),
            highest_cost: AtomicU64::new(0),
        }
    }

    /// Returns the problems of expressions that do not compile.
    pub(super) fn problems(&self) -> impl Iterator<Item = &str> {
        self.all
            .iter()
            .filter_map(|one| one.program.as_ref().err().map(String::as_str))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Expected cost of evaluating the conditions, from recent evaluations; 0 before the first one.
    pub(super) fn expected_cost(&self) -> u64 {
        self.highest_cost.load(Ordering::Relaxed)
    }

    /// Evaluates the conditions for `request`, the `request` of an AdmissionReview, with the results of the
    /// access reviews so far. Subtracts the cost from `left`, the budget of several evaluations.
    pub(super) fn evaluate(
        &self,
        request: &Json,
        decisions: &Arc<Decisions>,
        left: &mut u64,
    ) -> ConditionsResult {
        let limit = MATCH_CONDITIONS_LIMIT.min(*left);
        let mut own_left = limit;
        let result = self.evaluate_within(request, decisions, &mut own_left);
        let cost = limit - own_left;
        *left -= cost;
        let before = self.highest_cost.load(Ordering::Relaxed);
        let highest_cost = cost.max(before - before / COST_DECAY);
        self.highest_cost.store(highest_cost, Ordering::Relaxed);
        result
    }

    fn evaluate_within(
        &self,
        request: &Json,
        decisions: &Arc<Decisions>,
        left: &mut u64,
    ) -> ConditionsResult {
        let plain = without_objects(request);
        let variables = variables(request, &plain);
        let lazy = LazyVariables::new(&[], &variables, Arc::clone(decisions), PER_CALL_LIMIT);
        let mut problems = Vec::new();
        let mut pending = BTreeSet::new();
        for one in &self.all {
            match one.is_true(&variables, &lazy, left) {
                Ok(true) => {}
                Ok(false) => return ConditionsResult::NoMatch,
                Err(ConditionError::NeedsReview(review)) => drop(pending.insert(review)),
                Err(ConditionError::Problem(problem)) => {
                    problems.push(format!("match condition {:?}: {problem}", one.name));
                }
            }
        }
        if !pending.is_empty() {
            ConditionsResult::NeedsReviews(pending)
        } else if problems.is_empty() {
            ConditionsResult::Match
        } else {
            ConditionsResult::Failed(problems.join("; "))
        }
    }
}

/// Reason why a condition could not be evaluated.
enum ConditionError {
    NeedsReview(Review),
    Problem(String),
}

impl CompiledCondition {
    fn new(condition: &Condition) -> Self {
        let name = condition.name.clone();
        let program = match ENVIRONMENT.compile(&condition.expression) {
            Ok(program) if *program.result() == Type::Bool => Ok(program),
            Ok(program) => Err(format!(
                "{name:?} does not compile: must evaluate to bool but got {}",
                program.result()
            )),
            Err(error) => Err(format!("{name:?} does not compile: {error}")),
        };
        Self { name, program }
    }

    /// Whether the condition is true. Subtracts the cost of the evaluation from `left`, the remaining budget
    /// of all conditions of the webhook.
    fn is_true<'a>(
        &'a self,
        variables: &'a [Value<'a>],
        lazy: &LazyVariables<'a>,
        left: &mut u64,
    ) -> Result<bool, ConditionError> {
        let program = self
            .program
            .as_ref()
            .map_err(|problem| ConditionError::Problem(problem.clone()))?;
        let evaluation = program.evaluate_with(variables, PER_CALL_LIMIT.min(*left), lazy);
        *left = left.saturating_sub(evaluation.cost);
        match evaluation.value {
            Ok(Value::Bool(value)) => Ok(value),
            Ok(other) => Err(ConditionError::Problem(format!(
                "must evaluate to bool but got {}",
                other.type_name()
            ))),
            Err(Error::PendingReview(review)) => Err(ConditionError::NeedsReview(*review)),
            Err(problem) => {
                let missing = OBJECTS.iter().find(|(_, variable)| {
                    let index = *variable as usize;
                    program.reads(index) && matches!(variables.get(index), Some(Value::Null))
                });
                Err(ConditionError::Problem(match missing {
                    Some((name, _)) => format!("{problem}; {name} is null for this operation"),
                    None => problem.to_string(),
                }))
            }
        }
    }
}

/// Values of the variables, in the order of [`AdmissionVariable`]. `without_objects` is `request` without
/// objects.
fn variables<'a>(request: &'a Json, without_objects: &'a Json) -> [Value<'a>; 6] {
    let object = |name: &str| request.get(name).map_or(Value::Null, Value::from);
    [
        object("object"),
        object("oldObject"),
        Value::from(without_objects),
        Value::Unavailable("match conditions have no namespaceObject"),
        Value::authorizer(),
        Value::authorizer_of(request_resource(request)),
    ]
}

/// Returns the attributes of `authorizer.requestResource`.
fn request_resource(request: &Json) -> ReviewSubject {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let resource = &request["resource"];
    let mut subject = ReviewSubject::resource(&text(&resource["group"]), &text(&resource["resource"]));
    if let ReviewSubject::Resource {
        subresource,
        namespace,
        name,
        ..
    } = &mut subject
    {
        *subresource = text(&request["subResource"]).into();
        *namespace = text(&request["namespace"]).into();
        *name = text(&request["name"]).into();
    }
    subject
}

/// Returns the value of the variable `request`: `request` without objects. As in kube-apiserver, optional
/// fields that are empty (such as `subResource` and `userInfo.uid`) are absent.
fn without_objects(request: &Json) -> Json {
    let fields = request.as_object().into_iter().flatten();
    let without = fields.filter(|(name, _)| !OBJECTS.iter().any(|(object, _)| object == name));
    Json::Object(
        without
            .map(|(name, field)| (name.clone(), field.clone()))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judge(expressions: &[&str]) -> ConditionsResult {
        judge_with(expressions, &Arc::default())
    }

    fn judge_with(expressions: &[&str], decisions: &Arc<Decisions>) -> ConditionsResult {
        let conditions: Vec<Condition> = expressions
            .iter()
            .enumerate()
            .map(|(index, expression)| Condition {
                name: format!("c{index}"),
                expression: (*expression).to_owned(),
            })
            .collect();
        let request = json!({
            "uid": "u", "operation": "CREATE", "name": "p", "dryRun": false,
            "resource": {"group": "g.example", "version": "v1", "resource": "foos"},
            "userInfo": {"username": "alice", "groups": ["dev"]},
            "object": {"metadata": {"name": "p", "labels": {"tier": "gold"}}, "spec": {"count": 3}},
            "oldObject": null,
        });
        let mut left = u64::MAX;
        Conditions::compile(&conditions).evaluate(&request, decisions, &mut left)
    }

    #[test]
    fn access_reviews_are_requested_if_they_decide_and_then_used() {
        let allowed =
            "authorizer.group('apps').resource('deployments').namespace('team').check('get').allowed()";
        let own = "authorizer.requestResource.check('delete').allowed()";
        let ConditionsResult::NeedsReviews(reviews) = judge(&[allowed, own]) else {
            panic!("both reviews are needed");
        };
        assert_eq!(reviews.len(), 2);
        let about_own = reviews.iter().find(|review| &*review.verb == "delete").unwrap();
        let ReviewSubject::Resource {
            group,
            resource,
            name,
            ..
        } = &about_own.subject
        else {
            panic!("{about_own:?}");
        };
        assert_eq!((&**group, &**resource, &**name), ("g.example", "foos", "p"));
        assert_eq!(
            judge(&["false", allowed]),
            ConditionsResult::NoMatch,
            "nothing depends on it"
        );
        for (allowed_to, verdict) in [
            (true, ConditionsResult::Match),
            (false, ConditionsResult::NoMatch),
        ] {
            let decision = Arc::new(berth_cel::Decision {
                allowed: allowed_to,
                ..berth_cel::Decision::default()
            });
            let decisions = reviews
                .iter()
                .map(|review| (review.clone(), Arc::clone(&decision)));
            assert_eq!(
                judge_with(&[allowed, own], &Arc::new(decisions.collect())),
                verdict
            );
        }
    }

    #[test]
    fn true_and_false_conditions() {
        for (expression, verdict) in [
            ("true", ConditionsResult::Match),
            ("false", ConditionsResult::NoMatch),
            ("has(request.subResource)", ConditionsResult::NoMatch),
            ("request.userInfo.username == 'alice'", ConditionsResult::Match),
            (
                "!('system:nodes' in request.userInfo.groups)",
                ConditionsResult::Match,
            ),
            ("'dev' in request.userInfo.groups", ConditionsResult::Match),
            (
                "request.operation != 'DELETE' && request.resource.resource == 'foos'",
                ConditionsResult::Match,
            ),
            ("object.metadata.labels.tier == 'iron'", ConditionsResult::NoMatch),
            (
                "object.metadata.labels['tier'].startsWith('go')",
                ConditionsResult::Match,
            ),
            (
                "has(object.metadata.annotations) && 'x' in object.metadata.annotations",
                ConditionsResult::NoMatch,
            ),
            (
                "object.metadata.labels[?'x'].orValue('') == ''",
                ConditionsResult::Match,
            ),
            (
                "object.spec.count == 3 && oldObject == null",
                ConditionsResult::Match,
            ),
            (
                "!has(request.namespace) && !request.dryRun",
                ConditionsResult::Match,
            ),
            (
                "object.metadata.name.matches('^p[a-z]*$')",
                ConditionsResult::Match,
            ),
            (
                "oldObject == null || oldObject.metadata.name != 'p'",
                ConditionsResult::Match,
            ),
            (
                "object.spec.all(field, field != 'color') && has(object.spec.count)",
                ConditionsResult::Match,
            ),
            ("has(oldObject.metadata) || false", ConditionsResult::NoMatch),
            (
                "[1, 2].exists(n, n == object.spec.nothing || n == 2)",
                ConditionsResult::Match,
            ),
            // The first operand of `&&` decides, so no access review is needed.
            (
                "request.operation == 'DELETE' && authorizer.group('').resource('pods').check('get').allowed()",
                ConditionsResult::NoMatch,
            ),
        ] {
            assert_eq!(judge(&[expression]), verdict, "{expression}");
        }
    }

    #[test]
    fn a_failed_condition_is_reported_unless_another_condition_is_false() {
        for (expression, part) in [
            ("object.spec.nothing == 1", "nothing"),
            ("oldObject.metadata.name == 'p'", "oldObject is null"),
            ("oldObject['metadata'] == object['metadata']", "oldObject is null"),
            ("object.metadata.name", "must evaluate to bool but got dyn"),
            ("request.foo == 1", "undefined field 'foo'"),
            (
                "lists.range(4000).all(x, lists.range(4000).all(y, true))",
                "it costs more than 1000000",
            ),
            ("object.spec ==", "does not compile"),
            (&format!("{}true", " ".repeat(20_000)), "at most 16384"),
            (
                &format!("{}true{}", "(".repeat(600), ")".repeat(600)),
                "recursion limit exceeded",
            ),
        ] {
            match judge(&[expression, "true"]) {
                ConditionsResult::Failed(problem) => {
                    assert!(problem.contains(part), "{expression}: {problem}")
                }
                other => panic!("{expression}: {other:?}"),
            }
            assert_eq!(judge(&[expression, "false"]), ConditionsResult::NoMatch);
        }
    }

    #[test]
    fn all_conditions_of_a_webhook_share_one_budget() {
        // Each costs some 400,000.
        let expensive = "lists.range(400).all(x, lists.range(330).all(y, true)) && true";
        match judge(&[expensive; 8]) {
            ConditionsResult::Failed(problem) => assert!(problem.contains("it costs more than"), "{problem}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(judge(&[expensive]), ConditionsResult::Match);
    }
}
