//! The release of Clusters by a request that is being deleted (docs/systems/openmcp.md, "Deletion").
//!
//! The request's finalizer is removed from all Clusters, in every namespace and under every configuration. A
//! labelled Cluster that loses its last request is deleted *before* the finalizer is removed. Meanwhile the
//! finalizer keeps the Cluster, and the deletion is guarded by the revision at which no other request used
//! the Cluster. Wherever the writes are interrupted, the finalizer still shows the remaining work.

use std::sync::Arc;

use berth_apimachinery::{Meta, Object};

use crate::fleet::{Fleet, Place, Record, holders_of, is_deleted_with_last};
use crate::names::USE_FINALIZER;

/// The objects that a request releases.
#[derive(Debug)]
pub(crate) struct Release {
    /// The Clusters that lose the request's finalizer, in order. The flag tells whether the Cluster is
    /// deleted before that.
    pub(crate) leaves: Vec<(Place, bool)>,
    /// The Cluster whose deletion must end before the deletion of the request.
    pub(crate) awaited: Option<Place>,
}

impl Release {
    pub(crate) fn of(fleet: &Fleet, request: &Record) -> Self {
        let holder = &request.wants.holder;
        let clusters = fleet.held_by(holder).filter_map(|place| {
            let meta = fleet.cluster(place)?.meta();
            let last = holders_of(meta).len() == 1 && is_deleted_with_last(meta);
            Some((place.clone(), last && meta.deletion_timestamp().is_none()))
        });
        let clusters: Vec<(Place, bool)> = clusters.collect();
        let awaited = request.status.cluster.as_ref().map(|granted| &granted.place);
        let awaited = awaited
            .filter(|place| {
                let deleted = clusters
                    .iter()
                    .any(|(leave, deleted)| leave == *place && *deleted);
                fleet.cluster(place).is_some_and(|object| {
                    is_held_back(object, holder, deleted) && waits(fleet, request, place)
                })
            })
            .cloned();
        Self {
            leaves: clusters,
            awaited,
        }
    }
}

/// Whether finalizers of other controllers delay the deletion of a Cluster that is deleted with its last
/// request. `deleted` tells whether the release deletes the Cluster.
fn is_held_back(object: &Arc<Object>, holder: &str, deleted: bool) -> bool {
    let meta: &Meta = object.meta();
    let own = format!("{USE_FINALIZER}{holder}");
    let others = holders_of(meta).into_iter().any(|other| other != holder);
    let held_back = meta.finalizers().iter().any(|finalizer| *finalizer != own);
    (deleted || meta.deletion_timestamp().is_some()) && is_deleted_with_last(meta) && !others && held_back
}

/// Whether `request` waits for the deletion of the Cluster at `place`; by default, only if the Cluster is
/// Exclusive.
fn waits(fleet: &Fleet, request: &Record, place: &Place) -> bool {
    let exclusive = || fleet.find(place).is_some_and(|(_, row)| row.facts.exclusive);
    request.wants.wait.unwrap_or_else(exclusive)
}
