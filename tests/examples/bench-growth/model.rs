//! The model of docs/scaling.md: every cost has a fixed part and a part for each object.

/// A straight line through figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    /// The fixed cost.
    pub(crate) fixed: f64,
    /// The cost of each object.
    pub(crate) each: f64,
}

impl Line {
    /// The best line for `points` (count and figure, none of them 0), by the squares of the relative error of
    /// each figure. Costs are not negative, so neither part is.
    pub(crate) fn through(points: &[(f64, f64)]) -> Self {
        // Each point is divided by its figure, so that its value should be 1.
        let sum = |part: &dyn Fn(f64, f64) -> f64| {
            points
                .iter()
                .map(|&(count, figure)| part(count, figure))
                .sum::<f64>()
        };
        let ones = sum(&|_, figure| 1.0 / figure);
        let counts = sum(&|count, figure| count / figure);
        let (one_one, one_count, count_count) = (
            sum(&|_, figure| (1.0 / figure).powi(2)),
            sum(&|count, figure| count / figure.powi(2)),
            sum(&|count, figure| (count / figure).powi(2)),
        );
        let alike = one_one * count_count - one_count * one_count;
        let fixed = (ones * count_count - counts * one_count) / alike;
        let each = (counts * one_one - ones * one_count) / alike;
        if fixed >= 0.0 && each >= 0.0 {
            return Self { fixed, each };
        }
        if each < 0.0 {
            return Self {
                fixed: ones / one_one,
                each: 0.0,
            };
        }
        Self {
            fixed: 0.0,
            each: counts / count_count,
        }
    }

    /// Cost of `count`.
    pub(crate) fn at(self, count: f64) -> f64 {
        self.fixed + self.each * count
    }

    /// The largest relative error of `points`.
    pub(crate) fn missed(self, points: &[(f64, f64)]) -> f64 {
        let missed = points
            .iter()
            .map(|&(count, figure)| (self.at(count) / figure - 1.0).abs());
        missed.fold(0.0, f64::max)
    }
}
