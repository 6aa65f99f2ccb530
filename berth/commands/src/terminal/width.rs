//! Width of lines, and wrapping of text.

use std::io::{self, IsTerminal as _};

/// Least width of a terminal for which lines are wrapped.
const NARROWEST: usize = 40;

/// Number of columns of a line on standard output: from the variable `COLUMNS`, or the terminal. `None` if
/// neither is known, as in a pipe or a file, or if the width is below 40: lines then stay whole.
#[must_use]
pub fn width() -> Option<usize> {
    let variable = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    let width = variable.or_else(|| {
        let out = io::stdout();
        let size = out
            .is_terminal()
            .then(|| rustix::termios::tcgetwinsize(&out).ok())
            .flatten()?;
        Some(usize::from(size.ws_col))
    });
    width.filter(|width| *width >= NARROWEST)
}

/// Wraps `text` between words into lines of at most `width`; only a single longer word makes a longer line.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let letters = word.chars().count();
        if !line.is_empty() && length + 1 + letters > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if !line.is_empty() {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += letters;
    }
    lines.push(line);
    lines
}

/// Returns `text` with `indent` spaces before each line, wrapped to fit `width` if the width is known.
#[must_use]
pub fn indented(text: &str, indent: usize, width: Option<usize>) -> String {
    let lines = match width {
        Some(width) => wrapped(text, width.saturating_sub(indent)),
        None => vec![text.to_owned()],
    };
    let lines: Vec<String> = lines
        .iter()
        .map(|line| format!("{}{line}", " ".repeat(indent)))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words_and_words_are_whole() {
        assert_eq!(wrapped("a bb ccc dddddd e", 6), ["a bb", "ccc", "dddddd", "e"]);
        assert_eq!(wrapped("toolongaword x", 4), ["toolongaword", "x"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(indented("a bb ccc", 2, Some(6)), "  a bb\n  ccc");
        assert_eq!(indented("a bb ccc", 2, None), "  a bb ccc");
    }
}
