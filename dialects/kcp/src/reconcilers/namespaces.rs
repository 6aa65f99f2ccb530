//! The namespace controller: adopts placed namespaces, and requests the release of leaving namespaces from
//! their clusters.

use berth_apimachinery::{Change, GroupResource, Key};
use berth_dialect_contract::{Context, Reconciler, Step};

use super::{added_or_removed, editable, fleet, outline, outline_differs, update};
use crate::admission::user_of;
use crate::machine::Actor;
use crate::names::{NAMESPACES, WORKLOAD_CLUSTERS};
use crate::namespace_controller::reconcile;

/// The namespace controller.
pub(super) struct NamespaceController;

impl NamespaceController {
    fn has_work(key: &Key, context: &Context<'_>) -> bool {
        let Some((fleet, object)) = fleet(context).zip(context.objects.get(key)) else {
            return false;
        };
        reconcile(
            &outline(object),
            |wanted| fleet.find_row(wanted).is_some(),
            context.now,
        )
        .is_some()
    }
}

impl Reconciler for NamespaceController {
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

    /// The keys of the namespaces that need a write after the change: the changed namespace, or the
    /// namespaces with an entry of an added or removed workload cluster.
    fn due(&self, change: &Change, context: &Context<'_>) -> Vec<Key> {
        if change.key.resource == NAMESPACES {
            let due = outline_differs(change) && Self::has_work(&change.key, context);
            return due.then(|| change.key.clone()).into_iter().collect();
        }
        let changed_clusters = added_or_removed(change);
        let Some(fleet) = fleet(context).filter(|_| !changed_clusters.is_empty()) else {
            return Vec::new();
        };
        let placed = changed_clusters
            .iter()
            .flat_map(|identifier| fleet.placed_on(identifier));
        placed.filter(|key| Self::has_work(key, context)).collect()
    }

    fn all(&self, context: &Context<'_>) -> Vec<Key> {
        let namespaces = context.objects.list(NAMESPACES, None);
        let keys = namespaces.map(|object| Key::new(NAMESPACES, "", object.meta().name()));
        keys.filter(|key| Self::has_work(key, context)).collect()
    }

    fn step(&self, key: &Key, context: &Context<'_>) -> Step {
        let Some((fleet, object)) = fleet(context).zip(context.objects.get(key)) else {
            return Step::default();
        };
        let new = reconcile(
            &editable(object),
            |wanted| fleet.find_row(wanted).is_some(),
            context.now,
        );
        Step {
            writes: new.into_iter().map(|new| update(key, object, new)).collect(),
            due_at: None,
        }
    }
}
