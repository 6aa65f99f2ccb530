//! What stands in a table.

use serde_json::Value;

use crate::time::Timestamp;

/// One cell. Cells are cached with the object, so what depends on the time of reading stays symbolic.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A value, shown as it is.
    Value(Value),
    /// The age of an instant, computed at each read; `None` shows `<unknown>`.
    Age(Option<Timestamp>),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Value(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Value(text.into())
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Value(number.into())
    }
}
