//! Equality and order of values.

use std::cmp::Ordering;

use super::{Key, Value};
use crate::error::Error;
use crate::meter::Meter;

/// Order of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The first value is less than, equal to, or greater than the other.
    Ordered(Ordering),
    /// The values are not ordered: one of them is NaN.
    Unordered,
}

/// Returns `number` as an integer, if it has no fraction and fits.
pub(super) fn whole(number: f64) -> Option<i128> {
    // Below 10^30, a double without a fraction fits in 128 bits.
    (number.fract() == 0.0 && number.abs() < 1e30).then_some(number as i128)
}

/// Numeric value of an int, a uint or a double.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Double(f64),
}

fn number(value: &Value<'_>) -> Option<Number> {
    match value {
        Value::Int(number) => Some(Number::Whole(i128::from(*number))),
        Value::Uint(number) => Some(Number::Whole(i128::from(*number))),
        Value::Double(number) => Some(whole(*number).map_or(Number::Double(*number), Number::Whole)),
        _ => None,
    }
}

fn compare_numbers(one: Number, other: Number) -> Order {
    let order = match (one, other) {
        (Number::Whole(one), Number::Whole(other)) => Some(one.cmp(&other)),
        (Number::Double(one), Number::Double(other)) => one.partial_cmp(&other),
        (Number::Whole(one), Number::Double(other)) => (one as f64).partial_cmp(&other),
        (Number::Double(one), Number::Whole(other)) => one.partial_cmp(&(other as f64)),
    };
    order.map_or(Order::Unordered, Order::Ordered)
}

impl<'a> Value<'a> {
    /// Returns the order of two values; `None` when their types have no order.
    pub(crate) fn order(&self, other: &Value<'_>) -> Option<Order> {
        if let (Some(one), Some(other)) = (number(self), number(other)) {
            return Some(compare_numbers(one, other));
        }
        let order = match (self, other) {
            (Value::String(one), Value::String(other)) => one[..].cmp(&other[..]),
            (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
            (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
            (Value::Duration(one), Value::Duration(other)) => one.cmp(other),
            (Value::Timestamp(one), Value::Timestamp(other)) => one.nanoseconds().cmp(&other.nanoseconds()),
            _ => return None,
        };
        Some(Order::Ordered(order))
    }

    /// Whether two values are equal. Values of different types are not equal, except numbers. Every compared
    /// element is charged.
    pub(crate) fn equals(&self, other: &Value<'a>, meter: &mut Meter) -> Result<bool, Error> {
        meter.step()?;
        if let (Some(one), Some(other)) = (number(self), number(other)) {
            return Ok(compare_numbers(one, other) == Order::Ordered(Ordering::Equal));
        }
        Ok(match (self, other) {
            (Value::Null, Value::Null) | (Value::Optional(None), Value::Optional(None)) => true,
            (Value::String(one), Value::String(other)) => {
                meter.charge_bytes(one.len().min(other.len()))?;
                one[..] == other[..]
            }
            (Value::Bytes(one), Value::Bytes(other)) => {
                meter.charge_bytes(one.len().min(other.len()))?;
                one == other
            }
            (Value::List(one), Value::List(other)) => {
                if one.len() != other.len() {
                    return Ok(false);
                }
                for (one, other) in one.iter().zip(other.iter()) {
                    meter.charge(1)?;
                    if !one.equals(&other, meter)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Map(one), Value::Map(other)) => {
                if one.len() != other.len() {
                    return Ok(false);
                }
                meter.charge(one.len())?;
                for (key, value) in one.entries() {
                    let found = Key::of(&key).and_then(|key| other.get(&key));
                    match found {
                        Some(found) if value.equals(&found, meter)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (Value::Message(one), Value::Message(other)) => {
                if one.name != other.name || one.fields.len() != other.fields.len() {
                    return Ok(false);
                }
                meter.charge(one.fields.len())?;
                for (field, value) in &one.fields {
                    match other.fields.get(field) {
                        Some(found) if value.equals(found, meter)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (Value::Optional(Some(one)), Value::Optional(Some(other))) => return one.equals(other, meter),
            (Value::Type(one), Value::Type(other)) | (Value::Format(one), Value::Format(other)) => {
                one == other
            }
            (Value::Ip(one), Value::Ip(other)) => one == other,
            (Value::Cidr(one, length), Value::Cidr(other, other_length)) => {
                one == other && length == other_length
            }
            (Value::Url(one), Value::Url(other)) => one == other,
            (Value::Quantity(one), Value::Quantity(other)) => one.compare(*other) == Ordering::Equal,
            (Value::Semver(one), Value::Semver(other)) => one.precedence(other) == Ordering::Equal,
            (one, other) => one.order(other) == Some(Order::Ordered(Ordering::Equal)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::value::Message;

    #[test]
    fn objects_are_equal_if_their_types_and_fields_are() {
        let object = |name: &str, field: &str, number: i64| {
            let fields = BTreeMap::from([(field.to_owned(), Value::Int(number))]);
            let name = name.into();
            Value::Message(Arc::new(Message { name, fields }))
        };
        let one = object("Object.spec", "a", 1);
        for (other, is_equal) in [
            (object("Object.spec", "a", 1), true),
            (object("Object.spec", "a", 2), false),
            (object("Object.spec", "b", 1), false),
            (object("Object.status", "a", 1), false),
        ] {
            let mut meter = Meter::new(1000, Arc::default(), true);
            assert_eq!(one.equals(&other, &mut meter), Ok(is_equal), "{other:?}");
        }
    }
}
