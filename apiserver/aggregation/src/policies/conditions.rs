//! `matchConditions`: CEL expressions over the request, its object and the old one. The webhook is called if
//! all conditions hold.
//!
//! A condition that does not compile, cannot be evaluated or exceeds its budget is an evaluation error, and
//! the failure policy decides. Judging has no side effects: it returns the access reviews that `authorizer`
//! needs. Once they are answered, everything is judged again with the answers.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use berth_admission::client::Condition;
use berth_cel::{
    AdmissionVariable, Decisions, Environment, Error, Lazy, MATCH_CONDITIONS_LIMIT, PER_CALL_LIMIT, Program,
    Review, ReviewSubject, Type, Value,
};
use serde_json::Value as Json;

/// Variables and functions of expressions.
static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(Environment::match_conditions);

/// The variables that can be null.
const OBJECTS: [(&str, AdmissionVariable); 2] = [
    ("object", AdmissionVariable::Object),
    ("oldObject", AdmissionVariable::OldObject),
];

/// Compiled conditions.
pub(super) struct Conditions(Vec<CompiledCondition>);

struct CompiledCondition {
    name: String,
    program: Result<Program, String>,
}

/// Result of the conditions: whether to call the webhook.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Every condition holds.
    Holds,
    /// A condition is false.
    Excluded,
    /// No condition is false, but some could not be evaluated.
    Unknown(String),
    /// The result depends on these access reviews.
    Unasked(BTreeSet<Review>),
}

impl Conditions {
    pub(super) fn compile(conditions: &[Condition]) -> Self {
        Self(conditions.iter().map(CompiledCondition::new).collect())
    }

    /// Problems of the expressions that do not compile.
    pub(super) fn problems(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter_map(|one| one.program.as_ref().err().map(String::as_str))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Judges whether all conditions hold for `request`, the `request` of an AdmissionReview, with the
    /// answers of the access reviews so far.
    pub(super) fn judge(&self, request: &Json, decisions: &Arc<Decisions>) -> Verdict {
        let plain = without_objects(request);
        let variables = variables(request, &plain);
        let lazy = Lazy::new(&[], &variables, Arc::clone(decisions), PER_CALL_LIMIT);
        let mut left = MATCH_CONDITIONS_LIMIT;
        let mut problems = Vec::new();
        let mut pending = BTreeSet::new();
        for one in &self.0 {
            match one.holds(&variables, &lazy, &mut left) {
                Ok(true) => {}
                Ok(false) => return Verdict::Excluded,
                Err(ConditionError::Unasked(review)) => drop(pending.insert(review)),
                Err(ConditionError::Problem(problem)) => {
                    problems.push(format!("match condition {:?}: {problem}", one.name));
                }
            }
        }
        if !pending.is_empty() {
            Verdict::Unasked(pending)
        } else if problems.is_empty() {
            Verdict::Holds
        } else {
            Verdict::Unknown(problems.join("; "))
        }
    }
}

/// Reason why a condition could not be evaluated.
enum ConditionError {
    Unasked(Review),
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

    /// Whether the condition holds; its cost is subtracted from `left`, the budget of all conditions of the
    /// webhook.
    fn holds<'a>(
        &'a self,
        variables: &'a [Value<'a>],
        lazy: &Lazy<'a>,
        left: &mut u64,
    ) -> Result<bool, ConditionError> {
        let program = self
            .program
            .as_ref()
            .map_err(|problem| ConditionError::Problem(problem.clone()))?;
        let evaluation = program.evaluate_with(variables, PER_CALL_LIMIT.min(*left), lazy);
        *left = left.saturating_sub(evaluation.cost);
        match evaluation.value {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(ConditionError::Problem(format!(
                "gives {}, not a bool",
                other.type_name()
            ))),
            Err(Error::Unasked(review)) => Err(ConditionError::Unasked(*review)),
            Err(problem) => {
                let missing = OBJECTS.iter().find(|(_, variable)| {
                    let index = *variable as usize;
                    program.reads(index) && matches!(variables.get(index), Some(Value::Null))
                });
                Err(ConditionError::Problem(match missing {
                    Some((name, _)) => format!("{problem}; there is no {name} in this operation"),
                    None => problem.to_string(),
                }))
            }
        }
    }
}

/// The variables of an expression, in the order of [`AdmissionVariable`]. `without_objects` is `request`
/// without its objects.
fn variables<'a>(request: &'a Json, without_objects: &'a Json) -> [Value<'a>; 6] {
    let object = |name: &str| request.get(name).map_or(Value::Null, Value::from);
    [
        object("object"),
        object("oldObject"),
        Value::from(without_objects),
        Value::Unavailable("there is no namespaceObject in match conditions"),
        Value::authorizer(),
        Value::authorizer_of(resource(request)),
    ]
}

/// Attributes of `authorizer.requestResource`.
fn resource(request: &Json) -> ReviewSubject {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let of = &request["resource"];
    let mut subject = ReviewSubject::resource(&text(&of["group"]), &text(&of["resource"]));
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

/// The request without its objects. As in kube-apiserver, fields that an AdmissionRequest omits when they are
/// empty are absent in CEL (`subResource`, `userInfo.uid`).
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

    fn judge(expressions: &[&str]) -> Verdict {
        judge_with(expressions, &Arc::default())
    }

    fn judge_with(expressions: &[&str], decisions: &Arc<Decisions>) -> Verdict {
        let conditions: Vec<Condition> = expressions
            .iter()
            .enumerate()
            .map(|(index, expression)| Condition {
                name: format!("c{index}"),
                expression: (*expression).to_owned(),
            })
            .collect();
        Conditions::compile(&conditions).judge(
            &json!({
                "uid": "u", "operation": "CREATE", "name": "p", "dryRun": false,
                "resource": {"group": "g.example", "version": "v1", "resource": "foos"},
                "userInfo": {"username": "alice", "groups": ["dev"]},
                "object": {"metadata": {"name": "p", "labels": {"tier": "gold"}}, "spec": {"count": 3}},
                "oldObject": null,
            }),
            decisions,
        )
    }

    #[test]
    fn rights_are_asked_for_once_they_decide_and_then_judged_by_their_answers() {
        let allowed =
            "authorizer.group('apps').resource('deployments').namespace('team').check('get').allowed()";
        let own = "authorizer.requestResource.check('delete').allowed()";
        let Verdict::Unasked(reviews) = judge(&[allowed, own]) else {
            panic!("both are to be asked");
        };
        assert_eq!(reviews.len(), 2);
        let about_own = reviews.iter().find(|review| &*review.verb == "delete").unwrap();
        let ReviewSubject::Resource {
            group,
            resource,
            name,
            ..
        } = &about_own.on
        else {
            panic!("{about_own:?}");
        };
        assert_eq!((&**group, &**resource, &**name), ("g.example", "foos", "p"));
        assert_eq!(
            judge(&["false", allowed]),
            Verdict::Excluded,
            "nothing depends on it"
        );
        for (allowed_to, verdict) in [(true, Verdict::Holds), (false, Verdict::Excluded)] {
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
    fn conditions_that_hold_and_that_do_not() {
        for (expression, verdict) in [
            ("true", Verdict::Holds),
            ("false", Verdict::Excluded),
            ("has(request.subResource)", Verdict::Excluded),
            ("request.userInfo.username == 'alice'", Verdict::Holds),
            ("!('system:nodes' in request.userInfo.groups)", Verdict::Holds),
            ("'dev' in request.userInfo.groups", Verdict::Holds),
            (
                "request.operation != 'DELETE' && request.resource.resource == 'foos'",
                Verdict::Holds,
            ),
            ("object.metadata.labels.tier == 'iron'", Verdict::Excluded),
            ("object.metadata.labels['tier'].startsWith('go')", Verdict::Holds),
            (
                "has(object.metadata.annotations) && 'x' in object.metadata.annotations",
                Verdict::Excluded,
            ),
            ("object.metadata.labels[?'x'].orValue('') == ''", Verdict::Holds),
            ("object.spec.count == 3 && oldObject == null", Verdict::Holds),
            ("!has(request.namespace) && !request.dryRun", Verdict::Holds),
            ("object.metadata.name.matches('^p[a-z]*$')", Verdict::Holds),
            (
                "oldObject == null || oldObject.metadata.name != 'p'",
                Verdict::Holds,
            ),
            (
                "object.spec.all(field, field != 'color') && has(object.spec.count)",
                Verdict::Holds,
            ),
            ("has(oldObject.metadata) || false", Verdict::Excluded),
            (
                "[1, 2].exists(n, n == object.spec.nothing || n == 2)",
                Verdict::Holds,
            ),
            // The first operand of `&&` decides, so no access review is needed.
            (
                "request.operation == 'DELETE' && authorizer.group('').resource('pods').check('get').allowed()",
                Verdict::Excluded,
            ),
        ] {
            assert_eq!(judge(&[expression]), verdict, "{expression}");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_is_said_unless_another_condition_excludes_anyway() {
        for (expression, part) in [
            ("object.spec.nothing == 1", "nothing"),
            ("oldObject.metadata.name == 'p'", "there is no oldObject"),
            (
                "oldObject['metadata'] == object['metadata']",
                "there is no oldObject",
            ),
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
                Verdict::Unknown(problem) => assert!(problem.contains(part), "{expression}: {problem}"),
                other => panic!("{expression}: {other:?}"),
            }
            assert_eq!(judge(&[expression, "false"]), Verdict::Excluded);
        }
    }

    #[test]
    fn all_conditions_of_a_webhook_share_one_budget() {
        // Each costs some 400,000.
        let expensive = "lists.range(400).all(x, lists.range(330).all(y, true)) && true";
        match judge(&[expensive; 8]) {
            Verdict::Unknown(problem) => assert!(problem.contains("it costs more than"), "{problem}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(judge(&[expensive]), Verdict::Holds);
    }
}
