//! `spec.decisionStrategy.groupStrategy`, compiled (docs/systems/ocm.md, "Groups").

use std::sync::Arc;

use berth_apimachinery::selector::Selector;
use serde_json::Value;

use super::{Problem, check_count};
use crate::kind::{GroupSize, GroupStrategy, claims_as_labels};
use crate::names::MAX_SELECTORS;

/// Division of the selected clusters into groups.
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
    /// The name of the group.
    pub(crate) name: Arc<str>,
    /// The selector over the labels of a cluster.
    pub(crate) labels: Selector,
    /// The selector over the claims of a cluster.
    pub(crate) claims: Selector,
}

/// Compiles `strategy`.
pub(super) fn compile(strategy: &GroupStrategy) -> Result<Groups, Problem> {
    const PATH: &str = "spec.decisionStrategy.groupStrategy";
    let size = match &strategy.clusters_per_decision_group {
        None | Some(Value::Null) => GroupSize::Percent(100),
        Some(value) => GroupSize::parse(value)
            .map_err(|problem| Problem::policy(format!("{PATH}.clustersPerDecisionGroup: {problem}")))?,
    };
    let count = strategy.decision_groups.len();
    check_count(&format!("{PATH}.decisionGroups"), count, MAX_SELECTORS).map_err(Problem::policy)?;
    let mut named = Vec::with_capacity(count);
    for (index, group) in strategy.decision_groups.iter().enumerate() {
        let path = format!("{PATH}.decisionGroups[{index}].groupClusterSelector");
        let compiled = |selector, name: &str| {
            Selector::compile(selector, &format!("{path}.{name}"))
                .map_err(|errors| Problem::policy(berth_apimachinery::field::aggregate(&errors)))
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
