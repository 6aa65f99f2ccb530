//! The resource controller: copies the state labels and deletion annotations of a namespace to the synced
//! resources in it, and removes the syncing metadata of workload clusters from resources that are no longer
//! synced.

use std::sync::Arc;

use berth_apimachinery::{Change, GroupResource, Key, Object};
use berth_dialect_contract::{Context, Reconciler, Step};
use serde_json::Value;

use super::{added_or_removed, editable, fleet, outline, outline_differs, update};
use crate::admission::user_of;
use crate::edit::{mentions, mentions_any};
use crate::fleet::Fleet;
use crate::machine::Actor;
use crate::names::{DELETION, NAMESPACES, STATE, WORKLOAD_CLUSTERS, is_system_namespace};
use crate::resource_controller::{self, clear, reconcile};

/// The resource controller.
pub(crate) struct ResourceController {
    /// The resources that follow their namespace.
    pub(crate) synced: Vec<GroupResource>,
    /// The synced resources that a coordination controller handles first.
    pub(crate) coordinated: Vec<GroupResource>,
    /// Resources that do not follow their namespace, but may have done so under an earlier configuration.
    pub(crate) former: Vec<GroupResource>,
}

fn key_of(resource: GroupResource, object: &Object) -> Key {
    Key::new(resource, object.meta().namespace(), object.meta().name())
}

/// Whether the syncing metadata must be removed from `object`, which is of a resource that is no longer
/// synced.
fn needs_clearing(object: &Object) -> bool {
    mentions_any(object) && !is_system_namespace(object.meta().namespace())
}

/// The namespace of the object at `key`.
fn namespace_of<'a>(key: &Key, context: &Context<'a>) -> Option<&'a Arc<Object>> {
    context.objects.get(&Key::new(NAMESPACES, "", &key.namespace))
}

/// Whether a change of a namespace affects the resources in the namespace.
fn changes_resources(change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else {
        return change.new.is_some();
    };
    let states = |object: &'_ Object| -> Vec<(String, String)> {
        let labels = object.meta().labels().iter();
        let states = labels.filter(|(key, _)| key.starts_with(STATE));
        states
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    let deletions = |object: &'_ Object| -> Vec<(String, String)> {
        let all = object.annotations().iter();
        let deletions = all.filter(|(key, _)| key.starts_with(DELETION));
        deletions
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect()
    };
    states(old) != states(new) || deletions(old) != deletions(new)
}

impl ResourceController {
    /// Returns `object`, which is of `resource` and in `namespace`, after the controller's step; `None` if it
    /// does not change. Object and namespace may consist of their metadata alone.
    fn reconciled(
        &self,
        resource: GroupResource,
        (namespace, object): (&Value, &Value),
        fleet: &Fleet,
        context: &Context<'_>,
    ) -> Option<Value> {
        let inputs = resource_controller::Context {
            exists: &|wanted| fleet.find_row(wanted).is_some(),
            coordinated: self.coordinated.contains(&resource),
            now: context.now,
        };
        reconcile(namespace, object, &inputs)
    }

    /// The keys of the objects in `namespace` that need a write.
    fn due_in_namespace(&self, namespace: &Object, fleet: &Fleet, context: &Context<'_>) -> Vec<Key> {
        let (name, namespace_outline) = (namespace.meta().name(), outline(namespace));
        let mut due = Vec::new();
        for &resource in &self.synced {
            for object in context.objects.list(resource, Some(name)) {
                let pair = (&namespace_outline, &outline(object));
                if self.reconciled(resource, pair, fleet, context).is_some() {
                    due.push(key_of(resource, object));
                }
            }
        }
        due
    }

    /// The keys of the objects from which syncing metadata must be removed.
    fn due_for_clearing(&self, context: &Context<'_>) -> Vec<Key> {
        let mut due = Vec::new();
        for &resource in &self.former {
            let objects = context
                .objects
                .list(resource, None)
                .filter(|object| needs_clearing(object));
            due.extend(objects.map(|object| key_of(resource, object)));
        }
        due
    }

    /// Whether the object at `key` needs a write.
    fn has_work(&self, key: &Key, fleet: &Fleet, context: &Context<'_>) -> bool {
        if self.former.contains(&key.resource) {
            return context
                .objects
                .get(key)
                .is_some_and(|object| needs_clearing(object));
        }
        let pair = namespace_of(key, context).zip(context.objects.get(key));
        pair.is_some_and(|(namespace, object)| {
            let pair = (&outline(namespace), &outline(object));
            self.reconciled(key.resource, pair, fleet, context).is_some()
        })
    }

    /// The keys of objects that may need a write because a workload cluster was added or removed: objects
    /// with metadata of the cluster, and objects in namespaces with such metadata. There is no index of
    /// objects by cluster, so all objects are checked; clusters are seldom added or removed.
    fn affected_by_cluster(&self, change: &Change, fleet: &Fleet, context: &Context<'_>) -> Vec<Key> {
        let changed_clusters = added_or_removed(change);
        if changed_clusters.is_empty() {
            return Vec::new();
        }
        let is_concerned = |object: &Object| changed_clusters.iter().any(|name| mentions(object, name));
        let mut due = Vec::new();
        for namespace in context.objects.list(NAMESPACES, None) {
            if is_concerned(namespace) {
                due.extend(self.due_in_namespace(namespace, fleet, context));
            }
        }
        for &resource in &self.synced {
            let objects = context
                .objects
                .list(resource, None)
                .filter(|object| is_concerned(object));
            due.extend(objects.map(|object| key_of(resource, object)));
        }
        due
    }
}

impl Reconciler for ResourceController {
    fn name(&self) -> &'static str {
        "kcp-resource"
    }

    fn actor(&self) -> &'static str {
        user_of(Actor::ResourceController)
    }

    fn watches(&self) -> Vec<GroupResource> {
        let mut all = self.synced.clone();
        all.extend([NAMESPACES, WORKLOAD_CLUSTERS]);
        all
    }

    fn former_resources(&self) -> Vec<GroupResource> {
        self.former.clone()
    }

    fn writes(&self) -> Vec<GroupResource> {
        self.synced.clone()
    }

    /// The keys of the objects that may need a write after the change: the changed object, the objects in a
    /// changed namespace, or the objects that an added or removed workload cluster affects.
    fn due(&self, change: &Change, context: &Context<'_>) -> Vec<Key> {
        let (key, Some(fleet)) = (&change.key, fleet(context)) else {
            return Vec::new();
        };
        if key.resource == WORKLOAD_CLUSTERS {
            return self.affected_by_cluster(change, fleet, context);
        }
        if key.resource == NAMESPACES {
            let namespace = context.objects.get(key).filter(|_| changes_resources(change));
            return namespace.map_or_else(Vec::new, |namespace| {
                self.due_in_namespace(namespace, fleet, context)
            });
        }
        let due = outline_differs(change) && self.has_work(key, fleet, context);
        due.then(|| key.clone()).into_iter().collect()
    }

    fn all(&self, context: &Context<'_>) -> Vec<Key> {
        let Some(fleet) = fleet(context) else {
            return Vec::new();
        };
        let namespaces = context.objects.list(NAMESPACES, None);
        let mut due: Vec<Key> = namespaces
            .flat_map(|namespace| self.due_in_namespace(namespace, fleet, context))
            .collect();
        due.extend(self.due_for_clearing(context));
        due
    }

    fn step(&self, key: &Key, context: &Context<'_>) -> Step {
        let Some(object) = context.objects.get(key) else {
            return Step::default();
        };
        let new = if self.former.contains(&key.resource) {
            needs_clearing(object).then(|| clear(&editable(object))).flatten()
        } else {
            let inputs = fleet(context).zip(namespace_of(key, context));
            inputs.and_then(|(fleet, namespace)| {
                let pair = (&outline(namespace), &editable(object));
                self.reconciled(key.resource, pair, fleet, context)
            })
        };
        Step {
            writes: new.into_iter().map(|new| update(key, object, new)).collect(),
            due_at: None,
        }
    }
}
