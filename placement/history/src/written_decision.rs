//! A written decision, until its history record.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_scheduling_api::record::{MovedCluster, RecordCause};

use super::reasons::Reasons;

/// A decision that Berth has written, with what its history record tells of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WrittenDecision {
    /// Time of the write.
    pub(crate) at: Timestamp,
    /// The user who requested the decision, if any.
    pub(crate) by: Option<String>,
    /// The user of the write.
    pub(crate) actor: &'static str,
    /// The change of an object that caused the decision, if any.
    pub(crate) cause: Option<RecordCause>,
    /// One-line summary of the decision.
    pub(crate) message: String,
    /// Numbers of targets that each reason refuses.
    pub(crate) reasons: Reasons,
    /// The clusters that the decision binds to or keeps.
    pub(crate) stays: BTreeSet<Arc<str>>,
    /// The clusters that the decision releases.
    pub(crate) leaves: BTreeSet<Arc<str>>,
    /// The clusters that the decision binds to and releases, at most
    /// [`MAX_CLUSTERS`](super::state::MAX_CLUSTERS) of each.
    pub(crate) clusters: Vec<MovedCluster>,
}

impl WrittenDecision {
    /// Whether this decision explains a change: the clusters `joined` were added, the clusters `left` were
    /// removed, and the object was deleted if `is_gone`. A decision that binds or keeps a place does not
    /// explain the end of the object.
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
        let binds = WrittenDecision {
            stays: ["a".into()].into(),
            ..WrittenDecision::default()
        };
        assert!(binds.explains(&["a"], &[], false) && !binds.explains(&[], &[], true));
        assert!(
            WrittenDecision::default().explains(&[], &[], true),
            "a decision without places"
        );
    }
}
