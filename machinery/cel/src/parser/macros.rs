//! Expansion of macros: calls with variables and conditions as arguments.

use super::Syntax;
use crate::ast::{Comprehension, Expr, Fold, Kind, Select};
use crate::text::Issue;

/// Expands `has(a.b)`.
pub(super) fn has(at: usize, mut args: Vec<Expr>) -> Result<Expr, Issue> {
    let argument_at = args.first().map_or(at, |argument| argument.at);
    let invalid = Issue::new(argument_at, "invalid argument to has() macro");
    if args.len() != 1 {
        return Err(invalid);
    }
    match args.pop().map(|argument| argument.kind) {
        Some(Kind::Select {
            operand,
            field,
            mode: Select::Value,
        }) => Expr::new(
            at,
            Kind::Select {
                operand,
                field,
                mode: Select::Presence,
            },
        ),
        _ => Err(invalid),
    }
}

/// Returns the macro `name` with this number of arguments: the comprehension, the number of variables, and
/// whether a condition precedes the body. `None` when there is no such macro.
fn fold(name: &str, arguments: usize, syntax: Syntax) -> Option<(Comprehension, usize, bool)> {
    let two = syntax.two_variables;
    Some(match (name, arguments) {
        ("all", 2) => (Comprehension::All, 1, false),
        ("exists", 2) => (Comprehension::Exists, 1, false),
        ("exists_one", 2) => (Comprehension::ExistsOne, 1, false),
        ("map", 2) => (Comprehension::Map, 1, false),
        ("map", 3) => (Comprehension::Map, 1, true),
        ("filter", 2) => (Comprehension::Filter, 1, false),
        ("sortBy", 2) if syntax.sort_by => (Comprehension::SortBy, 1, false),
        ("all", 3) if two => (Comprehension::All, 2, false),
        ("exists", 3) if two => (Comprehension::Exists, 2, false),
        ("exists_one" | "existsOne", 3) if two => (Comprehension::ExistsOne, 2, false),
        ("transformList", 3) if two => (Comprehension::Map, 2, false),
        ("transformList", 4) if two => (Comprehension::Map, 2, true),
        ("transformMap", 3) if two => (Comprehension::MapValues, 2, false),
        ("transformMap", 4) if two => (Comprehension::MapValues, 2, true),
        ("transformMapEntry", 3) if two => (Comprehension::MapEntries, 2, false),
        ("transformMapEntry", 4) if two => (Comprehension::MapEntries, 2, true),
        _ => return None,
    })
}

/// Returns the call of a member, expanded if it is a macro.
pub(super) fn member(
    at: usize,
    target: Expr,
    name: String,
    mut args: Vec<Expr>,
    syntax: Syntax,
) -> Result<Expr, Issue> {
    let target = Box::new(target);
    if syntax.optional && matches!(name.as_str(), "optMap" | "optFlatMap") && args.len() == 2 {
        let body = args.pop().map(Box::new);
        let variable = args.pop().map(variable).transpose()?;
        if let (Some(variable), Some(body)) = (variable, body) {
            let flat = name == "optFlatMap";
            return Expr::new(
                at,
                Kind::OptMap {
                    flat,
                    variable,
                    target,
                    body,
                },
            );
        }
    }
    let Some((comprehension, variables, conditional)) = fold(&name, args.len(), syntax) else {
        let target = Some(target);
        return Expr::new(
            at,
            Kind::Call {
                function: name,
                target,
                args,
            },
        );
    };
    let mut rest = args.split_off(variables);
    let variables = variable_names(at, args)?;
    let body = rest
        .pop()
        .ok_or_else(|| Issue::new(at, "the macro has no body"))?;
    let condition = if conditional { rest.pop() } else { None };
    Expr::new(
        at,
        Kind::Fold(Box::new(Fold {
            comprehension,
            range: *target,
            variables,
            condition,
            body,
        })),
    )
}

/// Returns the names of the variables in `args`, which must be different.
fn variable_names(at: usize, args: Vec<Expr>) -> Result<Vec<String>, Issue> {
    let variable_at = args.last().map_or(at, |last| last.at);
    let variables: Vec<String> = args.into_iter().map(variable).collect::<Result<_, _>>()?;
    if let [first, second] = &variables[..]
        && first == second
    {
        return Err(Issue::new(
            variable_at,
            format!("duplicate variable name: {first}"),
        ));
    }
    Ok(variables)
}

fn variable(argument: Expr) -> Result<String, Issue> {
    match argument.kind {
        Kind::Ident(name) => Ok(name),
        _ => Err(Issue::new(argument.at, "argument must be a simple name")),
    }
}
