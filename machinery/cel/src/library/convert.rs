//! Functions that convert between types.

use super::{Function, Outcome, function};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{Moment, Value, format_double, format_duration};

pub(super) const FUNCTIONS: &[Function] = &[
    function("bool", &["(bool) bool", "(string) bool"], to_bool),
    function("bytes", &["(bytes) bytes", "(string) bytes"], to_bytes),
    function(
        "double",
        &[
            "(double) double",
            "(int) double",
            "(uint) double",
            "(string) double",
        ],
        to_double,
    ),
    function(
        "int",
        &[
            "(int) int",
            "(uint) int",
            "(double) int",
            "(string) int",
            "(timestamp) int",
            "(duration) int",
        ],
        to_int,
    ),
    function(
        "uint",
        &["(uint) uint", "(int) uint", "(double) uint", "(string) uint"],
        to_uint,
    ),
    function(
        "string",
        &[
            "(string) string",
            "(bool) string",
            "(bytes) string",
            "(int) string",
            "(uint) string",
            "(double) string",
            "(timestamp) string",
            "(duration) string",
        ],
        |meter, args| to_string(meter, &args[0]),
    ),
    function(
        "duration",
        &["(duration) duration", "(string) duration"],
        to_duration,
    ),
    function(
        "timestamp",
        &["(timestamp) timestamp", "(int) timestamp", "(string) timestamp"],
        to_timestamp,
    ),
];

/// The largest int plus one, as a double.
const TOP: f64 = 9_223_372_036_854_775_808.0;

fn conversion_error(from: &Value<'_>, to: &str) -> Error {
    Error::failed(format!(
        "type conversion error from '{}' to '{to}'",
        from.type_name()
    ))
}

fn to_bool<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge(1)?;
    match &args[0] {
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(conversion_error(&args[0], "bool")),
        },
        value => Ok(value.clone()),
    }
}

fn to_bytes<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge_bytes(args[0].size())?;
    match &args[0] {
        Value::String(text) => Ok(Value::Bytes(text.as_bytes().into())),
        value => Ok(value.clone()),
    }
}

fn to_double<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge_bytes(args[0].size())?;
    Ok(match &args[0] {
        Value::Int(number) => Value::Double(*number as f64),
        Value::Uint(number) => Value::Double(*number as f64),
        Value::String(text) => {
            let number: Option<f64> = text.parse().ok();
            // A number that is too large for a double is invalid, but the text `inf` is valid.
            let is_infinity = text.to_ascii_lowercase().contains("inf");
            let number = number.filter(|number| is_infinity || !number.is_infinite());
            Value::Double(number.ok_or_else(|| conversion_error(&args[0], "double"))?)
        }
        value => value.clone(),
    })
}

fn to_int<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge_bytes(args[0].size())?;
    let overflow = || Error::failed("integer overflow");
    Ok(Value::Int(match &args[0] {
        Value::Uint(number) => i64::try_from(*number).map_err(|_| overflow())?,
        Value::Double(number) if *number > -TOP && *number < TOP => *number as i64,
        Value::Double(_) => return Err(overflow()),
        Value::String(text) => text.parse().map_err(|_| conversion_error(&args[0], "int"))?,
        Value::Timestamp(moment) => moment.seconds(),
        Value::Duration(nanoseconds) => *nanoseconds,
        value => return Ok(value.clone()),
    }))
}

fn to_uint<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge_bytes(args[0].size())?;
    let overflow = || Error::failed("unsigned integer overflow");
    Ok(Value::Uint(match &args[0] {
        Value::Int(number) => u64::try_from(*number).map_err(|_| overflow())?,
        Value::Double(number) if *number >= 0.0 && *number < 2.0 * TOP => *number as u64,
        Value::Double(_) => return Err(overflow()),
        Value::String(text) if !text.starts_with('+') => {
            text.parse().map_err(|_| conversion_error(&args[0], "uint"))?
        }
        Value::String(_) => return Err(conversion_error(&args[0], "uint")),
        value => return Ok(value.clone()),
    }))
}

/// Converts `value` to text, as the function `string` does.
pub(super) fn to_string<'a>(meter: &mut Meter, value: &Value<'a>) -> Outcome<'a> {
    meter.charge_bytes(value.size())?;
    Ok(match value {
        Value::Bool(flag) => flag.to_string().into(),
        Value::Int(number) => number.to_string().into(),
        Value::Uint(number) => number.to_string().into(),
        Value::Double(number) => format_double(*number).into(),
        Value::Bytes(bytes) => std::str::from_utf8(bytes)
            .map_err(|_| Error::failed("invalid UTF-8 in bytes, cannot convert to string"))?
            .into(),
        Value::Timestamp(moment) => moment.to_string().into(),
        Value::Duration(nanoseconds) => format_duration(*nanoseconds).into(),
        value => value.clone(),
    })
}

fn to_duration<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge_bytes(args[0].size())?;
    match &args[0] {
        Value::String(text) => {
            let nanoseconds = super::time::parse_duration(text);
            let nanoseconds =
                nanoseconds.ok_or_else(|| conversion_error(&args[0], "google.protobuf.Duration"))?;
            Ok(Value::Duration(nanoseconds))
        }
        value => Ok(value.clone()),
    }
}

fn to_timestamp<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    meter.charge_bytes(args[0].size())?;
    match &args[0] {
        Value::String(text) => {
            let moment = Moment::read(text);
            let moment = moment.ok_or_else(|| conversion_error(&args[0], "google.protobuf.Timestamp"))?;
            Ok(Value::Timestamp(moment))
        }
        Value::Int(seconds) => Ok(Value::Timestamp(
            Moment::new(i128::from(*seconds) * 1_000_000_000)
                .ok_or_else(|| Error::failed("timestamp overflow"))?,
        )),
        value => Ok(value.clone()),
    }
}
