//! Columns of a `meta.k8s.io` Table.

use serde::Serialize;

use crate::column::Column;

/// An element of a Table's `columnDefinitions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnDefinition<'a> {
    /// Heading of the column.
    pub name: &'a str,
    /// Type of the cells: `string`, `integer`, `number`, `boolean`, `date`.
    pub r#type: &'a str,
    /// Format of the cells: `name` marks the column with the name of the object; otherwise mostly empty.
    pub format: &'a str,
    /// Description of the column.
    pub description: &'a str,
    /// Priority: 0 is always displayed, a higher one only with `-o wide`.
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

#[cfg(test)]
mod tests {
    use super::*;

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
