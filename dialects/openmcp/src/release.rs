//! The release of Clusters by a request that is being deleted (docs/systems/openmcp.md, "Deletion").
//!
//! The request's finalizer is removed from all Clusters, in every namespace and under every configuration. A
//! labelled Cluster that loses its last request is deleted *before* the finalizer is removed. Until then the
//! finalizer keeps the Cluster, and the deletion is guarded by the revision at which no other request used
//! the Cluster. If the writes are interrupted, the finalizer still shows the remaining work.

use std::sync::Arc;

use berth_apimachinery::{Meta, Object};

use crate::fleet::{Fleet, Place, Record, holders_of, is_deleted_with_last_request};
use crate::names::USE_FINALIZER;

/// A Cluster that loses the finalizer of the request.
#[derive(Debug)]
pub(crate) struct ReleasedCluster {
    pub(crate) place: Place,
    /// Whether the Cluster is deleted before the finalizer is removed.
    pub(crate) is_deleted: bool,
}

/// The Clusters that a request releases.
#[derive(Debug)]
pub(crate) struct Release {
    /// The Clusters that lose the request's finalizer, in the order of namespace and name.
    pub(crate) clusters: Vec<ReleasedCluster>,
    /// The Cluster whose deletion must end before the deletion of the request.
    pub(crate) awaited: Option<Place>,
}

impl Release {
    /// Plans the release of all Clusters by `request`.
    pub(crate) fn of(fleet: &Fleet, request: &Record) -> Self {
        let holder = &request.requirements.holder;
        let clusters = fleet.clusters_held_by(holder).filter_map(|place| {
            let meta = fleet.cluster(place)?.meta();
            let is_last = holders_of(meta).len() == 1 && is_deleted_with_last_request(meta);
            Some(ReleasedCluster {
                place: place.clone(),
                is_deleted: is_last && meta.deletion_timestamp().is_none(),
            })
        });
        let clusters: Vec<ReleasedCluster> = clusters.collect();
        let awaited = request.status.cluster.as_ref().map(|granted| &granted.place);
        let awaited = awaited
            .filter(|place| {
                let is_deleted = clusters
                    .iter()
                    .any(|cluster| cluster.place == **place && cluster.is_deleted);
                fleet.cluster(place).is_some_and(|object| {
                    is_deletion_delayed(object, holder, is_deleted) && awaits_deletion(fleet, request, place)
                })
            })
            .cloned();
        Self { clusters, awaited }
    }
}

/// Whether finalizers of other controllers delay the deletion of a Cluster that is deleted with its last
/// request. `is_deleted` tells whether the release deletes the Cluster.
fn is_deletion_delayed(object: &Arc<Object>, holder: &str, is_deleted: bool) -> bool {
    let meta: &Meta = object.meta();
    let own = format!("{USE_FINALIZER}{holder}");
    let has_other_requests = holders_of(meta).into_iter().any(|other| other != holder);
    let has_other_finalizers = meta.finalizers().iter().any(|finalizer| *finalizer != own);
    (is_deleted || meta.deletion_timestamp().is_some())
        && is_deleted_with_last_request(meta)
        && !has_other_requests
        && has_other_finalizers
}

/// Whether `request` waits for the deletion of the Cluster at `place`; by default, only if the Cluster is
/// Exclusive.
fn awaits_deletion(fleet: &Fleet, request: &Record, place: &Place) -> bool {
    let exclusive = || fleet.find(place).is_some_and(|(_, row)| row.facts.exclusive);
    request.requirements.wait_for_deletion.unwrap_or_else(exclusive)
}
