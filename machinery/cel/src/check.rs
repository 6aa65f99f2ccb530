//! The type checker: it ensures that every name is declared and every call has an overload, before anything
//! is evaluated.

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

/// Highest number of types in a compound type.
const LARGEST_TYPE: usize = 256;

/// Names of types, which are also values.
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

/// Checks `expression`.
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
        utc: environment.admission(),
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
    /// Number of enclosing calls with lists of unknown types.
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
                let of = literal(&value);
                (Node::Constant(value), of)
            }
            Kind::Ident(name) => self.name(at, &name),
            Kind::Select { of, field, mode } => self.select(at, *of, field, mode),
            Kind::Call {
                function,
                target,
                args,
            } => self.called(at, function, target.map(|target| *target), args),
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
        if checked.1.size(LARGEST_TYPE) >= LARGEST_TYPE {
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
        let (node, of) = self.expression(term);
        self.expect(at, &of, &Type::Bool);
        node
    }

    fn expect(&mut self, at: usize, of: &Type, wanted: &Type) -> bool {
        let fits = self.types.assign(of, wanted);
        if !fits {
            let wanted = self.types.resolve(wanted, true);
            let of = self.types.resolve(of, true);
            self.issue(at, format!("expected type '{wanted}' but found '{of}'"));
        }
        fits
    }

    /// Finds a variable or a type by its name.
    fn find_name(&mut self, name: &str) -> Option<TypedNode> {
        if let Some(place) = self.locals.iter().rposition(|(known, _)| known == name) {
            return Some((Node::Local(place), self.locals[place].1.clone()));
        }
        if let Some((place, of)) = self.environment.variable(name) {
            self.reads.push(place);
            return Some((Node::Global(place), of.clone()));
        }
        let (_, shown, of) = TYPE_NAMES.iter().find(|(known, ..)| *known == name)?;
        Some((Node::Constant(Value::Type(shown)), Type::type_of(of.clone())))
    }

    fn name(&mut self, at: usize, name: &str) -> TypedNode {
        match self.find_name(name) {
            Some(checked) => checked,
            None => self.issue(at, format!("undeclared reference to '{name}' (in container '')")),
        }
    }

    fn select(&mut self, at: usize, of: Expr, field: String, mode: Select) -> TypedNode {
        if mode == Select::Value
            && let Some(name) = qualified(&of, &field)
            && let Some(checked) = self.find_name(&name)
        {
            return checked;
        }
        // A variable whose name contains a dot is always present.
        if mode == Select::Presence
            && let Some(name) = qualified(&of, &field)
            && self.environment.variable(&name).is_some()
        {
            return (Node::Constant(Value::Bool(true)), Type::Bool);
        }
        let (node, of) = self.expression(of);
        let Some(found) = self.field(at, &of, &field, mode) else {
            return placeholder();
        };
        let node = Node::Select {
            of: Box::new(node),
            field: field.into(),
            mode,
        };
        (node, found)
    }

    /// Returns the type of a field of `of`.
    fn field(&mut self, at: usize, of: &Type, field: &str, mode: Select) -> Option<Type> {
        let of = self.types.resolve(of, false);
        let (of, optional) = match &of {
            Type::Optional(inside) => ((**inside).clone(), true),
            _ => (of, mode == Select::Optional),
        };
        let found = match &of {
            Type::Error => Type::Error,
            Type::Dyn | Type::Message(_) => Type::Dyn,
            Type::Param(_) => {
                self.types.assign(&of, &Type::Dyn);
                Type::Dyn
            }
            Type::Map(pair) => pair.1.clone(),
            Type::Object(object) => match object.field(field) {
                Some(of) => of.clone(),
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

/// Returns the dotted name of `of.field`, if all parts are names.
fn qualified(of: &Expr, field: &str) -> Option<String> {
    match &of.kind {
        Kind::Ident(name) => Some(format!("{name}.{field}")),
        Kind::Select {
            of,
            field: inner,
            mode: Select::Value,
        } => Some(format!("{}.{field}", qualified(of, inner)?)),
        _ => None,
    }
}

fn literal(value: &Value<'_>) -> Type {
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
