//! Check for tabs in indentation, which are rejected as in libyaml and its descendants. The parser itself
//! checks only some cases.

use granit_parser::{Event, Span, StructureStyle};

use crate::Problem;

/// Check of one text for tabs in its indentation.
pub(crate) struct TabCheck<'a> {
    /// Text to check; `None`, the usual case, if the text has no tabs.
    text: Option<&'a str>,
    /// Ranges of lines, from 1, that continue a scalar or are inside brackets.
    exempt: Vec<(usize, usize)>,
    /// Open lists and maps: the first line if they are in brackets, otherwise `None`.
    open: Vec<Option<usize>>,
}

impl<'a> TabCheck<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text: text.contains('\t').then_some(text),
            exempt: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Records the lines of an event that may be indented by tabs.
    pub(crate) fn record(&mut self, event: &Event<'_>, span: &Span) {
        if self.text.is_none() {
            return;
        }
        let begin = span.start.line();
        match event {
            Event::Scalar(..) => self.add(begin, span),
            Event::SequenceStart(style, ..) | Event::MappingStart(style, ..) => {
                let flow = matches!(style, StructureStyle::Flow);
                self.open.push(flow.then_some(begin));
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Some(begin)) = self.open.pop() {
                    self.add(begin, span);
                }
            }
            _ => {}
        }
    }

    /// Exempts the lines of `span` after the line `begin`.
    fn add(&mut self, begin: usize, span: &Span) {
        // A range that ends before the first character of a line does not include that line.
        let last = span.end.line() - usize::from(span.end.col() == 0);
        if last > begin {
            self.exempt.push((begin + 1, last));
        }
    }

    /// Checks the indentation of all lines, after all events are recorded.
    ///
    /// # Errors
    /// The first line with a tab in its indentation.
    pub(crate) fn check(mut self) -> Result<(), Problem> {
        let Some(text) = self.text else {
            return Ok(());
        };
        self.exempt.sort_unstable();
        let mut exempt = self.exempt.iter().peekable();
        let mut until = 0;
        for (line, letters) in (1..).zip(text.lines()) {
            while let Some((_, last)) = exempt.next_if(|(first, _)| *first <= line) {
                until = until.max(*last);
            }
            if let Some(before) = tab_in_indentation(letters).filter(|_| line > until) {
                return Err(Problem {
                    line,
                    column: before + 1,
                    text: "found a tab in the indentation: indent with spaces".to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Returns the number of characters before the first tab in the indentation: the spaces, tabs and signs of
/// entries (`-`, `?`, `:`) at the beginning of `line`. `None` for an indentation without tabs, and for a
/// blank line.
fn tab_in_indentation(line: &str) -> Option<usize> {
    if line.trim().is_empty() {
        return None;
    }
    let bytes = line.as_bytes();
    let mut index = 0;
    loop {
        match bytes.get(index)? {
            b'\t' => return Some(index),
            b' ' => index += 1,
            b'-' | b'?' | b':' if matches!(bytes.get(index + 1), Some(b' ' | b'\t')) => index += 1,
            _ => return None,
        }
    }
}
