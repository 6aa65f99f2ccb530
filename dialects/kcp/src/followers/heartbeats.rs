//! The heartbeat controller: writes down that a syncer is heard of, or no longer.

use dialect_contract::{Follower, Sight, Step};
use meta::{Change, GroupResource, Key, Object, Timestamp};

use super::{editable, fleet, update};
use crate::heartbeat::{heard, judge};
use crate::names::WORKLOAD_CLUSTERS;

/// See the module.
pub(super) struct Heartbeats;

impl Heartbeats {
    fn has_work(&self, key: &Key, sight: &Sight<'_>) -> bool {
        !self.step(key, sight).writes.is_empty()
    }
}

impl Follower for Heartbeats {
    fn name(&self) -> &'static str {
        "kcp-heartbeat"
    }

    fn actor(&self) -> &'static str {
        "berth:heartbeat-controller"
    }

    fn watches(&self) -> Vec<GroupResource> {
        vec![WORKLOAD_CLUSTERS]
    }

    fn writes(&self) -> Vec<GroupResource> {
        vec![WORKLOAD_CLUSTERS]
    }

    /// A workload cluster whose conditions are not what its heartbeats make them, or whose first heartbeat came. Later
    /// ones are waited for.
    fn due(&self, change: &Change, sight: &Sight<'_>) -> Vec<Key> {
        let at = |object: Option<&Object>| object.and_then(|object| heard(object.value()));
        let (old, new) = (at(change.old.as_deref()), at(change.new.as_deref()));
        let due = new.is_some() && (old.is_none() || new < old || self.has_work(&change.key, sight));
        due.then(|| change.key.clone()).into_iter().collect()
    }

    fn all(&self, sight: &Sight<'_>) -> Vec<Key> {
        let clusters = sight.objects.list(WORKLOAD_CLUSTERS, None);
        let beating = clusters.filter(|cluster| heard(cluster.value()).is_some());
        beating
            .map(|cluster| Key::new(WORKLOAD_CLUSTERS, "", &cluster.meta().name))
            .collect()
    }

    fn step(&self, key: &Key, sight: &Sight<'_>) -> Step {
        let Some((fleet, object)) = fleet(sight).zip(sight.objects.get(key)) else {
            return Step::default();
        };
        let value = editable(object);
        let threshold = fleet.config.heartbeat_threshold;
        let fresh_until = heard(&value).map(|at| at.checked_add(threshold).unwrap_or(Timestamp::MAX));
        let stale_at = fresh_until.and_then(|at| at.checked_add(std::time::Duration::from_nanos(1)).ok());
        let write = judge(&value, threshold, sight.now).map(|new| {
            let mut write = update(key, object, new);
            write.subresource = "status";
            write
        });
        Step {
            writes: write.into_iter().collect(),
            due_at: stale_at.filter(|&at| at > sight.now),
        }
    }
}
