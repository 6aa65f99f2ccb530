//! Kubernetes quantities (`500m`, `2Gi`, `1e3`), as exact integers of nano-units.

use std::fmt;

/// A quantity in nano-units (10^-9): `1` is `1_000_000_000`, `500m` is `500_000_000`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(pub i128);

const NANO: i128 = 1_000_000_000;

/// Reason why a text is not a quantity, in Kubernetes' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// The text is not a number with a suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Form,
    /// The suffix has valid letters but no meaning.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

impl From<QuantityError> for String {
    fn from(error: QuantityError) -> Self {
        error.to_string()
    }
}

/// Parts of a quantity: the number is the digits, times a power of ten, times a power of two.
struct Parts {
    negative: bool,
    /// Decimal digits (0 to 9), most significant first.
    digits: Vec<u8>,
    /// Exponent of the power of ten, from the decimal point and the suffix.
    ten: i64,
    /// Exponent of the power of two, from the suffix.
    two: u32,
}

impl Quantity {
    /// Parses a quantity as Kubernetes does. More than nine decimals are rounded away from zero, and a value
    /// out of range becomes the largest or smallest one.
    ///
    /// # Errors
    /// When the text is not a quantity.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let mut parts = split(text)?;
        if parts.two > 0 {
            multiply(&mut parts.digits, 1 << parts.two);
        }
        let nanos = shift(&parts.digits, parts.ten.saturating_add(9));
        Ok(Self(if parts.negative { -nanos } else { nanos }))
    }

    /// Returns the number of units, such as 1.5 for `1500m`, as the nearest double.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "the result is the nearest double")]
    pub fn as_f64(self) -> f64 {
        if self.0 % NANO == 0 {
            return (self.0 / NANO) as f64;
        }
        if self.0.unsigned_abs() < 1 << f64::MANTISSA_DIGITS {
            return self.0 as f64 / NANO as f64;
        }
        // A division would round twice; parsing the decimal form rounds once.
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (
            self.0.unsigned_abs() / 1_000_000_000,
            self.0.unsigned_abs() % 1_000_000_000,
        );
        format!("{sign}{whole}.{rest:09}").parse().unwrap_or(f64::MAX)
    }

    /// Returns whole units, rounded away from zero like Go's `Quantity.Value()`; saturating.
    #[must_use]
    pub fn units(self) -> i64 {
        let away = i128::from(self.0 % NANO != 0) * self.0.signum();
        let units = self.0 / NANO + away;
        i64::try_from(units).unwrap_or(if units < 0 { i64::MIN } else { i64::MAX })
    }
}

impl fmt::Display for Quantity {
    /// Formats the canonical decimal form: the largest suffix that leaves no fraction (`1500m`, `2G`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        if self.0 == 0 {
            return f.write_str("0");
        }
        let (mut number, mut index) = (self.0, 0);
        while number % 1000 == 0 && index + 1 < SUFFIXES.len() {
            number /= 1000;
            index += 1;
        }
        write!(f, "{number}{}", SUFFIXES[index])
    }
}

/// Splits a quantity into its parts.
fn split(text: &str) -> Result<Parts, QuantityError> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned
        .bytes()
        .position(|byte| !byte.is_ascii_digit() && byte != b'.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(QuantityError::Form);
    }
    let digits = whole
        .bytes()
        .chain(fraction.bytes())
        .map(|byte| byte - b'0')
        .skip_while(|&digit| digit == 0);
    let (ten, two) = multiplier(suffix)?;
    let decimals = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    Ok(Parts {
        negative,
        digits: digits.collect(),
        ten: ten.saturating_sub(decimals),
        two,
    })
}

/// Returns the exponents of ten and of two of `suffix`.
fn multiplier(suffix: &str) -> Result<(i64, u32), QuantityError> {
    let known = match suffix {
        "" => (0, 0),
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        other => return exponent(other).map(|ten| (ten, 0)),
    };
    Ok(known)
}

/// Parses a suffix such as `e3` or `E-2` to the exponent of ten.
fn exponent(suffix: &str) -> Result<i64, QuantityError> {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let number = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(QuantityError::Form);
    }
    let power = suffix
        .strip_prefix(['e', 'E'])
        .and_then(|power| power.parse().ok());
    power.ok_or(QuantityError::Suffix)
}

/// Multiplies a decimal number in place.
fn multiply(digits: &mut Vec<u8>, factor: u64) {
    let mut carry = 0_u128;
    for digit in digits.iter_mut().rev() {
        let product = u128::from(*digit) * u128::from(factor) + carry;
        *digit = (product % 10) as u8;
        carry = product / 10;
    }
    let mut front = Vec::new();
    while carry > 0 {
        front.push((carry % 10) as u8);
        carry /= 10;
    }
    front.reverse();
    digits.splice(0..0, front);
}

/// Returns the number `digits` times ten to the `power`, rounded up to an integer; saturating.
fn shift(digits: &[u8], power: i64) -> i128 {
    let dropped = usize::try_from(power.saturating_neg())
        .unwrap_or(0)
        .min(digits.len());
    let (leading, truncated) = digits.split_at(digits.len() - dropped);
    let append = |number: i128, digit: i128| {
        number
            .checked_mul(10)
            .and_then(|number| number.checked_add(digit))
    };
    let mut number = 0_i128;
    for &digit in leading {
        match append(number, i128::from(digit)) {
            Some(next) => number = next,
            None => return i128::MAX,
        }
    }
    let up = i128::from(truncated.iter().any(|&digit| digit != 0));
    number = number.saturating_add(up);
    for _ in 0..power.max(0) {
        match append(number, 0) {
            Some(0) => return 0,
            Some(next) => number = next,
            None => return i128::MAX,
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_suffix_is_exact() {
        let cases: [(&str, i128); 33] = [
            ("0", 0),
            ("1", NANO),
            ("+1", NANO),
            ("-1", -NANO),
            ("1n", 1),
            ("1u", 1_000),
            ("500m", NANO / 2),
            ("0.5", NANO / 2),
            (".5", NANO / 2),
            ("5.", 5 * NANO),
            ("007", 7 * NANO),
            ("1k", 1_000 * NANO),
            ("1M", 1_000_000 * NANO),
            ("1G", NANO * NANO),
            ("1T", 1_000 * NANO * NANO),
            ("1P", 1_000_000 * NANO * NANO),
            ("1E", NANO * NANO * NANO),
            ("1Ki", 1024 * NANO),
            ("1.5Ki", 1536 * NANO),
            ("1Mi", (1 << 20) * NANO),
            ("2Gi", (2 << 30) * NANO),
            ("1Ti", (1 << 40) * NANO),
            ("1Pi", (1 << 50) * NANO),
            ("1Ei", (1 << 60) * NANO),
            ("1e3", 1_000 * NANO),
            ("1E3", 1_000 * NANO),
            ("12e-1", 1_200_000_000),
            ("1e+2", 100 * NANO),
            ("0.0000000001", 1),
            ("-0.0000000001", -1),
            ("1.0000000001", NANO + 1),
            ("0.1n", 1),
            ("0e9223372036854775807", 0),
        ];
        for (text, nanos) in cases {
            assert_eq!(Quantity::parse(text), Ok(Quantity(nanos)), "{text}");
        }
    }

    #[test]
    fn values_out_of_range_saturate() {
        assert_eq!(Quantity::parse("1e999999999999"), Ok(Quantity(i128::MAX)));
        assert_eq!(Quantity::parse("-1e99"), Ok(Quantity(-i128::MAX)));
        assert_eq!(Quantity::parse("1e-999999999999"), Ok(Quantity(1)));
        assert_eq!(Quantity::parse(&"9".repeat(400)), Ok(Quantity(i128::MAX)));
        assert_eq!(Quantity(i128::MAX).units(), i64::MAX);
        assert_eq!(Quantity(-i128::MAX).units(), i64::MIN);
    }

    #[test]
    fn malformed_quantities_are_refused() {
        for bad in [
            "", ".", "+", "-", "Ki", "1.2.3", "1 Gi", " 1", "1x", "1Gi1", "ten", "1e", "1ee3", "1kk", "--1",
            "1e1.5", "½",
        ] {
            assert!(Quantity::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Quantity::parse("1x").unwrap_err(), QuantityError::Form);
        assert_eq!(Quantity::parse("1kk").unwrap_err(), QuantityError::Suffix);
    }

    #[test]
    fn units_are_rounded_away_from_zero() {
        for (text, units) in [
            ("1500m", 2),
            ("-1500m", -2),
            ("1n", 1),
            ("3", 3),
            ("2Gi", 2 << 30),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().units(), units, "{text}");
        }
    }

    #[test]
    fn doubles_are_the_nearest() {
        for text in [
            "0.1",
            "1500m",
            "123456789.123456789",
            "-0.3",
            "16Gi",
            "9007199254740993",
        ] {
            let quantity = Quantity::parse(text).unwrap();
            let expected: f64 = match text {
                "1500m" => 1.5,
                "16Gi" => 17_179_869_184.0,
                plain => plain.parse().unwrap(),
            };
            assert!((quantity.as_f64() - expected).abs() == 0.0, "{text}");
        }
    }

    #[test]
    fn the_canonical_form_has_the_largest_suffix_without_a_fraction() {
        for (text, written) in [
            ("0", "0"),
            ("1000", "1k"),
            ("1.5", "1500m"),
            ("2e9", "2G"),
            ("1Ki", "1024"),
            ("-0.001", "-1m"),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), written);
        }
    }

    proptest! {
        #[test]
        fn the_canonical_form_parses_to_the_same(nanos in any::<i64>()) {
            let quantity = Quantity(i128::from(nanos) * 1_000);
            prop_assert_eq!(Quantity::parse(&quantity.to_string()), Ok(quantity));
        }

        #[test]
        fn random_text_never_panics(text in "[-+.0-9eEinumkKMGTP]{0,30}") {
            if let Ok(quantity) = Quantity::parse(&text) {
                let _: (f64, i64) = (quantity.as_f64(), quantity.units());
            }
        }
    }
}
