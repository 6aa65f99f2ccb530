//! Checked expressions, ready to be evaluated.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Comprehension, Select};
use crate::library::OverloadFunction;
use crate::pattern::Pattern;
use crate::types::Type;
use crate::value::Value;

/// A checked expression.
#[derive(Debug)]
pub struct Program {
    pub(crate) root: Node,
    pub(crate) result: Type,
    /// Functions that the expression calls.
    pub(crate) calls: Vec<String>,
    /// Variables that the expression reads, by index.
    pub(crate) reads: Vec<usize>,
    /// Compiled literal patterns of the expression.
    pub(crate) patterns: Arc<HashMap<String, Arc<Pattern>>>,
    /// Whether timestamps are converted to UTC, regardless of their own offset.
    pub(crate) utc: bool,
}

impl Program {
    /// Returns the type of the expression's value.
    #[must_use]
    pub fn result(&self) -> &Type {
        &self.result
    }

    /// Whether the expression calls `function`.
    #[must_use]
    pub fn calls(&self, function: &str) -> bool {
        self.calls.iter().any(|called| called == function)
    }

    /// Whether the expression reads the variable with the index `index` in the order of declarations.
    #[must_use]
    pub fn reads(&self, index: usize) -> bool {
        self.reads.contains(&index)
    }
}

/// A node of a checked expression.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value<'static>),
    /// A variable of the environment.
    Global(usize),
    /// A variable of a macro, by its position on the stack.
    Local(usize),
    Select {
        operand: Box<Node>,
        field: Box<str>,
        mode: Select,
    },
    Call {
        /// Possible overloads, according to the types that are known before the evaluation.
        candidates: Box<[Candidate]>,
        args: Box<[Node]>,
    },
    And(Box<[Node]>),
    Or(Box<[Node]>),
    Conditional(Box<[Node; 3]>),
    /// A list literal; the flag marks optional elements.
    List(Box<[(Node, bool)]>),
    /// A map literal: keys, values, and a flag for optional entries.
    Map(Box<[(Node, Node, bool)]>),
    /// A typed object literal; the flag marks optional fields.
    Message {
        name: Arc<str>,
        fields: Box<[(Box<str>, Node, bool)]>,
    },
    Fold(Box<FoldMacro>),
    OptMap {
        flat: bool,
        target: Box<Node>,
        body: Box<Node>,
    },
    /// A call of `or`, or of `orValue` if `unwraps` is set: the optional and the alternative.
    OptOr {
        unwraps: bool,
        parts: Box<[Node; 2]>,
    },
}

/// An overload that a call may run, depending on the types of the values.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) args: Box<[Type]>,
    pub(crate) run: OverloadFunction,
}

impl std::fmt::Debug for Candidate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Candidate").field(&self.args).finish()
    }
}

/// A checked macro over the elements of a list or the entries of a map.
#[derive(Debug)]
pub(crate) struct FoldMacro {
    pub(crate) comprehension: Comprehension,
    pub(crate) range: Node,
    /// Whether the macro has two variables, key (index) and value.
    pub(crate) pairs: bool,
    pub(crate) condition: Option<Node>,
    pub(crate) body: Node,
}

impl Type {
    /// Whether `value` may be of this type, without inspecting its content.
    pub(crate) fn admits(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Dyn | Self::Error | Self::Param(_), _)
            | (Self::Null, Value::Null)
            | (Self::Bool, Value::Bool(_))
            | (Self::Int, Value::Int(_))
            | (Self::Uint, Value::Uint(_))
            | (Self::Double, Value::Double(_))
            | (Self::String, Value::String(_))
            | (Self::Bytes, Value::Bytes(_))
            | (Self::Duration, Value::Duration(_))
            | (Self::Timestamp, Value::Timestamp(_))
            | (Self::List(_), Value::List(_))
            | (Self::Map(_) | Self::Object(_), Value::Map(_))
            | (Self::Optional(_), Value::Optional(_))
            | (Self::Type(_), Value::Type(_)) => true,
            (Self::Message(name), Value::Message(message)) => *name == message.name,
            (Self::Named(name), value) => *name == value.type_name(),
            _ => false,
        }
    }
}
