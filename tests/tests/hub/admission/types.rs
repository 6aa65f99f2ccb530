//! Comparison of the type checkers of kube-apiserver and Berth, with equal policies about Berth's kinds.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use berth_apimachinery::{Kind, object_meta};
use berth_policies::{Kinds, check_types};
use serde_json::{Value, json};

/// Number of validations of one policy.
const VALIDATIONS: usize = 12;
/// Number of tested fields of one kind.
const FIELDS: usize = 60;

/// One version of a kind, with its resolved schema.
struct Served {
    kind: Arc<dyn Kind>,
    version: &'static str,
    schema: Value,
}

struct All(Vec<Served>);

impl All {
    fn new() -> Self {
        let systems = berth_dialect_registry::all()
            .into_iter()
            .flat_map(|dialect| dialect.kinds());
        let kinds = berth_kubernetes::core::kinds().into_iter().chain(systems);
        let served = kinds.flat_map(|kind| {
            let versions = kind.info().versions.iter().copied();
            versions
                .map(move |version| {
                    let mut schema = kind.schema(version).openapi().clone();
                    schema["properties"]["metadata"] = object_meta::definition().clone();
                    Served {
                        kind: Arc::clone(&kind),
                        version,
                        schema,
                    }
                })
                .collect::<Vec<_>>()
        });
        Self(served.collect())
    }

    fn find(&self, group: &str, version: &str, is_it: impl Fn(&Served) -> bool) -> Option<&Served> {
        let mut all = self.0.iter();
        all.find(|served| served.kind.info().group == group && served.version == version && is_it(served))
    }
}

impl Kinds for All {
    fn kind(&self, group: &str, version: &str, resource: &str) -> Option<String> {
        let found = self.find(group, version, |served| {
            served.kind.info().resource().resource == resource
        });
        found.map(|served| served.kind.info().kind.to_owned())
    }

    fn schema(&self, group: &str, version: &str, kind: &str) -> Option<&Value> {
        let found = self.find(group, version, |served| served.kind.info().kind == kind);
        found.map(|served| &served.schema)
    }
}

/// Collects the paths of the fields below `schema`, in the syntax of expressions.
fn fields(schema: &Value, path: &str, found: &mut Vec<String>) {
    if found.len() >= FIELDS {
        return;
    }
    found.push(path.to_owned());
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(name) = berth_cel::escaped(name) {
            fields(below, &format!("{path}.{name}"), found);
        }
    }
    if schema["items"].is_object() {
        fields(&schema["items"], &format!("{path}[0]"), found);
    }
    if schema["additionalProperties"].is_object() {
        fields(&schema["additionalProperties"], &format!("{path}['a-b']"), found);
    }
}

/// Expressions about a field, which are right for some types and wrong for others.
fn expressions(field: &str) -> [String; 6] {
    // Presence is only defined for fields.
    let presence = match field.contains('.') && !field.ends_with(']') {
        true => format!("has({field})"),
        false => "true".to_owned(),
    };
    [
        format!("{field} == 1"),
        format!("{field} == 'a' || oldObject != null"),
        format!("{field}.nothing == 1 && object.nowhere"),
        format!("{presence} && size({field}) > 1"),
        format!("{field}.startsWith('a') && {field}.?x.orValue(1) == 1"),
        format!("{field} > variables.generation"),
    ]
}

fn policies(all: &All) -> Vec<Value> {
    let mut policies = Vec::new();
    for served in &all.0 {
        let info = served.kind.info();
        let mut found = Vec::new();
        fields(&served.schema, "object", &mut found);
        let texts: Vec<String> = found.iter().flat_map(|field| expressions(field)).collect();
        for some in texts.chunks(VALIDATIONS) {
            let validations: Vec<Value> = some.iter().map(|text| json!({"expression": text})).collect();
            let rule = json!({"apiGroups": [info.group], "apiVersions": [served.version], "operations": ["*"],
                "resources": [info.resource().resource]});
            policies.push(
                json!({"spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": validations,
                "variables": [{"name": "generation", "expression": "object.metadata.generation"}]}}),
            );
        }
    }
    policies
}

/// The warnings of kube-apiserver's type checker.
fn upstream_warnings(all: &All, policies: &[Value]) -> Vec<Value> {
    let program = berth_tests::go::build("typecheck", ".", "typecheck");
    let kinds: Vec<Value> = all
        .0
        .iter()
        .map(|served| {
            let info = served.kind.info();
            json!({"group": info.group, "version": served.version, "kind": info.kind,
            "resource": info.resource().resource, "schema": served.schema})
        })
        .collect();
    let input = json!({"kinds": kinds, "policies": policies}).to_string();
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It reads the whole input before it writes.
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// `text` without upstream's number of the type of `kind`, which differs in each run.
fn without_numbers(text: &str, kind: &str) -> String {
    let mut parts = text.split(kind);
    let mut clean = parts.next().unwrap().to_owned();
    for part in parts {
        clean.push_str(kind);
        let digits = part.len()
            - part
                .trim_start_matches(|digit: char| digit.is_ascii_digit())
                .len();
        // The number is in nanoseconds; a name such as `v1` has fewer digits.
        clean.push_str(if digits > 3 { &part[digits..] } else { part });
    }
    clean
}

#[test]
#[ignore = "builds kube-apiserver's type checker from its Go module: `make e2e`"]
fn warnings_about_types_are_those_of_kube_apiserver() {
    let all = All::new();
    let policies = policies(&all);
    let upstream = upstream_warnings(&all, &policies);
    let (mut warned, mut differences) = (0, Vec::new());
    for (policy, theirs) in policies.iter().zip(upstream) {
        let rule = &policy["spec"]["matchConstraints"]["resourceRules"][0];
        let text = |field: &str| rule[field][0].as_str().unwrap();
        // Upstream's mapper reads the empty group as any group, and so finds the events of events.k8s.io as
        // well.
        if text("apiGroups").is_empty() && text("resources") == "events" {
            continue;
        }
        let kind = all
            .kind(text("apiGroups"), text("apiVersions"), text("resources"))
            .unwrap();
        let theirs: Vec<(String, String)> = theirs
            .as_array()
            .into_iter()
            .flatten()
            .map(|warning| {
                let text = |field: &str| warning[field].as_str().unwrap();
                (
                    text("fieldRef").to_owned(),
                    without_numbers(text("warning"), &kind),
                )
            })
            .collect();
        let ours: Vec<(String, String)> = check_types(policy, &all)
            .into_iter()
            .map(|warning| (warning.field, warning.text))
            .collect();
        warned += theirs.len();
        if ours != theirs {
            let first = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
            differences.push(format!(
                "{rule} {} and {} warnings, first {first:#?}",
                ours.len(),
                theirs.len()
            ));
        }
    }
    println!(
        "{} kinds, {} policies, {warned} warnings",
        all.0.len(),
        policies.len()
    );
    assert!(warned > 1000);
    assert!(
        differences.is_empty(),
        "{} differ:\n{}",
        differences.len(),
        differences[..differences.len().min(5)].join("\n")
    );
}
