//! The table row and the selectable texts of an object, both computed by its kind and cached with the object.

use std::borrow::Cow;
use std::ptr;

use serde_json::Value;

use crate::cell::{Cell, Cells};
use crate::kind::Kind;
use crate::object::Object;
use crate::selectable::{SelectableField, SelectableTexts};

impl Object {
    /// Returns the table cells of this object of `kind`, which are computed at the first call and cached. The
    /// parsed object is not cached: it takes many times the memory, and for most objects it is not needed
    /// again.
    #[must_use]
    pub fn cells(&self, kind: &dyn Kind) -> &Cells {
        self.cells.get_or_init(|| Cells::of(&self.row(kind)))
    }

    /// Returns the texts of `fields`, in their order. The texts are read at the first call and cached,
    /// without the parsed object. If a later call names other fields, their texts are not cached.
    #[must_use]
    pub fn texts(&self, fields: &'static [SelectableField]) -> Cow<'_, [Box<str>]> {
        let cached = self.parsed().selectable.get_or_init(|| SelectableTexts {
            fields,
            texts: self.read_texts(fields),
        });
        match ptr::eq(cached.fields, fields) {
            true => Cow::Borrowed(&cached.texts),
            false => Cow::Owned(self.read_texts(fields).into_vec()),
        }
    }

    fn read_texts(&self, fields: &[SelectableField]) -> Box<[Box<str>]> {
        let read = |value: &Value| fields.iter().map(|field| field.read(value).into()).collect();
        match self.parsed_value() {
            Some(value) => read(value),
            None => read(&self.parse_unmanaged()),
        }
    }

    /// Returns the row of the object from [`Kind::row`], computed at each call.
    #[must_use]
    pub fn row(&self, kind: &dyn Kind) -> Vec<Cell> {
        match self.parsed_value() {
            Some(_) => kind.row(self),
            None => kind.row(&self.unparsed()),
        }
    }
}
