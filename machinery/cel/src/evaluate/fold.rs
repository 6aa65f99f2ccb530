//! Evaluation of macros over the elements of a list or the keys of a map.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Evaluator, Outcome, insert};
use crate::ast::Comprehension;
use crate::error::Error;
use crate::library::sorted_by;
use crate::program::FoldMacro;
use crate::value::{Key, Map, Value};

/// Result of the elements so far.
struct FoldResult<'a> {
    /// Error of a condition that could not be evaluated for an element.
    failure: Option<Error>,
    count: usize,
    list: Vec<Value<'a>>,
    keys: Vec<Value<'a>>,
    map: BTreeMap<Key<'a>, Value<'a>>,
}

impl<'a> Evaluator<'a, '_> {
    pub(super) fn fold(&mut self, folding: &'a FoldMacro) -> Outcome<'a> {
        let range = self.value(&folding.range)?;
        // The cost of cel-go's macro expansion, in addition to the elements.
        self.meter.charge(match folding.comprehension {
            Comprehension::Map | Comprehension::Filter | Comprehension::SortBy => 11,
            Comprehension::MapValues | Comprehension::MapEntries => 31,
            _ => 1,
        })?;
        let mut gathered = FoldResult {
            failure: None,
            count: 0,
            list: Vec::new(),
            keys: Vec::new(),
            map: BTreeMap::new(),
        };
        let base = self.locals.len();
        let outcome = self.elements(folding, &range, &mut gathered);
        self.locals.truncate(base);
        match outcome? {
            Some(value) => Ok(value),
            None => self.finish(folding.comprehension, gathered),
        }
    }

    /// Evaluates the elements in order, until one decides.
    fn elements(
        &mut self,
        folding: &'a FoldMacro,
        range: &Value<'a>,
        gathered: &mut FoldResult<'a>,
    ) -> Result<Option<Value<'a>>, Error> {
        match range {
            Value::List(list) => {
                for (index, element) in list.iter().enumerate() {
                    let index = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
                    if let Some(value) = self.element(folding, index, element, gathered)? {
                        return Ok(Some(value));
                    }
                }
            }
            Value::Map(map) => {
                self.meter.charge(map.len() / 8)?;
                for (key, value) in map.entries() {
                    let (first, second) = if folding.pairs {
                        (key, value)
                    } else {
                        (Value::Null, key)
                    };
                    if let Some(value) = self.element(folding, first, second, gathered)? {
                        return Ok(Some(value));
                    }
                }
            }
            _ => return Err(Error::no_such_overload()),
        }
        Ok(None)
    }

    /// Evaluates one element; `index` is a variable only in macros over pairs. A returned value ends the
    /// fold.
    fn element(
        &mut self,
        folding: &'a FoldMacro,
        index: Value<'a>,
        element: Value<'a>,
        gathered: &mut FoldResult<'a>,
    ) -> Result<Option<Value<'a>>, Error> {
        let base = self.locals.len();
        if folding.pairs {
            self.locals.push(index);
        }
        self.locals.push(element.clone());
        let outcome = self.judge_element(folding, element, gathered);
        self.locals.truncate(base);
        outcome
    }

    fn judge_element(
        &mut self,
        folding: &'a FoldMacro,
        element: Value<'a>,
        gathered: &mut FoldResult<'a>,
    ) -> Result<Option<Value<'a>>, Error> {
        if let Some(condition) = &folding.condition {
            match self.value(condition)? {
                Value::Bool(true) => {}
                Value::Bool(false) => return Ok(None),
                _ => return Err(Error::no_such_overload()),
            }
        }
        let result = self.value(&folding.body);
        self.meter.charge(match folding.comprehension {
            Comprehension::Map | Comprehension::Filter => 12,
            Comprehension::MapValues | Comprehension::MapEntries => 2,
            _ => 3,
        })?;
        match folding.comprehension {
            Comprehension::All | Comprehension::Exists => {
                let decides = folding.comprehension == Comprehension::Exists;
                match result {
                    Ok(Value::Bool(value)) if value == decides => return Ok(Some(Value::Bool(decides))),
                    Ok(Value::Bool(_)) => {}
                    Ok(_) => drop(gathered.failure.get_or_insert_with(Error::no_such_overload)),
                    Err(error) => self.absorb(&mut gathered.failure, error)?,
                }
            }
            Comprehension::ExistsOne | Comprehension::Filter => match result? {
                Value::Bool(true) if folding.comprehension == Comprehension::Filter => {
                    gathered.list.push(element)
                }
                Value::Bool(true) => gathered.count += 1,
                Value::Bool(false) => {}
                _ => return Err(Error::no_such_overload()),
            },
            Comprehension::Map => gathered.list.push(result?),
            Comprehension::SortBy => {
                gathered.keys.push(result?);
                gathered.list.push(element);
            }
            Comprehension::MapValues => {
                let value = result?;
                let key = self.locals.iter().rev().nth(1).cloned().unwrap_or(Value::Null);
                insert(&mut gathered.map, &key, value)?;
            }
            Comprehension::MapEntries => {
                let Value::Map(entries) = result? else {
                    return Err(Error::no_such_overload());
                };
                self.meter.charge(entries.len())?;
                for (key, value) in entries.entries() {
                    let known = Key::of(&key).is_some_and(|key| gathered.map.contains_key(&key));
                    if known {
                        return Err(Error::failed("insert failed: a key already exists"));
                    }
                    insert(&mut gathered.map, &key, value)?;
                }
            }
        }
        Ok(None)
    }

    fn finish(&mut self, comprehension: Comprehension, gathered: FoldResult<'a>) -> Outcome<'a> {
        if let Some(failure) = gathered.failure {
            return Err(failure);
        }
        Ok(match comprehension {
            Comprehension::All => Value::Bool(true),
            Comprehension::Exists => Value::Bool(false),
            Comprehension::ExistsOne => Value::Bool(gathered.count == 1),
            Comprehension::Map | Comprehension::Filter => gathered.list.into(),
            Comprehension::SortBy => return sorted_by(&mut self.meter, gathered.list, gathered.keys),
            Comprehension::MapValues | Comprehension::MapEntries => {
                Value::Map(Map::Values(Arc::new(gathered.map)))
            }
        })
    }
}
