//! The controller that copies the status of a ClusterResourcePlacement to the namespace that it selects
//! (docs/systems/fleet.md, "Status in a namespace"). On a hub, the hub agent does this.

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
use crate::fleet::record::{PlacementRecord, shown_in};
use crate::names::{NAMESPACES, PLACEMENT_API_VERSION, PLACEMENTS, REPORTED, REPORTER, REPORTS};
use crate::writes::edit::without_revision;
use crate::writes::{ConditionContent, put_condition};

/// The controller that copies the status of placements to the namespaces that they select.
pub(crate) struct Reports;

/// The inventory of KubeFleet; `None` for an inventory of another dialect, which does not occur.
fn fleet<'a>(context: &Context<'a>) -> Option<&'a Fleet> {
    let any: &dyn Any = context.inventory;
    any.downcast_ref()
}

/// The key of the report of the placement `name` in `namespace`.
fn report(namespace: &str, name: &str) -> Key {
    Key::new(REPORTS, namespace, name)
}

impl Reports {
    fn has_work(&self, key: &Key, context: &Context<'_>) -> bool {
        !self.step(key, context).writes.is_empty()
    }
}

impl Reconciler for Reports {
    fn name(&self) -> &'static str {
        "fleet-status"
    }

    fn actor(&self) -> &'static str {
        REPORTER
    }

    fn watches(&self) -> Vec<GroupResource> {
        vec![PLACEMENTS, REPORTS, NAMESPACES]
    }

    fn writes(&self) -> Vec<GroupResource> {
        vec![PLACEMENTS, REPORTS]
    }

    fn is_left_to_hub(&self) -> bool {
        true
    }

    /// The keys that a change makes due: for a placement, its reports in the former and the present
    /// namespace; for a report, the report itself; for a namespace, the reports in it. Only reports that need
    /// a write are due.
    fn due(&self, change: &Change, context: &Context<'_>) -> Vec<Key> {
        let Some(fleet) = fleet(context) else {
            return Vec::new();
        };
        let name = &change.key.name;
        let mut keys: Vec<Key> = match change.key.resource {
            NAMESPACES => fleet
                .shown_in(name)
                .map(|placement| report(name, placement))
                .collect(),
            PLACEMENTS => {
                let sides = [&change.old, &change.new].into_iter().flatten();
                let namespaces = sides.filter_map(|object| shown_in(&object.view().ok()?));
                namespaces.map(|namespace| report(&namespace, name)).collect()
            }
            _ => vec![change.key.clone()],
        };
        keys.dedup();
        keys.into_iter()
            .filter(|key| self.has_work(key, context))
            .collect()
    }

    fn all(&self, context: &Context<'_>) -> Vec<Key> {
        let expected = fleet(context).into_iter().flat_map(Fleet::all_shown);
        let expected = expected.map(|(namespace, placement)| report(namespace, placement));
        let present = context.objects.list(REPORTS, None);
        let present = present.map(|object| report(object.meta().namespace(), object.meta().name()));
        expected.chain(present).collect()
    }

    fn step(&self, key: &Key, context: &Context<'_>) -> Step {
        let placement = Key::new(PLACEMENTS, "", &key.name);
        let record = fleet(context).and_then(|fleet| fleet.placements.get(&placement));
        let stored = context.objects.get(key);
        let reporting =
            record.filter(|record| record.shown_in.as_deref() == Some(&key.namespace) && !record.deleting());
        let writes = match (reporting, stored) {
            (Some(record), stored) => report_writes(key, record, stored, context),
            (None, Some(stored)) if is_of_a_placement(stored) => vec![Write {
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

/// Whether a report was created for a placement, and not by another client.
fn is_of_a_placement(report: &Object) -> bool {
    let owners = report.meta().owner_references();
    owners
        .iter()
        .any(|owner| owner.kind == "ClusterResourcePlacement" && owner.name == report.meta().name())
}

/// The writes that update the report at `key` and the condition about it to the placement's status.
fn report_writes(
    key: &Key,
    record: &PlacementRecord,
    stored: Option<&Arc<Object>>,
    context: &Context<'_>,
) -> Vec<Write> {
    let problem_text = problem(key, context);
    let mut writes = Vec::new();
    if problem_text.is_none() {
        writes.extend(report_update(key, &record.object, stored, context.now));
    }
    writes.extend(condition_of(key, record, problem_text, context.now));
    writes
}

/// Reason why the namespace cannot have a report; `None` where it can. Without watched Namespaces, every
/// namespace can.
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

/// The write that updates the report to the status of `placement`, if it differs.
fn report_update(
    key: &Key,
    placement: &Arc<Object>,
    stored: Option<&Arc<Object>>,
    now: Timestamp,
) -> Option<Write> {
    let mut status = match placement.value().get("status") {
        Some(Value::Object(status)) => Value::Object(status.clone()),
        _ => json!({}),
    };
    if let Some(conditions) = status["conditions"].as_array_mut() {
        // The copy omits this condition: otherwise each update of the report would lead to another update.
        conditions.retain(|condition| condition["type"] != REPORTED);
    }
    if status["conditions"].is_null()
        && let Some(status) = status.as_object_mut()
    {
        status.remove("conditions");
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

/// The write of the placement's condition about its report, if it differs.
fn condition_of(
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
    if condition(&record.conditions, REPORTED).is_some_and(is_equal) {
        return None;
    }
    let mut object = without_revision(&record.object);
    let content = ConditionContent {
        r#type: REPORTED,
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
