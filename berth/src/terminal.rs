//! What the program prints for people: tables and colour on a terminal, plain text in a pipe.

use anstyle::{AnsiColor, Style};

/// Rows under headings, each column as wide as its widest cell, two spaces apart.
#[must_use]
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let heading: Vec<String> = headings.iter().map(|&text| text.to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&heading).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A heading.
#[must_use]
pub fn heading(text: &str) -> String {
    styled(Style::new().bold(), text)
}

/// Something that went where it should.
#[must_use]
pub fn good(text: &str) -> String {
    styled(AnsiColor::Green.on_default(), text)
}

/// Something that found no place.
#[must_use]
pub fn bad(text: &str) -> String {
    styled(AnsiColor::Red.on_default(), text)
}

/// Something beside the point.
#[must_use]
pub fn dim(text: &str) -> String {
    styled(Style::new().dimmed(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = vec![
            vec!["eu-1".to_owned(), "x".to_owned()],
            vec!["a".to_owned(), String::new()],
        ];
        assert_eq!(table(&["TARGET", "R"], &rows), "TARGET  R\neu-1    x\na\n");
    }
}
