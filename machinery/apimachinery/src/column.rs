//! Printer columns of a kind, and their cells.

use serde_json::Value;

use crate::cell::Cell;
use crate::json_path;
use crate::object::Object;

/// A printer column of a kind.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading, capitalized as in `kubectl`.
    pub name: &'static str,
    /// Type of the cells: `string`, `integer`, `number`, `boolean`, `date`.
    pub r#type: &'static str,
    /// Format of the cells: `name` marks the column with the name of the object; otherwise mostly empty.
    pub format: &'static str,
    /// Description of the column.
    pub description: &'static str,
    /// Priority: 0 is always displayed, a higher one only with `-o wide`.
    pub priority: i32,
    /// Path of the cell in the object, in the form of a CustomResourceDefinition ([`crate::json_path`]);
    /// empty for a computed cell.
    pub path: &'static str,
    /// Text of the cell if the object has no value at the path.
    pub absent: &'static str,
    /// Function that computes the cell, for cells that are not the value at a path.
    pub computed: Option<fn(&Object) -> Cell>,
}

impl Column {
    /// The column NAME, which is first in every table.
    pub const NAME: Self = Self {
        name: "Name",
        r#type: "string",
        format: "name",
        description: "The name of the object, unique within its namespace or, without one, its resource",
        priority: 0,
        path: ".metadata.name",
        absent: "",
        computed: None,
    };

    /// The column AGE.
    pub const AGE: Self = Self {
        name: "Age",
        r#type: "string",
        format: "",
        description: "The time since the object was created",
        priority: 0,
        path: ".metadata.creationTimestamp",
        absent: "",
        computed: None,
    };

    /// Creates a text column.
    #[must_use]
    pub const fn text(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            r#type: "string",
            format: "",
            description,
            priority: 0,
            path: "",
            absent: "",
            computed: None,
        }
    }

    /// Returns the column with its cell at `path`.
    #[must_use]
    pub const fn at(mut self, path: &'static str) -> Self {
        self.path = path;
        self
    }

    /// Returns the column with the text `<none>` for a missing value at the column's path.
    #[must_use]
    pub const fn or_none(self) -> Self {
        self.or("<none>")
    }

    /// Returns the column with `text` for a missing value at the column's path.
    #[must_use]
    pub const fn or(mut self, text: &'static str) -> Self {
        self.absent = text;
        self
    }

    /// Returns the column with cells that `compute` returns.
    #[must_use]
    pub const fn computed(mut self, compute: fn(&Object) -> Cell) -> Self {
        self.computed = Some(compute);
        self
    }

    /// Returns the column with cells of type integer.
    #[must_use]
    pub const fn integer(mut self) -> Self {
        self.r#type = "integer";
        self
    }

    /// Returns the column with cells of type boolean.
    #[must_use]
    pub const fn boolean(mut self) -> Self {
        self.r#type = "boolean";
        self
    }

    /// Returns the column with instants as cells, which are displayed as ages.
    #[must_use]
    pub const fn date(mut self) -> Self {
        self.r#type = "date";
        self
    }

    /// Returns the column with the priority 1: it is displayed only with `-o wide`.
    #[must_use]
    pub const fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }

    /// Whether the column is NAME.
    #[must_use]
    pub fn is_name(&self) -> bool {
        (self.format, self.path) == (Self::NAME.format, Self::NAME.path)
    }

    /// Whether the column is AGE.
    #[must_use]
    pub fn is_age(&self) -> bool {
        (self.name, self.path) == (Self::AGE.name, Self::AGE.path)
    }

    /// Returns the cell of `object`: computed, or the value at the column's path. In a column of strings,
    /// [`Column::absent`] replaces a missing and an empty text. In a column of another type, null replaces a
    /// missing value and a value of a wrong type. As in kube-apiserver, an empty instant is `<unknown>`, an
    /// invalid instant is `<invalid>`, and a number in a column of integers loses its fraction.
    #[must_use]
    pub fn cell(&self, object: &Object) -> Cell {
        if let Some(computed) = self.computed {
            return computed(object);
        }
        if self.is_name() {
            return object.meta().name().into();
        }
        if self.is_age() {
            return Cell::Age(object.meta().creation_timestamp());
        }
        let found = json_path::first(self.path, object.value());
        match (self.r#type, found) {
            ("string", None | Some(Value::Null)) => self.absent.into(),
            ("string", Some(Value::String(text))) if text.is_empty() => self.absent.into(),
            ("string", Some(Value::String(text))) => text.as_str().into(),
            ("string", Some(other)) => other.to_string().into(),
            ("date", Some(Value::String(text))) if text.is_empty() => Cell::Age(None),
            ("date", Some(Value::String(text))) => match text.parse() {
                Ok(instant) => Cell::Age(Some(instant)),
                Err(_) => "<invalid>".into(),
            },
            ("integer", Some(Value::Number(number))) if number.is_f64() => {
                Cell::from(number.as_f64().unwrap_or_default() as i64)
            }
            ("integer" | "number", Some(number)) if number.is_number() => Cell::Value(number.clone()),
            ("boolean", Some(flag)) if flag.is_boolean() => Cell::Value(flag.clone()),
            _ => Cell::Value(Value::Null),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Draft;

    #[test]
    fn a_cell_is_computed_or_the_value_at_the_path_or_the_absent_text() {
        let value = json!({
            "apiVersion": "v1", "kind": "Toy",
            "metadata": {"name": "car"}, "spec": {"color": "red", "owner": "", "wheels": 4},
        });
        let object = Draft::new(&value).unwrap().unstored();
        let cell_of = |column: Column| column.cell(&object);
        assert_eq!(
            cell_of(Column::text("Color", "").at(".spec.color").or_none()),
            "red".into()
        );
        assert_eq!(
            cell_of(Column::text("Owner", "").at(".spec.owner").or_none()),
            "<none>".into()
        );
        assert_eq!(cell_of(Column::text("Age", "").at(".spec.age")), "".into());
        assert_eq!(
            cell_of(Column::text("Wheels", "").at(".spec.wheels").integer()),
            4.into()
        );
        let computed = |toy: &Object| toy.meta().name().to_uppercase().into();
        assert_eq!(cell_of(Column::text("Loud", "").computed(computed)), "CAR".into());
        assert_eq!(cell_of(Column::NAME.wide()), "car".into());
        assert!(!Column::text("Place", "").at(".metadata.name").is_name());
    }

    #[test]
    fn a_column_is_not_the_name_by_its_format_alone() {
        let value = json!({
            "apiVersion": "v1", "kind": "Toy", "metadata": {"name": "car"}, "spec": {"alias": "auto"},
        });
        let object = Draft::new(&value).unwrap().unstored();
        let alias = Column {
            format: Column::NAME.format,
            ..Column::text("Alias", "").at(".spec.alias")
        };
        assert!(!alias.is_name() && Column::NAME.is_name());
        assert_eq!(alias.cell(&object), "auto".into());
    }

    #[test]
    fn a_cell_has_the_type_of_its_column() {
        let value = json!({
            "apiVersion": "v1", "kind": "Toy", "metadata": {"name": "car"},
            "spec": {"ratio": 0.5, "half": 2.5, "count": 3, "at": "2026-01-01T00:00:00Z", "never": "", "soon": "soon"},
        });
        let object = Draft::new(&value).unwrap().unstored();
        let cell = |cell_type, path| {
            let column = Column {
                r#type: cell_type,
                ..Column::text("Column", "").at(path)
            };
            column.cell(&object)
        };
        let null = || Cell::Value(Value::Null);
        for (cell_type, path, expected) in [
            ("number", ".spec.ratio", Cell::Value(json!(0.5))),
            ("number", ".spec.count", 3.into()),
            ("number", ".spec.soon", null()),
            ("number", ".spec.missing", null()),
            ("integer", ".spec.half", 2.into()),
            ("integer", ".spec.soon", null()),
            ("date", ".spec.at", Cell::Age("2026-01-01T00:00:00Z".parse().ok())),
            ("date", ".spec.never", Cell::Age(None)),
            ("date", ".spec.soon", "<invalid>".into()),
            ("date", ".spec.missing", null()),
            ("date", ".spec.count", null()),
        ] {
            assert_eq!(cell(cell_type, path), expected, "{cell_type} {path}");
        }
    }
}
