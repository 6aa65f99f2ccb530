//! `matchConditions`: CEL expressions over the request, its object and the old one, all of which must hold for the
//! webhook to be called.
//!
//! What cannot be compiled, evaluated or afforded is an evaluation error, and the failure policy decides. `authorizer` is
//! declared, so that expressions with it are checked, but cannot be asked.

use std::sync::LazyLock;

use admission::client::Condition;
use cel::{AdmissionVariable, Environment, MATCH_CONDITIONS_LIMIT, PER_CALL_LIMIT, Program, Type, Value};
use serde_json::Value as Json;

/// What expressions may mention.
static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(Environment::match_conditions);

/// The variables that can be null.
const OBJECTS: [(&str, AdmissionVariable); 2] = [
    ("object", AdmissionVariable::Object),
    ("oldObject", AdmissionVariable::OldObject),
];

/// Compiled conditions.
pub(super) struct Conditions(Vec<Compiled>);

struct Compiled {
    name: String,
    program: Result<Program, String>,
}

/// Whether a webhook is to be called.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Every condition holds.
    Holds,
    /// One does not.
    Excluded,
    /// None fails to hold, but some could not be evaluated.
    Unknown(String),
}

impl Conditions {
    pub(super) fn compile(conditions: &[Condition]) -> Self {
        Self(conditions.iter().map(Compiled::new).collect())
    }

    /// What cannot be compiled.
    pub(super) fn problems(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter_map(|one| one.program.as_ref().err().map(String::as_str))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all hold of `request`, the `request` of an AdmissionReview.
    pub(super) fn judge(&self, request: &Json) -> Verdict {
        let shown = shown(request);
        let variables = variables(request, &shown);
        let mut left = MATCH_CONDITIONS_LIMIT;
        let mut problems = Vec::new();
        for one in &self.0 {
            match one.holds(&variables, &mut left) {
                Ok(true) => {}
                Ok(false) => return Verdict::Excluded,
                Err(problem) => problems.push(format!("match condition {:?}: {problem}", one.name)),
            }
        }
        if problems.is_empty() {
            Verdict::Holds
        } else {
            Verdict::Unknown(problems.join("; "))
        }
    }
}

impl Compiled {
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

    /// Whether it holds; what it costs is taken from what is `left` for all conditions of the webhook.
    fn holds(&self, variables: &[Value<'_>], left: &mut u64) -> Result<bool, String> {
        let program = self.program.as_ref().map_err(Clone::clone)?;
        let evaluation = program.evaluate(variables, PER_CALL_LIMIT.min(*left));
        *left = left.saturating_sub(evaluation.cost);
        match evaluation.value {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!("gives {}, not a bool", other.type_name())),
            Err(problem) => {
                let missing = OBJECTS.iter().find(|(_, place)| {
                    let place = *place as usize;
                    program.reads(place) && matches!(variables.get(place), Some(Value::Null))
                });
                Err(match missing {
                    Some((name, _)) => format!("{problem}; there is no {name} in this operation"),
                    None => problem.to_string(),
                })
            }
        }
    }
}

/// The variables of an expression, in the order of [`AdmissionVariable`].
fn variables<'a>(review: &'a Json, request: &'a Json) -> [Value<'a>; 6] {
    let object = |name: &str| review.get(name).map_or(Value::Null, Value::from);
    let unsupported = "authorizer is not supported for objects of aggregated APIs";
    [
        object("object"),
        object("oldObject"),
        Value::from(request),
        Value::Unavailable("there is no namespaceObject in match conditions"),
        Value::Unavailable(unsupported),
        Value::Unavailable(unsupported),
    ]
}

/// The request without its objects. What an AdmissionRequest leaves out when it is empty is empty in CEL, not missing.
fn shown(review: &Json) -> Json {
    let fields = review.as_object().into_iter().flatten();
    let without = fields.filter(|(name, _)| !OBJECTS.iter().any(|(object, _)| object == name));
    let mut fields: serde_json::Map<String, Json> = without
        .map(|(name, field)| (name.clone(), field.clone()))
        .collect();
    for text in ["name", "namespace", "subResource", "requestSubResource"] {
        fields.entry(text).or_insert_with(|| "".into());
    }
    if let Some(user) = fields.get_mut("userInfo").and_then(Json::as_object_mut) {
        user.entry("uid").or_insert_with(|| "".into());
        user.entry("groups").or_insert_with(|| Json::Array(Vec::new()));
        user.entry("extra")
            .or_insert_with(|| Json::Object(serde_json::Map::new()));
    }
    Json::Object(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judge(expressions: &[&str]) -> Verdict {
        let conditions: Vec<Condition> = expressions
            .iter()
            .enumerate()
            .map(|(index, expression)| Condition {
                name: format!("c{index}"),
                expression: (*expression).to_owned(),
            })
            .collect();
        Conditions::compile(&conditions).judge(&json!({
            "uid": "u", "operation": "CREATE", "name": "p", "dryRun": false,
            "resource": {"group": "g.example", "version": "v1", "resource": "foos"},
            "userInfo": {"username": "alice", "groups": ["dev"]},
            "object": {"metadata": {"name": "p", "labels": {"tier": "gold"}}, "spec": {"count": 3}},
            "oldObject": null,
        }))
    }

    #[test]
    fn conditions_that_hold_and_that_do_not() {
        for (expression, verdict) in [
            ("true", Verdict::Holds),
            ("false", Verdict::Excluded),
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
            ("request.namespace == '' && !request.dryRun", Verdict::Holds),
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
            // What decides before it is enough.
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
            (
                "authorizer.group('').resource('pods').check('get').allowed()",
                "authorizer is not supported",
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
        // Some 400,000 each.
        let dear = "lists.range(400).all(x, lists.range(330).all(y, true)) && true";
        match judge(&[dear; 8]) {
            Verdict::Unknown(problem) => assert!(problem.contains("it costs more than"), "{problem}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(judge(&[dear]), Verdict::Holds);
    }
}
