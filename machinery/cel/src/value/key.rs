//! Keys of maps.

use std::cmp::Ordering;

use super::{Text, Value};

/// A key of a map. Integers of different types are equal by value.
#[derive(Clone, Debug)]
pub enum Key<'a> {
    /// A bool.
    Bool(bool),
    /// A key of type `int`.
    Int(i64),
    /// A key of type `uint`.
    Uint(u64),
    /// Text.
    String(Text<'a>),
}

impl Key<'_> {
    /// Returns the sort key: the rank of the type, the number, and the text.
    fn rank(&self) -> (u8, i128, &str) {
        match self {
            Self::Bool(flag) => (0, i128::from(*flag), ""),
            Self::Int(number) => (1, i128::from(*number), ""),
            Self::Uint(number) => (1, i128::from(*number), ""),
            Self::String(text) => (2, 0, text),
        }
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Key<'_> {}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl<'a> Key<'a> {
    /// Converts `value` to a key, if values of its type can be keys.
    pub(crate) fn of(value: &Value<'a>) -> Option<Self> {
        Some(match value {
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Int(number) => Self::Int(*number),
            Value::Uint(number) => Self::Uint(*number),
            Value::String(text) => Self::String(text.clone()),
            _ => return None,
        })
    }

    /// Converts `value` to a key for a lookup, where a double finds the integer that is equal to it.
    pub(crate) fn lookup_key(value: &Value<'a>) -> Option<Self> {
        match value {
            Value::Double(number) => super::compare::whole(*number).and_then(|whole| {
                i64::try_from(whole)
                    .map(Self::Int)
                    .or_else(|_| u64::try_from(whole).map(Self::Uint))
                    .ok()
            }),
            other => Self::of(other),
        }
    }
}

impl<'a> From<Key<'a>> for Value<'a> {
    fn from(key: Key<'a>) -> Self {
        match key {
            Key::Bool(flag) => Self::Bool(flag),
            Key::Int(number) => Self::Int(number),
            Key::Uint(number) => Self::Uint(number),
            Key::String(text) => Self::String(text),
        }
    }
}
