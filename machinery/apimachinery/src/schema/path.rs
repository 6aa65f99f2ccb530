//! Path of a value while an object is traversed. Each link borrows its parent from the call stack, so that a
//! path needs no allocation until it is formatted to report a problem.

use std::fmt;

use crate::field_path::FieldPath;

/// A path from the root of an object.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The object itself.
    Root,
    /// A field or map entry.
    Field(&'a Path<'a>, &'a str),
    /// A list element.
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn write(&self, field_path: &mut FieldPath) {
        match self {
            Self::Root => {}
            Self::Field(parent, name) => {
                parent.write(field_path);
                field_path.field(name);
            }
            Self::Index(parent, index) => {
                parent.write(field_path);
                field_path.index(*index);
            }
        }
    }
}

impl fmt::Display for Path<'_> {
    /// Formats the path like [`FieldPath`], which truncates long names and long paths.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut field_path = FieldPath::default();
        self.write(&mut field_path);
        f.write_str(&field_path.into_text())
    }
}
