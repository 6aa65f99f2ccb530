//! Timestamps with their original offset.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};

use crate::error::Error;

/// A timestamp in the years 1 to 9999, and the offset from UTC in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since the beginning of 1970.
    nanoseconds: i128,
    offset: Offset,
}

/// The first second of the year 1.
const FIRST: i64 = -62_135_596_800;
/// The last second of the year 9999.
const LAST: i64 = 253_402_300_799;
const SECOND: i128 = 1_000_000_000;
const DAY: i64 = 86_400;
/// Days from 1 January of the year 1 to 1 January 1970.
const DAYS_BEFORE_1970: i64 = 719_162;

impl Moment {
    /// Creates the timestamp `nanoseconds` after the beginning of 1970; `None` outside the years 1 to 9999.
    #[must_use]
    pub fn new(nanoseconds: i128) -> Option<Self> {
        let seconds = nanoseconds.div_euclid(SECOND);
        let within = (i128::from(FIRST)..=i128::from(LAST)).contains(&seconds);
        let offset = Offset::UTC;
        within.then_some(Self { nanoseconds, offset })
    }

    pub(crate) fn nanoseconds(&self) -> i128 {
        self.nanoseconds
    }

    pub(crate) fn seconds(&self) -> i64 {
        i64::try_from(self.nanoseconds.div_euclid(SECOND)).unwrap_or_default()
    }

    /// Returns the timestamp `nanoseconds` later, or earlier if the number is negative.
    pub(crate) fn plus(&self, nanoseconds: i128) -> Result<Self, Error> {
        let later =
            Self::new(self.nanoseconds + nanoseconds).ok_or_else(|| Error::failed("timestamp overflow"))?;
        Ok(Self {
            offset: self.offset,
            ..later
        })
    }

    /// Returns date and time in `zone`, or with the original offset.
    pub(crate) fn in_zone(&self, zone: Option<TimeZone>) -> DateTime {
        let offset = match zone {
            // The last 26 hours of the year 9999 are beyond the range of `Timestamp`: the last offset in the
            // range is used.
            Some(zone) => {
                let seconds = self.seconds().min(Timestamp::MAX.as_second());
                Timestamp::from_second(seconds).map_or(Offset::UTC, |at| zone.to_offset(at))
            }
            None => self.offset,
        };
        let seconds = (self.seconds() + i64::from(offset.seconds())).clamp(FIRST, LAST);
        let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let (year, day) = year_and_day(days + DAYS_BEFORE_1970);
        let date = Date::new(year, 1, 1).unwrap_or(Date::MAX);
        let date = date.checked_add(jiff::Span::new().days(day)).unwrap_or(Date::MAX);
        let to_i8 = |number: i64| i8::try_from(number).unwrap_or_default();
        let fraction = i32::try_from(self.nanoseconds.rem_euclid(SECOND)).unwrap_or_default();
        let time = Time::new(
            to_i8(second / 3600),
            to_i8(second / 60 % 60),
            to_i8(second % 60),
            fraction,
        );
        DateTime::from_parts(date, time.unwrap_or(Time::MIN))
    }

    /// Parses a timestamp of RFC 3339.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut digits = Digits { rest: text };
        let (year, month, day) = (
            digits.number(4, "-")?,
            digits.number(2, "-")?,
            digits.number(2, "T")?,
        );
        let (hour, minute, second) = (
            digits.number(2, ":")?,
            digits.number(2, ":")?,
            digits.number(2, "")?,
        );
        let fraction = digits.fraction();
        let offset = digits.offset()?;
        if hour > 23 || minute > 59 || second > 59 || !digits.rest.is_empty() {
            return None;
        }
        let to_i8 = |number: i32| i8::try_from(number).ok();
        let date = Date::new(i16::try_from(year).ok()?, to_i8(month)?, to_i8(day)?).ok()?;
        let years = i64::from(year) - 1;
        let days = years * 365 + years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400)
            - DAYS_BEFORE_1970;
        let days = days + i64::from(date.day_of_year()) - 1;
        let seconds =
            days * DAY + i64::from(hour * 3600 + minute * 60 + second) - i64::from(offset.seconds());
        let moment = Self::new(i128::from(seconds) * SECOND + i128::from(fraction))?;
        Some(Self { offset, ..moment })
    }
}

/// Returns the year of the day `days` days after 1 January of the year 1, and the number of days since
/// 1 January of that year.
fn year_and_day(days: i64) -> (i16, i64) {
    let (centuries, days) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let century = (days / 36_524).min(3);
    let days = days - century * 36_524;
    let (cycles, days) = (days / 1_461, days % 1_461);
    let years = (days / 365).min(3);
    let year = centuries * 400 + century * 100 + cycles * 4 + years + 1;
    (i16::try_from(year).unwrap_or_default(), days - years * 365)
}

/// Parser of the parts of a timestamp.
struct Digits<'s> {
    rest: &'s str,
}

impl Digits<'_> {
    /// Parses a number of `length` digits, and the text `separator` after the number.
    fn number(&mut self, length: usize, separator: &str) -> Option<i32> {
        let digits = self.rest.get(..length)?;
        if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        self.rest = self.rest[length..].strip_prefix(separator)?;
        digits.parse().ok()
    }

    /// Parses the fraction of a second after a point or comma, and returns its nanoseconds; 0 when there is
    /// none.
    fn fraction(&mut self) -> i32 {
        let Some(digits) = self.rest.strip_prefix(['.', ',']) else {
            return 0;
        };
        let length = digits
            .find(|digit: char| !digit.is_ascii_digit())
            .unwrap_or(digits.len());
        if length == 0 {
            return 0;
        }
        self.rest = &digits[length..];
        let nine: String = digits[..length]
            .chars()
            .chain("000000000".chars())
            .take(9)
            .collect();
        nine.parse().unwrap_or_default()
    }

    /// Parses the offset from UTC: `Z`, or hours and minutes.
    fn offset(&mut self) -> Option<Offset> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Some(Offset::UTC);
        }
        let sign = match self.rest.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return None,
        };
        self.rest = &self.rest[1..];
        let (hours, minutes) = (self.number(2, ":")?, self.number(2, "")?);
        if hours > 23 || minutes > 59 {
            return None;
        }
        Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
    }
}

impl fmt::Display for Moment {
    /// Formats the timestamp as in RFC 3339, without trailing zeros in the fraction of the second.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let civil = self.in_zone(None);
        write!(
            formatter,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            civil.year(),
            civil.month(),
            civil.day(),
            civil.hour(),
            civil.minute(),
            civil.second()
        )?;
        let fraction = civil.subsec_nanosecond();
        if fraction != 0 {
            let digits = format!("{fraction:09}");
            write!(formatter, ".{}", digits.trim_end_matches('0'))?;
        }
        let offset = self.offset.seconds();
        if offset == 0 {
            return formatter.write_str("Z");
        }
        let sign = if offset < 0 { '-' } else { '+' };
        let minutes = offset.abs() / 60;
        write!(formatter, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}
