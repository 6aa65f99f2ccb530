//! `matchConditions`: CEL expressions over the request, its object and the old one, all of which must hold for the
//! webhook to be called.
//!
//! kube-apiserver has judged the cost of an expression when the configuration was written. What the interpreter here
//! cannot evaluate, such as `authorizer`, is an evaluation error like any other, and the failure policy decides.

mod selected;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use admission::client::Condition;
use kube_cel::KubeCelExt;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::parser::{Expression, Parser};
use kube_cel::cel::{Context, ExecutionError, Value};
use serde_json::Value as Json;

/// The longest expression evaluated, in bytes.
const LONGEST: usize = 4096;
/// How deep an expression may nest.
const DEEPEST: usize = 500;
/// Expressions up to this deep are evaluated on any stack.
const SHALLOW: usize = 100;
/// The stack of deeper ones, in bytes. What is not used of it costs nothing.
const STACK: usize = 512 << 20;

/// Compiled conditions.
pub(super) struct Conditions(Vec<Compiled>);

struct Compiled {
    name: String,
    deep: bool,
    expression: Result<Expression, String>,
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
            .filter_map(|one| one.expression.as_ref().err().map(String::as_str))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all hold of `request`, the `request` of an AdmissionReview.
    pub(super) fn judge(&self, request: &Json) -> Verdict {
        if self.0.iter().any(|one| one.deep) {
            return std::thread::scope(|scope| {
                let worker = std::thread::Builder::new()
                    .name("match-conditions".to_owned())
                    .stack_size(STACK)
                    .spawn_scoped(scope, || self.judge_here(request));
                match worker {
                    Ok(worker) => worker.join().unwrap_or_else(|_| {
                        Verdict::Unknown("the match conditions could not be evaluated".to_owned())
                    }),
                    Err(problem) => Verdict::Unknown(format!("no thread for match conditions: {problem}")),
                }
            });
        }
        self.judge_here(request)
    }

    fn judge_here(&self, request: &Json) -> Verdict {
        let context = context(request);
        let mut problems = Vec::new();
        for one in &self.0 {
            match one.holds(&context) {
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
        let source = &condition.expression;
        let (length, levels) = (source.len(), levels(source));
        let expression = if length > LONGEST {
            Err(format!(
                "is {length} bytes long, at most {LONGEST} are evaluated here"
            ))
        } else if levels > DEEPEST {
            Err(format!(
                "may nest {levels} levels deep, at most {DEEPEST} are evaluated here"
            ))
        } else {
            parse(source)
        };
        Self {
            name: condition.name.clone(),
            deep: levels > SHALLOW,
            expression: expression.map_err(|problem| format!("{:?} {problem}", condition.name)),
        }
    }

    fn holds(&self, context: &Context<'_>) -> Result<bool, String> {
        let expression = self.expression.as_ref().map_err(Clone::clone)?;
        // Asked of the tree: the interpreter would complain of the methods called on it, whichever comes first.
        let asks = || expression.references().has_variable("authorizer");
        // A panic of the interpreter on odd data is an evaluation error like any other.
        match catch_unwind(AssertUnwindSafe(|| context.resolve(expression))) {
            Ok(Ok(Value::Bool(holds))) => Ok(holds),
            Ok(Ok(other)) => Err(format!("gives {}, not a bool", other.type_of())),
            Ok(Err(ExecutionError::UndeclaredReference(_))) if asks() => {
                Err("authorizer is not supported for objects that Berth serves".to_owned())
            }
            Ok(Err(ExecutionError::UndeclaredReference(name))) if name.ends_with('.') => Err(format!(
                "there is no {} in this operation",
                name.trim_end_matches('.')
            )),
            Ok(Err(problem)) => Err(problem.to_string()),
            Err(_) => Err("the interpreter cannot evaluate it".to_owned()),
        }
    }
}

/// How deep `source` nests at most: everything that could add a level, wherever it stands.
fn levels(source: &str) -> usize {
    let marks = source.matches(|mark: char| mark.is_ascii_punctuation() && !"_'\"".contains(mark));
    marks.count() + source.split_whitespace().filter(|word| *word == "in").count()
}

/// Parses on a stack that holds the deepest expression of the longest length: the parser recurses as deep as it nests.
fn parse(source: &str) -> Result<Expression, String> {
    let read = || match catch_unwind(|| Parser::new().enable_optional_syntax(true).parse(source)) {
        Ok(Ok(mut tree)) => {
            selected::rename(&mut tree);
            Ok(tree)
        }
        Ok(Err(errors)) => {
            let first = errors.errors.first().map(|error| error.msg.clone());
            Err(format!("does not compile: {}", first.unwrap_or_default()))
        }
        Err(_) => Err("does not compile: the parser cannot read it".to_owned()),
    };
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .name("cel-compile".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, read)
            .map_err(|problem| format!("cannot be compiled now: {problem}"))?;
        worker
            .join()
            .unwrap_or_else(|_| Err("does not compile: the parser cannot read it".to_owned()))
    })
}

/// The variables of an expression: `request`, `object`, `oldObject`.
fn context(review: &Json) -> Context<'static> {
    let mut context = Context::default().with_all();
    let mut request = review.clone();
    if let Some(fields) = request.as_object_mut() {
        for object in selected::OBJECTS {
            let shown = fields.remove(object).unwrap_or_default();
            if !shown.is_null() {
                context.add_variable_from_value(selected::fields_of(object), value(&shown));
            }
            context.add_variable_from_value(object, value(&shown));
        }
        // What an AdmissionRequest leaves out when it is empty is empty in CEL, not missing.
        for text in ["name", "namespace", "subResource", "requestSubResource"] {
            fields.entry(text).or_insert_with(|| "".into());
        }
        if let Some(user) = fields.get_mut("userInfo").and_then(Json::as_object_mut) {
            user.entry("uid").or_insert_with(|| "".into());
            user.entry("groups").or_insert_with(|| Json::Array(Vec::new()));
            user.entry("extra")
                .or_insert_with(|| Json::Object(serde_json::Map::new()));
        }
    }
    context.add_variable_from_value("request", value(&request));
    context
}

/// JSON as CEL sees it: whole numbers are `int`, others `double`.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::Int(whole),
            (None, Some(double)) => Value::Float(double),
            (None, None) => Value::Null,
        },
        Json::String(text) => Value::String(Arc::new(text.clone())),
        Json::Array(list) => Value::List(Arc::new(list.iter().map(value).collect())),
        Json::Object(fields) => {
            let fields: HashMap<Key, Value> = fields
                .iter()
                .map(|(name, field)| (Key::String(Arc::new(name.clone())), value(field)))
                .collect();
            Value::Map(Map {
                map: Arc::new(fields),
            })
        }
    }
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
            ("has(oldObject.metadata) || false", "there is no oldObject"),
            ("object.metadata.name", "not a bool"),
            (
                "authorizer.group('').resource('pods').check('get').allowed()",
                "authorizer is not supported",
            ),
            ("object.spec ==", "does not compile"),
            (&format!("{}true", " ".repeat(5000)), "at most 4096"),
            (&format!("{}true", "!".repeat(600)), "600 levels deep"),
        ] {
            match judge(&[expression, "true"]) {
                Verdict::Unknown(problem) => assert!(problem.contains(part), "{expression}: {problem}"),
                other => panic!("{expression}: {other:?}"),
            }
            assert_eq!(judge(&[expression, "false"]), Verdict::Excluded);
        }
    }

    #[test]
    fn the_deepest_expressions_that_are_accepted_end_no_process() {
        for source in [
            format!("{}true", "!".repeat(500)),
            format!("object{}", ".a".repeat(500)),
            format!("1{} == 1", "+1".repeat(498)),
            format!("{}true{}", "(".repeat(250), ")".repeat(250)),
            format!("{}1{}", "[".repeat(250), "]".repeat(250)),
            format!("true{}", " ? true : true".repeat(250)),
            format!("1{}", " in 1".repeat(500)),
        ] {
            // Whether they can be read at all is the parser's to say.
            drop(judge(&[&source]));
        }
    }
}
