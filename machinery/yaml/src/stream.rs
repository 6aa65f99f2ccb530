//! Documents of a stream, separated as in kubectl: by lines, before parsing. So an invalid document does not
//! affect the others.

use berth_apimachinery::json::Document;

use crate::{Problem, build};

/// Separator of documents, at the beginning of a line.
const SEPARATOR: &str = "---";

/// Parses every document of a stream, in order, or returns the problem of the stream.
#[must_use]
pub fn documents(text: &str) -> Vec<Result<Document, Problem>> {
    let mut found = Vec::new();
    let mut begin = Place::default();
    let mut place = Place::default();
    for line in text.split_inclusive('\n') {
        let here = place;
        place.offset += line.len();
        place.line += 1;
        let Some(rest) = line.strip_prefix(SEPARATOR) else {
            continue;
        };
        let rest = rest.trim();
        // It is unknown whether the line was intended to end the preceding document, so that document is not
        // parsed either.
        found.push(match rest.is_empty() || rest.starts_with('#') {
            true => part(text, begin, here),
            false => Err(Problem {
                line: place.line,
                column: 1,
                text: format!("invalid document separator: begin a new line after ---, before {rest:?}"),
            }),
        });
        begin = place;
    }
    found.push(part(text, begin, place));
    // The text before the first separator, and between two consecutive ones, is usually empty.
    found.retain(|document| !matches!(document, Ok(document) if document.value.is_null()));
    found
}

#[derive(Clone, Copy, Default)]
struct Place {
    offset: usize,
    /// Number of preceding lines.
    line: usize,
}

fn part(text: &str, begin: Place, end: Place) -> Result<Document, Problem> {
    build::document(&text[begin.offset..end.offset], begin.line)
}
