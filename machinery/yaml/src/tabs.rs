//! Check for tabs in indentation, which are rejected as in libyaml and its descendants. The parser itself
//! checks only some cases.

use granit_parser::{Event, Span, StructureStyle};

use crate::Problem;

/// Search for tabs before a token that could be a key.
pub(crate) struct Tabs<'a> {
    /// Text to search; `None`, the usual case, if it has no tabs.
    text: Option<&'a str>,
    /// Ranges of lines, from 1, that continue a scalar or are inside brackets.
    free: Vec<(usize, usize)>,
    /// First lines of the open lists and maps in brackets.
    open: Vec<Option<usize>>,
}

impl<'a> Tabs<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self {
            text: text.contains('\t').then_some(text),
            free: Vec::new(),
            open: Vec::new(),
        }
    }

    pub(crate) fn look(&mut self, event: &Event<'_>, span: &Span) {
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

    fn add(&mut self, begin: usize, span: &Span) {
        // A range that ends before the first character of a line does not include that line.
        let last = span.end.line() - usize::from(span.end.col() == 0);
        if last > begin {
            self.free.push((begin + 1, last));
        }
    }

    /// # Errors
    /// The first line that is indented by a tab.
    pub(crate) fn judge(mut self) -> Result<(), Problem> {
        let Some(text) = self.text else {
            return Ok(());
        };
        self.free.sort_unstable();
        let mut free = self.free.iter().peekable();
        let mut until = 0;
        for (line, letters) in (1..).zip(text.lines()) {
            while let Some((_, last)) = free.next_if(|(first, _)| *first <= line) {
                until = until.max(*last);
            }
            if let Some(before) = indented(letters).filter(|_| line > until) {
                return Err(Problem {
                    line,
                    column: before + 1,
                    text: "found a tab where spaces indent, which cannot start any token".to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Returns the number of characters before the first tab that indents: blanks and the signs of entries. A
/// line with only blanks indents nothing, but a token must follow the sign of an entry.
fn indented(line: &str) -> Option<usize> {
    if line.trim().is_empty() {
        return None;
    }
    let bytes = line.as_bytes();
    let mut place = 0;
    loop {
        match bytes.get(place)? {
            b'\t' => return Some(place),
            b' ' => place += 1,
            b'-' | b'?' | b':' if matches!(bytes.get(place + 1), Some(b' ' | b'\t')) => place += 1,
            _ => return None,
        }
    }
}
