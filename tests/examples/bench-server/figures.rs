//! Measured figures, with one value per contestant, figure and round.

use std::collections::BTreeMap;

use berth_tests::bench::middle::median;

/// Values by contestant and figure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    values: BTreeMap<(&'static str, String), Vec<f64>>,
}

impl Figures {
    /// Adds a value.
    pub(crate) fn add(&mut self, contestant: &'static str, figure: &str, value: f64) {
        self.values
            .entry((contestant, figure.to_owned()))
            .or_default()
            .push(value);
    }

    /// The median of the values, if there are any.
    pub(crate) fn median(&self, contestant: &str, figure: &str) -> Option<f64> {
        let mut found = self
            .values
            .iter()
            .filter(|((of, name), _)| *of == contestant && name == figure);
        found.next().map(|(_, values)| median(values))
    }

    /// Ratio of `a`'s value to `b`'s: the median of the ratios of all rounds, so that a slow minute of the
    /// machine affects both sides.
    pub(crate) fn ratio(&self, a: &str, b: &str, figure: &str) -> Option<f64> {
        self.middle_ratio((a, figure), (b, figure))
    }

    /// Ratio of two figures of one contestant, as in [`Self::ratio`].
    pub(crate) fn quotient(&self, contestant: &str, figure: &str, by: &str) -> Option<f64> {
        self.middle_ratio((contestant, figure), (contestant, by))
    }

    fn middle_ratio(&self, a: (&str, &str), b: (&str, &str)) -> Option<f64> {
        let of = |(contestant, figure): (&str, &str)| {
            let mut found = self
                .values
                .iter()
                .filter(|((of, name), _)| *of == contestant && name == figure);
            found.next().map(|(_, values)| values)
        };
        let ratios: Vec<f64> = of(a)?
            .iter()
            .zip(of(b)?)
            .filter(|(_, b)| **b > 0.0)
            .map(|(a, b)| a / b)
            .collect();
        (!ratios.is_empty()).then(|| median(&ratios))
    }

    /// All values, for further analysis.
    pub(crate) fn json(&self) -> serde_json::Value {
        let mut all = serde_json::Map::new();
        for ((contestant, figure), values) in &self.values {
            all.entry(*contestant).or_insert_with(|| serde_json::json!({}))[figure.as_str()] =
                serde_json::json!(values);
        }
        all.into()
    }
}
