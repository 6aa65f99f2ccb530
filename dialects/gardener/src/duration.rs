//! Durations as Kubernetes configuration files write them: `15s`, `1m30s`, `500ms`, `1.5h`.

/// Reads a duration, in nanoseconds.
///
/// # Errors
/// A sentence that shows the accepted form.
pub(crate) fn parse(text: &str) -> Result<i128, String> {
    let wrong = || "must be a duration such as \"15s\", \"1m30s\" or \"500ms\"".to_owned();
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = 0i128;
    while !rest.is_empty() {
        let digits = rest
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .ok_or_else(wrong)?;
        let (number, after) = rest.split_at(digits);
        let end = after
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        total = total
            .checked_add(part(number, unit).ok_or_else(wrong)?)
            .ok_or_else(wrong)?;
        rest = after;
    }
    Ok(sign * total)
}

/// `number` of `unit` in nanoseconds; what is below one is cut off.
fn part(number: &str, unit: &str) -> Option<i128> {
    let scale: i128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || whole.len() > 15 || fraction.contains('.') {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(15)];
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let parts: i128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let places = u32::try_from(fraction.len()).ok()?;
    Some(whole * scale + parts * scale / 10i128.pow(places))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_in_configuration_files() {
        let second = 1_000_000_000;
        let cases = [
            ("15s", 15 * second),
            ("1m30s", 90 * second),
            ("500ms", second / 2),
            ("1.5h", 5_400 * second),
            ("0", 0),
            ("-1s", -second),
            ("0.000000001s", 1),
        ];
        for (text, nanoseconds) in cases {
            assert_eq!(parse(text), Ok(nanoseconds), "{text}");
        }
        for text in ["", "15", "s", "1x", "1.2.3s", "-", "1 s", "9999999999999999s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
