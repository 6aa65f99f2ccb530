//! Markdown tables.

use std::fmt::Write as _;

/// A table whose first column names the rows and is aligned left; the others are figures.
#[derive(Clone, Debug, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    #[must_use]
    pub fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Self {
        Self {
            head: head.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// One more row.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.head.len(), String::new());
        self.rows.push(cells);
    }

    /// The table as Markdown, with aligned columns.
    #[must_use]
    pub fn markdown(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&self.head]);
            cells
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
                .max(3)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        let mut line = |row: &[String]| {
            for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let written = if index == 0 {
                    write!(text, "| {cell:<width$} ")
                } else {
                    write!(text, "| {cell:>width$} ")
                };
                written.expect("a string takes text");
            }
            text.push_str("|\n");
        };
        line(&self.head);
        let rule = widths.iter().enumerate().map(|(index, width)| {
            let dashes = "-".repeat(width - 1);
            if index == 0 {
                format!("{dashes}-")
            } else {
                format!("{dashes}:")
            }
        });
        line(&rule.collect::<Vec<_>>());
        self.rows.iter().for_each(|row| line(row));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_line() {
        let mut table = Table::new(["what", "a"]);
        table.row(["get", "1,234"]);
        assert_eq!(
            table.markdown(),
            "| what |     a |\n| ---- | ----: |\n| get  | 1,234 |\n"
        );
    }
}
