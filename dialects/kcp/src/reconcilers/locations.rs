//! The location controller: counts the workload clusters of each Location, and writes the labels of the
//! Location as one text for printing.

use std::sync::Arc;

use berth_apimachinery::selector::Selector;
use berth_apimachinery::{Change, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::{Context, Reconciler, Step};

use super::{editable, fleet, update};
use crate::fleet::{Fleet, LocationRecord, Row};
use crate::location_status::{Counts, Member, counts, with_counts, with_labels_annotation};
use crate::names::{LOCATIONS, WORKLOAD_CLUSTERS};

/// The location controller.
pub(super) struct LocationController;

/// The data of a workload cluster for the counts of locations.
fn member(row: &Row) -> Member {
    Member {
        ready_until: row.facts.ready.then_some(row.facts.fresh_until),
        unschedulable: row.facts.unschedulable,
    }
}

/// The counts of the location `name`, and the next time at which the counts change by themselves: just after
/// the last instant at which a heartbeat counts as healthy. `None` if the location cannot be parsed.
fn location_counts(fleet: &Fleet, name: &str, now: Timestamp) -> Option<(Counts, Option<Timestamp>)> {
    let known = fleet.locations.get(name);
    let number = known.filter(|location| location.selector.is_some())?.number;
    let sets_inside = fleet.sets.map(|set| set.contains(&number));
    let rows = || {
        let rows = fleet.rows.iter();
        rows.filter(|row| sets_inside[row.facts.locations as usize])
    };
    let fresh = rows().filter(|row| row.facts.is_ready(now) && row.facts.fresh_until < Timestamp::MAX);
    let earliest = fresh.map(|row| row.facts.fresh_until).min();
    let due_at = earliest.and_then(|at| at.checked_add(std::time::Duration::from_nanos(1)).ok());
    Some((counts(rows().map(member), now), due_at))
}

fn selector(object: &Object) -> Option<Selector> {
    LocationRecord::read(object).ok()
}

impl LocationController {
    fn has_work(&self, key: &Key, context: &Context<'_>) -> bool {
        !self.step(key, context).writes.is_empty()
    }

    /// The keys of the locations whose counts may differ after a change of a workload cluster: the locations
    /// that had or have the cluster.
    fn affected_by_cluster(&self, change: &Change, fleet: &Fleet, context: &Context<'_>) -> Vec<Key> {
        let read = |object: &Option<Arc<Object>>| {
            let row = object
                .as_ref()
                .map(|object| Row::read(object, fleet.config.heartbeat_threshold, 0));
            row.and_then(Result::ok)
        };
        let (old, new) = (read(&change.old), read(&change.new));
        let counted = |row: &Option<Row>| row.as_ref().map(|row| counts([member(row)], context.now));
        let until = |row: &Option<Row>| row.as_ref().map(|row| row.facts.fresh_until);
        let labels =
            |object: &Option<Arc<Object>>| object.as_ref().map(|object| object.meta().labels().clone());
        // A later heartbeat changes no count, but an earlier heartbeat may.
        let same = counted(&old) == counted(&new) && labels(&change.old) == labels(&change.new);
        if same && until(&new) >= until(&old) {
            return Vec::new();
        }
        let holds = |selector: &Selector| {
            let mut both = [&change.old, &change.new].into_iter().flatten();
            both.any(|object| selector.matches(object.meta().labels()))
        };
        let locations = context.objects.list(LOCATIONS, None);
        let due = locations.filter(|location| selector(location).is_some_and(|selector| holds(&selector)));
        due.map(|location| Key::new(LOCATIONS, "", location.meta().name()))
            .collect()
    }
}

impl Reconciler for LocationController {
    fn name(&self) -> &'static str {
        "kcp-location"
    }

    fn actor(&self) -> &'static str {
        "berth:location-controller"
    }

    fn watches(&self) -> Vec<GroupResource> {
        vec![LOCATIONS, WORKLOAD_CLUSTERS]
    }

    fn writes(&self) -> Vec<GroupResource> {
        vec![LOCATIONS]
    }

    /// The key of a changed location if its selector changed or it needs a write, or the keys of the
    /// locations whose counts a change of a workload cluster affects.
    fn due(&self, change: &Change, context: &Context<'_>) -> Vec<Key> {
        let Some(fleet) = fleet(context) else {
            return Vec::new();
        };
        if change.key.resource == WORKLOAD_CLUSTERS {
            return self.affected_by_cluster(change, fleet, context);
        }
        let read = |object: &Option<Arc<Object>>| object.as_deref().and_then(selector);
        let due = change.new.is_some()
            && (read(&change.old) != read(&change.new) || self.has_work(&change.key, context));
        due.then(|| change.key.clone()).into_iter().collect()
    }

    fn all(&self, context: &Context<'_>) -> Vec<Key> {
        let locations = context.objects.list(LOCATIONS, None);
        locations
            .map(|location| Key::new(LOCATIONS, "", location.meta().name()))
            .collect()
    }

    fn step(&self, key: &Key, context: &Context<'_>) -> Step {
        let Some((fleet, object)) = fleet(context).zip(context.objects.get(key)) else {
            return Step::default();
        };
        let Some((counts, due_at)) = location_counts(fleet, &key.name, context.now) else {
            return Step::default();
        };
        let mut value = editable(object);
        let mut writes = Vec::new();
        if let Some(new) = with_labels_annotation(&value) {
            value.clone_from(&new);
            writes.push(update(key, object, new));
        }
        if let Some(new) = with_counts(&value, counts) {
            let mut status = update(key, object, new);
            status.subresource = "status";
            // The write before this one has changed the revision of the object.
            status.base = status.base.filter(|_| writes.is_empty());
            writes.push(status);
        }
        Step { writes, due_at }
    }
}
