//! Spans in the bytes of an object in canonical form, found without building a tree.
//!
//! A server spends much of its start on reading the store, and needs only the metadata and a few spans of
//! each object for that.

use std::ops::Range;

use serde::Deserialize;

use super::{Meta, Spans};

/// Fields that every object has. Parsing them also checks that the other fields are JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outline {
    api_version: String,
    kind: String,
    metadata: Meta,
}

/// Returns the metadata and the spans in `bytes`; `None` where the two top levels do not have the form that
/// [`super::Draft`] writes.
pub(super) fn read(bytes: &[u8]) -> Option<(Meta, Spans)> {
    let Outline {
        api_version,
        kind,
        metadata: meta,
    } = serde_json::from_str(std::str::from_utf8(bytes).ok()?).ok()?;
    if api_version.is_empty() || kind.is_empty() || meta.name().is_empty() {
        return None;
    }
    let names = ["apiVersion", "kind", "metadata"];
    let [version, kind_value, metadata] = find(bytes, 0, bytes.len(), names)?;
    let (version, kind_value, metadata) = (version?, kind_value?, metadata?);
    let names = ["annotations", "managedFields", "resourceVersion"];
    let [annotations, managed, revision] = find(bytes, metadata.start, metadata.end, names)?;
    let spans = Spans {
        api_version: within_quotes(bytes, &version)?.into(),
        kind: within_quotes(bytes, &kind_value)?.into(),
        annotations: annotations.unwrap_or_default().into(),
        managed: managed.unwrap_or_default().into(),
        revision: within_quotes(bytes, &revision?)?.into(),
        metadata: metadata.into(),
    };
    (bytes[spans.api_version.range()] == *api_version.as_bytes()).then_some((meta, spans))
}

/// Finds the values of the members `wanted` in the object from `start` to `end`; `None` if the names are not
/// in order, or the object does not end at `end`.
fn find<const COUNT: usize>(
    bytes: &[u8],
    start: usize,
    end: usize,
    wanted: [&str; COUNT],
) -> Option<[Option<Range<usize>>; COUNT]> {
    let mut found = [const { None }; COUNT];
    let mut members = Members {
        bytes,
        position: start,
    };
    let mut last: &[u8] = b"";
    for (name, value) in members.by_ref() {
        let name = &bytes[name];
        if name <= last {
            return None;
        }
        last = name;
        if let Some(place) = wanted.iter().position(|wanted| wanted.as_bytes() == name) {
            found[place] = Some(value);
        }
    }
    let whole = bytes.get(members.position) == Some(&b'}') && members.position + 1 == end;
    whole.then_some(found)
}

/// Iterator over the members of an object in JSON without spaces, as ranges of the name without its quotes
/// and of the value.
pub(super) struct Members<'a> {
    bytes: &'a [u8],
    /// Position of the brace or comma before the next member.
    position: usize,
}

impl<'a> Members<'a> {
    /// Iterates over the members of the object in `bytes`, including braces; empty for empty bytes.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }
}

impl Iterator for Members<'_> {
    type Item = (Range<usize>, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        if !matches!(self.bytes.get(self.position)?, b'{' | b',') {
            return None;
        }
        let start = self.position + 1;
        let colon = after_text(self.bytes, start)?;
        if self.bytes.get(colon) != Some(&b':') {
            return None;
        }
        self.position = after_value(self.bytes, colon + 1)?;
        let spaced =
            [colon + 1, self.position - 1].map(|position| self.bytes[position].is_ascii_whitespace());
        (spaced == [false; 2]).then_some((start + 1..colon - 1, colon + 1..self.position))
    }
}

/// Iterator over the elements of an array in JSON without spaces, as ranges.
pub(super) struct Elements<'a> {
    bytes: &'a [u8],
    /// Position of the bracket or comma before the next element.
    position: usize,
}

impl<'a> Elements<'a> {
    /// Iterates over the elements of the array in `bytes`, including brackets; empty for empty bytes.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }
}

impl Iterator for Elements<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        if !matches!(self.bytes.get(self.position)?, b'[' | b',') {
            return None;
        }
        let start = self.position + 1;
        if self.bytes.get(start) == Some(&b']') {
            return None;
        }
        self.position = after_value(self.bytes, start)?;
        Some(start..self.position)
    }
}

/// Returns the position after the text that begins with the quote at `start`.
fn after_text(bytes: &[u8], start: usize) -> Option<usize> {
    if bytes.get(start) != Some(&b'"') {
        return None;
    }
    let mut position = start + 1;
    loop {
        match bytes.get(position)? {
            b'"' => return Some(position + 1),
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
}

/// Returns the position after the value that begins at `start`.
fn after_value(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut position, mut depth) = (start, 0_usize);
    loop {
        match bytes.get(position)? {
            b'"' => position = after_text(bytes, position)?,
            b'{' | b'[' => {
                depth += 1;
                position += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                position += 1;
            }
            // Literals, numbers and the punctuation between the members of a nested value.
            _ => position += 1,
        }
        if depth == 0 && matches!(bytes.get(position)?, b',' | b'}' | b']') {
            return Some(position);
        }
    }
}

fn within_quotes(bytes: &[u8], value: &Range<usize>) -> Option<Range<usize>> {
    let quoted = value.len() >= 2 && bytes[value.start] == b'"';
    quoted.then(|| value.start + 1..value.end - 1)
}
