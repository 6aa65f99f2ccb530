//! Evaluation of a checked tree. The meter counts every step.

mod fold;
mod lazy;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ast::Select;
use crate::error::Error;
use crate::meter::Meter;
use crate::program::{Candidate, Node};
use crate::value::{Key, Map, Message, Value};

pub use lazy::{LazyVariables, Variable};

/// Value of an expression, or the reason why it has none.
pub(crate) type Outcome<'a> = Result<Value<'a>, Error>;

/// Evaluates one program on one set of variables.
pub(crate) struct Evaluator<'a, 'l> {
    globals: &'a [Value<'a>],
    /// Variables that are evaluated on first use; their indexes follow the indexes of the other variables.
    lazy: Option<&'l LazyVariables<'a>>,
    locals: Vec<Value<'a>>,
    meter: Meter,
}

impl<'a, 'l> Evaluator<'a, 'l> {
    pub(crate) fn new(globals: &'a [Value<'a>], meter: Meter, lazy: Option<&'l LazyVariables<'a>>) -> Self {
        Self {
            globals,
            lazy,
            locals: Vec::new(),
            meter,
        }
    }

    pub(crate) fn cost(&self) -> u64 {
        self.meter.spent()
    }

    /// Evaluates `node`.
    pub(crate) fn value(&mut self, node: &'a Node) -> Outcome<'a> {
        self.meter.step()?;
        match node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Global(index) => {
                self.meter.charge(1)?;
                match self.globals.get(*index) {
                    Some(Value::Unavailable(why)) => Err(Error::failed(*why)),
                    Some(value) => Ok(value.clone()),
                    None => match self.lazy {
                        Some(lazy) => lazy.value(index - self.globals.len()),
                        None => Err(Error::failed("no such attribute")),
                    },
                }
            }
            Node::Local(index) => {
                self.meter.charge(1)?;
                let value = self.locals.get(*index).cloned();
                value.ok_or_else(|| Error::failed("no such attribute"))
            }
            Node::Select { operand, field, mode } => self.select(operand, field, *mode),
            Node::Call { candidates, args } => self.call(candidates, args),
            Node::And(terms) => self.logic(terms, false),
            Node::Or(terms) => self.logic(terms, true),
            Node::Conditional(parts) => self.conditional(parts),
            Node::List(items) => self.list(items),
            Node::Map(entries) => self.map(entries),
            Node::Message { name, fields } => self.message(name, fields),
            Node::Fold(fold_macro) => self.fold(fold_macro),
            Node::OptMap { flat, target, body } => self.opt_map(*flat, target, body),
            Node::OptOr { unwraps, parts } => self.opt_or(*unwraps, parts),
        }
    }

    /// Evaluates the terms of `&&` or `||` until a term has the value `decides`: false for `&&`, true for
    /// `||`. An error is returned only if no term has this value, or if the error ends the evaluation.
    fn logic(&mut self, terms: &'a [Node], decides: bool) -> Outcome<'a> {
        let mut failure = None;
        for term in terms {
            match self.value(term) {
                Ok(Value::Bool(value)) if value == decides => return Ok(Value::Bool(decides)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => drop(failure.get_or_insert_with(Error::no_such_overload)),
                Err(error) => self.absorb(&mut failure, error)?,
            }
        }
        failure.map_or(Ok(Value::Bool(!decides)), Err)
    }

    /// Keeps the first error in `failure`, and returns an error that ends the evaluation.
    fn absorb(&self, failure: &mut Option<Error>, error: Error) -> Result<(), Error> {
        if error.ends_evaluation() {
            return Err(error);
        }
        failure.get_or_insert(error);
        Ok(())
    }

    fn conditional(&mut self, [condition, yes, no]: &'a [Node; 3]) -> Outcome<'a> {
        match self.value(condition)? {
            Value::Bool(true) => self.value(yes),
            Value::Bool(false) => self.value(no),
            _ => Err(Error::no_such_overload()),
        }
    }

    fn call(&mut self, candidates: &'a [Candidate], args: &'a [Node]) -> Outcome<'a> {
        let mut values = Vec::with_capacity(args.len());
        for argument in args {
            values.push(self.value(argument)?);
        }
        let fitting = candidates.iter().find(|candidate| {
            candidate
                .args
                .iter()
                .zip(&values)
                .all(|(wanted, value)| wanted.admits(value))
        });
        match fitting {
            Some(candidate) => (candidate.run)(&mut self.meter, &values),
            None => Err(Error::no_such_overload()),
        }
    }

    fn select(&mut self, operand: &'a Node, field: &str, mode: Select) -> Outcome<'a> {
        let operand = self.value(operand)?;
        self.meter.charge(1)?;
        let (operand, optional) = match operand {
            Value::Optional(None) if mode == Select::Presence => return Ok(Value::Bool(false)),
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(operand)) => ((*operand).clone(), true),
            operand => (operand, false),
        };
        let found = match &operand {
            Value::Map(map) => map.field(field),
            Value::Message(message) => message.fields.get(field).cloned(),
            Value::List(_) if mode != Select::Optional && !optional => {
                return Err(Error::failed("unsupported index type 'string' in list"));
            }
            // Values of other types have no fields.
            _ => None,
        };
        match (mode, found) {
            (Select::Presence, found) => Ok(Value::Bool(found.is_some())),
            (Select::Value, Some(found)) if !optional => Ok(found),
            (Select::Value, None) if !optional => Err(Error::failed(format!("no such key: {field}"))),
            (_, found) => Ok(found.map_or(Value::Optional(None), Value::some)),
        }
    }

    fn list(&mut self, items: &'a [(Node, bool)]) -> Outcome<'a> {
        self.meter.charge(10 + items.len() / 8)?;
        let mut values = Vec::with_capacity(items.len());
        for (item, optional) in items {
            match (self.value(item)?, optional) {
                (value, false) => values.push(value),
                (Value::Optional(Some(value)), true) => values.push((*value).clone()),
                (Value::Optional(None), true) => {}
                _ => return Err(Error::no_such_overload()),
            }
        }
        Ok(values.into())
    }

    fn map(&mut self, entries: &'a [(Node, Node, bool)]) -> Outcome<'a> {
        self.meter.charge(30 + entries.len())?;
        let mut map = BTreeMap::new();
        for (key, value, optional) in entries {
            let key = self.value(key)?;
            let value = match (self.value(value)?, optional) {
                (value, false) => value,
                (Value::Optional(Some(value)), true) => (*value).clone(),
                (Value::Optional(None), true) => continue,
                _ => return Err(Error::no_such_overload()),
            };
            insert(&mut map, &key, value)?;
        }
        Ok(Value::Map(Map::Values(Arc::new(map))))
    }

    fn message(&mut self, name: &Arc<str>, fields: &'a [(Box<str>, Node, bool)]) -> Outcome<'a> {
        self.meter.charge(40 + fields.len())?;
        let mut values = BTreeMap::new();
        for (field, value, optional) in fields {
            let value = match (self.value(value)?, optional) {
                (value, false) => value,
                (Value::Optional(Some(value)), true) => (*value).clone(),
                (Value::Optional(None), true) => continue,
                _ => return Err(Error::no_such_overload()),
            };
            values.insert(field.to_string(), value);
        }
        let (name, fields) = (Arc::clone(name), values);
        Ok(Value::Message(Arc::new(Message { name, fields })))
    }

    fn opt_map(&mut self, flat: bool, target: &'a Node, body: &'a Node) -> Outcome<'a> {
        let value = match self.value(target)? {
            Value::Optional(Some(value)) => value,
            Value::Optional(None) => return Ok(Value::Optional(None)),
            _ => return Err(Error::no_such_overload()),
        };
        self.locals.push((*value).clone());
        let result = self.value(body);
        self.locals.pop();
        match result? {
            value @ Value::Optional(_) if flat => Ok(value),
            _ if flat => Err(Error::no_such_overload()),
            value => Ok(Value::some(value)),
        }
    }

    /// Evaluates the alternative only if the optional is empty.
    fn opt_or(&mut self, unwraps: bool, [target, alternative]: &'a [Node; 2]) -> Outcome<'a> {
        let target = self.value(target)?;
        self.meter.charge(1)?;
        match target {
            Value::Optional(Some(inside)) if unwraps => Ok((*inside).clone()),
            target @ Value::Optional(Some(_)) => Ok(target),
            Value::Optional(None) => match self.value(alternative)? {
                value if unwraps || matches!(value, Value::Optional(_)) => Ok(value),
                _ => Err(Error::no_such_overload()),
            },
            _ => Err(Error::no_such_overload()),
        }
    }
}

/// Inserts an entry into `map`, or replaces the value of the existing key.
fn insert<'a>(
    map: &mut BTreeMap<Key<'a>, Value<'a>>,
    key: &Value<'a>,
    value: Value<'a>,
) -> Result<(), Error> {
    let map_key =
        Key::of(key).ok_or_else(|| Error::failed(format!("unsupported key type: {}", key.type_name())))?;
    map.insert(map_key, value);
    Ok(())
}
