//! Amounts of a demand by cluster, and their comparison, which shows whether the places of a demand have
//! changed.
//!
//! Two maps are equal if they have the same clusters with the same amounts. For systems that divide nothing,
//! every amount is `None`, so that only the clusters are compared.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::view::DemandView;

/// The amounts of a demand, by the system's own names of the clusters.
pub type AmountsByCluster = BTreeMap<String, Option<i64>>;

/// The amounts of the demand in `view`, without the clusters that the demand is leaving.
#[must_use]
pub fn by_cluster(view: &DemandView) -> AmountsByCluster {
    let stays = view.placed.iter().filter(|placed| !placed.leaving);
    stays
        .map(|placed| (placed.cluster_name.to_string(), placed.amount))
        .collect()
}

/// The change of the amount of a cluster that stays.
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

/// The changes of amounts from `before` to `after`, for clusters in both, by name.
#[must_use]
pub fn changes(before: &AmountsByCluster, after: &AmountsByCluster) -> Vec<AmountChange> {
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

/// The names of the clusters in `one` that are not in `other`, in order.
#[must_use]
pub fn names_only_in<'a>(one: &'a AmountsByCluster, other: &AmountsByCluster) -> Vec<&'a str> {
    let names = one.keys().filter(|name| !other.contains_key(*name));
    names.map(String::as_str).collect()
}

/// The cell of a table for a cluster and its amount: `eu-1:6`, or only the name if the system divides
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
    fn a_change_is_of_a_cluster_that_stays_with_another_amount() {
        let before = side(&[("a", 6), ("b", 4), ("c", 2)]);
        let after = side(&[("a", 6), ("b", 5), ("d", 1)]);
        let texts: Vec<String> = changes(&before, &after).iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["b (4 to 5)"]);
        assert_eq!(names_only_in(&before, &after), ["c"]);
        assert_eq!(names_only_in(&after, &before), ["d"]);
    }

    #[test]
    fn without_amounts_only_the_names_are_compared() {
        let held: AmountsByCluster = [("a".to_owned(), None)].into();
        assert!(changes(&held, &held.clone()).is_empty());
        assert_eq!(
            (cell("a", None), cell("a", Some(3))),
            ("a".to_owned(), "a:3".to_owned())
        );
    }
}
