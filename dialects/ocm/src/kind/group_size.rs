//! The field `clustersPerDecisionGroup`: the largest size of a decision group.

use serde_json::Value;

/// The largest size of a decision group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupSize {
    /// This number of clusters.
    Clusters(usize),
    /// This percentage of the selected clusters, rounded up.
    Percent(usize),
}

impl GroupSize {
    /// Parses `clustersPerDecisionGroup`: a positive integer, or 1 to 100 percent.
    ///
    /// # Errors
    /// A sentence that names the accepted form.
    pub(crate) fn parse(value: &Value) -> Result<Self, String> {
        let positive = |number: usize| (number > 0).then_some(number);
        let parsed = match value {
            Value::Number(number) => number
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
                .and_then(positive)
                .map(Self::Clusters),
            Value::String(text) => match text.strip_suffix('%') {
                Some(share) => digits(share)
                    .and_then(positive)
                    .filter(|&share| share <= 100)
                    .map(Self::Percent),
                None => digits(text).and_then(positive).map(Self::Clusters),
            },
            _ => None,
        };
        parsed.ok_or_else(|| "must be a positive integer, or a percentage from 1% to 100%".to_owned())
    }

    /// The largest number of clusters in a group, if `selected` clusters are selected; at least 1.
    pub(crate) fn clusters_per_group(self, selected: usize) -> usize {
        let size = match self {
            Self::Clusters(clusters) => clusters,
            Self::Percent(percent) => (selected * percent).div_ceil(100),
        };
        if size == 0 || size > selected {
            selected.max(1)
        } else {
            size
        }
    }
}

/// Parses digits without a sign and without a leading zero.
fn digits(text: &str) -> Option<usize> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_read_and_rounded_up() {
        for (value, selected, size) in [
            (json!("30%"), 7, 3),
            (json!("100%"), 7, 7),
            (json!("1%"), 101, 2),
            (json!(3), 7, 3),
            (json!("3"), 7, 3),
            (json!(30), 7, 7),
            (json!("50%"), 0, 1),
        ] {
            assert_eq!(
                GroupSize::parse(&value).unwrap().clusters_per_group(selected),
                size,
                "{value} of {selected}"
            );
        }
        for bad in [
            json!("0%"),
            json!("101%"),
            json!(0),
            json!(-1),
            json!("x"),
            json!("07"),
            json!("+5%"),
            json!(1.5),
        ] {
            assert!(GroupSize::parse(&bad).is_err(), "{bad}");
        }
    }
}
