//! A workload cluster as scheduling uses it: one row of the fleet.

use std::sync::Arc;

use berth_apimachinery::{Meta, Object, Timestamp};
use jiff::SignedDuration;

use crate::kind::workload_cluster::WorkloadCluster;
use crate::location_string::check_identifier;
use crate::readiness::{self, ReportedConditions};

/// A workload cluster. Every decision reads the facts of all rows, which are stored in one vector.
#[derive(Clone)]
pub(crate) struct Row {
    /// The name of the WorkloadCluster, by which rows are sorted.
    pub(crate) name: Arc<str>,
    /// The identifier in location strings and labels.
    pub(crate) identifier: Arc<str>,
    /// The object and data for messages and views; filters do not read it.
    pub(crate) record: Arc<ClusterRecord>,
    /// The facts for the filters.
    pub(crate) facts: Facts,
}

/// A workload cluster with its object.
pub(crate) struct ClusterRecord {
    /// The object.
    pub(crate) object: Arc<Object>,
    /// The parsed fields of the object.
    pub(crate) view: WorkloadCluster,
    /// The readiness by the conditions, regardless of the age of heartbeats.
    pub(crate) reported: ReportedConditions,
    /// The reason why the object cannot be parsed, so that `view` is empty; `None` if it can.
    pub(crate) problem: Option<String>,
}

/// The facts about a workload cluster that filters use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Whether the cluster is ready by its conditions, regardless of the age of heartbeats.
    pub(crate) ready: bool,
    /// The last instant at which the heartbeat counts as healthy; [`Timestamp::MAX`] without a heartbeat.
    pub(crate) fresh_until: Timestamp,
    /// Whether the cluster accepts no new namespaces.
    pub(crate) unschedulable: bool,
    /// The instant from which on namespaces must leave the cluster; [`Timestamp::MAX`] without an eviction.
    pub(crate) evict_after: Timestamp,
    /// Whether the cluster is being deleted. No filter refuses a cluster for this; it only makes other
    /// refusals final.
    pub(crate) deleting: bool,
    /// The number of the set of the cluster's locations, in `LocationSets`.
    pub(crate) locations: u32,
}

/// The identifier of a workload cluster: its uid, or its name if it has no uid.
pub(crate) fn identifier(meta: &Meta) -> &str {
    if meta.uid().is_empty() {
        meta.name()
    } else {
        meta.uid()
    }
}

impl Row {
    /// Parses a WorkloadCluster. `locations` is the number of the set of its locations.
    ///
    /// A WorkloadCluster that cannot be parsed still exists: without a row it would count as gone, and its
    /// namespaces would leave it. It gets no others, since it is not ready.
    ///
    /// # Errors
    /// The reason why the WorkloadCluster has no valid identifier.
    pub(crate) fn read(
        object: &Arc<Object>,
        threshold: SignedDuration,
        locations: u32,
    ) -> Result<Self, String> {
        let (view, problem) = match object.view::<WorkloadCluster>() {
            Ok(view) => (view, None),
            Err(error) => (WorkloadCluster::default(), Some(error.to_string())),
        };
        let meta = object.meta();
        let identifier = identifier(meta);
        let field = if meta.uid().is_empty() {
            "metadata.name"
        } else {
            "metadata.uid"
        };
        check_identifier(identifier).map_err(|problem| {
            format!("{field}: Invalid value: \"{identifier}\": as the identifier it {problem}")
        })?;
        let reported = readiness::reported(&view.status);
        let facts = Facts {
            ready: reported == ReportedConditions::Ready,
            fresh_until: readiness::fresh_until(&view.status, threshold),
            unschedulable: view.spec.unschedulable,
            evict_after: view.spec.evict_after.unwrap_or(Timestamp::MAX),
            deleting: meta.deletion_timestamp().is_some(),
            locations,
        };
        Ok(Self {
            name: meta.name().into(),
            identifier: identifier.into(),
            record: Arc::new(ClusterRecord {
                object: Arc::clone(object),
                view,
                reported,
                problem,
            }),
            facts,
        })
    }

    /// The time of the last heartbeat.
    fn last_heartbeat(&self) -> Option<Timestamp> {
        self.record.view.status.last_syncer_heartbeat_time
    }

    /// Whether decisions are equal for this version of the cluster and for `older`. A heartbeat in time makes
    /// no difference, but the first heartbeat does, and a heartbeat after a gap.
    pub(crate) fn decides_like(&self, older: &Self) -> bool {
        let (new, old) = (&self.facts, &older.facts);
        let unbroken = self
            .last_heartbeat()
            .is_none_or(|last_heartbeat| last_heartbeat <= old.fresh_until);
        self.identifier == older.identifier
            && new.ready == old.ready
            && new.unschedulable == old.unschedulable
            && new.evict_after == old.evict_after
            && new.deleting == old.deleting
            && new.locations == old.locations
            && (self.last_heartbeat().is_some() == older.last_heartbeat().is_some() && unbroken)
    }
}

impl Facts {
    /// Whether the cluster can run workloads at `now`.
    pub(crate) fn is_ready(&self, now: Timestamp) -> bool {
        self.ready && now <= self.fresh_until
    }

    /// Whether namespaces must leave the cluster at `now`. The eviction includes its first instant.
    pub(crate) fn is_evicting(&self, now: Timestamp) -> bool {
        now >= self.evict_after
    }
}
