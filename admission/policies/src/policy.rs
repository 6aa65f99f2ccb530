//! A policy, compiled.

use std::sync::atomic::{AtomicU64, Ordering};

use berth_cel::{Environment, POLICY_LIMIT, Type, Variable};
use parking_lot::Mutex;
use serde_json::Value;

use crate::PolicyType;
use crate::constraints::Constraints;
use crate::expressions::Expression;
use crate::param_kind::ParamKind;

/// A ValidatingAdmissionPolicy or MutatingAdmissionPolicy, compiled.
#[derive(Debug)]
pub struct Policy {
    /// Name of the policy.
    pub name: String,
    pub(crate) constraints: Option<Constraints>,
    pub(crate) param_kind: Option<ParamKind>,
    /// Whether a write is admitted when the policy cannot be evaluated (`failurePolicy: Ignore`).
    pub(crate) fails_open: bool,
    pub(crate) conditions: Vec<Expression>,
    pub(crate) variables: Vec<Variable>,
    sources: Vec<String>,
    pub(crate) body: Body,
    /// Last logged problem of the evaluation.
    last_problem: Mutex<String>,
    /// Highest cost of recent evaluations. [`u64::MAX`] before the first, unless a write was excluded: then
    /// 0.
    highest_cost: AtomicU64,
}

/// Divisor of the highest known cost: each cheaper evaluation lowers this cost by the quotient.
const FORGET: u64 = 256;

/// Effect of the policy.
#[derive(Debug)]
pub(crate) enum Body {
    Validating {
        validations: Vec<Validation>,
        annotations: Vec<(String, Expression)>,
    },
    Mutating {
        mutations: Vec<Mutation>,
        /// Whether the policy is evaluated again when a later mutation changes the object.
        again: bool,
    },
}

/// A validation rule: an element of `validations`.
#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) expression: Expression,
    pub(crate) message: String,
    pub(crate) message_expression: Option<Expression>,
    /// The reason of the refusal, or the empty string.
    pub(crate) reason: String,
}

/// A mutation: an element of `mutations`.
#[derive(Debug)]
pub(crate) enum Mutation {
    Apply(Expression),
    Patch(Expression),
}

/// An expression of a policy that does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the field, such as `spec.validations[0].expression`.
    pub field: String,
    /// Text of the field.
    pub source: String,
    /// Description of the problem.
    pub text: String,
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl Policy {
    /// Compiles a policy. An expression that does not compile fails when it is evaluated, and
    /// [`Policy::problems`] reports it.
    #[must_use]
    pub fn compile(policy_type: PolicyType, value: &Value) -> Self {
        let spec = &value["spec"];
        let param_kind = ParamKind::of(&spec["paramKind"]);
        let bare = Environment::policies(param_kind.is_some());
        let mut environment = bare.clone();
        let (mut variables, mut sources) = (Vec::new(), Vec::new());
        for variable in list(&spec["variables"]) {
            let (name, source) = (text(&variable["name"]), text(&variable["expression"]));
            let program = Expression::new(&environment, source, &[]).program;
            let of = program
                .as_ref()
                .map_or(Type::Dyn, |program| program.result().clone());
            environment = environment.with_variable(format!("variables.{name}"), of);
            let name = name.to_owned();
            variables.push(Variable { name, program });
            sources.push(source.to_owned());
        }
        let conditions = list(&spec["matchConditions"]);
        let conditions =
            conditions.map(|one| Expression::new(&environment, text(&one["expression"]), &[Type::Bool]));
        Self {
            name: text(&value["metadata"]["name"]).to_owned(),
            constraints: spec["matchConstraints"]
                .is_object()
                .then(|| Constraints::of(&spec["matchConstraints"])),
            fails_open: spec["failurePolicy"] == "Ignore",
            conditions: conditions.collect(),
            variables,
            sources,
            body: match policy_type {
                PolicyType::Validating => validating(spec, &environment),
                PolicyType::Mutating => mutating(spec, environment),
            },
            param_kind,
            last_problem: Mutex::default(),
            highest_cost: AtomicU64::new(u64::MAX),
        }
    }

    /// Expected cost of evaluating the policy once, from recent evaluations. Before the first, this is 0 if
    /// the selectors excluded a write, and otherwise the limit.
    pub(crate) fn expected(&self) -> u64 {
        self.highest_cost.load(Ordering::Relaxed).min(POLICY_LIMIT)
    }

    /// Whether the policy has an expected cost: from an evaluation, or from a write that its selectors
    /// excluded.
    pub(crate) fn has_expected_cost(&self) -> bool {
        self.highest_cost.load(Ordering::Relaxed) != u64::MAX
    }

    /// Records a write that the policy's rules name and its selectors exclude, which costs nothing. Until the
    /// policy is evaluated for a write, other writes are expected to cost nothing either: otherwise a policy
    /// that selects no object would make every write expensive.
    pub(crate) fn record_exclusion(&self) {
        let (never, nothing) = (u64::MAX, 0);
        let order = Ordering::Relaxed;
        // Concurrent evaluations may have recorded their cost.
        self.highest_cost
            .compare_exchange(never, nothing, order, order)
            .unwrap_or_default();
    }

    /// Records the cost of one evaluation.
    pub(crate) fn record_cost(&self, cost: u64) {
        let highest_cost = match self.highest_cost.load(Ordering::Relaxed) {
            u64::MAX => cost,
            before => cost.max(before - before / FORGET),
        };
        self.highest_cost.store(highest_cost, Ordering::Relaxed);
    }

    /// Logs why the policy could not be evaluated, unless the last logged problem is the same: every write
    /// may have this problem.
    pub(crate) fn log_problem(&self, policy_type: PolicyType, binding: &str, problem: &str) {
        let mut last_problem = self.last_problem.lock();
        if *last_problem != problem {
            problem.clone_into(&mut last_problem);
            tracing::warn!(
                kind = policy_type.kind(),
                policy = self.name,
                binding,
                problem,
                "an admission policy cannot be evaluated; its failurePolicy applies"
            );
        }
    }

    /// Kind of the policy's parameters.
    #[must_use]
    pub fn param_kind(&self) -> Option<&ParamKind> {
        self.param_kind.as_ref()
    }

    /// Expressions that do not compile.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut look = |field: String, source: &str, problem: Option<&String>| {
            problems.extend(problem.map(|text| Problem {
                field,
                source: source.to_owned(),
                text: text.clone(),
            }));
        };
        for (index, (variable, source)) in self.variables.iter().zip(&self.sources).enumerate() {
            let field = format!("spec.variables[{index}].expression");
            look(field, source, variable.program.as_ref().err());
        }
        for (index, condition) in self.conditions.iter().enumerate() {
            let field = format!("spec.matchConditions[{index}].expression");
            look(field, &condition.source, condition.program.as_ref().err());
        }
        match &self.body {
            Body::Validating {
                validations,
                annotations,
            } => {
                for (index, one) in validations.iter().enumerate() {
                    let expressions = [("expression", Some(&one.expression))]
                        .into_iter()
                        .chain([("messageExpression", one.message_expression.as_ref())]);
                    for (name, expression) in expressions {
                        if let Some(expression) = expression {
                            let field = format!("spec.validations[{index}].{name}");
                            look(field, &expression.source, expression.program.as_ref().err());
                        }
                    }
                }
                for (index, (_, expression)) in annotations.iter().enumerate() {
                    let field = format!("spec.auditAnnotations[{index}].valueExpression");
                    look(field, &expression.source, expression.program.as_ref().err());
                }
            }
            Body::Mutating { mutations, .. } => {
                for (index, mutation) in mutations.iter().enumerate() {
                    let (name, expression) = match mutation {
                        Mutation::Apply(expression) => ("applyConfiguration", expression),
                        Mutation::Patch(expression) => ("jsonPatch", expression),
                    };
                    let field = format!("spec.mutations[{index}].{name}.expression");
                    look(field, &expression.source, expression.program.as_ref().err());
                }
            }
        }
        problems
    }
}

fn validating(spec: &Value, environment: &Environment) -> Body {
    let validations = list(&spec["validations"]).map(|one| {
        let message = text(&one["messageExpression"]);
        Validation {
            expression: Expression::new(environment, text(&one["expression"]), &[Type::Bool]),
            message: text(&one["message"]).to_owned(),
            message_expression: (!message.is_empty())
                .then(|| Expression::new(environment, message, &[Type::String])),
            reason: text(&one["reason"]).to_owned(),
        }
    });
    let annotations = list(&spec["auditAnnotations"]).map(|one| {
        let types = [Type::String, Type::Null];
        let expression = Expression::new(environment, text(&one["valueExpression"]), &types);
        (text(&one["key"]).to_owned(), expression)
    });
    Body::Validating {
        validations: validations.collect(),
        annotations: annotations.collect(),
    }
}

fn mutating(spec: &Value, environment: Environment) -> Body {
    let environment = environment.with_mutations();
    let mutations = list(&spec["mutations"]).map(|one| {
        let patch = one["patchType"] == "JSONPatch";
        let field = if patch { "jsonPatch" } else { "applyConfiguration" };
        let source = text(&one[field]["expression"]);
        if patch {
            let types = [Type::list(Type::Message("JSONPatch".into()))];
            Mutation::Patch(Expression::new(&environment, source, &types))
        } else {
            let types = [Type::Message("Object".into())];
            Mutation::Apply(Expression::new(&environment, source, &types))
        }
    });
    Body::Mutating {
        mutations: mutations.collect(),
        again: spec["reinvocationPolicy"] == "IfNeeded",
    }
}
