//! Detection of unlimited growth.

use super::middle::median;

/// The part by which the last third of `values` is above the second third: 0.1 for a tenth. The first third
/// is left out, since caches fill then. Medians are compared, so that one peak is no trend.
#[must_use]
pub fn growth(values: &[f64]) -> f64 {
    let third = values.len() / 3;
    if third == 0 {
        return 0.0;
    }
    let (_, rest) = values.split_at(values.len() - 2 * third);
    let (before, last) = rest.split_at(third);
    let (before, last) = (median(before), median(last));
    if before > 0.0 { last / before - 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_at_first_only_does_not_grow_and_what_goes_on_growing_does() {
        let settled: Vec<f64> = (0..30)
            .map(|minute| 100.0 - 90.0 / f64::from(minute + 1).powi(2))
            .collect();
        assert!(growth(&settled) < 0.02, "{}", growth(&settled));
        let leaking: Vec<f64> = (0..30).map(|minute| 100.0 + 3.0 * f64::from(minute)).collect();
        assert!(growth(&leaking) > 0.1, "{}", growth(&leaking));
        let mut peak = vec![100.0; 30];
        peak[28] = 1_000.0;
        assert!(growth(&peak).abs() < f64::EPSILON);
        assert!(growth(&[1.0, 2.0]).abs() < f64::EPSILON);
    }
}
