//! The string form of field selectors, including escapes.

use super::{FieldSelector, SelectorError};

/// Parses `a=b,c!=d`; empty terms are skipped.
pub(super) fn parse(text: &str) -> Result<FieldSelector, SelectorError> {
    let mut terms = Vec::new();
    for term in split(text) {
        if term.is_empty() {
            continue;
        }
        let (path, equal, value) =
            operator(term).ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{term}'"))?;
        terms.push((path.to_owned(), equal, unescape(value)?));
    }
    Ok(FieldSelector { terms })
}

/// Splits the terms at unescaped commas.
fn split(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push(&text[start..position]);
                start = position + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// Splits a term at the first operator: into the path, whether the operator is equality, and the still
/// escaped value.
fn operator(term: &str) -> Option<(&str, bool, &str)> {
    // A `!` without `=` is part of the path.
    term.match_indices(['=', '!']).find_map(|(position, _)| {
        let (path, rest) = term.split_at(position);
        if let Some(value) = rest.strip_prefix("!=") {
            return Some((path, false, value));
        }
        let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?;
        Some((path, true, value))
    })
}

/// Removes the escapes from a value.
fn unescape(value: &str) -> Result<String, String> {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(plain @ ('\\' | ',' | '=')) => text.push(plain),
                other => {
                    let sequence: String = other.into_iter().collect();
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{sequence}"
                    ));
                }
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {character}"
                ));
            }
            plain => text.push(plain),
        }
    }
    Ok(text)
}
