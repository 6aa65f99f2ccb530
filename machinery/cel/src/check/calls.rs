//! Type checking of calls: the overloads that the types of the arguments allow.

use std::sync::Arc;

use super::{Checker, TypedNode, placeholder, qualified};
use crate::ast::{Expr, Kind, Select};
use crate::environment::OverloadEntry;
use crate::error::Error;
use crate::evaluate::Evaluator;
use crate::meter::Meter;
use crate::pattern::Pattern;
use crate::program::{Candidate, Node};
use crate::types::Type;
use crate::value::Value;

/// Functions whose second argument is a pattern.
const PATTERNS: [&str; 3] = ["matches", "find", "findAll"];

/// Functions whose literal arguments are validated at compile time, in Kubernetes' environment.
const CONVERSIONS: [&str; 8] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "string",
    "timestamp",
    "uint",
];

impl Checker<'_> {
    pub(super) fn call(
        &mut self,
        at: usize,
        function: String,
        target: Option<Expr>,
        args: Vec<Expr>,
    ) -> TypedNode {
        if let Some(target) = &target
            && let Some(name) = packaged_name(target, &function)
            && self.environment.function(&name).is_some()
            && !self.is_shadowed(&name)
        {
            return self.resolve_call(at, name, false, args);
        }
        let member = target.is_some();
        let args = target.into_iter().chain(args).collect();
        self.resolve_call(at, function, member, args)
    }

    /// Whether a variable of a macro shadows the package of `name`.
    fn is_shadowed(&self, name: &str) -> bool {
        let first = name.split('.').next().unwrap_or_default();
        self.locals.iter().any(|(local, _)| local == first)
    }

    fn resolve_call(&mut self, at: usize, function: String, member: bool, args: Vec<Expr>) -> TypedNode {
        let environment = self.environment;
        let places: Vec<usize> = args.iter().map(|argument| argument.at).collect();
        let formats = usize::from(function == "format");
        self.mixed += formats;
        let checked = args.into_iter().map(|argument| self.expression(argument));
        let (nodes, types): (Vec<Node>, Vec<Type>) = checked.unzip();
        self.mixed -= formats;
        let Some(overloads) = environment.function(&function) else {
            let text = format!("undeclared reference to '{function}' (in container '')");
            return self.issue(at, text);
        };
        let overloads = overloads
            .iter()
            .filter(|declared| declared.overload.member == member)
            .collect::<Vec<_>>();
        let Some((mut candidates, result)) = self.matching_candidates(&overloads, &types) else {
            if types.contains(&Type::Error) && self.types.exhausted() {
                return placeholder();
            }
            let text = self.mismatch(&function, member, &types);
            return self.issue(at, text);
        };
        if PATTERNS.contains(&function.as_str())
            && let Some(Node::Constant(Value::String(pattern))) = nodes.get(1)
        {
            let place = places.get(1).copied().unwrap_or(at);
            self.compile_pattern(place, pattern);
        }
        self.calls.push(function.clone());
        // An operator checks its operands when it runs, since numbers can be compared even if their types are
        // unknown here. So it gets a single candidate, which accepts operands of all types.
        if !function.starts_with(|first: char| first.is_ascii_alphabetic()) {
            let args = vec![Type::Dyn; nodes.len()].into();
            candidates = candidates
                .first()
                .map(|first| Candidate { args, run: first.run })
                .into_iter()
                .collect();
        }
        if function == "_?_:_" {
            return conditional(nodes, result);
        }
        // As in cel-go, these functions of a value of unknown type are the functions of an optional.
        let of_optional = |candidate: &Candidate| matches!(candidate.args.first(), Some(Type::Optional(_)));
        if member && matches!(&*function, "or" | "orValue") && candidates.iter().any(of_optional) {
            return alternative(function == "orValue", nodes, result);
        }
        let needs_literals =
            formats > 0 || (environment.has_admission_rules() && CONVERSIONS.contains(&function.as_str()));
        let args = nodes.into();
        let node = Node::Call { candidates, args };
        if needs_literals
            && is_constant(&node)
            && let Some(problem) = literal_error(&node)
        {
            return self.issue(places.last().copied().unwrap_or(at), problem);
        }
        (node, result)
    }

    /// Returns the overloads that accept `types`, and the type of their result; `None` when there is none.
    fn matching_candidates(
        &mut self,
        overloads: &[&OverloadEntry],
        types: &[Type],
    ) -> Option<(Box<[Candidate]>, Type)> {
        let mut candidates = Vec::new();
        let mut result = None;
        for declared in overloads {
            let overload = &declared.overload;
            if overload.args.len() != types.len() {
                continue;
            }
            let variables: Vec<Type> = (0..overload.variables).map(|_| self.types.fresh()).collect();
            let parameters: Vec<Type> = overload
                .args
                .iter()
                .map(|ty| instantiate(ty, &variables))
                .collect();
            if !self.types.assign_all(types, &parameters) {
                continue;
            }
            let result_type = self
                .types
                .resolve(&instantiate(&overload.result, &variables), false);
            result = Some(match result {
                None => result_type,
                Some(known) if known == result_type || known == Type::Dyn => known,
                Some(_) => Type::Dyn,
            });
            let args = overload.args.clone().into();
            let run = declared.run;
            candidates.push(Candidate { args, run });
        }
        Some((candidates.into(), result?))
    }

    /// Returns the message that no overload of `function` accepts `types`.
    fn mismatch(&mut self, function: &str, member: bool, types: &[Type]) -> String {
        let names: Vec<String> = types
            .iter()
            .map(|ty| self.types.resolve(ty, true).to_string())
            .collect();
        let applied = match names.split_first() {
            Some((target, rest)) if member => format!("{target}.({})", rest.join(", ")),
            _ => format!("({})", names.join(", ")),
        };
        format!("found no matching overload for '{function}' applied to '{applied}'")
    }

    /// Compiles a literal pattern. An invalid pattern is an issue if the environment validates literals;
    /// otherwise, the evaluation fails.
    fn compile_pattern(&mut self, at: usize, pattern: &str) {
        match Pattern::compile(pattern) {
            Ok(compiled) => drop(self.patterns.insert(pattern.to_owned(), Arc::new(compiled))),
            Err(problem) if self.environment.has_admission_rules() => {
                self.issue(at, format!("invalid matches argument: {problem}"));
            }
            Err(_) => {}
        }
    }
}

/// Whether `node` is a literal, or a call whose arguments are literals or lists of literals.
fn is_constant(node: &Node) -> bool {
    match node {
        Node::Constant(_) => true,
        Node::Call { args, .. } => args.iter().all(|argument| match argument {
            Node::List(items) => items.iter().all(|(item, _)| matches!(item, Node::Constant(_))),
            other => matches!(other, Node::Constant(_)),
        }),
        _ => false,
    }
}

/// Evaluates `node`, a call with literals, and returns the message if it fails.
fn literal_error(node: &Node) -> Option<String> {
    const LIMIT: u64 = 10_000;
    let mut evaluator = Evaluator::new(&[], Meter::new(LIMIT, Arc::default(), true), None);
    match evaluator.value(node) {
        Err(Error::Failed(problem)) => Some(problem),
        _ => None,
    }
}

fn conditional(nodes: Vec<Node>, result: Type) -> TypedNode {
    match <[Node; 3]>::try_from(nodes) {
        Ok(parts) => (Node::Conditional(Box::new(parts)), result),
        Err(_) => placeholder(),
    }
}

fn alternative(unwraps: bool, nodes: Vec<Node>, result: Type) -> TypedNode {
    match <[Node; 2]>::try_from(nodes) {
        Ok(parts) => {
            let parts = Box::new(parts);
            (Node::OptOr { unwraps, parts }, result)
        }
        Err(_) => placeholder(),
    }
}

/// Returns `ty` with its type variables replaced by `variables`.
fn instantiate(ty: &Type, variables: &[Type]) -> Type {
    match ty {
        Type::Param(number) => variables.get(*number).cloned().unwrap_or(Type::Dyn),
        other => other.rebuilt(|part| instantiate(part, variables)),
    }
}

/// Returns the name of a function in a package, such as `sets.contains`.
fn packaged_name(target: &Expr, function: &str) -> Option<String> {
    match &target.kind {
        Kind::Ident(_) => qualified(target, function),
        Kind::Select {
            mode: Select::Value, ..
        } => qualified(target, function),
        _ => None,
    }
}
