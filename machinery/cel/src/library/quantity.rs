//! Functions of quantities.

use super::{Function, function, strings};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{Quantity, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    function("quantity", &["(string) Quantity"], |meter, args| {
        Ok(Value::Quantity(parse(meter, args)?.map_err(Error::failed)?))
    }),
    function("isQuantity", &["(string) bool"], |meter, args| {
        Ok(Value::Bool(parse(meter, args)?.is_ok()))
    }),
    function("sign", &["(Quantity) int"], |meter, args| {
        Ok(Value::Int(operand(meter, args)?.nanos.signum() as i64))
    }),
    function("isGreaterThan", &["Quantity.(Quantity) bool"], |meter, args| {
        let (one, other) = operands(meter, args)?;
        Ok(Value::Bool(one.compare(other).is_gt()))
    }),
    function("isLessThan", &["Quantity.(Quantity) bool"], |meter, args| {
        let (one, other) = operands(meter, args)?;
        Ok(Value::Bool(one.compare(other).is_lt()))
    }),
    function("compareTo", &["Quantity.(Quantity) int"], |meter, args| {
        let (one, other) = operands(meter, args)?;
        Ok(Value::Int(one.compare(other) as i64))
    }),
    function("asApproximateFloat", &["Quantity.() double"], |meter, args| {
        Ok(Value::Double(operand(meter, args)?.float()))
    }),
    function("asInteger", &["Quantity.() int"], |meter, args| {
        let whole = operand(meter, args)?.integer();
        whole
            .map(Value::Int)
            .ok_or_else(|| Error::failed("cannot convert value to integer"))
    }),
    function("isInteger", &["Quantity.() bool"], |meter, args| {
        Ok(Value::Bool(operand(meter, args)?.integer().is_some()))
    }),
    function(
        "add",
        &["Quantity.(Quantity) Quantity", "Quantity.(int) Quantity"],
        |meter, args| {
            let (one, other) = operands(meter, args)?;
            Ok(Value::Quantity(one.plus(other, 1)))
        },
    ),
    function(
        "sub",
        &["Quantity.(Quantity) Quantity", "Quantity.(int) Quantity"],
        |meter, args| {
            let (one, other) = operands(meter, args)?;
            Ok(Value::Quantity(one.plus(other, -1)))
        },
    ),
];

fn parse(meter: &mut Meter, args: &[Value<'_>]) -> Result<Result<Quantity, String>, Error> {
    let text = strings::text(args, 0)?;
    meter.charge_bytes(text.len())?;
    Ok(Quantity::read(text))
}

fn operand(meter: &mut Meter, args: &[Value<'_>]) -> Result<Quantity, Error> {
    meter.charge(1)?;
    match &args[0] {
        Value::Quantity(quantity) => Ok(*quantity),
        Value::Int(number) => Ok(Quantity::whole(*number)),
        _ => Err(Error::no_such_overload()),
    }
}

fn operands(meter: &mut Meter, args: &[Value<'_>]) -> Result<(Quantity, Quantity), Error> {
    Ok((operand(meter, args)?, operand(meter, &args[1..])?))
}
