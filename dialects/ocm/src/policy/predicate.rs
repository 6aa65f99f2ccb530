//! Compiled predicates: selectors over labels and claims, expressions over the whole cluster
//! (docs/systems/ocm.md, "Placement spec" and "CEL").

use std::sync::Arc;

use berth_apimachinery::selector::Selector;

use super::{Problem, check_count};
use crate::cel::{self, Expression};
use crate::cluster::Cluster;
use crate::code::Plugin;
use crate::comparer::{Comparison, ExpressionComparer};
use crate::kind::{self, claims_as_labels};
use crate::names::MAX_SELECTORS;

/// A compiled predicate. A cluster must match both selectors and all expressions.
#[derive(Debug)]
pub(crate) struct Predicate {
    /// The selector over labels.
    pub(crate) labels: Selector,
    /// The selector over claims.
    pub(crate) claims: Selector,
    /// The expressions over the whole cluster, each with its source for messages.
    pub(crate) expressions: Vec<(Arc<str>, Arc<Expression>)>,
}

impl Predicate {
    /// Whether the predicate only tests labels.
    pub(crate) fn tests_labels_only(&self) -> bool {
        self.claims.is_everything() && self.expressions.is_empty()
    }

    /// Whether the expressions may have different results for two versions of a cluster. The selectors must
    /// have equal results for both versions.
    pub(super) fn expressions_distinguish(
        &self,
        old: &Cluster,
        new: &Cluster,
        comparer: &mut ExpressionComparer,
    ) -> bool {
        if !(self.labels.matches(old.labels()) && self.claims.matches(&old.claims)) {
            return false;
        }
        for (_, expression) in &self.expressions {
            match comparer.compare(expression, old, new) {
                Comparison::MayDiffer => return true,
                // Later expressions are not evaluated on the cluster.
                Comparison::Both(false) => return false,
                Comparison::Both(true) => {}
            }
        }
        false
    }
}

/// Compiles all predicates, up to the first problem.
pub(super) fn compile(list: &[kind::Predicate], cache: &cel::Cache) -> Result<Vec<Predicate>, Problem> {
    let problem = |text: String| Problem {
        plugin: Some(Plugin::Predicate),
        text,
    };
    check_count("spec.predicates", list.len(), MAX_SELECTORS).map_err(problem)?;
    let mut compiled = Vec::with_capacity(list.len());
    for (index, predicate) in list.iter().enumerate() {
        let path = format!("spec.predicates[{index}].requiredClusterSelector");
        compiled.push(compile_one(predicate, &path, cache).map_err(problem)?);
    }
    Ok(compiled)
}

fn compile_one(predicate: &kind::Predicate, path: &str, cache: &cel::Cache) -> Result<Predicate, String> {
    let selector = &predicate.required_cluster_selector;
    let compiled = |labels, name: &str| {
        Selector::compile(labels, &format!("{path}.{name}"))
            .map_err(|errors| berth_apimachinery::field::aggregate(&errors))
    };
    let labels = compiled(&selector.label_selector, "labelSelector")?;
    let claims = compiled(&claims_as_labels(&selector.claim_selector), "claimSelector")?;
    let mut expressions = Vec::new();
    for (index, source) in selector.cel_selector.cel_expressions.iter().enumerate() {
        let path = format!("{path}.celSelector.celExpressions[{index}]");
        let expression = cache
            .get(source)
            .map_err(|problem| format!("{path}: {problem}"))?;
        expressions.push((source.as_str().into(), expression));
    }
    Ok(Predicate {
        labels,
        claims,
        expressions,
    })
}
