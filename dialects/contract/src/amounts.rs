//! Comparison of the amounts per cluster, which shows whether the places of a demand have changed.
//!
//! Two sides are equal if they have the same clusters with the same amounts. Systems that divide nothing
//! have `None` as every amount, so that only the clusters count.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::view::DemandView;

/// Clusters of a demand by their own names, each with its amount.
pub type AmountsByCluster = BTreeMap<String, Option<i64>>;

/// The clusters of `view` with their amounts, without the clusters that the demand is leaving.
#[must_use]
pub fn held(view: &DemandView) -> AmountsByCluster {
    let stays = view.placed.iter().filter(|placed| !placed.leaving);
    stays
        .map(|placed| (placed.cluster_name.to_string(), placed.amount))
        .collect()
}

/// A cluster that stays, with another amount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AmountChange {
    /// The system's own name of the cluster.
    pub cluster_name: String,
    /// The amount before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// The amount after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
}

impl fmt::Display for AmountChange {
    /// Writes `eu-1 (6 to 4)`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount =
            |amount: Option<i64>| amount.map_or_else(|| "none".to_owned(), |amount| amount.to_string());
        write!(
            formatter,
            "{} ({} to {})",
            self.cluster_name,
            amount(self.from),
            amount(self.to)
        )
    }
}

/// The clusters that both sides have with different amounts, by name.
#[must_use]
pub fn resized(before: &AmountsByCluster, after: &AmountsByCluster) -> Vec<AmountChange> {
    let both = before
        .iter()
        .filter_map(|(name, &from)| Some((name, from, *after.get(name)?)));
    both.filter(|(_, from, to)| from != to)
        .map(|(name, from, to)| AmountChange {
            cluster_name: name.clone(),
            from,
            to,
        })
        .collect()
}

/// The names that are in `one` and not in `other`, in order.
#[must_use]
pub fn only<'a>(one: &'a AmountsByCluster, other: &AmountsByCluster) -> Vec<&'a str> {
    let names = one.keys().filter(|name| !other.contains_key(*name));
    names.map(String::as_str).collect()
}

/// A cluster with its amount, as tables show them: `eu-1:6`, or the name alone where the system divides
/// nothing.
#[must_use]
pub fn cell(cluster_name: &str, amount: Option<i64>) -> String {
    match amount {
        Some(amount) => format!("{cluster_name}:{amount}"),
        None => cluster_name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(entries: &[(&str, i64)]) -> AmountsByCluster {
        let entries = entries.iter();
        entries
            .map(|&(name, amount)| (name.to_owned(), Some(amount)))
            .collect()
    }

    #[test]
    fn only_what_stays_with_another_amount_is_resized() {
        let before = side(&[("a", 6), ("b", 4), ("c", 2)]);
        let after = side(&[("a", 6), ("b", 5), ("d", 1)]);
        let texts: Vec<String> = resized(&before, &after).iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["b (4 to 5)"]);
        assert_eq!(only(&before, &after), ["c"]);
        assert_eq!(only(&after, &before), ["d"]);
    }

    #[test]
    fn where_nothing_is_divided_the_names_are_all_that_counts() {
        let held: AmountsByCluster = [("a".to_owned(), None)].into();
        assert!(resized(&held, &held.clone()).is_empty());
        assert_eq!(
            (cell("a", None), cell("a", Some(3))),
            ("a".to_owned(), "a:3".to_owned())
        );
    }
}
