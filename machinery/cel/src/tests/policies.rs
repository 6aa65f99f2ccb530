//! Features of admission policies: reviews, computed variables, constructed objects.

use std::sync::Arc;

use serde_json::json;

use crate::{
    AdmissionVariable, Decision, Decisions, Environment, Error, LazyVariables, PER_CALL_LIMIT, Program,
    ReviewSubject, Value, Variable,
};

const PLACES: usize = 8;

fn values() -> Vec<Value<'static>> {
    let mut values = vec![Value::Null; PLACES];
    values[AdmissionVariable::Authorizer as usize] = Value::authorizer();
    values[AdmissionVariable::AuthorizerRequestResource as usize] =
        Value::authorizer_of(ReviewSubject::resource("apps", "deployments"));
    values
}

fn with_decisions(
    source: &str,
    decide: impl Fn(&crate::Review) -> Decision,
) -> (Result<String, Error>, usize) {
    let program = Environment::policies(true).compile(source).unwrap();
    let values = values();
    let mut decisions = Decisions::new();
    loop {
        let asked = decisions.len();
        let lazy = LazyVariables::new(&[], &values, Arc::new(decisions.clone()), PER_CALL_LIMIT);
        match program.evaluate_with(&values, PER_CALL_LIMIT, &lazy).value {
            Err(Error::PendingReview(review)) => {
                drop(decisions.insert((*review).clone(), Arc::new(decide(&review))))
            }
            other => return (other.map(|value| value.to_json().unwrap().to_string()), asked),
        }
    }
}

#[test]
fn the_documented_examples_of_authorizer_ask_for_what_they_say() {
    let resource = |change: fn(&mut [Arc<str>; 7])| {
        let mut parts: [Arc<str>; 7] = std::array::from_fn(|_| "".into());
        change(&mut parts);
        let [group, resource, subresource, namespace, name, fields, labels] = parts;
        ReviewSubject::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
            fields,
            labels,
        }
    };
    for (source, account, verb, on) in [
        (
            "authorizer.path('/healthz').check('get').allowed()",
            None,
            "get",
            ReviewSubject::Path("/healthz".into()),
        ),
        (
            "authorizer.group('apps').resource('deployments').check('create').allowed()",
            None,
            "create",
            resource(|parts| (parts[0], parts[1]) = ("apps".into(), "deployments".into())),
        ),
        (
            "authorizer.serviceAccount('default', 'myserviceaccount').group('').resource('pods').subresource('status').namespace('ns').name('n').check('delete').allowed()",
            Some(("default", "myserviceaccount")),
            "delete",
            resource(|parts| {
                (parts[1], parts[2]) = ("pods".into(), "status".into());
                (parts[3], parts[4]) = ("ns".into(), "n".into());
            }),
        ),
        (
            "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=mynode').labelSelector('a=b').check('list').allowed()",
            None,
            "list",
            resource(|parts| {
                parts[1] = "pods".into();
                (parts[5], parts[6]) = ("spec.nodeName=mynode".into(), "a=b".into());
            }),
        ),
        (
            "authorizer.requestResource.check('update').allowed()",
            None,
            "update",
            ReviewSubject::resource("apps", "deployments"),
        ),
    ] {
        let seen = std::cell::RefCell::new(Vec::new());
        let (result, asked) = with_decisions(source, |review| {
            seen.borrow_mut().push(review.clone());
            Decision {
                allowed: true,
                ..Decision::default()
            }
        });
        assert_eq!((result.unwrap().as_str(), asked), ("true", 1), "{source}");
        let review = &seen.borrow()[0];
        assert_eq!((&*review.verb, &review.subject), (verb, &on), "{source}");
        let of = review
            .account
            .as_ref()
            .map(|(namespace, name)| (&**namespace, &**name));
        assert_eq!(of, account, "{source}");
    }
}

#[test]
fn a_decision_has_reason_and_error_and_a_question_that_makes_no_sense_is_an_error() {
    let failed = |_: &crate::Review| Decision {
        reason: "because".to_owned(),
        error: Some("unreachable".to_owned()),
        ..Decision::default()
    };
    for (source, wanted) in [
        ("authorizer.path('/x').check('get').reason()", Ok("\"because\"")),
        (
            "authorizer.path('/x').check('get').error()",
            Ok("\"unreachable\""),
        ),
        ("authorizer.path('/x').check('get').errored()", Ok("true")),
        // Both sides are evaluated, and neither unknown is absorbed.
        (
            "authorizer.path('/x').check('get').allowed() || authorizer.path('/y').check('get').errored()",
            Ok("true"),
        ),
        (
            "authorizer.path('').check('get').allowed()",
            Err("path must not be empty"),
        ),
        (
            "authorizer.group('').resource(' ').check('get').allowed()",
            Err("resource must not be empty"),
        ),
        (
            "authorizer.serviceAccount('default', 'No').path('/').check('get').allowed()",
            Err("Invalid service account name"),
        ),
        (
            "authorizer.serviceAccount('a.b', 'x').path('/').check('get').allowed()",
            Err("Invalid service account namespace"),
        ),
        // Three of 350,000 exceed the limit of one expression.
        (
            "authorizer.path('/x').check('get').allowed() || authorizer.path('/y').check('get').allowed() || authorizer.path('/z').check('get').allowed()",
            Err("operation cancelled: actual cost limit exceeded: it costs more than 1000000"),
        ),
    ] {
        let (result, _) = with_decisions(source, failed);
        let result = result.map_err(|error| error.to_string());
        assert_eq!(result.as_deref().map_err(String::as_str), wanted, "{source}");
    }
}

/// Compiles `variables`, each of which can use the earlier ones, and then `source`.
fn composed(variables: &[(&str, &str)], source: &str) -> (Vec<Variable>, Program) {
    let mut environment = Environment::policies(true);
    let mut programs = Vec::new();
    for (name, expression) in variables {
        let program = environment.compile(expression).unwrap();
        environment = environment.with_variable(format!("variables.{name}"), program.result().clone());
        programs.push(Variable {
            name: (*name).to_owned(),
            program: Ok(program),
        });
    }
    (programs, environment.compile(source).unwrap())
}

#[test]
fn variables_are_evaluated_when_they_are_asked_for_and_once() {
    let object = json!({"spec": {"replicas": 5}});
    let variables = [
        ("wrong", "object.spec.nothing"),
        ("replicas", "object.spec.replicas"),
        ("many", "variables.replicas > 3"),
        ("dear", "lists.range(1000).all(x, x >= 0)"),
    ];
    let mut values = values();
    values[0] = Value::from(&object);
    for (source, wanted, cheap) in [
        ("variables.many", "true", true),
        ("variables.many || variables.wrong == 1", "true", true),
        ("has(variables.wrong) && variables.replicas == 5", "true", true),
        ("variables.dear && variables.dear", "true", false),
        (
            "variables.wrong == 1",
            "composited variable \"wrong\" fails to evaluate: no such key: nothing",
            true,
        ),
    ] {
        let (programs, program) = composed(&variables, source);
        let lazy = LazyVariables::new(&programs, &values, Arc::default(), PER_CALL_LIMIT);
        let evaluation = program.evaluate_with(&values, PER_CALL_LIMIT, &lazy);
        let result = evaluation.value.map(|value| value.to_json().unwrap().to_string());
        assert_eq!(
            result.unwrap_or_else(|error| error.to_string()),
            wanted,
            "{source}"
        );
        assert!(evaluation.cost < 100, "{source}: {}", evaluation.cost);
        let cost = lazy.take_cost();
        assert_eq!(cost < 1000, cheap, "{source}: {cost}");
        assert!(cost < 12_000, "{source} evaluates a variable twice: {cost}");
    }
    let environment = Environment::policies(true);
    let problem = environment
        .compile("variables.none == 1")
        .err()
        .unwrap()
        .to_string();
    assert!(problem.contains("undefined field 'none'"), "{problem}");
}

#[test]
fn a_long_chain_of_variables_is_an_error_and_not_a_full_stack() {
    let mut variables = vec![("v0".to_owned(), "1".to_owned())];
    for number in 1..200 {
        variables.push((format!("v{number}"), format!("variables.v{} + 1", number - 1)));
    }
    let shown: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let (programs, program) = composed(&shown, "variables.v199 == 200");
    let values = values();
    let lazy = LazyVariables::new(&programs, &values, Arc::default(), PER_CALL_LIMIT);
    let result = program.evaluate_with(&values, PER_CALL_LIMIT, &lazy).value;
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains("variables depend on one another")
    );
}

#[test]
fn mutations_make_objects_and_patches() {
    let environment = Environment::policies(true).with_mutations();
    let values = values();
    for (source, wanted) in [
        (
            "Object{metadata: Object.metadata{labels: {'a': 'b'}}, spec: Object.spec{list: [Object.spec.list{n: 1}]}}",
            r#"{"metadata":{"labels":{"a":"b"}},"spec":{"list":[{"n":1}]}}"#,
        ),
        ("Object{?spec: optional.none()}", "{}"),
        (
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('k~8s.io/x'), value: 'y'}]",
            r#"[{"op":"add","path":"/metadata/labels/k~08s.io~1x","value":"y"}]"#,
        ),
        (
            "true ? [JSONPatch{op: 'remove', path: '/a'}] : []",
            r#"[{"op":"remove","path":"/a"}]"#,
        ),
    ] {
        let program = environment
            .compile(source)
            .unwrap_or_else(|error| panic!("{source}: {error}"));
        let value = program.evaluate(&values, PER_CALL_LIMIT).value.unwrap();
        assert_eq!(value.to_json().unwrap().to_string(), wanted, "{source}");
        assert_eq!(value.type_name_problem(), None, "{source}");
    }
    let wrong = environment
        .compile("Object{spec: Object.spec{a: Object.wrong{}}}")
        .unwrap();
    let value = wrong.evaluate(&values, PER_CALL_LIMIT).value.unwrap();
    assert_eq!(
        value.type_name_problem().unwrap(),
        "unexpected type name \"Object.wrong\", expected \"Object.spec.a\", which matches field name path from root Object type"
    );
    for (source, problem) in [
        ("JSONPatch{op: 1}", "expected type 'string' but found 'int'"),
        ("JSONPatch{operation: 'add'}", "undefined field 'operation'"),
        ("Thing{}", "undeclared reference to 'Thing'"),
    ] {
        let error = environment.compile(source).err().unwrap().to_string();
        assert!(error.contains(problem), "{source}: {error}");
    }
    assert!(Environment::policies(true).compile("Object{}").is_err());
}
