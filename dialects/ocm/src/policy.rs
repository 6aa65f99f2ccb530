//! A Placement's spec, compiled once when the object changes: selectors, expressions, and the weights of
//! prioritizers.
//!
//! A field that cannot be compiled is kept as a [`Problem`]: only the first problem in pipeline order is
//! reported (docs/systems/ocm.md, "Conditions").

pub(crate) mod groups;
pub(crate) mod predicate;
pub(crate) mod prioritizers;
pub(crate) mod selector_input;
mod shared;

use std::sync::Arc;

use berth_apimachinery::FieldError;
use berth_apimachinery::selector::Selector;

use crate::cel;
use crate::cluster::Cluster;
use crate::code::Plugin;
use crate::comparer::ExpressionComparer;
use crate::kind::{PlacementSpec, Toleration};

pub(crate) use groups::Groups;
pub(crate) use predicate::Predicate;
pub(crate) use prioritizers::{Prioritizer, ScoreSource};
pub(crate) use selector_input::SelectorInput;
pub(crate) use shared::Policies;

/// Reason why a placement is Misconfigured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The filter with the problem; `None` for a problem of the policy itself.
    pub(crate) plugin: Option<Plugin>,
    /// Description of the problem.
    pub(crate) text: String,
}

impl Problem {
    /// A problem of the policy itself.
    pub(crate) fn policy(text: impl Into<String>) -> Self {
        Self {
            plugin: None,
            text: text.into(),
        }
    }

    /// The problem of the cluster set `name`, which cannot be read for this `reason`.
    pub(crate) fn unreadable_set(name: &str, reason: &str) -> Self {
        Self {
            plugin: Some(Plugin::ClusterSet),
            text: format!("ManagedClusterSet {name} cannot be read: {reason}"),
        }
    }

    /// Whether a set is the problem, and not the placement itself.
    pub(crate) fn is_of_set(&self) -> bool {
        self.plugin == Some(Plugin::ClusterSet)
    }

    /// The message of the condition: `<plugin>:<text>`, as OCM writes it.
    pub(crate) fn message(&self) -> String {
        let plugin = self.plugin.map(Plugin::name).unwrap_or_default();
        format!("{plugin}:{}", self.text)
    }
}

/// The path of the expression at `index` in the predicate at index `predicate`.
pub(crate) fn expression_path(predicate: usize, index: usize) -> String {
    format!("spec.predicates[{predicate}].requiredClusterSelector.celSelector.celExpressions[{index}]")
}

/// Checks that the list at `path` has at most `max` entries; `count` is its length.
///
/// # Errors
/// The error about a longer list.
fn check_count(path: &str, count: usize, max: usize) -> Result<(), String> {
    if count > max {
        return Err(FieldError::too_many(path, count, max).to_string());
    }
    Ok(())
}

/// The compiled spec of a Placement.
#[derive(Debug)]
pub(crate) struct Policy {
    /// The spec before its compilation.
    pub(crate) spec: PlacementSpec,
    /// The requested number of clusters; `None` requests all fitting clusters, or the number is invalid.
    pub(crate) wanted: Option<usize>,
    /// The requested sets; empty requests every bound set.
    pub(crate) sets: Vec<Arc<str>>,
    /// The predicates, one of which must match. An empty list matches every cluster.
    pub(crate) predicates: Result<Vec<Predicate>, Problem>,
    /// The tolerations, in order.
    pub(crate) tolerations: Result<Vec<Toleration>, Problem>,
    /// The prioritizers with a weight other than 0.
    pub(crate) prioritizers: Result<Vec<Prioritizer>, Problem>,
    /// Division of the selected clusters into groups.
    pub(crate) groups: Result<Groups, Problem>,
    /// The problem of `numberOfClusters`.
    number: Option<Problem>,
}

impl Policy {
    /// Compiles `spec`, with expressions from `cache`.
    pub(crate) fn compile(spec: PlacementSpec, cache: &cel::Cache) -> Self {
        let wanted = spec.number_of_clusters.map(usize::try_from).transpose();
        let number = wanted.is_err().then(|| {
            let number = spec.number_of_clusters.unwrap_or_default();
            Problem::policy(format!("numberOfClusters is {number}, it must not be negative"))
        });
        Self {
            wanted: wanted.unwrap_or_default(),
            sets: spec
                .cluster_sets
                .iter()
                .map(|name| name.as_str().into())
                .collect(),
            predicates: predicate::compile(&spec.predicates, cache),
            tolerations: tolerations(&spec.tolerations),
            prioritizers: prioritizers::compile(&spec.prioritizer_policy),
            groups: groups::compile(&spec.decision_strategy.group_strategy),
            number,
            spec,
        }
    }

    /// The first problem, in the order of the pipeline. Filters check their configuration only when
    /// there is a candidate to judge (docs/systems/ocm.md, "Filters").
    pub(crate) fn problem(&self, any_candidates: bool) -> Option<&Problem> {
        let filters = [self.predicates.as_ref().err(), self.tolerations.as_ref().err()];
        let filters = filters.into_iter().flatten().filter(|_| any_candidates);
        let rest = [
            self.number.as_ref(),
            self.prioritizers.as_ref().err(),
            self.groups.as_ref().err(),
        ];
        filters.chain(rest.into_iter().flatten()).next()
    }

    /// Whether the placement chooses from `set`, if the set is bound to its namespace.
    pub(crate) fn requests(&self, set: &Arc<str>) -> bool {
        self.sets.is_empty() || self.sets.contains(set)
    }

    /// Whether a predicate has CEL expressions.
    pub(crate) fn uses_cel(&self) -> bool {
        self.predicates
            .iter()
            .flatten()
            .any(|predicate| !predicate.expressions.is_empty())
    }

    /// Whether a predicate or a group may select one of two versions of a cluster and not the other.
    pub(crate) fn distinguishes(
        &self,
        old: &Cluster,
        new: &Cluster,
        comparer: &mut ExpressionComparer,
    ) -> bool {
        if !self.uses_cel() && old.is_named_like(new) {
            return false;
        }
        let differs = |labels: &Selector, claims: &Selector| {
            labels.matches(old.labels()) != labels.matches(new.labels())
                || claims.matches(&old.claims) != claims.matches(&new.claims)
        };
        let mut predicates = self.predicates.iter().flatten();
        let mut groups = self.groups.iter().flat_map(|groups| &groups.named);
        predicates.any(|predicate| {
            differs(&predicate.labels, &predicate.claims)
                || predicate.expressions_distinguish(old, new, comparer)
        }) || groups.any(|group| differs(&group.labels, &group.claims))
    }

    /// Whether a predicate reads the scores of a cluster.
    pub(crate) fn reads_scores(&self) -> bool {
        let predicates = self.predicates.iter().flatten();
        let mut expressions = predicates.flat_map(|predicate| &predicate.expressions);
        expressions.any(|(_, expression)| expression.uses_scores)
    }

    /// Whether the policy may use a score of the AddOnPlacementScore objects named `resource`.
    pub(crate) fn uses_score(&self, resource: &str) -> bool {
        let named = |prioritizer: &Prioritizer| matches!(&prioritizer.scoring, ScoreSource::AddOn { resource: name, .. } if **name == *resource);
        self.reads_scores() || self.prioritizers.iter().flatten().any(named)
    }
}

/// Copies tolerations, if they are valid (docs/systems/ocm.md, "Filters").
fn tolerations(list: &[Toleration]) -> Result<Vec<Toleration>, Problem> {
    let problem = |index: usize, text: &str| Problem {
        plugin: Some(Plugin::TaintToleration),
        text: format!("spec.tolerations[{index}]: {text}"),
    };
    for (index, toleration) in list.iter().enumerate() {
        let exists = toleration.operator == "Exists";
        if toleration.key.is_empty() && !exists {
            return Err(problem(index, "an empty key needs the operator Exists"));
        }
        if exists && !toleration.value.is_empty() {
            return Err(problem(index, "the operator Exists needs an empty value"));
        }
    }
    Ok(list.to_vec())
}
