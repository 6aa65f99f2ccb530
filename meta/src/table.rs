//! `meta.k8s.io` Table: columns, and what cells show.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::age::human_duration;
use crate::cell::Cell;
use crate::kind::Column;
use crate::time::Timestamp;

/// A Table's `columnDefinitions[]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnDefinition<'a> {
    /// The heading.
    pub name: &'a str,
    /// `string`, `integer`, `boolean`, `date`.
    pub r#type: &'a str,
    /// `name`, or empty.
    pub format: &'a str,
    /// What the column shows.
    pub description: &'a str,
    /// 0 is always shown, 1 only with `-o wide`.
    pub priority: i32,
}

impl<'a> From<&'a Column> for ColumnDefinition<'a> {
    fn from(column: &'a Column) -> Self {
        let Column {
            name,
            r#type,
            format,
            description,
            priority,
            ..
        } = *column;
        Self {
            name,
            r#type,
            format,
            description,
            priority,
        }
    }
}

/// What a cell shows at `now`.
#[must_use]
pub fn shown(cell: &Cell, now: Timestamp) -> Cow<'_, Value> {
    match cell {
        Cell::Value(value) => Cow::Borrowed(value),
        Cell::Age(Some(from)) => Cow::Owned(human_duration(*from, now).into()),
        Cell::Age(None) => Cow::Owned("<unknown>".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_show_values_and_ages() {
        let now = Timestamp::from_second(100).unwrap();
        assert_eq!(*shown(&Cell::Age(None), now), "<unknown>");
        assert_eq!(*shown(&Cell::Age(Some(Timestamp::UNIX_EPOCH)), now), "100s");
        assert_eq!(*shown(&Cell::from(3), now), 3);
    }

    #[test]
    fn columns_serialize_with_every_field() {
        let text =
            serde_json::to_value(ColumnDefinition::from(&Column::text("Kind", "what").wide())).unwrap();
        let expected = serde_json::json!(
            {"name": "Kind", "type": "string", "format": "", "description": "what", "priority": 1}
        );
        assert_eq!(text, expected);
    }
}
