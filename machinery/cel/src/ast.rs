//! Syntax trees of the parser, with macros expanded.

use crate::text::Issue;
use crate::value::Value;

/// Highest depth of a tree, since all code that traverses a tree recurses on the caller's stack.
pub(crate) const MAX_DEPTH: usize = 100;

/// An expression.
#[derive(Debug)]
pub(crate) struct Expr {
    /// Byte offset of the expression's operator, bracket or first letter.
    pub(crate) at: usize,
    /// Number of levels of nested expressions below this expression.
    depth: usize,
    pub(crate) kind: Kind,
}

/// Kinds of expressions.
#[derive(Debug)]
pub(crate) enum Kind {
    Literal(Value<'static>),
    Ident(String),
    Select {
        operand: Box<Expr>,
        field: String,
        mode: Select,
    },
    /// An operator or function; operators have cel-go's names, such as `_+_`.
    Call {
        function: String,
        target: Option<Box<Expr>>,
        args: Vec<Expr>,
    },
    And(Vec<Expr>),
    Or(Vec<Expr>),
    List(Vec<Item>),
    Map(Vec<(Expr, Item)>),
    /// A message literal: `Name.of.type{field: value}`.
    Message {
        name: String,
        fields: Vec<(String, Item)>,
    },
    Fold(Box<Fold>),
    /// The macro `target.optMap(variable, body)`, or `optFlatMap`.
    OptMap {
        flat: bool,
        variable: String,
        target: Box<Expr>,
        body: Box<Expr>,
    },
}

/// Mode of a field selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Select {
    /// The value: `a.b`.
    Value,
    /// The presence: `has(a.b)`.
    Presence,
    /// The optional value: `a.?b`.
    Optional,
}

/// Element of a list, or value of a map entry or message field. An optional item (`?x`) is omitted when it
/// has no value.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// A macro over the elements of a list or the entries of a map.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) comprehension: Comprehension,
    pub(crate) range: Expr,
    /// Names of the variables: one variable, or key (index) and value.
    pub(crate) variables: Vec<String>,
    /// Condition that selects elements: in `map` with three arguments, and in `transformList`, `transformMap`
    /// and `transformMapEntry` with four.
    pub(crate) condition: Option<Expr>,
    pub(crate) body: Expr,
}

/// Result that a fold computes from its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comprehension {
    All,
    Exists,
    ExistsOne,
    /// The elements for which the body is true.
    Filter,
    /// The values of the body, as a list.
    Map,
    /// The values of the body, each under the key of its element.
    MapValues,
    /// The entries of the maps that the body returns.
    MapEntries,
    /// The elements, sorted by the values of the body.
    SortBy,
}

impl Expr {
    /// Creates an expression, unless it is too deep.
    pub(crate) fn new(at: usize, kind: Kind) -> Result<Self, Issue> {
        let depth = kind.parts().into_iter().map(|part| part.depth + 1).max();
        let depth = depth.unwrap_or_default();
        if depth > MAX_DEPTH {
            return Err(too_deep(at));
        }
        Ok(Self { at, depth, kind })
    }
}

/// Creates the issue of a source that is nested too deep.
pub(crate) fn too_deep(at: usize) -> Issue {
    Issue::new(
        at,
        format!("Syntax error: expression recursion limit exceeded: more than {MAX_DEPTH} levels"),
    )
}

impl Kind {
    /// Returns the nested expressions.
    fn parts(&self) -> Vec<&Expr> {
        match self {
            Self::Literal(_) | Self::Ident(_) => Vec::new(),
            Self::Select { operand, .. } => vec![operand],
            Self::Call { target, args, .. } => target.iter().map(|target| &**target).chain(args).collect(),
            Self::And(terms) | Self::Or(terms) => terms.iter().collect(),
            Self::List(items) => items.iter().map(|item| &item.value).collect(),
            Self::Map(entries) => entries
                .iter()
                .flat_map(|(key, item)| [key, &item.value])
                .collect(),
            Self::Message { fields, .. } => fields.iter().map(|(_, item)| &item.value).collect(),
            Self::Fold(fold) => [&fold.range, &fold.body]
                .into_iter()
                .chain(&fold.condition)
                .collect(),
            Self::OptMap { target, body, .. } => vec![target, body],
        }
    }
}
