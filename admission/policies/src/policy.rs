//! Compiled policies.

use std::sync::atomic::{AtomicU64, Ordering};

use berth_cel::{Environment, POLICY_LIMIT, Type, Variable};
use parking_lot::Mutex;
use serde_json::Value;

use crate::PolicyType;
use crate::constraints::Constraints;
use crate::expressions::Expression;
use crate::param_kind::ParamKind;

/// A compiled ValidatingAdmissionPolicy or MutatingAdmissionPolicy.
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
    /// Texts of the expressions of `variables`, in the same order.
    variable_sources: Vec<String>,
    pub(crate) body: Body,
    /// Problem that was logged last.
    last_problem: Mutex<String>,
    /// Highest cost of recent evaluations. Before the first evaluation it is 0 if a write was excluded, and
    /// otherwise [`u64::MAX`].
    highest_cost: AtomicU64,
}

/// Divisor for lowering the highest cost: each cheaper evaluation lowers it by `1 / COST_DECAY`.
const COST_DECAY: u64 = 256;

/// Rules of a policy: validations or mutations.
#[derive(Debug)]
pub(crate) enum Body {
    Validating {
        validations: Vec<Validation>,
        annotations: Vec<(String, Expression)>,
    },
    Mutating {
        mutations: Vec<Mutation>,
        /// Whether the policy is evaluated again when a later mutation changes the object
        /// (`reinvocationPolicy: IfNeeded`).
        reinvoked: bool,
    },
}

/// A validation rule: an element of `validations`.
#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) expression: Expression,
    pub(crate) message: String,
    pub(crate) message_expression: Option<Expression>,
    /// Reason of the refusal for the client; empty if the policy names none.
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
    /// Compiles a policy. An expression that does not compile fails when it is evaluated;
    /// [`Policy::problems`] lists such expressions.
    #[must_use]
    pub fn compile(policy_type: PolicyType, value: &Value) -> Self {
        let spec = &value["spec"];
        let param_kind = ParamKind::of(&spec["paramKind"]);
        let mut environment = Environment::policies(param_kind.is_some());
        let (mut variables, mut sources) = (Vec::new(), Vec::new());
        for variable in list(&spec["variables"]) {
            let (name, source) = (text(&variable["name"]), text(&variable["expression"]));
            let program = Expression::new(&environment, source, &[]).program;
            let variable_type = program
                .as_ref()
                .map_or(Type::Dyn, |program| program.result().clone());
            environment = environment.with_variable(format!("variables.{name}"), variable_type);
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
            variable_sources: sources,
            body: match policy_type {
                PolicyType::Validating => validating(spec, &environment),
                PolicyType::Mutating => mutating(spec, environment),
            },
            param_kind,
            last_problem: Mutex::default(),
            highest_cost: AtomicU64::new(u64::MAX),
        }
    }

    /// Expected cost of evaluating the policy once, from recent evaluations. Before the first evaluation,
    /// this is 0 if the selectors excluded a write, and otherwise the limit for one policy.
    pub(crate) fn expected_cost(&self) -> u64 {
        self.highest_cost.load(Ordering::Relaxed).min(POLICY_LIMIT)
    }

    /// Whether the expected cost comes from an evaluation, or from a write that the selectors excluded.
    pub(crate) fn has_expected_cost(&self) -> bool {
        self.highest_cost.load(Ordering::Relaxed) != u64::MAX
    }

    /// Records that the policy's rules match a write but its selectors exclude it, which costs nothing. Until
    /// the first evaluation, every further write is then expected to cost nothing: otherwise a policy whose
    /// selectors match no object would make every write look expensive.
    pub(crate) fn record_exclusion(&self) {
        let (unknown, free) = (u64::MAX, 0);
        let order = Ordering::Relaxed;
        // A cost that a concurrent evaluation has recorded is kept.
        self.highest_cost
            .compare_exchange(unknown, free, order, order)
            .unwrap_or_default();
    }

    /// Records the cost of one evaluation.
    pub(crate) fn record_cost(&self, cost: u64) {
        let highest_cost = match self.highest_cost.load(Ordering::Relaxed) {
            u64::MAX => cost,
            before => cost.max(before - before / COST_DECAY),
        };
        self.highest_cost.store(highest_cost, Ordering::Relaxed);
    }

    /// Logs why the policy could not be evaluated, unless this problem was logged last: otherwise every write
    /// could log it.
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
        let mut add = |field: String, source: &str, problem: Option<&String>| {
            problems.extend(problem.map(|text| Problem {
                field,
                source: source.to_owned(),
                text: text.clone(),
            }));
        };
        for (index, (variable, source)) in self.variables.iter().zip(&self.variable_sources).enumerate() {
            let field = format!("spec.variables[{index}].expression");
            add(field, source, variable.program.as_ref().err());
        }
        for (index, condition) in self.conditions.iter().enumerate() {
            let field = format!("spec.matchConditions[{index}].expression");
            add(field, &condition.source, condition.program.as_ref().err());
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
                            add(field, &expression.source, expression.program.as_ref().err());
                        }
                    }
                }
                for (index, (_, expression)) in annotations.iter().enumerate() {
                    let field = format!("spec.auditAnnotations[{index}].valueExpression");
                    add(field, &expression.source, expression.program.as_ref().err());
                }
            }
            Body::Mutating { mutations, .. } => {
                for (index, mutation) in mutations.iter().enumerate() {
                    let (name, expression) = match mutation {
                        Mutation::Apply(expression) => ("applyConfiguration", expression),
                        Mutation::Patch(expression) => ("jsonPatch", expression),
                    };
                    let field = format!("spec.mutations[{index}].{name}.expression");
                    add(field, &expression.source, expression.program.as_ref().err());
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
        reinvoked: spec["reinvocationPolicy"] == "IfNeeded",
    }
}
