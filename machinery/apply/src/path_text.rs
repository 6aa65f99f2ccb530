//! Texts of paths in messages, limited in length: a name can be as long as an object, and be part of many
//! paths.

use std::fmt::{self, Write};

use crate::element::Element;

/// Highest number of bytes of one element, without the placeholder: the longest key of a label has 317.
const ELEMENT_LIMIT: usize = 350;
/// Highest number of bytes of a whole path.
const PATH_LIMIT: usize = 1024;
/// Placeholder for omitted parts.
const ELLIPSIS: &str = "...";

/// Appends `element` to `path`, the text of the elements before it. Truncates a long element, and omits the
/// elements at the end of a long path.
pub(crate) fn append(path: &mut String, element: &Element) {
    if path.len() > PATH_LIMIT - ELEMENT_LIMIT - 2 * ELLIPSIS.len() {
        if !path.ends_with(ELLIPSIS) {
            path.push_str(ELLIPSIS);
        }
        return;
    }
    let mut limited = Limited {
        text: path,
        left: ELEMENT_LIMIT,
    };
    if write!(limited, "{element}").is_err() {
        path.push_str(ELLIPSIS);
    }
}

/// Returns the text of the path with these elements.
pub(crate) fn of(elements: &[Element]) -> String {
    let mut path = String::new();
    for element in elements {
        append(&mut path, element);
    }
    path
}

/// Text that takes only some further bytes. Writing more fails after as many as fit, so that long values are
/// not formatted.
struct Limited<'a> {
    text: &'a mut String,
    /// Number of bytes that the text still takes.
    left: usize,
}

impl Write for Limited<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = part.floor_char_boundary(self.left);
        self.text.push_str(&part[..end]);
        self.left -= end;
        if end < part.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::element::Scalar;

    #[test]
    fn short_paths_are_whole_and_long_ones_end_with_an_ellipsis() {
        let key = |port: serde_json::Value| Element::Key(vec![("port".to_owned(), Scalar(port))]);
        let field = |name: &str| Element::Field(name.to_owned());
        assert_eq!(
            of(&[field("spec"), field("ports"), key(json!(80)), field("name")]),
            ".spec.ports[port=80].name"
        );
        let long = "é".repeat(1_000_000);
        assert_eq!(
            of(&[field(&long), field("a")]),
            format!(".{}....a", "é".repeat(174))
        );
        assert_eq!(
            of(&[key(json!(long)), field("a")]),
            format!("[port=\"{}....a", "é".repeat(171))
        );
        let deep = of(&vec![field(&"n".repeat(1_000)); 90]);
        assert!(deep.len() <= PATH_LIMIT && deep.ends_with(ELLIPSIS), "{deep}");
    }
}
