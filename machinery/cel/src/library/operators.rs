//! Operators, with the names of cel-go, and the functions `dyn` and `type`.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Function, Outcome, function};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{Key, List, Order, Value};

/// Signatures of comparisons of values of one type.
const ORDERED: &[&str] = &[
    "(bool, bool) bool",
    "(int, int) bool",
    "(uint, uint) bool",
    "(double, double) bool",
    "(string, string) bool",
    "(bytes, bytes) bool",
    "(timestamp, timestamp) bool",
    "(duration, duration) bool",
];

/// Signatures of comparisons of numbers of different types.
const CROSS_TYPE_SIGNATURES: &[&str] = &[
    "(int, uint) bool",
    "(int, double) bool",
    "(uint, int) bool",
    "(uint, double) bool",
    "(double, int) bool",
    "(double, uint) bool",
];

/// Signatures of `*` and `/`.
const NUMBERS: &[&str] = &["(int, int) int", "(uint, uint) uint", "(double, double) double"];

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "_?_:_",
        &["(bool, A, A) A"],
        |_, _| Err(Error::no_such_overload()),
    ),
    function("!_", &["(bool) bool"], not),
    function("-_", &["(int) int", "(double) double"], negate),
    function("_==_", &["(A, A) bool"], |meter, args| equal(meter, args, true)),
    function("_!=_", &["(A, A) bool"], |meter, args| equal(meter, args, false)),
    function("_<_", ORDERED, |meter, args| order(meter, args, Ordering::is_lt)),
    function("_<=_", ORDERED, |meter, args| order(meter, args, Ordering::is_le)),
    function("_>_", ORDERED, |meter, args| order(meter, args, Ordering::is_gt)),
    function("_>=_", ORDERED, |meter, args| order(meter, args, Ordering::is_ge)),
    function(
        "_+_",
        &[
            "(int, int) int",
            "(uint, uint) uint",
            "(double, double) double",
            "(string, string) string",
            "(bytes, bytes) bytes",
            "(list(A), list(A)) list(A)",
            "(duration, duration) duration",
            "(timestamp, duration) timestamp",
            "(duration, timestamp) timestamp",
        ],
        add,
    ),
    function(
        "_-_",
        &[
            "(int, int) int",
            "(uint, uint) uint",
            "(double, double) double",
            "(duration, duration) duration",
            "(timestamp, duration) timestamp",
            "(timestamp, timestamp) duration",
        ],
        subtract,
    ),
    function("_*_", NUMBERS, multiply),
    function("_/_", NUMBERS, divide),
    function("_%_", &["(int, int) int", "(uint, uint) uint"], modulo),
    function("@in", &["(A, list(A)) bool", "(A, map(A, B)) bool"], contains),
    function(
        "_[_]",
        &[
            "(list(A), int) A",
            "(map(A, B), A) B",
            "(optional(list(A)), int) optional(A)",
            "(optional(map(A, B)), A) optional(B)",
        ],
        index,
    ),
    function(
        "_[?_]",
        &[
            "(list(A), int) optional(A)",
            "(map(A, B), A) optional(B)",
            "(optional(list(A)), int) optional(A)",
            "(optional(map(A, B)), A) optional(B)",
        ],
        optional_index,
    ),
    function("dyn", &["(A) dyn"], |_, args| Ok(args[0].clone())),
    function("type", &["(A) type(A)"], |meter, args| {
        meter.charge(1)?;
        Ok(Value::Type(args[0].type_name()))
    }),
];

pub(super) const CROSS_TYPE: &[Function] = &[
    function("_<_", CROSS_TYPE_SIGNATURES, |meter, args| {
        order(meter, args, Ordering::is_lt)
    }),
    function("_<=_", CROSS_TYPE_SIGNATURES, |meter, args| {
        order(meter, args, Ordering::is_le)
    }),
    function("_>_", CROSS_TYPE_SIGNATURES, |meter, args| {
        order(meter, args, Ordering::is_gt)
    }),
    function("_>=_", CROSS_TYPE_SIGNATURES, |meter, args| {
        order(meter, args, Ordering::is_ge)
    }),
];

fn overflow(operand: &str) -> Error {
    Error::failed(format!("{operand} overflow"))
}

fn not<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge(1)?;
    match args {
        [Value::Bool(value)] => Ok(Value::Bool(!value)),
        _ => Err(Error::no_such_overload()),
    }
}

fn negate<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge(1)?;
    match args {
        [Value::Int(value)] => value
            .checked_neg()
            .map(Value::Int)
            .ok_or_else(|| overflow("integer")),
        [Value::Double(value)] => Ok(Value::Double(-value)),
        _ => Err(Error::no_such_overload()),
    }
}

fn equal<'a>(meter: &mut Meter, args: &[Value<'a>], wanted: bool) -> Outcome<'a> {
    let [one, other] = args else {
        return Err(Error::no_such_overload());
    };
    meter.charge(1)?;
    Ok(Value::Bool(one.equals(other, meter)? == wanted))
}

fn order<'a>(meter: &mut Meter, args: &[Value<'a>], holds: fn(Ordering) -> bool) -> Outcome<'a> {
    let [one, other] = args else {
        return Err(Error::no_such_overload());
    };
    match one {
        Value::String(_) | Value::Bytes(_) => meter.charge_bytes(one.size().min(other.size()))?,
        _ => meter.charge(1)?,
    }
    match one.order(other) {
        Some(Order::Ordered(order)) => Ok(Value::Bool(holds(order))),
        Some(Order::Unordered) => Ok(Value::Bool(false)),
        None => Err(Error::no_such_overload()),
    }
}

pub(super) fn add<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [one, other] = args else {
        return Err(Error::no_such_overload());
    };
    match (one, other) {
        (Value::String(_), _) | (Value::Bytes(_), _) => meter.charge_bytes(one.size() + other.size())?,
        // cel-go concatenates lists without copying; here they are copied.
        (Value::List(one), Value::List(other)) => meter.charge(1 + (one.len() + other.len()) / 4)?,
        _ => meter.charge(1)?,
    }
    Ok(match (one, other) {
        (Value::Int(one), Value::Int(other)) => {
            Value::Int(one.checked_add(*other).ok_or_else(|| overflow("integer"))?)
        }
        (Value::Uint(one), Value::Uint(other)) => Value::Uint(
            one.checked_add(*other)
                .ok_or_else(|| overflow("unsigned integer"))?,
        ),
        (Value::Double(one), Value::Double(other)) => Value::Double(one + other),
        (Value::String(one), Value::String(other)) => format!("{}{}", &**one, &**other).into(),
        (Value::Bytes(one), Value::Bytes(other)) => Value::Bytes([&**one, &**other].concat().into()),
        (Value::List(one), Value::List(other)) => {
            let both: Arc<[Value<'a>]> = one.iter().chain(other.iter()).collect();
            Value::List(List::Values(both))
        }
        (Value::Duration(one), Value::Duration(other)) => {
            Value::Duration(one.checked_add(*other).ok_or_else(|| overflow("duration"))?)
        }
        (Value::Timestamp(moment), Value::Duration(duration))
        | (Value::Duration(duration), Value::Timestamp(moment)) => {
            Value::Timestamp(moment.plus(i128::from(*duration))?)
        }
        _ => return Err(Error::no_such_overload()),
    })
}

fn subtract<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge(1)?;
    Ok(match args {
        [Value::Int(one), Value::Int(other)] => {
            Value::Int(one.checked_sub(*other).ok_or_else(|| overflow("integer"))?)
        }
        [Value::Uint(one), Value::Uint(other)] => Value::Uint(
            one.checked_sub(*other)
                .ok_or_else(|| overflow("unsigned integer"))?,
        ),
        [Value::Double(one), Value::Double(other)] => Value::Double(one - other),
        [Value::Duration(one), Value::Duration(other)] => {
            Value::Duration(one.checked_sub(*other).ok_or_else(|| overflow("duration"))?)
        }
        [Value::Timestamp(moment), Value::Duration(duration)] => {
            Value::Timestamp(moment.plus(-i128::from(*duration))?)
        }
        [Value::Timestamp(one), Value::Timestamp(other)] => {
            let between = one.nanoseconds() - other.nanoseconds();
            Value::Duration(i64::try_from(between).map_err(|_| overflow("duration"))?)
        }
        _ => return Err(Error::no_such_overload()),
    })
}

fn multiply<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge(1)?;
    Ok(match args {
        [Value::Int(one), Value::Int(other)] => {
            Value::Int(one.checked_mul(*other).ok_or_else(|| overflow("integer"))?)
        }
        [Value::Uint(one), Value::Uint(other)] => Value::Uint(
            one.checked_mul(*other)
                .ok_or_else(|| overflow("unsigned integer"))?,
        ),
        [Value::Double(one), Value::Double(other)] => Value::Double(one * other),
        _ => return Err(Error::no_such_overload()),
    })
}

fn divide<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge(1)?;
    Ok(match args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            return Err(Error::failed("division by zero"));
        }
        [Value::Int(one), Value::Int(other)] => {
            Value::Int(one.checked_div(*other).ok_or_else(|| overflow("integer"))?)
        }
        [Value::Uint(one), Value::Uint(other)] => Value::Uint(one / other),
        [Value::Double(one), Value::Double(other)] => Value::Double(one / other),
        _ => return Err(Error::no_such_overload()),
    })
}

fn modulo<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge(1)?;
    Ok(match args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            return Err(Error::failed("modulus by zero"));
        }
        [Value::Int(one), Value::Int(other)] => {
            Value::Int(one.checked_rem(*other).ok_or_else(|| overflow("integer"))?)
        }
        [Value::Uint(one), Value::Uint(other)] => Value::Uint(one % other),
        _ => return Err(Error::no_such_overload()),
    })
}

/// Evaluates the operator `in`.
fn contains<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [wanted, Value::List(list)] => {
            for element in list.iter() {
                meter.charge(1)?;
                if element.equals(wanted, meter)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        [wanted, Value::Map(map)] => {
            meter.charge(1)?;
            let value = Key::lookup_key(wanted).and_then(|key| map.get(&key));
            Ok(Value::Bool(value.is_some()))
        }
        _ => Err(Error::no_such_overload()),
    }
}

/// Returns the element of a list or map; fails if the element is absent.
fn element_at<'a>(container: &Value<'a>, key: &Value<'a>) -> Outcome<'a> {
    match container {
        Value::List(list) => {
            let index = match key {
                Value::Int(index) => usize::try_from(*index).ok(),
                Value::Uint(index) => usize::try_from(*index).ok(),
                Value::Double(index) if index.fract() == 0.0 && (0.0..1e15).contains(index) => {
                    Some(*index as usize)
                }
                _ => return Err(Error::no_such_overload()),
            };
            let element = index.and_then(|index| list.get(index));
            element.ok_or_else(|| {
                let description = match key {
                    Value::Int(index) => index.to_string(),
                    other => other.type_name().to_owned(),
                };
                Error::failed(format!("index out of bounds: {description}"))
            })
        }
        Value::Map(map) => {
            let value = Key::lookup_key(key).and_then(|key| map.get(&key));
            value.ok_or_else(|| {
                let description = match key {
                    Value::String(text) => text.to_string(),
                    Value::Int(number) => number.to_string(),
                    other => other.type_name().to_owned(),
                };
                Error::failed(format!("no such key: {description}"))
            })
        }
        _ => Err(Error::no_such_overload()),
    }
}

fn index<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge(1)?;
    match args {
        [Value::Optional(_), _] => optional_element(args),
        [container, key] => element_at(container, key),
        _ => Err(Error::no_such_overload()),
    }
}

fn optional_index<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge(1)?;
    optional_element(args)
}

/// Returns the element as an optional. The container may itself be an optional.
fn optional_element<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [container, key] = args else {
        return Err(Error::no_such_overload());
    };
    let container = match container {
        Value::Optional(None) => return Ok(Value::Optional(None)),
        Value::Optional(Some(container)) => container,
        container => container,
    };
    match element_at(container, key) {
        Ok(element) => Ok(Value::some(element)),
        Err(error) if error.ends_evaluation() => Err(error),
        // A list index that is not a number, has a fraction, or is a uint above the range of int, is an
        // error. After any other failure, the element is absent.
        Err(error) => match (container, key) {
            (Value::List(_), Value::Int(_)) => Ok(Value::Optional(None)),
            (Value::List(_), Value::Uint(index)) if i64::try_from(*index).is_ok() => {
                Ok(Value::Optional(None))
            }
            (Value::List(_), Value::Double(index)) if index.fract() == 0.0 => Ok(Value::Optional(None)),
            (Value::List(_), _) => Err(error),
            _ => Ok(Value::Optional(None)),
        },
    }
}
