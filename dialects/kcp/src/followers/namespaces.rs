//! The namespace controller: adopts what is placed, and asks clusters to let go of what is to leave them.

use dialect_contract::{Follower, Sight, Step};
use meta::{Change, GroupResource, Key};

use super::{came_or_went, editable, exists, fleet, outline, outline_differs, update};
use crate::admission::user_of;
use crate::machine::Actor;
use crate::names::{NAMESPACES, WORKLOAD_CLUSTERS};
use crate::namespace_controller::reconcile;

/// See the module.
pub(super) struct Namespaces;

impl Namespaces {
    fn has_work(key: &Key, sight: &Sight<'_>) -> bool {
        let Some((fleet, object)) = fleet(sight).zip(sight.objects.get(key)) else {
            return false;
        };
        reconcile(&outline(object), |wanted| exists(fleet, sight, wanted), sight.now).is_some()
    }
}

impl Follower for Namespaces {
    fn name(&self) -> &'static str {
        "kcp-namespace"
    }

    fn actor(&self) -> &'static str {
        user_of(Actor::NamespaceController)
    }

    fn watches(&self) -> Vec<GroupResource> {
        vec![NAMESPACES, WORKLOAD_CLUSTERS]
    }

    fn writes(&self) -> Vec<GroupResource> {
        vec![NAMESPACES]
    }

    /// A namespace whose metadata changed, or whose workload cluster came or went.
    fn due(&self, change: &Change, sight: &Sight<'_>) -> Vec<Key> {
        if change.key.resource == NAMESPACES {
            let due = outline_differs(change) && Self::has_work(&change.key, sight);
            return due.then(|| change.key.clone()).into_iter().collect();
        }
        let moved = came_or_went(change);
        let Some(fleet) = fleet(sight).filter(|_| !moved.is_empty()) else {
            return Vec::new();
        };
        let placed = moved.iter().flat_map(|identifier| fleet.placed_on(identifier));
        placed.filter(|key| Self::has_work(key, sight)).collect()
    }

    fn all(&self, sight: &Sight<'_>) -> Vec<Key> {
        let namespaces = sight.objects.list(NAMESPACES, None);
        let keys = namespaces.map(|object| Key::new(NAMESPACES, "", &object.meta().name));
        keys.filter(|key| Self::has_work(key, sight)).collect()
    }

    fn step(&self, key: &Key, sight: &Sight<'_>) -> Step {
        let Some((fleet, object)) = fleet(sight).zip(sight.objects.get(key)) else {
            return Step::default();
        };
        let new = reconcile(
            &editable(object),
            |wanted| exists(fleet, sight, wanted),
            sight.now,
        );
        Step {
            writes: new.into_iter().map(|new| update(key, object, new)).collect(),
            due_at: None,
        }
    }
}
