//! Expensive expressions stop at the limit.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{Environment, Error, PER_CALL_LIMIT, Type, Value};

/// Expressions that would take gigabytes or minutes.
pub(super) fn bombs() -> Vec<String> {
    let a = "a".repeat(100);
    let lists = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]";
    vec![
        format!("'{a}'{}.size() > 0", format!(".replace('a','{a}')").repeat(8)),
        "lists.range(4000).all(x, lists.range(4000).all(y, x + y >= 0))".to_owned(),
        "lists.range(1000000000).size() > 0".to_owned(),
        "lists.range(9223372036854775807).size() > 0".to_owned(),
        format!("{lists}.all(a, {lists}.all(b, {lists}.all(c, {lists}.all(d, {lists}.all(e, true)))))"),
        format!("{lists}.map(a, {lists}.map(b, {lists}.map(c, {lists}.map(d, 'x'))))).size() > 0").replace(")))))", "))))"),
        format!("'%s%s'.format(['%s%s'.format(['{a}','{a}']), '{a}']){}.size() > 0", ".replace('a','%s').format([1])"),
        format!("[{}].join('{a}').split('').map(x, '{a}').join('{a}').split('').map(x, '{a}').join('{a}').size() > 0", "'x',".repeat(100)),
        "'%.1000f'.format([1.5]).split('').map(x, '%.1000f'.format([1.5])).join().split('').map(x, '%.1000f'.format([1.5])).join().size() > 0".to_owned(),
        format!("{lists}.all(a, {lists}.all(b, {lists}.all(c, ('{a}' + string(a+b+c)).matches('(a|aa){{1,90}}' + string(a*b*c)))))"),
        format!("('{a}'.replace('a','{a}')).matches('([ab]{{1,30}}){{1,30}}c')"),
        format!("{lists}.map(x, {lists}).map(x, {lists}.map(y, x)).all(z, [z,z,z,z] == [z,z,z,z] && [z,z,z] + [z,z,z] != [z] && {lists}.all(q, [z,z,z] == [z,z,z]))"),
        format!("{}{}.size() > 0", "[".repeat(50), "]".repeat(50)),
        format!("('{a}' + '{a}').split('').map(x, ('{a}' + '{a}').split('').map(y, ('{a}' + '{a}').split(''))).size() > 0"),
        format!("'[{}]'.parseJSON().all(a, '[{}]'.parseJSON().all(b, '[{}]'.parseJSON().all(c, true)))", vec!["1"; 200].join(","), vec!["1"; 200].join(","), vec!["1"; 200].join(",")),
        format!("{lists}.all(a, {lists}.all(b, {lists}.all(c, {lists}.all(d, {}))))", vec!["true"; 200].join("&&")),
        format!("{lists}.map(a, {lists}).flatten().map(a, {lists}).flatten().map(a, {lists}).flatten().map(a, {lists}).flatten().distinct().size() > 0"),
    ]
}

fn environment() -> Environment {
    Environment::new(&[
        crate::Library::Optional,
        crate::Library::Strings,
        crate::Library::Lists,
        crate::Library::ListsExtended,
        crate::Library::Regex,
        crate::Library::Json,
        crate::Library::TwoVariables,
    ])
    .with_variable("self", Type::Dyn)
}

#[test]
fn expressions_made_to_take_memory_or_time_end_at_the_limit() {
    let variables = [Value::Null];
    let environment = environment();
    let mut ended = 0;
    for source in bombs() {
        let program = match environment.compile(&source) {
            Ok(program) => program,
            Err(error) => panic!("{source}: {error}"),
        };
        let started = Instant::now();
        let evaluation = program.evaluate(&variables, PER_CALL_LIMIT);
        let took = started.elapsed();
        if let Err(Error::Cost { limit }) = evaluation.value {
            assert_eq!(limit, PER_CALL_LIMIT);
            ended += 1;
        }
        // Without optimization and in parallel with other tests; optimized, it is tens of milliseconds.
        assert!(took < Duration::from_secs(10), "{source} took {took:?}");
    }
    assert!(ended >= 12, "only {ended} met the limit");
}

#[test]
fn a_limit_is_named_and_no_operator_absorbs_it() {
    let environment = environment();
    let variables = [Value::Null];
    for source in [
        "lists.range(1000).all(x, x >= 0) || true",
        "true && (lists.range(1000).exists(x, x < 0) || true)",
        "[1].exists(y, lists.range(1000).all(x, x >= 0)) || true",
    ] {
        let program = environment.compile(source).unwrap();
        let evaluation = program.evaluate(&variables, 100);
        let error = evaluation.value.unwrap_err();
        assert_eq!(error, Error::Cost { limit: 100 });
        assert!(error.to_string().contains("costs more than 100"), "{error}");
    }
    let program = environment.compile("1 + 1 == 2").unwrap();
    assert!(program.evaluate(&variables, 100).cost < 10);
}

#[test]
fn the_deepest_expressions_fit_the_stack_of_a_thread() {
    let environment = environment();
    let deep = json!({"a": {"a": {"a": 1}}});
    let variables = [Value::from(&deep)];
    for (source, compiles) in [
        (format!("1{} == 91", "+1".repeat(90)), true),
        (format!("1{} == 251", "+1".repeat(250)), false),
        (format!("self{} == 1", ".a".repeat(95)), true),
        (format!("self{} == 1", ".a".repeat(250)), false),
        (format!("{}true{}", "(".repeat(99), ")".repeat(99)), true),
        (format!("{}true{}", "(".repeat(5000), ")".repeat(5000)), false),
        (format!("{}true", "!".repeat(5000)), true),
        (format!("true{}", " ? true : true".repeat(99)), true),
        (format!("true{}", " ? true : true".repeat(900)), false),
        (format!("{}1{}", "[".repeat(99), "]".repeat(99)), true),
        (format!("{}1{}", "[".repeat(5000), "]".repeat(5000)), false),
        (format!("{}1{}", "{1:".repeat(99), "}".repeat(99)), true),
        (format!("true{}", " && true".repeat(900)), true),
        (format!("1{}", " in [1]".repeat(99)), false),
        (
            format!("{}true{}", "[1].all(x, ".repeat(60), ")".repeat(60)),
            true,
        ),
        (format!("{}1{}", "size(".repeat(5000), ")".repeat(5000)), false),
        (format!("{}1", "-(".repeat(3000)), false),
        (format!("'{}'", "x".repeat(20_000)), false),
    ] {
        let started = Instant::now();
        let shown: String = source.chars().take(30).collect();
        match environment.compile(&source) {
            Ok(program) => {
                assert!(compiles, "{shown} compiles");
                drop(program.evaluate(&variables, PER_CALL_LIMIT));
            }
            Err(error) => assert!(!compiles, "{shown}: {error}"),
        }
        assert!(started.elapsed() < Duration::from_secs(2), "{shown}");
    }
}

#[test]
fn types_that_double_with_every_step_are_refused() {
    let environment = environment();
    let mut source = "[1]".to_owned();
    for _ in 0..60 {
        source.push_str(".map(x, {x: x})");
    }
    let started = Instant::now();
    let error = environment.compile(&source).unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5));
}
