//! What a decision said, as far as a record tells it.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::Timestamp;
use serde::{Deserialize, Serialize};

use super::causes::ObjectCause;
use super::reasons::Reasons;

/// What happened to a cluster in a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The object is bound to it now.
    Joined,
    /// It is no longer.
    Left,
}

/// One scorer's part of a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// The scorer.
    pub plugin: String,
    /// Value times weight.
    pub weighted: i64,
}

/// Why a cluster is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The plugin.
    pub plugin: String,
    /// The token.
    pub reason: String,
    /// The sentence.
    pub message: String,
}

/// A cluster that came or went, and what the decision said of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// The system's own name of the cluster.
    pub cluster_name: String,
    /// Whether it came or went.
    pub change: Part,
    /// The weighted total, where the system has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// Each scorer's part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<Score>,
    /// Why it is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejections: Vec<Refusal>,
}

impl Cluster {
    /// A cluster of which nothing was said.
    pub(crate) fn named(name: &str, change: Part) -> Self {
        Self {
            cluster_name: name.to_owned(),
            change,
            score: None,
            scores: Vec::new(),
            rejections: Vec::new(),
        }
    }
}

/// What a decision said that was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    /// When it was written.
    pub(crate) at: Timestamp,
    /// The user who asked for it, where somebody did.
    pub(crate) by: Option<String>,
    /// The user it was written as.
    pub(crate) actor: &'static str,
    /// What made it due, where an object did.
    pub(crate) cause: Option<ObjectCause>,
    /// The summary.
    pub(crate) message: String,
    /// How many targets each reason refuses.
    pub(crate) reasons: Reasons,
    /// The clusters it binds to or keeps.
    pub(crate) stays: BTreeSet<Arc<str>>,
    /// Those it lets go.
    pub(crate) leaves: BTreeSet<Arc<str>>,
    /// What it said of those it binds to and lets go, at most [`SHOWN`] of each.
    pub(crate) clusters: Vec<Cluster>,
}

impl Said {
    /// Whether this decision made a change by which `joined` came and `left` went, and after which the object `is_gone`:
    /// one that binds or keeps a place is about an object that is there.
    pub(crate) fn explains(&self, joined: &[&str], left: &[&str], is_gone: bool) -> bool {
        (!is_gone || self.stays.is_empty())
            && joined.iter().all(|name| self.stays.contains(*name))
            && left.iter().all(|name| self.leaves.contains(*name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_that_binds_explains_no_end() {
        let binds = Said {
            stays: ["a".into()].into(),
            ..Said::default()
        };
        assert!(binds.explains(&["a"], &[], false) && !binds.explains(&[], &[], true));
        assert!(Said::default().explains(&[], &[], true), "one that lets go");
    }
}
