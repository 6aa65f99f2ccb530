//! Documents of a stream. As in kubectl, lines separate them before they are parsed, so that an invalid
//! document does not affect other documents.

use berth_apimachinery::json::Document;

use crate::{Problem, build};

/// Separator of documents, at the beginning of a line.
const SEPARATOR: &str = "---";

/// Parses the documents of a stream, in order. The result has a problem in place of an invalid document or
/// separator.
#[must_use]
pub fn documents(text: &str) -> Vec<Result<Document, Problem>> {
    let mut found = Vec::new();
    let mut begin = Position::default();
    let mut position = Position::default();
    for line in text.split_inclusive('\n') {
        let line_start = position;
        position.offset += line.len();
        position.line += 1;
        let Some(rest) = line.strip_prefix(SEPARATOR) else {
            continue;
        };
        let rest = rest.trim();
        // After an invalid separator, it is unknown whether the line was intended to end the preceding
        // document, so that document is not parsed.
        found.push(match rest.is_empty() || rest.starts_with('#') {
            true => part(text, begin, line_start),
            false => Err(Problem {
                line: position.line,
                column: 1,
                text: format!("invalid document separator: begin a new line after ---, before {rest:?}"),
            }),
        });
        begin = position;
    }
    found.push(part(text, begin, position));
    // The text before the first separator, and between two consecutive separators, is usually empty.
    found.retain(|document| !matches!(document, Ok(document) if document.value.is_null()));
    found
}

/// Position of the beginning of a line.
#[derive(Clone, Copy, Default)]
struct Position {
    offset: usize,
    /// Number of preceding lines.
    line: usize,
}

/// Parses the document between two positions.
fn part(text: &str, begin: Position, end: Position) -> Result<Document, Problem> {
    build::document(&text[begin.offset..end.offset], begin.line)
}
