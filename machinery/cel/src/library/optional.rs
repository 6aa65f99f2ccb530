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
    function("or", &["optional(A).(optional(A)) optional(A)"], not_called),
    function("orValue", &["optional(A).(A) A"], not_called),
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

/// Implementation of `or` and `orValue`. The evaluator does not call it: it evaluates an alternative only if
/// the optional is empty (`Node::OptOr`).
fn not_called<'a>(_: &mut Meter, _: &[Value<'a>]) -> Outcome<'a> {
    Err(Error::no_such_overload())
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

#[cfg(test)]
mod tests {
    use crate::{Environment, PER_CALL_LIMIT, Value};

    #[test]
    fn an_alternative_is_evaluated_only_for_an_empty_optional() {
        let environment = Environment::kubernetes();
        for (source, has_value) in [
            ("optional.of(1).orValue(1 / 0) == 1", true),
            ("optional.of(1).or(optional.of(1 / 0)).value() == 1", true),
            ("optional.none().or(optional.of(1)).orValue(1 / 0) == 1", true),
            ("optional.none().orValue(1 / 0) == 1", false),
            ("optional.none().or(optional.of(1 / 0)).value() == 1", false),
        ] {
            let program = environment
                .compile(source)
                .unwrap_or_else(|error| panic!("{source}: {error}"));
            let value = program.evaluate(&[], PER_CALL_LIMIT).value;
            assert_eq!(matches!(value, Ok(Value::Bool(true))), has_value, "{source}");
            assert_eq!(value.is_err(), !has_value, "{source}");
        }
    }
}
