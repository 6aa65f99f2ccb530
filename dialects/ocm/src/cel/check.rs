//! Judging an expression before it runs: names it may use, how deep it goes.

use std::cell::RefCell;
use std::collections::HashMap;

use kube_cel::cel::ExecutionError;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr};
use kube_cel::cel::parser::Expression as Tree;

use super::MAX_NESTING;
use super::evaluate::environment;

/// How deep brackets may stand in each other: the parser recurses.
const MAX_DEPTH: usize = 96;
/// How deep the syntax tree may be: running it recurses on whatever stack the decision has.
const MAX_TREE: usize = 48;
/// How many operators and selections an expression may chain: `a.b.c` and `1 + 2 + 3` are trees as deep as long.
const MAX_CHAIN: usize = 256;

/// Names that are types or packages, not variables.
const TYPES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
    "google",
    "optional_type",
];

/// Counts brackets and chains without recursion, since the parser recurses before anything can look at its tree.
pub(super) fn tokens(source: &str) -> Result<(), String> {
    let (mut depth, mut chain, mut quote) = (0usize, 0usize, None);
    let mut characters = source.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => drop(characters.next()),
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => {
                depth += 1;
                chain += 1;
            }
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, '.' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|' | '?') => chain += 1,
            (None, _) => {}
        }
        if depth > MAX_DEPTH {
            return Err(format!(
                "brackets are nested too deep, at most {MAX_DEPTH} levels are accepted"
            ));
        }
    }
    if chain > MAX_CHAIN {
        return Err(format!(
            "is too deep: {chain} operators, selections and brackets, at most {MAX_CHAIN} are accepted"
        ));
    }
    Ok(())
}

/// Judges the whole tree; says whether it calls `scores()`.
pub(super) fn tree(tree: &Tree) -> Result<bool, String> {
    let mut walk = Walk {
        scope: vec!["managedCluster".to_owned()],
        uses_scores: false,
        depth: 0,
    };
    let nesting = walk.expression(tree)?;
    if nesting > MAX_NESTING {
        return Err(format!(
            "has comprehensions (all, exists, map, filter) nested {nesting} deep, at most {MAX_NESTING} are accepted"
        ));
    }
    Ok(walk.uses_scores)
}

struct Walk {
    scope: Vec<String>,
    uses_scores: bool,
    depth: usize,
}

impl Walk {
    /// How deep comprehensions nest in `expression`.
    fn expression(&mut self, expression: &IdedExpr) -> Result<usize, String> {
        if self.depth >= MAX_TREE {
            return Err(format!(
                "is too deep: more than {MAX_TREE} operators or selections on top of each other"
            ));
        }
        self.depth += 1;
        let nesting = self.node(expression);
        self.depth -= 1;
        nesting
    }

    fn node(&mut self, expression: &IdedExpr) -> Result<usize, String> {
        match &expression.expr {
            Expr::Unspecified => Err("does not compile: an operand is missing".to_owned()),
            Expr::Struct(_) => Err("uses message literals, which are not supported".to_owned()),
            Expr::Literal(_) => Ok(0),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.expression(&select.operand),
            Expr::List(list) => self.deepest(list.elements.iter()),
            Expr::Map(map) => self.entries(&map.entries),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => {
                let outside = self
                    .expression(&comprehension.iter_range)?
                    .max(self.expression(&comprehension.accu_init)?);
                let known = self.scope.len();
                self.scope.push(comprehension.iter_var.clone());
                self.scope.extend(comprehension.iter_var2.clone());
                self.scope.push(comprehension.accu_var.clone());
                let inside = self
                    .expression(&comprehension.loop_cond)?
                    .max(self.expression(&comprehension.loop_step)?)
                    .max(self.expression(&comprehension.result)?);
                self.scope.truncate(known);
                Ok(outside.max(inside + 1))
            }
        }
    }

    fn deepest<'a>(&mut self, list: impl Iterator<Item = &'a IdedExpr>) -> Result<usize, String> {
        let mut deepest = 0;
        for expression in list {
            deepest = deepest.max(self.expression(expression)?);
        }
        Ok(deepest)
    }

    fn entries(&mut self, entries: &[IdedEntryExpr]) -> Result<usize, String> {
        let mut deepest = 0;
        for entry in entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err("uses message literals, which are not supported".to_owned());
            };
            deepest = deepest
                .max(self.expression(&entry.key)?)
                .max(self.expression(&entry.value)?);
        }
        Ok(deepest)
    }

    fn name(&self, name: &str) -> Result<usize, String> {
        if self.knows(name) || TYPES.contains(&name) {
            Ok(0)
        } else {
            Err(format!(
                "has an undeclared reference to '{name}'; the variable is managedCluster"
            ))
        }
    }

    fn knows(&self, name: &str) -> bool {
        self.scope.iter().any(|known| known == name)
    }

    fn call(&mut self, call: &CallExpr) -> Result<usize, String> {
        let arguments = self.deepest(call.args.iter())?;
        let Some(target) = &call.target else {
            function(&call.func_name)?;
            return Ok(arguments);
        };
        // `sets.contains(..)`: a package, not a variable.
        if let Expr::Ident(package) = &target.expr
            && !self.knows(package)
        {
            function(&format!("{package}.{}", call.func_name))?;
            return Ok(arguments);
        }
        let inside = self.expression(target)?;
        if call.func_name == "scores" {
            self.uses_scores = true;
        } else {
            function(&call.func_name)?;
        }
        Ok(arguments.max(inside))
    }
}

/// Refuses a function the interpreter does not have. It offers no list of what it has, but says so when called.
fn function(name: &str) -> Result<(), String> {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, bool>> = RefCell::default();
    }
    // Operators have names such as `_==_` and are all there.
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Ok(());
    }
    let known = KNOWN
        .with_borrow(|known| known.get(name).copied())
        .unwrap_or_else(|| {
            let call = CallExpr {
                func_name: name.to_owned(),
                target: None,
                args: Vec::new(),
            };
            let probe = IdedExpr {
                id: 0,
                expr: Expr::Call(call),
            };
            let answer = environment().resolve(&probe);
            let known = !matches!(answer, Err(ExecutionError::UndeclaredReference(_)));
            // Only names that exist are kept: there are few of them, whatever the requests contain.
            if known {
                KNOWN.with_borrow_mut(|map| map.insert(name.to_owned(), true));
            }
            known
        });
    if known {
        Ok(())
    } else {
        Err(format!("calls an undeclared function '{name}'"))
    }
}
