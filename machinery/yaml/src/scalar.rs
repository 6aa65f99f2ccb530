//! Resolution of scalars to null, booleans, numbers and text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

/// Prefix of the tags of YAML itself: `!!int` is short for `tag:yaml.org,2002:int`.
const CORE: &str = "tag:yaml.org,2002:";

/// A resolved scalar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Boolean(bool),
    Integer(i64),
    /// An integer above the range of signed integers.
    Unsigned(u64),
    Float(f64),
    Text(String),
}

impl Scalar {
    /// Resolves the scalar `text`, which is `plain` or quoted, with the tag `tag`.
    pub(crate) fn read(text: &str, plain: bool, tag: Option<&str>) -> Result<Self, String> {
        match tag.map(|tag| tag.strip_prefix(CORE).ok_or(())) {
            None if plain => Ok(resolve(text)),
            None | Some(Err(()) | Ok("str")) => Ok(Self::Text(text.to_owned())),
            Some(Ok("binary")) => binary(text),
            Some(Ok(name)) => resolve_tag(name, text),
        }
    }

    /// Converts the scalar to JSON. A float without a fraction becomes an integer if it fits, since Go writes
    /// both as the same JSON number, which parsers read as an integer.
    pub(crate) fn into_value(self) -> Result<Value, String> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Boolean(value) => value.into(),
            Self::Integer(value) => value.into(),
            Self::Unsigned(value) => value.into(),
            Self::Float(value) => number(value)?,
            Self::Text(text) => text.into(),
        })
    }

    /// Converts the scalar to the name of a field.
    pub(crate) fn into_key(self) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Boolean(value) => Ok(value.to_string()),
            Self::Integer(value) => Ok(value.to_string()),
            Self::Float(value) => Ok(float_key(value)),
            Self::Null => Err(
                "null cannot be a key: put quotes around a key that is empty, or that YAML reads as null"
                    .to_owned(),
            ),
            Self::Unsigned(value) => Err(format!("{value} cannot be a key: put quotes around it")),
        }
    }

    /// Returns the name of the scalar's tag.
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "bool",
            Self::Integer(_) | Self::Unsigned(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
        }
    }
}

/// Resolves a plain scalar by its text.
fn resolve(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Boolean(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Boolean(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let found = match text.as_bytes()[0] {
        b'.' => fraction(text),
        b'0'..=b'9' | b'+' | b'-' => numeric(text),
        _ => None,
    };
    found.unwrap_or_else(|| Scalar::Text(text.to_owned()))
}

/// Resolves a number that begins with its point: underscores are allowed only between digits.
fn fraction(text: &str) -> Option<Scalar> {
    let bytes = text.as_bytes();
    let digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let mut underscores = (0..bytes.len()).filter(|index| bytes[*index] == b'_');
    if !underscores.all(|index| index > 0 && digit(index - 1) && digit(index + 1)) {
        return None;
    }
    float(&text.replace('_', ""))
}

/// Resolves a number that begins with a digit or a sign.
fn numeric(text: &str) -> Option<Scalar> {
    let compact = text.replace('_', "");
    if let Some(found) = integer(&compact) {
        return Some(found);
    }
    if let Some(found) = is_decimal(&compact).then(|| float(&compact)).flatten() {
        return Some(found);
    }
    // Binary digits may have a sign after `0b`.
    let digits = compact.strip_prefix("0b")?;
    i64::from_str_radix(digits, 2).ok().map(Scalar::Integer)
}

/// Resolves an integer in Go's notation: `0x`, `0o`, `0b` or a leading zero determine the base.
fn integer(text: &str) -> Option<Scalar> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let prefix = digits.get(..2).unwrap_or_default();
    let (base, digits) = match prefix {
        "0x" | "0X" => (16, &digits[2..]),
        "0o" | "0O" => (8, &digits[2..]),
        "0b" | "0B" => (2, &digits[2..]),
        _ if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    if let Ok(value) = i64::from_str_radix(&format!("{sign}{digits}"), base) {
        return Some(Scalar::Integer(value));
    }
    let signed = text.starts_with(['-', '+']);
    let large = (!signed).then(|| u64::from_str_radix(digits, base).ok());
    large.flatten().map(Scalar::Unsigned)
}

/// Whether `text` is a decimal number: digits, with an optional sign, point and exponent.
fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = |text: &str| !text.is_empty() && digits(text);
    let whole = match number.split_once('.') {
        Some(("", fraction)) => has_digits(fraction),
        Some((whole, fraction)) => has_digits(whole) && digits(fraction),
        None => has_digits(number),
    };
    whole && exponent.is_none_or(|exponent| has_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)))
}

fn float(text: &str) -> Option<Scalar> {
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(Scalar::Float(value))
}

/// Resolves a scalar with the tag `!!name`.
fn resolve_tag(name: &str, text: &str) -> Result<Scalar, String> {
    let found = resolve(text);
    match (name, found) {
        ("float", Scalar::Integer(value)) =>
        {
            #[allow(clippy::cast_precision_loss, reason = "the tag asks for it")]
            Ok(Scalar::Float(value as f64))
        }
        ("timestamp", Scalar::Text(text)) if begins_with_date(&text) => Ok(Scalar::Text(text)),
        ("bool" | "int" | "float" | "null" | "timestamp", found) if found.kind() != name => {
            Err(format!("cannot decode !!{} `{text}` as a !!{name}", found.kind()))
        }
        ("bool" | "int" | "float" | "null" | "timestamp", found) => Ok(found),
        // A scalar with another tag is a text.
        _ => Ok(Scalar::Text(text.to_owned())),
    }
}

/// Whether `text` begins with a date.
fn begins_with_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut digits = |most: usize| {
        parts.next().is_some_and(|part| {
            (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    text.find('-') == Some(4)
        && digits(4)
        && digits(2)
        && parts
            .next()
            .is_some_and(|day| day.starts_with(|first: char| first.is_ascii_digit()))
}

/// Decodes the base64 text of a scalar with the tag `!!binary`.
fn binary(text: &str) -> Result<Scalar, String> {
    let letters: String = text
        .chars()
        .filter(|letter| !matches!(letter, '\n' | '\r'))
        .collect();
    match STANDARD.decode(letters) {
        Ok(bytes) => Ok(Scalar::Text(String::from_utf8_lossy(&bytes).into_owned())),
        Err(_) => Err("!!binary value contains invalid base64 data".to_owned()),
    }
}

/// Converts a float to a JSON number.
fn number(value: f64) -> Result<Value, String> {
    /// The first integer above the range of signed integers, as a double.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && value.abs() < BEYOND {
        #[allow(clippy::cast_possible_truncation, reason = "it has no fraction and fits")]
        return Ok((value as i64).into());
    }
    let number =
        Number::from_f64(value).ok_or_else(|| format!("{value} cannot be written as a JSON number"))?;
    Ok(Value::Number(number))
}

/// Converts a float to the name of a field: the fewest digits that identify it in single precision.
fn float_key(value: f64) -> String {
    #[allow(clippy::cast_possible_truncation, reason = "keys have single precision")]
    let single = value as f32;
    if single.is_nan() {
        return ".nan".to_owned();
    }
    if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{single:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        format!("{single}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.abs())
    }
}
