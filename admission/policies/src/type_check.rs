//! Type checking of ValidatingAdmissionPolicies: the problems of their expressions, for the known kinds of
//! their rules. A warning names an expression that will fail when an object of one of these kinds is written;
//! the policy stays in force.

mod schema;

use std::collections::BTreeSet;

use berth_cel::{Environment, Type};
use serde_json::Value;

use crate::param_kind::ParamKind;

/// Number of kinds of one rule that ends the search for kinds, as in kube-apiserver.
const MOST_KINDS: usize = 10;

/// Catalog of the served kinds.
pub trait Kinds {
    /// The kind of the objects of a resource, by group, version and plural.
    fn kind(&self, group: &str, version: &str, resource: &str) -> Option<String>;

    /// The structural schema of a kind, by group, version and kind, as OpenAPI has it.
    fn schema(&self, group: &str, version: &str, kind: &str) -> Option<&Value>;
}

/// Problem of one expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionWarning {
    /// Path of the field, such as `spec.validations[0].expression`.
    pub field: String,
    /// Problem for each kind, in kube-apiserver's words.
    pub text: String,
}

/// The name of a kind: group, version, kind.
type Name = (String, String, String);

/// A kind with the environment for checking expressions about it.
struct KindEnvironment {
    description: String,
    environment: Environment,
}

/// Checks the validations of `policy` and their message expressions.
#[must_use]
pub fn check_types(policy: &Value, kinds: &dyn Kinds) -> Vec<ExpressionWarning> {
    let spec = &policy["spec"];
    let params = params(spec, kinds);
    let checked: Vec<KindEnvironment> = named_kinds(spec, kinds)
        .iter()
        .filter_map(|name| KindEnvironment::new(name, params.as_ref(), spec, kinds))
        .collect();
    let mut warnings = Vec::new();
    for (index, one) in list(&spec["validations"]).enumerate() {
        for field in ["expression", "messageExpression"] {
            let source = text(&one[field]);
            if source.is_empty() {
                continue;
            }
            let problems: Vec<String> = checked.iter().filter_map(|kind| kind.problem(source)).collect();
            if !problems.is_empty() {
                warnings.push(ExpressionWarning {
                    field: format!("spec.validations[{index}].{field}"),
                    text: problems.join("\n"),
                });
            }
        }
    }
    warnings
}

impl KindEnvironment {
    /// Creates the environment; `None` where the kind is not known.
    fn new(name: &Name, params: Option<&Type>, spec: &Value, kinds: &dyn Kinds) -> Option<Self> {
        let object = schema::declared(kinds.schema(&name.0, &name.1, &name.2)?, &name.2);
        let mut environment = Environment::checking_policies(&object, params);
        for variable in list(&spec["variables"]) {
            // A variable that does not compile may have any type: its own problem is not reported.
            let program = environment.compile(text(&variable["expression"]));
            let of = program.map_or(Type::Dyn, |program| program.result().clone());
            environment = environment.with_variable(format!("variables.{}", text(&variable["name"])), of);
        }
        Some(Self {
            description: format!("{}/{}, Kind={}", name.0, name.1, name.2),
            environment,
        })
    }

    fn problem(&self, source: &str) -> Option<String> {
        let problem = self.environment.compile(source).err()?;
        Some(format!("{}: {problem}\n", self.description))
    }
}

/// Type of `params`, if the policy has a `paramKind`: any type if this kind is not known.
fn params(spec: &Value, kinds: &dyn Kinds) -> Option<Type> {
    let kind = ParamKind::of(&spec["paramKind"])?;
    let (group, version) = kind.group_version();
    let schema = kinds.schema(group, version, &kind.kind);
    Some(schema.map_or(Type::Dyn, |schema| schema::declared(schema, &kind.kind)))
}

/// The kinds that the rules of a policy name individually, in order. A rule with a `*` in its groups or
/// versions names no kind. Resources with a `*` and subresources are ignored.
fn named_kinds(spec: &Value, kinds: &dyn Kinds) -> BTreeSet<Name> {
    let mut found = BTreeSet::new();
    for rule in list(&spec["matchConstraints"]["resourceRules"]) {
        let (groups, versions) = (texts(&rule["apiGroups"]), texts(&rule["apiVersions"]));
        let wild = |texts: &BTreeSet<&str>| texts.iter().any(|text| text.contains('*'));
        if wild(&groups) || wild(&versions) {
            continue;
        }
        let mut resources = texts(&rule["resources"]);
        resources.retain(|resource| !resource.contains(['*', '/']));
        let mut count = 0;
        for group in &groups {
            for version in &versions {
                for resource in &resources {
                    let Some(kind) = kinds.kind(group, version, resource) else {
                        continue;
                    };
                    found.insert(((*group).to_owned(), (*version).to_owned(), kind));
                    count += 1;
                    if count == MOST_KINDS {
                        return found;
                    }
                }
            }
        }
    }
    found
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> BTreeSet<&str> {
    list(value).filter_map(Value::as_str).collect()
}
