//! Quantities, such as `500m` and `2Gi`, with Kubernetes' precision.

use std::cmp::Ordering;

/// A quantity, in units of 10^-9.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    pub(crate) nanos: i128,
    /// Whether Kubernetes represents the quantity as an integer, as `isInteger` and `asInteger` require: a
    /// text with few digits and without a fraction. With a binary suffix, the number before the suffix must
    /// have no fraction; with a decimal suffix, the product of both.
    whole: bool,
}

const NANO: i128 = 1_000_000_000;

impl Quantity {
    /// Creates a quantity from an integer.
    pub(crate) fn whole(number: i64) -> Self {
        Self {
            nanos: i128::from(number) * NANO,
            whole: true,
        }
    }

    /// Compares two quantities.
    pub(crate) fn compare(self, other: Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }

    /// Returns the sum of both quantities, or with the `sign` -1 their difference.
    pub(crate) fn plus(self, other: Self, sign: i128) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos.saturating_mul(sign)),
            whole: self.whole && other.whole,
        }
    }

    /// Returns the quantity as an integer, if Kubernetes represents it as one.
    pub(crate) fn integer(self) -> Option<i64> {
        i64::try_from(self.nanos / NANO).ok().filter(|_| self.whole)
    }

    pub(crate) fn float(self) -> f64 {
        (self.nanos / NANO) as f64 + (self.nanos % NANO) as f64 / NANO as f64
    }

    /// Parses a quantity.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        const FORMAT_ERROR: &str =
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned
            .find(|digit: char| !digit.is_ascii_digit() && digit != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if text.is_empty() || fraction.contains('.') {
            return Err(FORMAT_ERROR.to_owned());
        }
        let (base, exponent) = parse_suffix(suffix).ok_or("unable to parse quantity's suffix")?;
        let digits = whole.trim_start_matches('0').len().max(1) + fraction.len();
        let exact = match base {
            2 => fraction.is_empty() && digits + exponent.unsigned_abs() as usize * 3 / 10 < 15,
            _ => digits <= 18 && exponent >= i32::try_from(fraction.len()).unwrap_or(i32::MAX),
        };
        let nanos = scale(whole, fraction, base, exponent).unwrap_or(i128::MAX / 2);
        // A number that is not zero is never rounded to zero.
        let is_nonzero = number.bytes().any(|digit| (b'1'..=b'9').contains(&digit));
        let nanos = if is_nonzero { nanos.max(1) } else { 0 };
        Ok(Self {
            nanos: if text.starts_with('-') { -nanos } else { nanos },
            whole: exact || number == "0" && suffix.is_empty(),
        })
    }
}

/// Returns the base and the exponent of a suffix.
fn parse_suffix(suffix: &str) -> Option<(i128, i32)> {
    let decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    if let Some(index) = decimal.iter().position(|known| *known == suffix) {
        return Some((10, 3 * (i32::try_from(index).ok()? - 3)));
    }
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some(index) = binary.iter().position(|known| *known == suffix) {
        return Some((2, 10 * (i32::try_from(index).ok()? + 1)));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i32 = exponent.parse().ok()?;
    (-100..=100).contains(&exponent).then_some((10, exponent))
}

/// Converts a number to units of 10^-9, rounded up; `None` when the result is too large.
fn scale(whole: &str, fraction: &str, base: i128, exponent: i32) -> Option<i128> {
    match base {
        2 => scale_binary(whole, fraction, exponent),
        _ => scale_decimal(whole, fraction, exponent + 9),
    }
}

/// Converts a number times 2^`exponent` to units of 10^-9, rounded up. The fraction is multiplied digit by
/// digit, from the last one, so that no digit is lost before the rounding.
fn scale_binary(whole: &str, fraction: &str, exponent: i32) -> Option<i128> {
    let factor = 1i128
        .checked_shl(exponent.unsigned_abs())?
        .checked_mul(1_000_000_000)?;
    let (mut part, mut has_rest) = (0i128, false);
    for digit in fraction.bytes().rev() {
        let sum = factor.checked_mul(i128::from(digit - b'0'))?.checked_add(part)?;
        has_rest |= sum % 10 != 0;
        part = sum / 10;
    }
    let whole = parse_digits(whole)?.checked_mul(factor)?;
    whole.checked_add(part + i128::from(has_rest))
}

/// Moves the decimal point of a number `shift` places to the right, or to the left if `shift` is negative,
/// and rounds up.
fn scale_decimal(whole: &str, fraction: &str, shift: i32) -> Option<i128> {
    let digits = format!("{whole}{fraction}");
    let point = i64::try_from(whole.len()).ok()? + i64::from(shift);
    let Ok(point) = usize::try_from(point) else {
        return Some(i128::from(digits.bytes().any(|digit| digit != b'0')));
    };
    let (integer, rest) = digits.split_at(point.min(digits.len()));
    let zeros = "0".repeat(point.saturating_sub(digits.len()));
    let has_rest = rest.bytes().any(|digit| digit != b'0');
    parse_digits(&format!("{integer}{zeros}"))?.checked_add(i128::from(has_rest))
}

/// Returns the number in `digits`, which is 0 without digits; `None` when the number is too large.
fn parse_digits(digits: &str) -> Option<i128> {
    match digits.trim_start_matches('0') {
        "" => Some(0),
        digits => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_beyond_the_range_stay_at_its_end() {
        let least = Quantity::read("-1e100").unwrap();
        let sum = least.plus(least, 1).plus(least, 1);
        assert_eq!(sum.nanos, i128::MIN);
        assert_eq!(Quantity::read("0").unwrap().plus(sum, -1).nanos, i128::MAX);
    }
}
