//! The type checker: it ensures that every name is declared and every call has an overload.

mod calls;
mod compound;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Expr, Kind, Select};
use crate::environment::Environment;
use crate::pattern::Pattern;
use crate::program::{Node, Program};
use crate::text::Issue;
use crate::types::Type;
use crate::unify::Unifier;
use crate::value::Value;

/// Number of component types at which a type is too large.
const TOO_LARGE: usize = 256;

/// Types that an expression can use as values: the name in expressions, the name in [`Value::Type`], and the
/// type.
const TYPE_NAMES: [(&str, &str, Type); 13] = [
    ("bool", "bool", Type::Bool),
    ("bytes", "bytes", Type::Bytes),
    ("double", "double", Type::Double),
    ("int", "int", Type::Int),
    ("uint", "uint", Type::Uint),
    ("string", "string", Type::String),
    ("list", "list", Type::Dyn),
    ("map", "map", Type::Dyn),
    ("null_type", "null_type", Type::Null),
    ("type", "type", Type::Dyn),
    (
        "google.protobuf.Duration",
        "google.protobuf.Duration",
        Type::Duration,
    ),
    (
        "google.protobuf.Timestamp",
        "google.protobuf.Timestamp",
        Type::Timestamp,
    ),
    ("optional_type", "optional_type", Type::Dyn),
];

/// Checks the types of `expression` and resolves its names.
pub(crate) fn check(environment: &Environment, expression: Expr) -> Result<Program, Vec<Issue>> {
    let mut checker = Checker {
        environment,
        types: Unifier::default(),
        locals: Vec::new(),
        issues: Vec::new(),
        calls: Vec::new(),
        reads: Vec::new(),
        patterns: HashMap::new(),
        mixed: 0,
    };
    let start = expression.at;
    let (root, result) = checker.expression(expression);
    if checker.types.exhausted() {
        return Err(vec![Issue::new(
            start,
            "the expression is too complex to be type-checked",
        )]);
    }
    if !checker.issues.is_empty() {
        return Err(checker.issues);
    }
    let result = checker.types.resolve(&result, true);
    Ok(Program {
        root,
        result,
        calls: checker.calls,
        reads: checker.reads,
        patterns: Arc::new(checker.patterns),
        utc: environment.has_admission_rules(),
    })
}

/// A node with its type.
type TypedNode = (Node, Type);

struct Checker<'e> {
    environment: &'e Environment,
    types: Unifier,
    /// Variables of macros, outermost first.
    locals: Vec<(String, Type)>,
    issues: Vec<Issue>,
    calls: Vec<String>,
    reads: Vec<usize>,
    patterns: HashMap<String, Arc<Pattern>>,
    /// Number of enclosing calls of `format`, whose lists may mix types.
    mixed: usize,
}

/// Placeholder for an invalid expression.
fn placeholder() -> TypedNode {
    (Node::Constant(Value::Null), Type::Error)
}

impl Checker<'_> {
    fn issue(&mut self, at: usize, text: impl Into<String>) -> TypedNode {
        self.issues.push(Issue::new(at, text));
        placeholder()
    }

    fn expression(&mut self, expression: Expr) -> TypedNode {
        let at = expression.at;
        let checked = match expression.kind {
            Kind::Literal(value) => {
                let ty = literal_type(&value);
                (Node::Constant(value), ty)
            }
            Kind::Ident(name) => self.name(at, &name),
            Kind::Select { operand, field, mode } => self.select(at, *operand, field, mode),
            Kind::Call {
                function,
                target,
                args,
            } => self.call(at, function, target.map(|target| *target), args),
            Kind::And(terms) => (Node::And(self.conditions(terms)), Type::Bool),
            Kind::Or(terms) => (Node::Or(self.conditions(terms)), Type::Bool),
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(entries),
            Kind::Message { name, fields } => self.message(&name, fields),
            Kind::Fold(fold) => self.fold(at, *fold),
            Kind::OptMap {
                flat,
                variable,
                target,
                body,
            } => self.opt_map(at, flat, variable, *target, *body),
        };
        if checked.1.size(TOO_LARGE) >= TOO_LARGE {
            return self.issue(at, "the type of the expression is too large");
        }
        checked
    }

    fn conditions(&mut self, terms: Vec<Expr>) -> Box<[Node]> {
        terms.into_iter().map(|term| self.condition(term)).collect()
    }

    /// Checks a term that must be a bool.
    fn condition(&mut self, term: Expr) -> Node {
        let at = term.at;
        let (node, ty) = self.expression(term);
        self.expect(at, &ty, &Type::Bool);
        node
    }

    fn expect(&mut self, at: usize, ty: &Type, wanted: &Type) -> bool {
        let fits = self.types.assign(ty, wanted);
        if !fits {
            let wanted = self.types.resolve(wanted, true);
            let ty = self.types.resolve(ty, true);
            self.issue(at, format!("expected type '{wanted}' but found '{ty}'"));
        }
        fits
    }

    /// Finds a variable or a type by its name.
    fn find_name(&mut self, name: &str) -> Option<TypedNode> {
        if let Some(index) = self.locals.iter().rposition(|(known, _)| known == name) {
            return Some((Node::Local(index), self.locals[index].1.clone()));
        }
        if let Some((index, ty)) = self.environment.variable(name) {
            self.reads.push(index);
            return Some((Node::Global(index), ty.clone()));
        }
        let (_, shown, ty) = TYPE_NAMES.iter().find(|(known, ..)| *known == name)?;
        Some((Node::Constant(Value::Type(shown)), Type::type_of(ty.clone())))
    }

    fn name(&mut self, at: usize, name: &str) -> TypedNode {
        match self.find_name(name) {
            Some(checked) => checked,
            None => self.issue(at, format!("undeclared reference to '{name}' (in container '')")),
        }
    }

    fn select(&mut self, at: usize, operand: Expr, field: String, mode: Select) -> TypedNode {
        if mode == Select::Value
            && let Some(name) = qualified(&operand, &field)
            && let Some(checked) = self.find_name(&name)
        {
            return checked;
        }
        // A variable whose name contains a dot is always present.
        if mode == Select::Presence
            && let Some(name) = qualified(&operand, &field)
            && self.environment.variable(&name).is_some()
        {
            return (Node::Constant(Value::Bool(true)), Type::Bool);
        }
        let (node, ty) = self.expression(operand);
        let Some(found) = self.field(at, &ty, &field, mode) else {
            return placeholder();
        };
        let node = Node::Select {
            operand: Box::new(node),
            field: field.into(),
            mode,
        };
        (node, found)
    }

    /// Returns the type of the selection of `field`; `None` after reporting an issue.
    fn field(&mut self, at: usize, ty: &Type, field: &str, mode: Select) -> Option<Type> {
        let ty = self.types.resolve(ty, false);
        let (ty, optional) = match &ty {
            Type::Optional(inside) => ((**inside).clone(), true),
            _ => (ty, mode == Select::Optional),
        };
        let found = match &ty {
            Type::Error => Type::Error,
            Type::Dyn | Type::Message(_) => Type::Dyn,
            Type::Param(_) => {
                self.types.assign(&ty, &Type::Dyn);
                Type::Dyn
            }
            Type::Map(pair) => pair.1.clone(),
            Type::Object(object) => match object.field(field) {
                Some(ty) => ty.clone(),
                None => {
                    self.issue(at, format!("undefined field '{field}'"));
                    return None;
                }
            },
            // cel-go declares these types as messages without fields.
            Type::Named(name) if name.starts_with("kubernetes.") => {
                self.issue(at, format!("unexpected failed resolution of '{name}'"));
                return None;
            }
            other => {
                self.issue(at, format!("type '{other}' does not support field selection"));
                return None;
            }
        };
        Some(match mode {
            Select::Presence => Type::Bool,
            _ if optional => Type::optional(found),
            _ => found,
        })
    }
}

/// Returns the dotted name of the selection of `field`, if all parts are names.
fn qualified(operand: &Expr, field: &str) -> Option<String> {
    match &operand.kind {
        Kind::Ident(name) => Some(format!("{name}.{field}")),
        Kind::Select {
            operand,
            field: inner,
            mode: Select::Value,
        } => Some(format!("{}.{field}", qualified(operand, inner)?)),
        _ => None,
    }
}

fn literal_type(value: &Value<'_>) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Uint(_) => Type::Uint,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        _ => Type::Dyn,
    }
}
