//! Cells of a table.

use serde_json::Value;

use crate::age::human_duration;

use jiff::Timestamp;

/// One cell. Cells are cached with the object, so an age is stored as an instant and formatted at each read.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A fixed value.
    Value(Value),
    /// The age of an instant, formatted at each read; `None` shows `<unknown>`.
    Age(Option<Timestamp>),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Value(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Value(text.into())
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Value(number.into())
    }
}

impl Cell {
    /// Writes the cell as JSON at the time `now`.
    pub fn write(&self, now: Timestamp, out: &mut Vec<u8>) {
        match self {
            Self::Value(value) => write(value, out),
            Self::Age(from) => write_age(*from, now, out),
        }
    }
}

fn write<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("writing a JSON value to memory cannot fail");
}

fn write_age(from: Option<Timestamp>, now: Timestamp, out: &mut Vec<u8>) {
    match from {
        Some(from) => write(&human_duration(from, now), out),
        None => write("<unknown>", out),
    }
}

/// Marker of an age in [`Cells`], followed by the microseconds of the instant. JSON never contains this byte.
const AGE: u8 = 0;
const MICROS: usize = size_of::<i64>();

/// The cells of one row in their cached form, which needs little memory and is mostly copied to a response:
/// JSON values with commas in between, and a marker in place of each age.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells(Box<[u8]>);

impl Cells {
    /// Encodes the cells of one row.
    #[must_use]
    pub fn of(row: &[Cell]) -> Self {
        let mut bytes = Vec::with_capacity(128);
        for (index, cell) in row.iter().enumerate() {
            if index > 0 {
                bytes.push(b',');
            }
            match cell {
                Cell::Value(value) => write(value, &mut bytes),
                Cell::Age(from) => {
                    bytes.push(AGE);
                    // The smallest number stands for a missing time.
                    let micros = from.map_or(i64::MIN, Timestamp::as_microsecond);
                    bytes.extend_from_slice(&micros.to_le_bytes());
                }
            }
        }
        Self(bytes.into())
    }

    /// Writes the cells at the instant `now`: JSON with commas in between.
    pub fn write(&self, now: Timestamp, out: &mut Vec<u8>) {
        let mut rest = &*self.0;
        while let Some(position) = rest.iter().position(|&byte| byte == AGE) {
            out.extend_from_slice(&rest[..position]);
            let (micros, after) = rest[position + 1..]
                .split_first_chunk::<MICROS>()
                .expect("microseconds follow each marker");
            write_age(
                Timestamp::from_microsecond(i64::from_le_bytes(*micros)).ok(),
                now,
                out,
            );
            rest = after;
        }
        out.extend_from_slice(rest);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cached_cells_equal_the_cells_of_the_row() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for row in [
            vec![],
            vec![Cell::Age(None)],
            vec![
                "a\u{0}\"".into(),
                Cell::Age(Some(at(0))),
                Cell::Value(json!([1, null])),
                Cell::Age(Some(at(-1))),
                7.into(),
            ],
        ] {
            let (mut cached, mut direct) = (Vec::new(), Vec::new());
            Cells::of(&row).write(at(100), &mut cached);
            for (index, cell) in row.iter().enumerate() {
                direct.extend_from_slice(if index > 0 { b"," } else { b"" });
                cell.write(at(100), &mut direct);
            }
            assert_eq!(cached, direct);
        }
        let mut out = Vec::new();
        Cells::of(&["a\u{0}".into(), Cell::Age(Some(at(55)))]).write(at(100), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), r#""a\u0000","45s""#);
    }
}
