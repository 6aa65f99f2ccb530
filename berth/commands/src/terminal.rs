//! Output for people: tables and colour on a terminal, plain text in a pipe.

mod width;

use std::io::Write as _;

use anstyle::{AnsiColor, Style};

pub use width::{indented, width, wrapped};

/// Style of a success: a placed object.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Style of an object without a place.
pub const BAD: Style = AnsiColor::Red.on_default();
/// Style of an object that is placed in part, or leaves.
pub const WARNING: Style = AnsiColor::Yellow.on_default();
/// Style of less important text.
pub const DIM: Style = Style::new().dimmed();

/// Prints a line on standard output, formatted as by `println!`. If the output is closed (`| head`), the line
/// is lost, and the command continues.
#[macro_export]
macro_rules! say {
    () => { $crate::terminal::say("") };
    ($($argument:tt)*) => { $crate::terminal::say(&format!($($argument)*)) };
}

/// Prints a line of plain text on standard error, formatted as by [`say!`](crate::say).
#[macro_export]
macro_rules! say_error {
    ($($argument:tt)*) => { $crate::terminal::say_error(&format!($($argument)*)) };
}

/// Prints `text` on standard output, without a line feed after it; a closed output is no error.
pub fn print(text: &str) {
    write!(anstream::stdout(), "{text}").unwrap_or_default();
}

/// Prints `text` and a line feed on standard output; a closed output is no error.
pub fn say(text: &str) {
    writeln!(anstream::stdout(), "{text}").unwrap_or_default();
}

/// Prints `text` and a line feed on standard error; a closed output is no error. Much of the text comes from
/// other programs, so its lines are made safe as by [`shown`].
pub fn say_error(text: &str) {
    writeln!(anstream::stderr(), "{}", shown_lines(text)).unwrap_or_default();
}

fn shown_lines(text: &str) -> String {
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

/// One cell of a table: a text in a style, which does not count as width.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Creates a cell with `text` in `style`; the text is made safe as by [`shown`].
    #[must_use]
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        let text = text.into();
        let text = match text.chars().any(controls_terminal) {
            true => shown(&text),
            false => text,
        };
        Self { text, style }
    }

    /// The text without its style.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Creates a cell without a style; the text is made safe as by [`shown`].
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::new())
    }
}

/// Formats rows under headings: each column is as wide as its widest cell, and two spaces separate columns.
#[must_use]
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<Cell>> = rows
        .iter()
        .map(|row| row.iter().map(Cell::plain).collect())
        .collect();
    styled_table(headings, &rows)
}

/// Formats a table like [`table`], from cells with styles.
#[must_use]
pub fn styled_table(headings: &[&str], rows: &[Vec<Cell>]) -> String {
    fitted_table(headings, rows, None)
}

/// Least width of a last column next to the other columns. If there is less room, the column goes below the
/// others.
const MIN_LAST_COLUMN: usize = 30;
/// Indent of a last column below the other columns.
const BELOW_INDENT: usize = 4;

/// Formats a table like [`styled_table`], in lines of at most `width`. The last column, which has the longest
/// texts, is wrapped between words: next to the other columns, or below them if they leave too little room.
#[must_use]
pub fn fitted_table(headings: &[&str], rows: &[Vec<Cell>], width: Option<usize>) -> String {
    let headings: Vec<Cell> = headings.iter().map(|&text| Cell::plain(text)).collect();
    let lines = || std::iter::once(&headings).chain(rows);
    let widest = |column: usize| {
        lines()
            .map(|row| row[column].text.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(widest).collect();
    let before: usize = widths.iter().rev().skip(1).map(|width| width + GAP).sum();
    let last = widths.last().copied().unwrap_or_default();
    let Some(width) = width.filter(|width| before + last > *width) else {
        return lines().map(|row| line(row, &widths)).collect();
    };
    if width >= before + MIN_LAST_COLUMN {
        let beside = |row: &Vec<Cell>| wrapped_row(row, width - before);
        return lines().flat_map(beside).map(|row| line(&row, &widths)).collect();
    }
    let below = |row: &Vec<Cell>| below(row, &widths, width);
    lines().map(below).collect()
}

/// Spaces between two columns.
const GAP: usize = 2;

fn line(row: &[Cell], widths: &[usize]) -> String {
    let mut text = String::new();
    let last = row.iter().rposition(|cell| !cell.text.is_empty());
    for (column, cell) in row.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
        text.push_str(&styled(cell.style, &cell.text));
        if Some(column) != last {
            let gap = widths[column] - cell.text.chars().count() + GAP;
            text.extend(std::iter::repeat_n(' ', gap));
        }
    }
    text.push('\n');
    text
}

/// Splits `row` into several rows, so that the text of the last cell fits `room`.
fn wrapped_row(row: &[Cell], room: usize) -> Vec<Vec<Cell>> {
    let Some((last, before)) = row.split_last() else {
        return Vec::new();
    };
    let blank = vec![Cell::plain(""); before.len()];
    let mut firsts = std::iter::once(before.to_vec()).chain(std::iter::repeat(blank));
    let lines = wrapped(&last.text, room).into_iter();
    lines
        .map(|text| {
            let mut cells = firsts.next().unwrap_or_default();
            cells.push(Cell {
                text,
                style: last.style,
            });
            cells
        })
        .collect()
}

/// Formats `row` with the last cell in lines below the other cells. These are in one line, or in several
/// lines if they are wider than `width`.
fn below(row: &[Cell], widths: &[usize], width: usize) -> String {
    let Some((last, before)) = row.split_last() else {
        return String::new();
    };
    let is_blank = before.iter().all(|cell| cell.text.is_empty());
    let aligned: usize = widths[..before.len()].iter().map(|width| width + GAP).sum();
    let mut text = match is_blank {
        true => String::new(),
        false if aligned > width + GAP => packed(before, width),
        false => line(before, widths),
    };
    if !last.text.is_empty() {
        for part in wrapped(&last.text, width - BELOW_INDENT) {
            text.push_str(&format!(
                "{}{}\n",
                " ".repeat(BELOW_INDENT),
                styled(last.style, &part)
            ));
        }
    }
    text
}

/// Formats the cells that are not empty, one after the other, in as many lines as needed.
fn packed(cells: &[Cell], width: usize) -> String {
    let (mut text, mut length) = (String::new(), 0);
    for cell in cells.iter().filter(|cell| !cell.text.is_empty()) {
        let letters = cell.text.chars().count();
        if length > 0 && length + GAP + letters > width {
            text.push('\n');
            length = 0;
        }
        if !text.is_empty() {
            text.extend(std::iter::repeat_n(' ', GAP));
            length += GAP;
        }
        text.push_str(&styled(cell.style, &cell.text));
        length += letters;
    }
    text.push('\n');
    text
}

/// Whether a character moves, colours or reorders text on a terminal: control characters, line separators,
/// and Unicode's direction marks, which can make one name look like another.
fn controls_terminal(letter: char) -> bool {
    let reorders = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    reorders || letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}')
}

/// Replaces characters of `text` that control the terminal: line feeds and tabs become spaces, other
/// characters below U+0020 are written in caret notation (`^[`), and all other control characters, line
/// separators and direction marks become U+FFFD.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => safe.push(' '),
            '\0'..='\u{1f}' => {
                safe.push('^');
                // In caret notation, a control character of C0 is the letter 64 code points after it.
                safe.extend(char::from_u32(u32::from(letter) + 64));
            }
            other if controls_terminal(other) => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// Returns `text` in `style`.
#[must_use]
pub fn styled(style: Style, text: &str) -> String {
    if style.is_plain() {
        return text.to_owned();
    }
    format!("{style}{text}{style:#}")
}

/// Returns `text` in the style of a heading.
#[must_use]
pub fn heading(text: &str) -> String {
    styled(Style::new().bold(), text)
}

/// Returns `text` in the style of a success.
#[must_use]
pub fn good(text: &str) -> String {
    styled(GOOD, text)
}

/// Returns `text` in the style of an object without a place.
#[must_use]
pub fn bad(text: &str) -> String {
    styled(BAD, text)
}

/// Returns `text` in the style of a partial placement.
#[must_use]
pub fn warning(text: &str) -> String {
    styled(WARNING, text)
}

/// Returns `text` in the style of less important text.
#[must_use]
pub fn dim(text: &str) -> String {
    styled(DIM, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_does_not_command_the_terminal() {
        assert_eq!(
            shown("a\u{1b}[2Jb\nc\u{7f}\u{9b}31m é"),
            "a^[[2Jb c\u{fffd}\u{fffd}31m é"
        );
        assert_eq!(
            shown("\u{202e}drow\u{2069}\r\u{2028}"),
            "\u{fffd}drow\u{fffd}^M\u{fffd}"
        );
        let forged = vec![vec!["a\r\nb  true".to_owned()]];
        assert_eq!(
            table(&["TAINT"], &forged),
            "TAINT\na^M b  true\n",
            "one row stays one line"
        );
    }

    #[test]
    fn lines_on_standard_error_command_no_terminal_either() {
        assert_eq!(
            shown_lines("error: a\u{1b}[2J\n  b\u{202e}\r"),
            "error: a^[[2J\n  b\u{fffd}^M"
        );
    }

    #[test]
    fn a_table_fits_its_width_beside_or_below() {
        let row = |texts: [&str; 2]| texts.map(Cell::plain).to_vec();
        let rows = [
            row(["cluster-1", "one two three four five six seven"]),
            row(["", "eight"]),
        ];
        let at = |width| fitted_table(&["NAME", "WHY"], &rows, Some(width));
        assert_eq!(at(80), fitted_table(&["NAME", "WHY"], &rows, None));
        assert_eq!(
            at(42),
            "NAME       WHY\ncluster-1  one two three four five six\n           seven\n           eight\n"
        );
        assert_eq!(
            at(40),
            "NAME\n    WHY\ncluster-1\n    one two three four five six seven\n    eight\n"
        );
    }

    #[test]
    fn a_row_that_is_wider_than_the_terminal_without_its_last_column_goes_on_in_the_next_line() {
        let rows = [["a-long-name", "of-a-kind", "and-more", "why"]
            .map(Cell::plain)
            .to_vec()];
        let headings = ["NAME", "KIND", "MORE", "WHY"];
        assert_eq!(
            fitted_table(&headings, &rows, Some(24)),
            "NAME  KIND  MORE\n    WHY\na-long-name  of-a-kind\n  and-more\n    why\n"
        );
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = vec![
            vec!["eu-1".to_owned(), "x".to_owned()],
            vec!["a".to_owned(), String::new()],
        ];
        assert_eq!(table(&["TARGET", "R"], &rows), "TARGET  R\neu-1    x\na\n");
    }
}
