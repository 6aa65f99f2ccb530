//! One step of a path: a field, an item of a list by its keys, an item of a set, or an index.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Number, Value};

/// A JSON value in the order of field sets: numbers, texts, booleans, lists, maps, null.
///
/// Numbers are compared by value, so `1` and `1.0` are equal.
#[derive(Clone, Debug)]
pub struct Scalar(pub Value);

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Scalar {}

/// Whether two values are equal for ownership: numbers by value, all others exactly.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    order(one, other).is_eq()
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn order(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => order_of_numbers(one, other),
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Array(one), Value::Array(other)) => {
            let differing = one.iter().zip(other).map(|(one, other)| order(one, other));
            first(differing).then(one.len().cmp(&other.len()))
        }
        (Value::Object(one), Value::Object(other)) => {
            let differing = one
                .iter()
                .zip(other)
                .map(|(one, other)| one.0.cmp(other.0).then_with(|| order(one.1, other.1)));
            first(differing).then(one.len().cmp(&other.len()))
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

fn order_of_numbers(one: &Number, other: &Number) -> Ordering {
    // Adding zero makes -0 equal to 0.
    let double = |number: &Number| number.as_f64().unwrap_or_default() + 0.0;
    // Different large integers are rounded to the same double.
    let integer = |number: &Number| number.as_i128().unwrap_or(double(number) as i128);
    double(one)
        .total_cmp(&double(other))
        .then_with(|| integer(one).cmp(&integer(other)))
}

fn first(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// One step of a path. The order of variants is their order in a set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A field of a struct or a key of a map.
    Field(String),
    /// An item of a list of maps, identified by its keys in the order of their names.
    Key(Vec<(String, Scalar)>),
    /// An item of a set.
    Value(Scalar),
    /// An item by its position: an item that has neither keys nor a value in a set, and as decoded from `i:`.
    Index(i64),
}

impl Element {
    /// Decodes `f:name`, `k:{..}`, `v:..` or `i:1`. `None` for an unknown letter, which decoders skip.
    ///
    /// # Errors
    /// When there is no colon, or the rest does not fit the letter.
    pub(crate) fn decode(text: &str) -> Result<Option<Self>, String> {
        let Some((letter, rest)) = text.split_once(':') else {
            return Err(format!("{text:?} has no colon"));
        };
        let json = || serde_json::from_str::<Value>(rest).map_err(|error| format!("{text:?}: {error}"));
        Ok(match letter {
            "f" => Some(Self::Field(rest.to_owned())),
            "v" => Some(Self::Value(Scalar(json()?))),
            "k" => match json()? {
                Value::Object(keys) => Some(Self::Key(
                    keys.into_iter()
                        .map(|(name, value)| (name, Scalar(value)))
                        .collect(),
                )),
                _ => return Err(format!("{text:?} has keys that are not an object")),
            },
            "i" => Some(Self::Index(
                rest.parse().map_err(|_| format!("{text:?} has no index"))?,
            )),
            _ => None,
        })
    }

    /// Writes the text that [`Element::decode`] decodes, as a JSON string.
    pub(crate) fn write_to(&self, text: &mut String) {
        match self {
            // Most elements are names without characters that JSON escapes.
            Self::Field(name) if name.bytes().all(is_plain) => {
                text.push_str("\"f:");
                text.push_str(name);
                text.push('"');
            }
            _ => text.push_str(&Value::from(self.encode()).to_string()),
        }
    }

    fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => {
                let keys: Map<String, Value> = keys
                    .iter()
                    .map(|(name, value)| (name.clone(), value.0.clone()))
                    .collect();
                format!("k:{}", escaped(&Value::Object(keys)))
            }
            Self::Value(value) => format!("v:{}", escaped(&value.0)),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

/// Whether this byte is unescaped in a JSON string.
fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && !matches!(byte, b'"' | b'\\')
}

/// Returns compact JSON in which the characters of HTML are escaped, as in Go's encoding. Only strings have
/// such characters.
fn escaped(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(formatter, ".{name}"),
            Self::Key(keys) => {
                for (index, (name, value)) in keys.iter().enumerate() {
                    let before = if index == 0 { '[' } else { ',' };
                    write!(formatter, "{before}{name}={}", value.0)?;
                }
                formatter.write_str("]")
            }
            Self::Value(value) => write!(formatter, "[={}]", value.0),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_ordered_by_value() {
        let ascending = [
            json!(i64::MIN),
            json!(-1.5),
            json!(0),
            json!(0.5),
            json!(9_007_199_254_740_992_i64),
            json!(9_007_199_254_740_993_i64),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(1e300),
        ];
        for (index, one) in ascending.iter().enumerate() {
            for (other_index, other) in ascending.iter().enumerate() {
                assert_eq!(order(one, other), index.cmp(&other_index), "{one} {other}");
            }
        }
        for (one, other) in [
            (json!(1), json!(1.0)),
            (json!(0), json!(-0.0)),
            (json!(9_007_199_254_740_992_i64), json!(9_007_199_254_740_992.0)),
        ] {
            assert!(same(&one, &other), "{one} {other}");
        }
    }
}
