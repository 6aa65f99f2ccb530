//! Functions of lists.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Function, Outcome, count, function, strings};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{List, Order, Value};

/// Signatures of `isSorted`.
const SORTED: &[&str] = &[
    "list(int).() bool",
    "list(uint).() bool",
    "list(double).() bool",
    "list(bool).() bool",
    "list(duration).() bool",
    "list(timestamp).() bool",
    "list(string).() bool",
    "list(bytes).() bool",
];

/// Signatures of `min` and `max`.
const EXTREMES: &[&str] = &[
    "list(int).() int",
    "list(uint).() uint",
    "list(double).() double",
    "list(bool).() bool",
    "list(duration).() duration",
    "list(timestamp).() timestamp",
    "list(string).() string",
    "list(bytes).() bytes",
];

/// Signatures of `sort`.
const SORT: &[&str] = &[
    "list(int).() list(int)",
    "list(uint).() list(uint)",
    "list(double).() list(double)",
    "list(bool).() list(bool)",
    "list(duration).() list(duration)",
    "list(timestamp).() list(timestamp)",
    "list(string).() list(string)",
    "list(bytes).() list(bytes)",
];

pub(super) const KUBERNETES: &[Function] = &[
    function("isSorted", SORTED, is_sorted),
    function("min", EXTREMES, |meter, args| {
        extreme(meter, args, "min", Ordering::Less)
    }),
    function("max", EXTREMES, |meter, args| {
        extreme(meter, args, "max", Ordering::Greater)
    }),
    function("sum", &["list(int).() int"], |meter, args| {
        sum(meter, args, Value::Int(0))
    }),
    function("sum", &["list(uint).() uint"], |meter, args| {
        sum(meter, args, Value::Uint(0))
    }),
    function("sum", &["list(double).() double"], |meter, args| {
        sum(meter, args, Value::Double(0.0))
    }),
    function("sum", &["list(duration).() duration"], |meter, args| {
        sum(meter, args, Value::Duration(0))
    }),
    function("indexOf", &["list(A).(A) int"], |meter, args| {
        index_of(meter, args, false)
    }),
    function("lastIndexOf", &["list(A).(A) int"], |meter, args| {
        index_of(meter, args, true)
    }),
];

pub(super) const EXTENDED: &[Function] = &[
    function("slice", &["list(A).(int, int) list(A)"], slice),
    function(
        "flatten",
        &["list(list(A)).() list(A)", "list(dyn).(int) list(dyn)"],
        flatten,
    ),
    function("sort", SORT, |meter, args| {
        let all: Vec<Value<'_>> = list(args)?.iter().collect();
        sorted_by(meter, all.clone(), all)
    }),
    function("lists.range", &["(int) list(int)"], range),
    function("reverse", &["list(A).() list(A)"], |meter, args| {
        let all = list(args)?;
        meter.charge(10 + all.len())?;
        Ok(all.iter().rev().collect::<Vec<_>>().into())
    }),
    function("distinct", &["list(A).() list(A)"], distinct),
];

/// Returns the first argument, which is a list.
pub(super) fn list<'v, 'a>(args: &'v [Value<'a>]) -> Result<&'v List<'a>, Error> {
    match args.first() {
        Some(Value::List(list)) => Ok(list),
        _ => Err(Error::no_such_overload()),
    }
}

fn compare(one: &Value<'_>, other: &Value<'_>) -> Result<Ordering, Error> {
    match one.order(other) {
        Some(Order::Ordered(order)) => Ok(order),
        Some(Order::Unordered) => Ok(Ordering::Equal),
        None => Err(Error::no_such_overload()),
    }
}

fn is_sorted<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let mut last: Option<Value<'a>> = None;
    for element in list(args)?.iter() {
        meter.charge(1)?;
        meter.charge_bytes(element.size())?;
        if let Some(last) = &last
            && compare(last, &element)?.is_gt()
        {
            return Ok(Value::Bool(false));
        }
        last = Some(element);
    }
    Ok(Value::Bool(true))
}

/// Returns the minimum if `wanted` is `Less`, or the maximum if it is `Greater`; the first of equal elements.
/// `name` is the name of the function, for the error of an empty list.
fn extreme<'a>(meter: &mut Meter, args: &[Value<'a>], name: &str, wanted: Ordering) -> Outcome<'a> {
    let mut best: Option<Value<'a>> = None;
    for element in list(args)?.iter() {
        meter.charge(1)?;
        meter.charge_bytes(element.size())?;
        let better = match &best {
            Some(best) => compare(&element, best)? == wanted,
            None => true,
        };
        if better {
            best = Some(element);
        }
    }
    best.ok_or_else(|| Error::failed(format!("{name} called on empty list")))
}

fn sum<'a>(meter: &mut Meter, args: &[Value<'a>], zero: Value<'a>) -> Outcome<'a> {
    let mut total = zero;
    for element in list(args)?.iter() {
        total = match (&total, &element) {
            // For a list of unknown type, the elements determine the type of the sum.
            (Value::Int(0), Value::Double(_) | Value::Uint(_) | Value::Duration(_)) => element,
            _ => super::operators::add(meter, &[total, element])?,
        };
    }
    Ok(total)
}

fn index_of<'a>(meter: &mut Meter, args: &[Value<'a>], last: bool) -> Outcome<'a> {
    let [Value::List(list), wanted] = args else {
        return Err(Error::no_such_overload());
    };
    let indexes: Box<dyn Iterator<Item = usize>> = if last {
        Box::new((0..list.len()).rev())
    } else {
        Box::new(0..list.len())
    };
    for index in indexes {
        meter.charge(1)?;
        if let Some(element) = list.get(index)
            && element.equals(wanted, meter)?
        {
            return Ok(count(index));
        }
    }
    Ok(Value::Int(-1))
}

fn slice<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let all = list(args)?;
    let (start, end) = (strings::number(args, 1)?, strings::number(args, 2)?);
    if start < 0 || end < 0 {
        return Err(Error::failed(format!(
            "cannot slice({start}, {end}), negative indexes not supported"
        )));
    }
    if start > end {
        return Err(Error::failed(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        )));
    }
    let (from, until) = (usize::try_from(start).ok(), usize::try_from(end).ok());
    let (Some(from), Some(until)) = (from, until.filter(|until| *until <= all.len())) else {
        return Err(Error::failed(format!(
            "cannot slice({start}, {end}), list is length {}",
            all.len()
        )));
    };
    meter.charge(10 + until - from)?;
    Ok((from..until)
        .filter_map(|index| all.get(index))
        .collect::<Vec<_>>()
        .into())
}

fn flatten<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let depth = if args.len() > 1 {
        strings::number(args, 1)?
    } else {
        1
    };
    if depth < 0 {
        return Err(Error::failed("level must be non-negative"));
    }
    let mut flat = Vec::new();
    flatten_into(meter, list(args)?, depth, &mut flat)?;
    Ok(flat.into())
}

/// Adds the elements of `list` to `flat`, with nested lists flattened up to `depth`. The recursion is no
/// deeper than the nesting of the lists.
fn flatten_into<'a>(
    meter: &mut Meter,
    list: &List<'a>,
    depth: i64,
    flat: &mut Vec<Value<'a>>,
) -> Result<(), Error> {
    for element in list.iter() {
        meter.charge(1)?;
        match element {
            Value::List(inner) if depth > 0 => flatten_into(meter, &inner, depth - 1, flat)?,
            other => flat.push(other),
        }
    }
    Ok(())
}

fn range<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let end = strings::number(args, 0)?;
    let length = usize::try_from(end).unwrap_or_default();
    meter.charge(length.saturating_add(10))?;
    let all: Arc<[Value<'a>]> = (0..end.max(0)).map(Value::Int).collect();
    Ok(Value::List(List::Values(all)))
}

fn distinct<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let mut all: Vec<Value<'a>> = Vec::new();
    'elements: for element in list(args)?.iter() {
        meter.charge(1)?;
        for known in &all {
            meter.charge(1)?;
            if known.equals(&element, meter)? {
                continue 'elements;
            }
        }
        all.push(element);
    }
    Ok(all.into())
}

/// Returns `list` in the order of `keys`, with one key for each element.
pub(crate) fn sorted_by<'a>(meter: &mut Meter, list: Vec<Value<'a>>, keys: Vec<Value<'a>>) -> Outcome<'a> {
    // A sort compares each element about `rounds` times. A comparison costs the length of a key.
    let rounds = usize::try_from(list.len().checked_ilog2().unwrap_or_default()).unwrap_or_default() + 1;
    let mut length = 0;
    for pair in keys.windows(2) {
        compare(&pair[0], &pair[1])?;
        length += pair[0].size();
    }
    meter.charge(list.len().saturating_mul(rounds))?;
    meter.charge_bytes(length.saturating_mul(rounds))?;
    let mut pairs: Vec<(Value<'a>, Value<'a>)> = keys.into_iter().zip(list).collect();
    // A sort may panic without a total order, so NaN is behind all numbers.
    let is_nan = |key: &Value<'a>| matches!(key, Value::Double(number) if number.is_nan());
    pairs.sort_by(|(one, _), (other, _)| {
        let order = is_nan(one).cmp(&is_nan(other));
        order.then_with(|| compare(one, other).unwrap_or(Ordering::Equal))
    });
    Ok(pairs
        .into_iter()
        .map(|(_, element)| element)
        .collect::<Vec<_>>()
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_sorted_behind_all_numbers() {
        let keys: Vec<Value<'_>> = [2.0, f64::NAN, 1.0].map(Value::Double).into();
        let mut meter = Meter::new(1000, Arc::default(), true);
        let sorted = sorted_by(&mut meter, keys.clone(), keys).unwrap();
        let sorted: Vec<String> = list(&[sorted])
            .unwrap()
            .iter()
            .map(|number| format!("{number:?}"))
            .collect();
        assert_eq!(sorted, ["Double(1.0)", "Double(2.0)", "Double(NaN)"]);
    }
}
