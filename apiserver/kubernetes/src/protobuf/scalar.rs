//! Values that are not messages of the table. Most are scalars in JSON, though some of them are messages on
//! the wire.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::Timestamp;
use berth_apimachinery::time;
use berth_apiserver::memory::Values;
use serde_json::Value;

use super::wire::{self, Reader, WireValue};

/// Form of a value that is not a message of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// An integer.
    Number,
    /// Bytes, as base64 in JSON.
    Bytes,
    /// A list of strings in a message of its own (`ExtraValue`).
    Texts,
    /// A time to the second: `metav1.Time`.
    Time,
    /// A time to the microsecond: `metav1.MicroTime`.
    MicroTime,
    /// A quantity: `resource.Quantity`.
    Quantity,
    /// An integer or a string: `intstr.IntOrString`.
    IntOrString,
    /// Embedded JSON (`metav1.FieldsV1`).
    Json,
}

impl Scalar {
    /// Returns the form that has `name` in `messages.txt`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "text" => Self::Text,
            "flag" => Self::Flag,
            "number" => Self::Number,
            "bytes" => Self::Bytes,
            "texts" => Self::Texts,
            "time" => Self::Time,
            "microTime" => Self::MicroTime,
            "quantity" => Self::Quantity,
            "intOrString" => Self::IntOrString,
            "json" => Self::Json,
            _ => return None,
        })
    }

    /// Returns the zero value, which Go writes for an unset value that is not behind a pointer.
    pub(super) fn zero(self) -> Value {
        match self {
            Self::Flag => false.into(),
            Self::Number | Self::IntOrString => 0.into(),
            Self::Texts => Value::Array(Vec::new()),
            Self::Text | Self::Bytes | Self::Quantity => "".into(),
            Self::Time | Self::MicroTime | Self::Json => Value::Null,
        }
    }

    /// Decodes the value to JSON; `None` for Go's zero time and for empty JSON.
    ///
    /// # Errors
    /// When `wire` does not have this form.
    pub(super) fn read(self, wire: WireValue<'_>) -> Result<Option<Value>, String> {
        Ok(match self {
            Self::Text => Some(wire.text()?.into()),
            Self::Flag => Some((wire.number()? != 0).into()),
            Self::Number => Some(wire.number()?.into()),
            Self::Bytes => Some(STANDARD.encode(wire.bytes()?).into()),
            Self::Texts => Some(texts(wire.bytes()?)?),
            Self::Time => instant(wire.bytes()?)?.map(|at| time::rfc3339(at).into()),
            Self::MicroTime => instant(wire.bytes()?)?.map(|at| time::rfc3339_micro(at).into()),
            Self::Quantity => Some(first_field(wire.bytes()?)?.text()?.into()),
            Self::IntOrString => Some(int_or_string(wire.bytes()?)?),
            Self::Json => match first_field(wire.bytes()?)?.bytes()? {
                b"" => None,
                raw => Some(serde_json::from_slice(raw).map_err(|problem| problem.to_string())?),
            },
        })
    }

    /// Counts the values inside of the value that [`Scalar::read`] returns.
    ///
    /// # Errors
    /// When `wire` does not have this form.
    pub(super) fn count_inner(self, wire: WireValue<'_>, values: &mut Values) -> Result<(), String> {
        match self {
            Self::Texts => {
                values.add_list();
                let mut reader = Reader::new(wire.bytes()?);
                while let Some((number, _)) = reader.next()? {
                    if number == 1 {
                        values.add_item();
                    }
                }
            }
            Self::Json => values.add_text(first_field(wire.bytes()?)?.bytes()?),
            _ => {}
        }
        Ok(())
    }

    /// Writes `value` as the field `number`. A value of a JSON type that does not fit is left out.
    pub(super) fn write(self, number: u32, value: &Value, out: &mut Vec<u8>) {
        match (self, value) {
            (Self::Text, Value::String(text)) => wire::bytes(number, text.as_bytes(), out),
            (Self::Flag, Value::Bool(flag)) => wire::number(number, i64::from(*flag), out),
            (Self::Number, Value::Number(value)) => wire::number(number, truncated(value), out),
            (Self::Bytes, Value::String(text)) => {
                let bytes = STANDARD.decode(text).unwrap_or_default();
                wire::bytes(number, &bytes, out);
            }
            (Self::Texts, Value::Array(list)) => {
                let mut inner = Vec::new();
                let texts = list.iter().filter_map(Value::as_str);
                texts.for_each(|text| wire::bytes(1, text.as_bytes(), &mut inner));
                wire::bytes(number, &inner, out);
            }
            (Self::Time | Self::MicroTime, Value::String(text)) => {
                if let Some(at) = time::parse(text) {
                    let mut inner = Vec::new();
                    wire::number(1, at.as_second(), &mut inner);
                    wire::number(2, i64::from(at.subsec_nanosecond()), &mut inner);
                    wire::bytes(number, &inner, out);
                }
            }
            (Self::Quantity, Value::String(text)) => write_wrapped(number, text.as_bytes(), out),
            (Self::Quantity, Value::Number(value)) => {
                write_wrapped(number, value.to_string().as_bytes(), out)
            }
            (Self::IntOrString, Value::Number(value)) => {
                let mut inner = Vec::new();
                wire::number(1, 0, &mut inner);
                wire::number(2, truncated(value), &mut inner);
                wire::bytes(3, b"", &mut inner);
                wire::bytes(number, &inner, out);
            }
            (Self::IntOrString, Value::String(text)) => {
                let mut inner = Vec::new();
                wire::number(1, 1, &mut inner);
                wire::number(2, 0, &mut inner);
                wire::bytes(3, text.as_bytes(), &mut inner);
                wire::bytes(number, &inner, out);
            }
            (Self::Json, value) => write_wrapped(number, value.to_string().as_bytes(), out),
            _ => {}
        }
    }
}

/// Writes a message whose field 1 is `bytes`, as the field `number`.
fn write_wrapped(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    let mut inner = Vec::new();
    wire::bytes(1, bytes, &mut inner);
    wire::bytes(number, &inner, out);
}

/// Returns the number without a fraction.
fn truncated(value: &serde_json::Number) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "integers of any size saturate")]
    let truncate = |number: f64| number as i64;
    value
        .as_i64()
        .unwrap_or_else(|| value.as_f64().map_or(0, truncate))
}

/// Returns the value of field 1; empty bytes if the field is missing.
fn first_field(bytes: &[u8]) -> Result<WireValue<'_>, String> {
    let mut found = WireValue::Bytes(b"");
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        if number == 1 {
            found = value;
        }
    }
    Ok(found)
}

/// Returns the numbers in the fields 1 and 2; 0 for a missing field.
fn first_two_numbers(bytes: &[u8]) -> Result<[i64; 2], String> {
    let mut found = [0; 2];
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        match number {
            1 => found[0] = value.number()?,
            2 => found[1] = value.number()?,
            _ => {}
        }
    }
    Ok(found)
}

/// Decodes a time from seconds and nanoseconds. An empty message is Go's zero time, and zeros are the epoch.
fn instant(bytes: &[u8]) -> Result<Option<Timestamp>, String> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let [seconds, nanoseconds] = first_two_numbers(bytes)?;
    let nanoseconds = i32::try_from(nanoseconds).map_err(|problem| problem.to_string())?;
    let at = Timestamp::new(seconds, nanoseconds);
    at.map(Some).map_err(|problem| problem.to_string())
}

/// Decodes the strings in field 1.
fn texts(bytes: &[u8]) -> Result<Value, String> {
    let mut list = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        if number == 1 {
            list.push(Value::from(value.text()?));
        }
    }
    Ok(list.into())
}

/// Decodes an integer or a string, according to the type in field 1.
fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut text) = (false, 0, "");
    let mut reader = Reader::new(bytes);
    while let Some((field, value)) = reader.next()? {
        match field {
            1 => is_text = value.number()? == 1,
            2 => number = value.number()?,
            3 => text = value.text()?,
            _ => {}
        }
    }
    Ok(match is_text {
        true => text.into(),
        false => number.into(),
    })
}
