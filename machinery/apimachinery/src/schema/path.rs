//! Path of a value while an object is traversed. Each link borrows its parent from the call stack, so that a
//! path needs no allocation until it is formatted to report a problem.

use std::fmt;

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
    fn is_root(&self) -> bool {
        matches!(self, Self::Root)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(parent, name) => {
                parent.fmt(f)?;
                if !parent.is_root() {
                    f.write_str(".")?;
                }
                f.write_str(name)
            }
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
