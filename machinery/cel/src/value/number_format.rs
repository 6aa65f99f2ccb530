//! Formatting of doubles as in Go, and of durations.

/// Formats `value` in the fewest digits that identify it, in scientific notation if the exponent is below -4
/// or above 5.
pub(crate) fn format_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Formats a duration in seconds, such as `1.5s`.
pub(crate) fn format_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let all = nanoseconds.unsigned_abs();
    let (seconds, rest) = (all / 1_000_000_000, all % 1_000_000_000);
    if rest == 0 {
        return format!("{sign}{seconds}s");
    }
    let digits = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", digits.trim_end_matches('0'))
}
