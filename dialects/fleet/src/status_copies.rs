//! The controller that copies the status of a ClusterResourcePlacement to the namespace that the placement
//! selects (docs/systems/fleet.md, "Status in a namespace"). On a hub, the hub agent copies statuses.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::sync::Arc;

use berth_apimachinery::time::rfc3339;
use berth_apimachinery::types::{Condition, condition};
use berth_apimachinery::{Change, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::{Context, Reconciler, Step, Verb, Write};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::fleet::record::{PlacementRecord, status_namespace};
use crate::names::{
    NAMESPACES, PLACEMENT_API_VERSION, PLACEMENTS, STATUS_CONTROLLER, STATUS_COPIES, STATUS_SYNCED,
};
use crate::writes::edit::without_revision;
use crate::writes::{ConditionContent, put_condition};

/// The controller that copies the statuses of ClusterResourcePlacements to selected namespaces. A copy is a
/// ClusterResourcePlacementStatus.
pub(crate) struct StatusCopier;

/// The inventory of KubeFleet. `None` for an inventory of another dialect, with which the controller never
/// runs.
fn fleet<'a>(context: &Context<'a>) -> Option<&'a Fleet> {
    let any: &dyn Any = context.inventory;
    any.downcast_ref()
}

/// The key of the copy in `namespace` of the status of the placement `name`.
fn copy_key(namespace: &str, name: &str) -> Key {
    Key::new(STATUS_COPIES, namespace, name)
}

impl StatusCopier {
    /// Whether the copy at `key` or the condition about it needs a write.
    fn has_work(&self, key: &Key, context: &Context<'_>) -> bool {
        !self.step(key, context).writes.is_empty()
    }
}

impl Reconciler for StatusCopier {
    fn name(&self) -> &'static str {
        "fleet-status"
    }

    fn actor(&self) -> &'static str {
        STATUS_CONTROLLER
    }

    fn watches(&self) -> Vec<GroupResource> {
        vec![PLACEMENTS, STATUS_COPIES, NAMESPACES]
    }

    fn writes(&self) -> Vec<GroupResource> {
        vec![PLACEMENTS, STATUS_COPIES]
    }

    fn is_left_to_hub(&self) -> bool {
        true
    }

    /// The keys of the copies that a change makes due: for a placement, the copies in its former and its present
    /// namespace; for a copy, the copy itself; for a namespace, all copies in it. Copies that need no write are
    /// left out.
    fn due(&self, change: &Change, context: &Context<'_>) -> Vec<Key> {
        let Some(fleet) = fleet(context) else {
            return Vec::new();
        };
        let name = &change.key.name;
        let mut keys: Vec<Key> = match change.key.resource {
            NAMESPACES => fleet
                .status_copies_in(name)
                .map(|placement| copy_key(name, placement))
                .collect(),
            PLACEMENTS => {
                let sides = [&change.old, &change.new].into_iter().flatten();
                let namespaces = sides.filter_map(|object| status_namespace(&object.view().ok()?));
                namespaces.map(|namespace| copy_key(&namespace, name)).collect()
            }
            _ => vec![change.key.clone()],
        };
        keys.dedup();
        keys.into_iter()
            .filter(|key| self.has_work(key, context))
            .collect()
    }

    fn all(&self, context: &Context<'_>) -> Vec<Key> {
        let expected = fleet(context).into_iter().flat_map(Fleet::status_copies);
        let expected = expected.map(|(namespace, placement)| copy_key(namespace, placement));
        let present = context.objects.list(STATUS_COPIES, None);
        let present = present.map(|object| copy_key(object.meta().namespace(), object.meta().name()));
        expected.chain(present).collect()
    }

    fn step(&self, key: &Key, context: &Context<'_>) -> Step {
        let placement = Key::new(PLACEMENTS, "", &key.name);
        let record = fleet(context).and_then(|fleet| fleet.placements.get(&placement));
        let stored = context.objects.get(key);
        let copied = record.filter(|record| {
            record.status_namespace.as_deref() == Some(&key.namespace) && !record.deleting()
        });
        let writes = match (copied, stored) {
            (Some(record), stored) => copy_writes(key, record, stored, context),
            (None, Some(stored)) if has_placement_as_owner(stored) => vec![Write {
                verb: Verb::Delete,
                key: key.clone(),
                subresource: "",
                object: without_revision(stored),
                base: Some(stored.revision()),
            }],
            (None, _) => Vec::new(),
        };
        Step { writes, due_at: None }
    }
}

/// Whether `copy` has the placement with the name of the copy as its owner. An object without this owner
/// belongs to another client, and is not deleted.
fn has_placement_as_owner(copy: &Object) -> bool {
    let owners = copy.meta().owner_references();
    owners
        .iter()
        .any(|owner| owner.kind == "ClusterResourcePlacement" && owner.name == copy.meta().name())
}

/// The writes that update the copy at `key`, and the condition of the placement about the copy.
fn copy_writes(
    key: &Key,
    record: &PlacementRecord,
    stored: Option<&Arc<Object>>,
    context: &Context<'_>,
) -> Vec<Write> {
    let problem_text = problem(key, context);
    let mut writes = Vec::new();
    if problem_text.is_none() {
        writes.extend(copy_update(key, &record.object, stored, context.now));
    }
    writes.extend(condition_update(key, record, problem_text, context.now));
    writes
}

/// The reason why there can be no copy at `key`: its namespace is missing or being deleted. `None` if there
/// can be one, or if no Namespace is known at all.
fn problem(key: &Key, context: &Context<'_>) -> Option<String> {
    let name = &key.namespace;
    let namespace = context.objects.get(&Key::new(NAMESPACES, "", name));
    match namespace {
        Some(namespace) if namespace.meta().deletion_timestamp().is_none() => None,
        Some(_) => Some(format!("the namespace {name} is being deleted")),
        None if context.objects.list(NAMESPACES, None).next().is_none() => None,
        None => Some(format!(
            "there is no namespace {name}: create it, or select another one"
        )),
    }
}

/// The write that updates the copy `stored` at `key` to the status of `placement`; `None` if they are equal.
fn copy_update(
    key: &Key,
    placement: &Arc<Object>,
    stored: Option<&Arc<Object>>,
    now: Timestamp,
) -> Option<Write> {
    let mut status = match placement.value().get("status") {
        Some(Value::Object(status)) => Value::Object(status.clone()),
        _ => json!({}),
    };
    if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        // The copy omits the condition about the copy: otherwise each update would cause another update.
        conditions.retain(|condition| condition["type"] != STATUS_SYNCED);
    }
    let owners = json!([{
        "apiVersion": PLACEMENT_API_VERSION, "kind": "ClusterResourcePlacement", "name": &*key.name,
        "uid": placement.meta().uid(), "controller": true, "blockOwnerDeletion": true,
    }]);
    let mut object = stored.map_or_else(
        || {
            json!({
                "apiVersion": PLACEMENT_API_VERSION, "kind": "ClusterResourcePlacementStatus",
                "metadata": {"name": &*key.name, "namespace": &*key.namespace},
            })
        },
        without_revision,
    );
    if object["sourceStatus"] == status && object["metadata"]["ownerReferences"] == owners {
        return None;
    }
    object["sourceStatus"] = status;
    object["metadata"]["ownerReferences"] = owners;
    object["lastUpdatedTime"] = rfc3339(now).into();
    Some(Write {
        verb: stored.map_or(Verb::Create, |_| Verb::Update),
        key: key.clone(),
        subresource: "",
        object,
        base: stored.map(|stored| stored.revision()),
    })
}

/// The write of the condition of the placement about the copy at `key`; `None` if the condition is current.
fn condition_update(
    key: &Key,
    record: &PlacementRecord,
    problem: Option<String>,
    now: Timestamp,
) -> Option<Write> {
    let generation = record.object.meta().generation();
    let (status, reason) = match problem {
        None => ("True", "StatusSyncSucceeded"),
        Some(_) => ("False", "StatusSyncFailed"),
    };
    let message = problem.unwrap_or_else(|| {
        format!(
            "the status is in the ClusterResourcePlacementStatus {} of the namespace {}",
            key.name, key.namespace
        )
    });
    let is_equal = |known: &Condition| {
        known.status == status
            && known.reason == reason
            && known.message == message
            && known.observed_generation == Some(generation)
    };
    if condition(&record.conditions, STATUS_SYNCED).is_some_and(is_equal) {
        return None;
    }
    let mut object = without_revision(&record.object);
    let content = ConditionContent {
        r#type: STATUS_SYNCED,
        status,
        reason,
        message: &message,
    };
    put_condition(&mut object, content.fields(&record.conditions, generation, now));
    Some(Write {
        verb: Verb::Update,
        key: Key::new(PLACEMENTS, "", &key.name),
        subresource: "status",
        object,
        base: Some(record.object.revision()),
    })
}
