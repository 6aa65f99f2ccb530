//! `spec.decisionStrategy.groupStrategy`, compiled (docs/systems/ocm.md, "Groups").

use std::sync::Arc;

use meta::selector::Selector;
use serde_json::Value;

use super::Problem;
use crate::kind::{GroupStrategy, claims_as_labels};

/// How the selection is divided.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The largest size of a group.
    pub(crate) size: GroupSize,
    /// The groups with names, filled in order.
    pub(crate) named: Vec<NamedGroup>,
}

/// A group with a name.
#[derive(Debug)]
pub(crate) struct NamedGroup {
    /// The name.
    pub(crate) name: Arc<str>,
    /// Over labels.
    pub(crate) labels: Selector,
    /// Over claims.
    pub(crate) claims: Selector,
}

/// The largest size of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupSize {
    /// So many clusters.
    Clusters(usize),
    /// This share of the selection, rounded up.
    Percent(usize),
}

impl GroupSize {
    /// Reads `clustersPerDecisionGroup`: a positive integer, or 1 to 100 percent.
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

    /// The size for a selection of `selected` clusters, at least 1.
    pub(crate) fn of(self, selected: usize) -> usize {
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

/// Digits without a sign and without a leading zero.
fn digits(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    plain.then(|| text.parse().ok()).flatten()
}

/// Compiles `strategy`.
pub(super) fn compile(strategy: &GroupStrategy) -> Result<Groups, Problem> {
    const PATH: &str = "spec.decisionStrategy.groupStrategy";
    let size = match &strategy.clusters_per_decision_group {
        None | Some(Value::Null) => GroupSize::Percent(100),
        Some(value) => GroupSize::parse(value)
            .map_err(|problem| Problem::policy(format!("{PATH}.clustersPerDecisionGroup: {problem}")))?,
    };
    let mut named = Vec::with_capacity(strategy.decision_groups.len());
    for (index, group) in strategy.decision_groups.iter().enumerate() {
        let path = format!("{PATH}.decisionGroups[{index}].groupClusterSelector");
        let compiled = |selector, name: &str| {
            Selector::compile(selector, &format!("{path}.{name}"))
                .map_err(|errors| Problem::policy(meta::field::aggregate(&errors)))
        };
        let selector = &group.group_cluster_selector;
        named.push(NamedGroup {
            name: group.group_name.as_str().into(),
            labels: compiled(&selector.label_selector, "labelSelector")?,
            claims: compiled(&claims_as_labels(&selector.claim_selector), "claimSelector")?,
        });
    }
    Ok(Groups { size, named })
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
                GroupSize::parse(&value).unwrap().of(selected),
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
