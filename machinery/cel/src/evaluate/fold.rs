//! Evaluation of macros over lists and maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Evaluator, Outcome, insert};
use crate::ast::Comprehension;
use crate::error::Error;
use crate::library::sorted_by;
use crate::program::FoldMacro;
use crate::value::{Key, Map, Value};

/// Results of the elements that are evaluated so far.
struct FoldResult<'a> {
    /// First error of the body in `all` or `exists`.
    failure: Option<Error>,
    /// Number of elements that fulfil the condition of `exists_one`.
    count: usize,
    list: Vec<Value<'a>>,
    /// Sort keys of the elements in `list`.
    keys: Vec<Value<'a>>,
    map: BTreeMap<Key<'a>, Value<'a>>,
}

impl<'a> Evaluator<'a, '_> {
    pub(super) fn fold(&mut self, fold_macro: &'a FoldMacro) -> Outcome<'a> {
        let range = self.value(&fold_macro.range)?;
        // The cost of cel-go's macro expansion, in addition to the cost of the elements.
        self.meter.charge(match fold_macro.comprehension {
            Comprehension::Map | Comprehension::Filter | Comprehension::SortBy => 11,
            Comprehension::MapValues | Comprehension::MapEntries => 31,
            _ => 1,
        })?;
        let mut results = FoldResult {
            failure: None,
            count: 0,
            list: Vec::new(),
            keys: Vec::new(),
            map: BTreeMap::new(),
        };
        let base = self.locals.len();
        let outcome = self.elements(fold_macro, &range, &mut results);
        self.locals.truncate(base);
        match outcome? {
            Some(value) => Ok(value),
            None => self.finish(fold_macro.comprehension, results),
        }
    }

    /// Evaluates the elements in order, until an element determines the value of the macro.
    fn elements(
        &mut self,
        fold_macro: &'a FoldMacro,
        range: &Value<'a>,
        results: &mut FoldResult<'a>,
    ) -> Result<Option<Value<'a>>, Error> {
        match range {
            Value::List(list) => {
                for (index, element) in list.iter().enumerate() {
                    let index = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
                    if let Some(value) = self.element(fold_macro, index, element, results)? {
                        return Ok(Some(value));
                    }
                }
            }
            Value::Map(map) => {
                self.meter.charge(map.len() / 8)?;
                for (key, value) in map.entries() {
                    let (first, second) = if fold_macro.pairs {
                        (key, value)
                    } else {
                        (Value::Null, key)
                    };
                    if let Some(value) = self.element(fold_macro, first, second, results)? {
                        return Ok(Some(value));
                    }
                }
            }
            _ => return Err(Error::no_such_overload()),
        }
        Ok(None)
    }

    /// Evaluates one element. `index`, the index or the key, is a variable only in macros with two variables.
    /// A returned value is the value of the macro, and the other elements are not evaluated.
    fn element(
        &mut self,
        fold_macro: &'a FoldMacro,
        index: Value<'a>,
        element: Value<'a>,
        results: &mut FoldResult<'a>,
    ) -> Result<Option<Value<'a>>, Error> {
        let base = self.locals.len();
        if fold_macro.pairs {
            self.locals.push(index);
        }
        self.locals.push(element.clone());
        let outcome = self.add_element(fold_macro, element, results);
        self.locals.truncate(base);
        outcome
    }

    /// Evaluates the condition and the body for the element in the variables, and adds the result to
    /// `results`. A returned value is the value of the macro.
    fn add_element(
        &mut self,
        fold_macro: &'a FoldMacro,
        element: Value<'a>,
        results: &mut FoldResult<'a>,
    ) -> Result<Option<Value<'a>>, Error> {
        if let Some(condition) = &fold_macro.condition {
            match self.value(condition)? {
                Value::Bool(true) => {}
                Value::Bool(false) => return Ok(None),
                _ => return Err(Error::no_such_overload()),
            }
        }
        let result = self.value(&fold_macro.body);
        self.meter.charge(match fold_macro.comprehension {
            Comprehension::Map | Comprehension::Filter => 12,
            Comprehension::MapValues | Comprehension::MapEntries => 2,
            _ => 3,
        })?;
        match fold_macro.comprehension {
            Comprehension::All | Comprehension::Exists => {
                let decides = fold_macro.comprehension == Comprehension::Exists;
                match result {
                    Ok(Value::Bool(value)) if value == decides => return Ok(Some(Value::Bool(decides))),
                    Ok(Value::Bool(_)) => {}
                    Ok(_) => drop(results.failure.get_or_insert_with(Error::no_such_overload)),
                    Err(error) => self.absorb(&mut results.failure, error)?,
                }
            }
            Comprehension::ExistsOne | Comprehension::Filter => match result? {
                Value::Bool(true) if fold_macro.comprehension == Comprehension::Filter => {
                    results.list.push(element)
                }
                Value::Bool(true) => results.count += 1,
                Value::Bool(false) => {}
                _ => return Err(Error::no_such_overload()),
            },
            Comprehension::Map => results.list.push(result?),
            Comprehension::SortBy => {
                results.keys.push(result?);
                results.list.push(element);
            }
            Comprehension::MapValues => {
                let value = result?;
                let key = self.locals.iter().rev().nth(1).cloned().unwrap_or(Value::Null);
                insert(&mut results.map, &key, value)?;
            }
            Comprehension::MapEntries => {
                let Value::Map(entries) = result? else {
                    return Err(Error::no_such_overload());
                };
                self.add_entries(&entries, results)?;
            }
        }
        Ok(None)
    }

    /// Adds `entries` to the resulting map, whose keys must be different.
    fn add_entries(&mut self, entries: &Map<'a>, results: &mut FoldResult<'a>) -> Result<(), Error> {
        self.meter.charge(entries.len())?;
        for (key, value) in entries.entries() {
            let known = Key::of(&key).is_some_and(|key| results.map.contains_key(&key));
            if known {
                return Err(Error::failed("insert failed: a key already exists"));
            }
            insert(&mut results.map, &key, value)?;
        }
        Ok(())
    }

    /// Returns the value of the macro after all elements.
    fn finish(&mut self, comprehension: Comprehension, results: FoldResult<'a>) -> Outcome<'a> {
        if let Some(failure) = results.failure {
            return Err(failure);
        }
        Ok(match comprehension {
            Comprehension::All => Value::Bool(true),
            Comprehension::Exists => Value::Bool(false),
            Comprehension::ExistsOne => Value::Bool(results.count == 1),
            Comprehension::Map | Comprehension::Filter => results.list.into(),
            Comprehension::SortBy => return sorted_by(&mut self.meter, results.list, results.keys),
            Comprehension::MapValues | Comprehension::MapEntries => {
                Value::Map(Map::Values(Arc::new(results.map)))
            }
        })
    }
}
