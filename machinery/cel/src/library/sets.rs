//! Functions of lists as sets.

use super::{Function, Outcome, function, lists};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{List, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    function("sets.contains", &["(list(A), list(A)) bool"], |meter, args| {
        let (one, other) = two_lists(args)?;
        Ok(Value::Bool(contains(meter, one, other)?))
    }),
    function("sets.equivalent", &["(list(A), list(A)) bool"], |meter, args| {
        let (one, other) = two_lists(args)?;
        Ok(Value::Bool(
            contains(meter, one, other)? && contains(meter, other, one)?,
        ))
    }),
    function("sets.intersects", &["(list(A), list(A)) bool"], intersects),
];

fn two_lists<'v, 'a>(args: &'v [Value<'a>]) -> Result<(&'v List<'a>, &'v List<'a>), Error> {
    Ok((lists::list(args)?, lists::list(&args[1..])?))
}

fn contains_element<'a>(meter: &mut Meter, list: &List<'a>, wanted: &Value<'a>) -> Result<bool, Error> {
    for element in list.iter() {
        meter.charge(1)?;
        if element.equals(wanted, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains<'a>(meter: &mut Meter, list: &List<'a>, all: &List<'a>) -> Result<bool, Error> {
    for wanted in all.iter() {
        meter.charge(1)?;
        if !contains_element(meter, list, &wanted)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (one, other) = two_lists(args)?;
    for wanted in other.iter() {
        meter.charge(1)?;
        if contains_element(meter, one, &wanted)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}
