//! Medians and quantiles, which other load on the machine affects least.

use std::time::Duration;

/// The value below which `part` (0 to 1) of `values` are; 0 without values.
#[must_use]
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index into a list that is in memory"
    )]
    let index = ((sorted.len() as f64) * part) as usize;
    sorted
        .get(index.min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}

/// The median; of an even number of values, the mean of the two in the middle.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[half],
        _ => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

/// The duration in milliseconds.
#[must_use]
pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// A number with three significant digits.
#[must_use]
pub fn shown(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if size >= 100.0 {
        thousands(value)
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_in_the_middle() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median(&[]).abs() < f64::EPSILON);
        let hundred: Vec<f64> = (0..100).map(f64::from).collect();
        assert!((quantile(&hundred, 0.99) - 99.0).abs() < f64::EPSILON);
        assert!((quantile(&hundred, 0.5) - 50.0).abs() < f64::EPSILON);
    }

    #[test]
    fn three_digits_are_shown() {
        let numbers = [12345.6, 123.4, 12.34, 1.234, 0.1234, 0.0, -1234.0];
        let texts = numbers.map(shown);
        assert_eq!(texts, ["12,346", "123", "12.3", "1.23", "0.123", "0", "-1,234"]);
    }
}
