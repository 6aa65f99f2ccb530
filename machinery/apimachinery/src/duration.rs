//! Durations in Go's notation, as in flags, queries and configuration files of Kubernetes: `15s`, `1h30m`,
//! `1.5h`, `500ms`, `-2m`, `0`.

use std::time::Duration;

use jiff::SignedDuration;

/// Reason why a text is not a duration, in the words of Go's `time.ParseDuration`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is empty or only a sign, has a number without digits or with two points, or does not fit 64
    /// bits of nanoseconds (292 years).
    #[error("invalid duration {0:?}: write it such as 15s, 1m30s or 500ms")]
    Invalid(String),
    /// The duration is negative, where it must not be.
    #[error("duration {0:?} is negative: write zero or more, such as 15s")]
    Negative(String),
    /// A number has no unit.
    #[error("missing unit in duration {0:?}: write it such as 15s, 1m30s or 500ms")]
    NoUnit(String),
    /// A unit is not one of ns, us, ms, s, m, h.
    #[error("unknown unit {unit:?} in duration {text:?}: use ns, us, ms, s, m or h")]
    Unit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
}

/// Parses a duration, which may be negative.
///
/// # Errors
/// The problem of `text`, in Go's words.
pub fn parse(text: &str) -> Result<SignedDuration, Problem> {
    let invalid = || Problem::Invalid(text.to_owned());
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0i128;
    while !rest.is_empty() {
        let digits = rest
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        if !number.contains(|letter: char| letter.is_ascii_digit()) {
            return Err(invalid());
        }
        let end = after
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            return Err(Problem::NoUnit(text.to_owned()));
        }
        let scale = scale(unit).ok_or_else(|| Problem::Unit {
            unit: unit.to_owned(),
            text: text.to_owned(),
        })?;
        total += part(number, scale).ok_or_else(invalid)?;
        if total > i128::from(i64::MAX) {
            return Err(invalid());
        }
        rest = after;
    }
    let nanoseconds = i64::try_from(if negative { -total } else { total }).map_err(|_| invalid())?;
    Ok(SignedDuration::from_nanos(nanoseconds))
}

/// Parses a duration that is not negative: for flags, and for queries such as `?timeout=`.
///
/// # Errors
/// The problem of `text`.
pub fn parse_unsigned(text: &str) -> Result<Duration, Problem> {
    Duration::try_from(parse(text)?).map_err(|_| Problem::Negative(text.to_owned()))
}

/// Returns the nanoseconds of a unit.
fn scale(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        // Go also accepts U+00B5 (micro sign) and U+03BC (Greek mu).
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Returns `number` (digits with at most one point) times `scale`, without fractions of a nanosecond.
fn part(number: &str, scale: i128) -> Option<i128> {
    // Number of digits that is sufficient for every duration, and cannot cause an overflow below.
    const DIGITS: usize = 19;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.trim_start_matches('0');
    if whole.len() > DIGITS || fraction.contains('.') {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(DIGITS)];
    let read = |digits: &str| match digits {
        "" => Some(0),
        digits => digits.parse::<i128>().ok(),
    };
    let places = u32::try_from(fraction.len()).ok()?;
    read(whole)?
        .checked_mul(scale)?
        .checked_add(read(fraction)?.checked_mul(scale)? / 10i128.pow(places))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("+0", 0),
            ("30s", 30_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("5.s", 5_000_000_000),
            ("500ms", 500_000_000),
            ("2us", 2_000),
            ("2\u{b5}s", 2_000),
            ("-1.5s", -1_500_000_000),
            ("0.0000000019s", 1),
            ("9223372036854775807ns", i64::MAX),
            ("0000000000000000000000001s", 1_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(SignedDuration::from_nanos(nanoseconds)), "{text}");
        }
    }

    #[test]
    fn invalid_durations_are_refused_in_gos_words() {
        for (text, words) in [
            ("", "invalid duration \"\""),
            ("-", "invalid duration \"-\""),
            ("s", "invalid duration \"s\""),
            (".s", "invalid duration \".s\""),
            ("banana", "invalid duration \"banana\""),
            ("30", "missing unit in duration \"30\""),
            ("1s2", "missing unit in duration \"1s2\""),
            ("1x", "unknown unit \"x\" in duration \"1x\""),
            ("1 minute", "unknown unit \" minute\""),
            ("PT1M", "invalid duration \"PT1M\""),
            ("1.2.3s", "invalid duration"),
            ("9223372036854775808ns", "invalid duration"),
            ("99999999999999999999h", "invalid duration"),
        ] {
            let problem = parse(text).unwrap_err().to_string();
            assert!(problem.starts_with(words), "{text}: {problem}");
        }
        assert!(parse_unsigned("-1s").is_err());
        assert_eq!(parse_unsigned("1h30m"), Ok(Duration::from_secs(5400)));
    }
}
