//! The function `format`, which inserts values into a text.

use super::text;
use crate::error::Error;
use crate::library::Outcome;
use crate::library::convert::to_string;
use crate::meter::Meter;
use crate::value::{List, Value};

/// Default number of digits after the point.
const PRECISION: usize = 6;
/// Highest number of digits after the point.
const MAX_PRECISION: usize = 1000;

pub(super) fn format<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, Value::List(list)) = (text(args, 0)?, &args[1]) else {
        return Err(Error::no_such_overload());
    };
    meter.charge_bytes(text.len())?;
    let mut output = String::new();
    let mut used = 0;
    let mut rest = &**text;
    while let Some(at) = rest.find('%') {
        output.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            output.push('%');
            rest = after;
            continue;
        }
        let (precision, verb) = clause(&mut rest)?;
        let value = argument(list, used)?;
        used += 1;
        write_clause(meter, &mut output, verb, precision, &value)?;
    }
    output.push_str(rest);
    if used < list.len() {
        let text = format!(
            "too many arguments supplied to string.format (expected {used}, got {})",
            list.len()
        );
        return Err(Error::failed(text));
    }
    Ok(output.into())
}

fn argument<'a>(list: &List<'a>, index: usize) -> Result<Value<'a>, Error> {
    list.get(index)
        .ok_or_else(|| Error::failed(format!("index {index} out of range")))
}

/// Parses the precision and the letter of a clause at the start of `rest`, and removes the clause.
fn clause(rest: &mut &str) -> Result<(Option<usize>, char), Error> {
    let mut precision = None;
    if let Some(digits) = rest.strip_prefix('.') {
        let length = digits
            .find(|digit: char| !digit.is_ascii_digit())
            .unwrap_or(digits.len());
        let number = digits[..length]
            .parse()
            .ok()
            .filter(|number| *number <= MAX_PRECISION);
        precision = Some(number.ok_or_else(|| {
            Error::failed("could not parse formatting clause: error while parsing precision")
        })?);
        *rest = &digits[length..];
    }
    let verb = rest
        .chars()
        .next()
        .ok_or_else(|| Error::failed("unexpected end of string"))?;
    *rest = &rest[verb.len_utf8()..];
    Ok((precision, verb))
}

fn clause_error(clause: &str, accepted: &str, value: &Value<'_>) -> Error {
    let actual = value.type_name();
    Error::failed(format!(
        "error during formatting: {clause} clause can only be used on {accepted}, was given {actual}"
    ))
}

fn write_clause(
    meter: &mut Meter,
    output: &mut String,
    verb: char,
    precision: Option<usize>,
    value: &Value<'_>,
) -> Result<(), Error> {
    meter.charge(1 + precision.unwrap_or_default() / 10)?;
    match (verb, value) {
        ('s', value) => write_value(meter, output, value, false)?,
        ('d', Value::Int(number)) => output.push_str(&number.to_string()),
        ('d', Value::Uint(number)) => output.push_str(&number.to_string()),
        ('d', value) => return Err(clause_error("decimal", "integers", value)),
        ('f' | 'e', value) => {
            let clause = if verb == 'f' { "fixed-point" } else { "scientific" };
            let number = double(value).ok_or_else(|| clause_error(clause, "doubles", value))?;
            let formatted = match special_name(number) {
                Some(word) => word.to_owned(),
                None if verb == 'f' => grouped(number, precision.unwrap_or(PRECISION)),
                None => scientific(number),
            };
            output.push_str(&formatted);
        }
        ('b', Value::Bool(flag)) => output.push(if *flag { '1' } else { '0' }),
        ('b' | 'o' | 'x' | 'X', Value::Int(number)) => {
            output.push_str(if *number < 0 { "-" } else { "" });
            output.push_str(&in_base(number.unsigned_abs(), verb));
        }
        ('b' | 'o' | 'x' | 'X', Value::Uint(number)) => output.push_str(&in_base(*number, verb)),
        ('x' | 'X', Value::String(text)) => write_hex(meter, output, text.as_bytes(), verb)?,
        ('x' | 'X', Value::Bytes(all)) => write_hex(meter, output, all, verb)?,
        ('b', value) => return Err(clause_error("binary", "integers and bools", value)),
        ('o', value) => return Err(clause_error("octal", "integers", value)),
        ('x' | 'X', value) => return Err(clause_error("hex", "integers, byte buffers, and strings", value)),
        (other, _) => {
            return Err(Error::failed(format!(
                "could not parse formatting clause: unrecognized formatting clause \"{other}\""
            )));
        }
    }
    Ok(())
}

/// Returns the number of a double, or of the text of a special double.
fn double(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn special_name(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        return Some("NaN");
    }
    number
        .is_infinite()
        .then_some(if number > 0.0 { "\u{221e}" } else { "-\u{221e}" })
}

fn in_base(number: u64, verb: char) -> String {
    match verb {
        'b' => format!("{number:b}"),
        'o' => format!("{number:o}"),
        'x' => format!("{number:x}"),
        _ => format!("{number:X}"),
    }
}

/// Writes bytes as hexadecimal digits: in lower case if `verb` is `x`, otherwise in upper case.
fn write_hex(meter: &mut Meter, output: &mut String, all: &[u8], verb: char) -> Result<(), Error> {
    meter.charge_bytes(2 * all.len())?;
    for byte in all {
        let formatted = if verb == 'x' {
            format!("{byte:02x}")
        } else {
            format!("{byte:02X}")
        };
        output.push_str(&formatted);
    }
    Ok(())
}

/// Formats a number with commas between its thousands, as in American English.
fn grouped(number: f64, precision: usize) -> String {
    let formatted = format!("{number:.precision$}");
    let (sign, rest) = match formatted.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", &formatted[..]),
    };
    let (whole, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let mut output = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            output.push(',');
        }
        output.push(digit);
    }
    output + fraction
}

/// Formats a number with its power of ten. As in cel-go, the precision of the clause is ignored.
fn scientific(number: f64) -> String {
    let formatted = format!("{number:.PRECISION$e}");
    let (digits, exponent) = formatted.split_once('e').unwrap_or((&formatted, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let mut output = format!("{digits}\u{d7}10");
    if exponent < 0 {
        output.push('\u{207b}');
    }
    for digit in format!("{:02}", exponent.abs()).chars() {
        let high = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
        output.push(high[digit.to_digit(10).unwrap_or_default() as usize]);
    }
    output
}

/// Writes `value` for `%s`. With `inside`, the value is in a list or map, where text is quoted, and other
/// values have the form of an expression.
fn write_value(meter: &mut Meter, output: &mut String, value: &Value<'_>, inside: bool) -> Result<(), Error> {
    meter.charge(1)?;
    meter.charge_bytes(value.size())?;
    match value {
        Value::Null => output.push_str("null"),
        Value::List(list) => {
            output.push('[');
            for (index, element) in list.iter().enumerate() {
                output.push_str(if index > 0 { ", " } else { "" });
                write_value(meter, output, &element, true)?;
            }
            output.push(']');
        }
        Value::Map(map) => {
            output.push('{');
            for (index, (key, element)) in map.entries().into_iter().enumerate() {
                output.push_str(if index > 0 { ", " } else { "" });
                write_value(meter, output, &key, true)?;
                output.push(':');
                write_value(meter, output, &element, true)?;
            }
            output.push('}');
        }
        Value::Type(name) => output.push_str(name),
        Value::Double(number) if inside && number.is_finite() => output.push_str(&format!("{number:.6}")),
        Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Timestamp(_)
        | Value::Duration(_) => {
            let Value::String(text) = to_string(meter, value)? else {
                return Err(Error::no_such_overload());
            };
            match value {
                Value::String(_) | Value::Double(_) if inside => output.push_str(&quoted(&text)),
                Value::Bytes(_) if inside => output.push_str(&format!("b{}", quoted(&text))),
                Value::Timestamp(_) if inside => output.push_str(&format!("timestamp(\"{}\")", &*text)),
                Value::Duration(_) if inside => output.push_str(&format!("duration(\"{}\")", &*text)),
                _ => output.push_str(&text),
            }
        }
        other => {
            return Err(clause_error(
                "string",
                "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
                other,
            ));
        }
    }
    Ok(())
}

/// Quotes `text` as in a CEL expression.
pub(super) fn quoted(text: &str) -> String {
    let mut output = String::with_capacity(text.len() + 2);
    output.push('"');
    for character in text.chars() {
        match character {
            '\u{7}' => output.push_str("\\a"),
            '\u{8}' => output.push_str("\\b"),
            '\u{c}' => output.push_str("\\f"),
            '\n' => output.push_str("\\n"),
            '\r' => output.push_str("\\r"),
            '\t' => output.push_str("\\t"),
            '\u{b}' => output.push_str("\\v"),
            '\\' => output.push_str("\\\\"),
            '"' => output.push_str("\\\""),
            other => output.push(other),
        }
    }
    output.push('"');
    output
}
