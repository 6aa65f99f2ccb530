//! Expressions with the results of upstream's programs for the same objects.

use serde_json::Value as Json;

use crate::{Environment, Evaluation, Function, PER_CALL_LIMIT, Type, Value};

const OCM: &str = include_str!("tables/ocm.tsv");
const KUBERNETES: &str = include_str!("tables/kubernetes.tsv");
const DOCUMENTED: &str = include_str!("tables/documented.tsv");
const WORLD: &str = include_str!("tables/world.json");
const REQUEST: &str = include_str!("tables/request.json");

/// Outcome of `source` in the format of the tables, and its cost.
fn outcome(environment: &Environment, source: &str, variables: &[Value<'_>]) -> (String, u64) {
    match environment.compile(source) {
        Err(error) => {
            let shown = error.to_string();
            let words: Vec<&str> = shown
                .lines()
                .filter_map(|line| line.strip_prefix("ERROR: <input>:"))
                .collect();
            (format!("compile {}", serde_json::to_string(&words).unwrap()), 0)
        }
        Ok(program) => {
            let Evaluation { value, cost } = program.evaluate(variables, PER_CALL_LIMIT);
            (
                value.map_or_else(|_| "error".to_owned(), |value| shown(&value)),
                cost,
            )
        }
    }
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => format!("int {number}"),
        Value::Uint(number) => format!("uint {number}"),
        Value::Double(number) => format!("double {}", crate::value::format_double(*number)),
        Value::String(text) => format!("string {}", serde_json::to_string(&**text).unwrap()),
        other => format!("type {}", other.type_name()),
    }
}

/// Compares a table of more than `least` rows. The rows in `meant` differ on purpose: expression, our result,
/// reason.
fn compare(
    table: &str,
    environment: &Environment,
    variables: &[Value<'_>],
    meant: &[(&str, &str, &str)],
    least: usize,
) {
    let mut differ = Vec::new();
    let mut rows = 0;
    for row in table
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'))
    {
        let mut columns = row.split('\t');
        let (source, wanted) = (columns.next().unwrap(), columns.next().unwrap());
        let (given, _) = outcome(environment, source, variables);
        let wanted = meant
            .iter()
            .find(|(known, ..)| *known == source)
            .map_or(wanted, |(_, ours, _)| ours);
        // Our messages differ from ANTLR's.
        let given = if wanted == "compile" {
            given.split(' ').next().unwrap_or_default()
        } else {
            &given
        };
        rows += 1;
        if given != wanted {
            differ.push(format!("{source}\n    wanted {wanted}\n    given  {given}"));
        }
    }
    assert!(rows > least, "the table has {rows} rows");
    assert!(
        differ.is_empty(),
        "{} of {rows} differ:\n{}",
        differ.len(),
        differ.join("\n")
    );
}

fn ocm() -> Environment {
    Environment::open_cluster_management()
        .with_variable("managedCluster", Type::map(Type::String, Type::Dyn))
        .with_function(Function {
            name: "scores",
            overloads: &["dyn.(string) list(dyn)"],
            run: |_, _| Err(crate::Error::failed("there are no scores")),
        })
}

#[test]
fn expressions_of_placements_have_the_values_that_upstream_gives() {
    let world: Json = serde_json::from_str(WORLD).unwrap();
    let variables = [Value::from(&world)];
    compare(OCM, &ocm(), &variables, OCM_MEANT, 500);
}

#[test]
fn match_conditions_have_the_values_that_upstream_gives() {
    let request: Json = serde_json::from_str(REQUEST).unwrap();
    let variables = [
        Value::from(&request["object"]),
        Value::from(&request["oldObject"]),
        Value::from(&request["request"]),
        Value::Unavailable("no such attribute"),
        Value::Unavailable("no such attribute"),
        Value::Unavailable("no such attribute"),
    ];
    compare(
        KUBERNETES,
        &Environment::match_conditions(),
        &variables,
        KUBERNETES_MEANT,
        500,
    );
}

#[test]
fn the_examples_of_the_documentation_have_the_values_it_says() {
    let environment = Environment::kubernetes().with_mutations();
    compare(DOCUMENTED, &environment, &[], &[], 250);
}

#[test]
fn costs_are_those_that_upstream_counts_or_near() {
    let world: Json = serde_json::from_str(WORLD).unwrap();
    let variables = [Value::from(&world)];
    let environment = ocm();
    let (mut near, mut rows) = (0, 0);
    for row in OCM.lines().filter(|row| !row.starts_with('#')) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [source, _, cost] = columns[..] else {
            continue;
        };
        let cost: u64 = cost.parse().unwrap();
        let (_, given) = outcome(&environment, source, &variables);
        rows += 1;
        near += usize::from(given.abs_diff(cost) <= 5 + cost / 2);
    }
    assert!(near * 20 >= rows * 19, "{near} of {rows} are near");
}

/// Newer versions of upstream's number formatting library omit the blanks.
const BLANKS: &str = "as Kubernetes 1.36 has it";
const KEYS: &str = "keys of maps are bool, int, uint or string, as the language says";

const OCM_MEANT: &[(&str, &str, &str)] = &[
    (
        "\"%s %d %f %.2f %e %x %X %o %b %%\".format([\"a\", 1, 1.5, 2.345, 1234.5, 255, 255, 8, 5])",
        "string \"a 1 1.500000 2.35 1.234500\u{d7}10\u{2070}\u{b3} ff FF 10 101 %\"",
        BLANKS,
    ),
    (
        "\"%e\".format([1234.5])",
        "string \"1.234500\u{d7}10\u{2070}\u{b3}\"",
        BLANKS,
    ),
    (
        "\"%.3e\".format([1234.5])",
        "string \"1.234500\u{d7}10\u{2070}\u{b3}\"",
        BLANKS,
    ),
    (
        "\"%e\".format([1234567.5])",
        "string \"1.234568\u{d7}10\u{2070}\u{2076}\"",
        BLANKS,
    ),
    (
        "\"%e\".format([0.00012])",
        "string \"1.200000\u{d7}10\u{207b}\u{2070}\u{2074}\"",
        BLANKS,
    ),
    (
        "\"%e\".format([0.0])",
        "string \"0.000000\u{d7}10\u{2070}\u{2070}\"",
        BLANKS,
    ),
    (
        "\"%e\".format([-1.5])",
        "string \"-1.500000\u{d7}10\u{2070}\u{2070}\"",
        BLANKS,
    ),
    ("{[1]: 2}", "error", KEYS),
    ("{1.5: 2}", "error", KEYS),
    ("double(\"1_0\")", "error", "an accident of Go's parser"),
];

const KUBERNETES_MEANT: &[(&str, &str, &str)] = &[
    ("{[1]: 2}", "error", KEYS),
    ("{1.5: 2}", "error", KEYS),
    ("double(\"1_0\")", "compile", "an accident of Go's parser"),
];
