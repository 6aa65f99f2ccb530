//! Any input is parsed without a panic, and stays within its budget.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;

use crate::{Environment, Value};

/// Fragments of expressions.
const PIECES: &[&str] = &[
    "object",
    "request",
    "oldObject",
    ".a",
    "[0]",
    "['a']",
    "[?1]",
    ".?b",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "?",
    "1",
    "2u",
    "1.5",
    "'a'",
    "b'\\xff'",
    "\"%s\"",
    "null",
    "true",
    "false",
    " + ",
    " - ",
    " * ",
    " / ",
    " % ",
    " == ",
    " != ",
    " < ",
    " in ",
    " && ",
    " || ",
    "!",
    "-",
    ".map(x, ",
    ".all(x, ",
    ".exists(x, ",
    ".filter(x, ",
    "x",
    "size(",
    ".size()",
    ".format([",
    ".replace(",
    ".split(",
    ".join(",
    ".matches(",
    ".findAll(",
    "lists.range(9)",
    ".sortBy(x, ",
    "optional.of(",
    ".optMap(x, ",
    ".orValue(",
    "has(",
    "type(",
    "int(",
    "string(",
    "dyn(",
    "duration('1h')",
    "timestamp(0)",
    ".getHours(",
    "quantity('1')",
    "semver('1.2.3')",
    "ip('::1')",
    "cidr('::/0')",
    "url('/a?b=c')",
    ".getQuery()",
    "format.uuid()",
    ".validate(",
    ".transformMap(k, v, ",
    "sets.contains(",
    ".substring(1",
    "[1,2]",
    "{'a':1}",
    "9223372036854775807",
    "-9223372036854775808",
    "'\u{e9}\u{1f600}'",
    ".charAt(",
    ".lastIndexOf(",
];

static KUBERNETES: LazyLock<Environment> = LazyLock::new(Environment::match_conditions);
static OCM: LazyLock<Environment> = LazyLock::new(Environment::open_cluster_management);

fn evaluated(environment: &Environment, source: &str) {
    const LIMIT: u64 = 20_000;
    let Ok(program) = environment.compile(source) else {
        return;
    };
    let object = json!({"a": [1, {"b": "c"}, null, 1.5, "x"], "b": true});
    let variables = [
        Value::from(&object),
        Value::Null,
        Value::from(&object),
        Value::Unavailable("none"),
        Value::Unavailable("none"),
        Value::Unavailable("none"),
    ];
    let evaluation = program.evaluate(&variables, LIMIT);
    // The charge that exceeds the limit is the last.
    assert!(evaluation.cost <= LIMIT || evaluation.value.is_err(), "{source}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_without_a_panic(source in "\\PC{0,60}") {
        evaluated(&KUBERNETES, &source);
        evaluated(&OCM, &source);
    }

    #[test]
    fn any_pieces_are_read_and_evaluated_without_a_panic(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..14)) {
        let source = pieces.concat();
        let open = source.matches(['(', '[', '{']).count().saturating_sub(source.matches([')', ']', '}']).count());
        evaluated(&KUBERNETES, &source);
        evaluated(&KUBERNETES, &format!("{source}{}", ")".repeat(open)));
    }

    #[test]
    fn any_pattern_is_read_without_a_panic(pattern in "[a-c\\[\\](){}|*+?.^$\\\\dwsbQEpP0-9,:<>=!&~-]{0,20}", text in "[a-c0-9 \u{e9}]{0,12}") {
        if let Ok(pattern) = crate::pattern::Pattern::compile(&pattern) {
            assert!(pattern.regex().find(&text).is_none_or(|found| found.end() <= text.len()));
        }
    }
}
