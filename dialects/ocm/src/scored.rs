//! AddOnPlacementScores, each parsed once per change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use berth_apimachinery::Timestamp;

use crate::kind;

/// All AddOnPlacementScores of one cluster.
#[derive(Debug)]
pub(crate) struct ClusterScores {
    /// A number that is unique to these versions of the objects, so that cached results are never used for
    /// other versions.
    pub(crate) stamp: u64,
    /// The objects, by name.
    pub(crate) objects: Vec<Arc<Scores>>,
}

impl ClusterScores {
    /// Collects `objects`, which are sorted by name.
    pub(crate) fn new(objects: Vec<Arc<Scores>>) -> Self {
        static STAMPS: AtomicU64 = AtomicU64::new(1);
        let stamp = STAMPS.fetch_add(1, Ordering::Relaxed);
        Self { stamp, objects }
    }

    /// The object named `resource`.
    pub(crate) fn object(&self, resource: &str) -> Option<&Arc<Scores>> {
        self.objects.iter().find(|scores| *scores.resource == *resource)
    }
}

/// An AddOnPlacementScore.
#[derive(Debug, PartialEq)]
pub(crate) struct Scores {
    /// The cluster, which is the namespace of the object.
    pub(crate) cluster: Arc<str>,
    /// The name of the object.
    pub(crate) resource: Arc<str>,
    /// The values by score name. If a name is listed twice, the last value counts.
    pub(crate) values: BTreeMap<Arc<str>, i32>,
    /// The last instant at which the values count.
    pub(crate) until: Timestamp,
}

impl Scores {
    /// Creates the scores of `cluster` from the object named `resource`.
    pub(crate) fn new(cluster: &Arc<str>, resource: &Arc<str>, view: &kind::AddOnPlacementScore) -> Self {
        let values = view
            .status
            .scores
            .iter()
            .map(|score| (score.name.as_str().into(), score.value))
            .collect();
        let until = view.status.valid_until.unwrap_or(Timestamp::MAX);
        Self {
            cluster: Arc::clone(cluster),
            resource: Arc::clone(resource),
            values,
            until,
        }
    }
}
