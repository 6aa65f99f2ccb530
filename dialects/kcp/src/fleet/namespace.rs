//! A namespace as scheduling uses it.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::Object;

use crate::condition;
use crate::machine::{Actor, is_allowed};
use crate::names::{PLACEMENT, SCHEDULING_DISABLED};
use crate::placement::{Form, State, StoredPlacement};

/// A namespace and its placement.
pub(crate) struct NamespaceRecord {
    /// The object.
    pub(crate) object: Arc<Object>,
    /// The parsed placement annotation.
    pub(crate) reading: StoredPlacement,
    /// Whether a label disables scheduling for the namespace.
    pub(crate) disabled: bool,
    /// Whether the namespace is being deleted.
    pub(crate) deleting: bool,
    /// Whether the placement and the labels result in a condition that is not stored.
    condition_differs: bool,
    /// Whether the condition NamespaceScheduled is stored.
    pub(crate) has_condition: bool,
}

impl NamespaceRecord {
    /// Parses a Namespace. An invalid placement annotation is not an error.
    pub(crate) fn read(object: &Arc<Object>) -> Self {
        let meta = object.meta();
        let reading = StoredPlacement::of(object.annotations().get(PLACEMENT).as_deref());
        let disabled = meta
            .labels()
            .get(SCHEDULING_DISABLED)
            .is_some_and(|value| value == "true");
        let expected = condition::namespace_scheduled(disabled, &reading);
        let stored = condition::stored(object.value());
        let condition_differs =
            expected.is_some_and(|expected| !stored.is_some_and(|stored| expected.matches(stored)));
        Self {
            object: Arc::clone(object),
            reading,
            disabled,
            deleting: meta.deletion_timestamp().is_some(),
            condition_differs,
            has_condition: stored.is_some(),
        }
    }

    /// Whether the placement has any entry, including an entry that cannot be parsed.
    pub(crate) fn is_placed(&self) -> bool {
        !self.reading.placement.0.is_empty() || !self.reading.dropped.is_empty()
    }

    /// Whether the condition NamespaceScheduled is stored with outdated content.
    pub(crate) fn has_outdated_condition(&self) -> bool {
        self.has_condition && self.condition_differs
    }

    /// The identifiers of the clusters in the placement's entries.
    pub(crate) fn identifiers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.reading.placement.0.keys().map(|place| &place.identifier)
    }

    /// The identifiers of the clusters that the namespace is on, is being added to, or is leaving.
    pub(crate) fn occupied(&self) -> impl Iterator<Item = &Arc<str>> {
        let entries = self.reading.placement.0.iter();
        entries
            .filter(|(_, state)| **state != State::Unbound)
            .map(|(place, _)| &place.identifier)
    }

    /// The identifiers of the clusters that the namespace has to leave.
    pub(crate) fn leaving(&self) -> impl Iterator<Item = &Arc<str>> {
        let entries = self.reading.placement.0.iter();
        entries
            .filter(|(_, state)| **state == State::Removing)
            .map(|(place, _)| &place.identifier)
    }

    /// Whether a change of the fleet could result in a new cluster: the namespace has no cluster, or leaves a
    /// cluster without having another cluster in the same location.
    pub(crate) fn lacks_cluster(&self) -> bool {
        if self.deleting || self.disabled {
            return false;
        }
        let entries = || self.reading.placement.0.iter();
        let active: BTreeSet<_> = entries()
            .filter(|(_, state)| state.is_active())
            .map(|(place, _)| (&place.location_cluster, &place.location))
            .collect();
        let stranded = entries().any(|(place, state)| {
            *state == State::Removing && !active.contains(&(&place.location_cluster, &place.location))
        });
        active.is_empty() || stranded
    }

    /// Whether the annotation has entries that the placement controller removes, or is not a map.
    fn needs_cleanup(&self) -> bool {
        let reading = &self.reading;
        !reading.dropped.is_empty()
            || !matches!(reading.form, Form::Map)
            || reading.placement.0.values().any(|&state| state == State::Unbound)
    }

    /// Whether the change from `old` to this version requires a decision. The labels by which the
    /// configuration selects namespaces are not compared. The placement controller's own writes require no
    /// decision: they make legal transitions, leave no entries to remove, and update the condition.
    pub(crate) fn needs_decision(&self, old: &Self) -> bool {
        let has_foreign_changes = || {
            let (before, after) = (&old.reading.placement.0, &self.reading.placement.0);
            let foreign = |(place, state)| {
                let from = before.get(place).copied();
                let actors = [Actor::PlacementController, Actor::NamespaceController];
                !actors.into_iter().any(|actor| is_allowed(actor, from, state))
            };
            let kept = after.iter().map(|(place, state)| (place, Some(*state)));
            let removed = before
                .keys()
                .filter(|place| !after.contains_key(*place))
                .map(|place| (place, None));
            kept.chain(removed).any(foreign)
        };
        let placement_changed =
            self.reading != old.reading && (self.needs_cleanup() || has_foreign_changes());
        let stored_condition_changed =
            || condition::stored(self.object.value()) != condition::stored(old.object.value());
        self.object.meta().uid() != old.object.meta().uid()
            || self.disabled != old.disabled
            || self.deleting != old.deleting
            || placement_changed
            || self.condition_differs && stored_condition_changed()
    }
}
