//! A request that is being deleted releases its Clusters (docs/systems/openmcp.md, "Deletion").
//!
//! All Clusters that carry its finalizer lose it, in every namespace and under every configuration. A
//! labelled Cluster that loses its last request is deleted *before* its finalizer goes: the finalizer
//! keeps the Cluster in place meanwhile, the deletion is guarded by the revision at which no other
//! request used it. Wherever the writes are interrupted, the finalizer still shows the remaining work.

use std::sync::Arc;

use berth_apimachinery::{Meta, Object};

use crate::fleet::{Fleet, Place, Record, goes_with_last, holders_of};
use crate::names::USE_FINALIZER;

/// Objects that are released.
#[derive(Debug)]
pub(crate) struct Release {
    /// The Clusters that lose the request's finalizer, in order, and whether they are deleted before.
    pub(crate) leaves: Vec<(Place, bool)>,
    /// The Cluster that must be gone before the request may go.
    pub(crate) awaited: Option<Place>,
}

impl Release {
    pub(crate) fn of(fleet: &Fleet, request: &Record) -> Self {
        let holder = &request.wants.holder;
        let leaves = fleet.held_by(holder).filter_map(|place| {
            let meta = fleet.cluster(place)?.meta();
            let last = holders_of(meta).len() == 1 && goes_with_last(meta);
            Some((place.clone(), last && meta.deletion_timestamp().is_none()))
        });
        let leaves: Vec<(Place, bool)> = leaves.collect();
        let awaited = request.said.cluster.as_ref().map(|granted| &granted.place);
        let awaited = awaited
            .filter(|place| {
                let deleted = leaves.iter().any(|(leave, deleted)| leave == *place && *deleted);
                fleet.cluster(place).is_some_and(|object| {
                    stays_a_while(object, holder, deleted) && waits(fleet, request, place)
                })
            })
            .cloned();
        Self { leaves, awaited }
    }
}

/// Whether a Cluster that goes with its last request, and is or gets `deleted`, is held back by others.
fn stays_a_while(object: &Arc<Object>, holder: &str, deleted: bool) -> bool {
    let meta: &Meta = object.meta();
    let own = format!("{USE_FINALIZER}{holder}");
    let others = holders_of(meta).into_iter().any(|other| other != holder);
    let held_back = meta.finalizers().iter().any(|finalizer| *finalizer != own);
    (deleted || meta.deletion_timestamp().is_some()) && goes_with_last(meta) && !others && held_back
}

/// Whether `request` waits for the Cluster at `place` to be gone; by default, for Exclusive ones.
fn waits(fleet: &Fleet, request: &Record, place: &Place) -> bool {
    let exclusive = || fleet.find(place).is_some_and(|(_, row)| row.facts.exclusive);
    request.wants.wait.unwrap_or_else(exclusive)
}
