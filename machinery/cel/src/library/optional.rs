//! Functions of optional values.

use super::{Function, Outcome, function, lists};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    function("optional.of", &["(A) optional(A)"], |meter, args| {
        meter.charge(1)?;
        Ok(Value::some(args[0].clone()))
    }),
    function("optional.ofNonZeroValue", &["(A) optional(A)"], |meter, args| {
        meter.charge(1)?;
        if args[0].is_zero() {
            return Ok(Value::Optional(None));
        }
        Ok(Value::some(args[0].clone()))
    }),
    function("optional.none", &["() optional(A)"], |meter, _| {
        meter.charge(1)?;
        Ok(Value::Optional(None))
    }),
    function("value", &["optional(A).() A"], |meter, args| {
        meter.charge(1)?;
        inside(args)?.ok_or_else(|| Error::failed("optional.none() dereference"))
    }),
    function("hasValue", &["optional(A).() bool"], |meter, args| {
        meter.charge(1)?;
        Ok(Value::Bool(inside(args)?.is_some()))
    }),
    function("or", &["optional(A).(optional(A)) optional(A)"], |meter, args| {
        meter.charge(1)?;
        Ok(if inside(args)?.is_some() {
            args[0].clone()
        } else {
            args[1].clone()
        })
    }),
    function("orValue", &["optional(A).(A) A"], |meter, args| {
        meter.charge(1)?;
        Ok(inside(args)?.unwrap_or_else(|| args[1].clone()))
    }),
];

pub(super) const LISTS: &[Function] = &[
    function("first", &["list(A).() optional(A)"], |meter, args| {
        meter.charge(1)?;
        let first = lists::list(args)?.get(0);
        Ok(first.map_or(Value::Optional(None), Value::some))
    }),
    function("last", &["list(A).() optional(A)"], |meter, args| {
        meter.charge(1)?;
        let last = lists::list(args)?.iter().next_back();
        Ok(last.map_or(Value::Optional(None), Value::some))
    }),
    function("optional.unwrap", &["(list(optional(A))) list(A)"], unwrap),
    function("unwrapOpt", &["list(optional(A)).() list(A)"], unwrap),
];

fn inside<'a>(args: &[Value<'a>]) -> Result<Option<Value<'a>>, Error> {
    match &args[0] {
        Value::Optional(value) => Ok(value.as_deref().cloned()),
        _ => Err(Error::no_such_overload()),
    }
}

fn unwrap<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let all = lists::list(args)?;
    meter.charge(1 + all.len())?;
    let mut values = Vec::new();
    for element in all.iter() {
        match element {
            Value::Optional(Some(value)) => values.push((*value).clone()),
            Value::Optional(None) => {}
            _ => return Err(Error::no_such_overload()),
        }
    }
    Ok(values.into())
}
