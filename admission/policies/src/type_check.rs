//! Type checking of ValidatingAdmissionPolicies: checks the expressions of a policy against the schemas of
//! the kinds that its rules name. An expression that does not fit a kind would fail when an object of that
//! kind is written; it gets a warning, and the policy stays in force.

mod schema;

use std::collections::BTreeSet;

use berth_cel::{Environment, Type};
use serde_json::Value;

use crate::param_kind::ParamKind;

/// Highest number of kinds of one rule: the search for kinds ends there, as in kube-apiserver.
const MAX_KINDS: usize = 10;

/// Catalog of the served kinds and their schemas.
pub trait Kinds {
    /// Returns the kind of the objects of a resource.
    fn kind(&self, group: &str, version: &str, resource: &str) -> Option<String>;

    /// Returns the structural schema of a kind, in the form of OpenAPI.
    fn schema(&self, group: &str, version: &str, kind: &str) -> Option<&Value>;
}

/// Warning about one expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionWarning {
    /// Path of the field, such as `spec.validations[0].expression`.
    pub field: String,
    /// The problem for each kind that the expression does not fit, in kube-apiserver's words.
    pub text: String,
}

/// Group, version and name of a kind.
type GroupVersionKind = (String, String, String);

/// A kind, and the environment that checks expressions against its schema.
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
        .filter_map(|kind| KindEnvironment::new(kind, params.as_ref(), spec, kinds))
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
    /// Creates the environment; `None` where `kinds` has no schema of `kind`.
    fn new(kind: &GroupVersionKind, params: Option<&Type>, spec: &Value, kinds: &dyn Kinds) -> Option<Self> {
        let object = schema::object_type(kinds.schema(&kind.0, &kind.1, &kind.2)?, &kind.2);
        let mut environment = Environment::checking_policies(&object, params);
        for variable in list(&spec["variables"]) {
            // A variable that does not compile counts as a variable of any type; it gets no warning of its own.
            let program = environment.compile(text(&variable["expression"]));
            let variable_type = program.map_or(Type::Dyn, |program| program.result().clone());
            environment =
                environment.with_variable(format!("variables.{}", text(&variable["name"])), variable_type);
        }
        Some(Self {
            description: format!("{}/{}, Kind={}", kind.0, kind.1, kind.2),
            environment,
        })
    }

    fn problem(&self, source: &str) -> Option<String> {
        let problem = self.environment.compile(source).err()?;
        Some(format!("{}: {problem}\n", self.description))
    }
}

/// Type of the variable `params`, if the policy has a `paramKind`; `Dyn` if `kinds` has no schema of that
/// kind.
fn params(spec: &Value, kinds: &dyn Kinds) -> Option<Type> {
    let kind = ParamKind::of(&spec["paramKind"])?;
    let (group, version) = kind.group_version();
    let schema = kinds.schema(group, version, &kind.kind);
    Some(schema.map_or(Type::Dyn, |schema| schema::object_type(schema, &kind.kind)))
}

/// The served kinds that the rules of a policy name. Rules with a `*` in their groups or versions, resources
/// with a `*`, and subresources are ignored.
fn named_kinds(spec: &Value, kinds: &dyn Kinds) -> BTreeSet<GroupVersionKind> {
    let mut found = BTreeSet::new();
    for rule in list(&spec["matchConstraints"]["resourceRules"]) {
        let (groups, versions) = (texts(&rule["apiGroups"]), texts(&rule["apiVersions"]));
        let has_wildcard = |texts: &BTreeSet<&str>| texts.iter().any(|text| text.contains('*'));
        if has_wildcard(&groups) || has_wildcard(&versions) {
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
                    if count == MAX_KINDS {
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
