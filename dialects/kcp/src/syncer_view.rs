//! The view that the syncer of one workload cluster has of objects, and the syncer's writes in this view
//! (docs/systems/kcp.md, "The syncer's view"). These are pure functions over the stored objects, with which a
//! server serves get, list, watch, update, patch and the subresource `status`.
//!
//! The view of an object only has the parts that concern the syncer's cluster: no labels, annotations and
//! finalizers of other clusters, and no placement of the namespace. The deletion annotation becomes a
//! deletionTimestamp. Soft finalizers stay visible: while there are any, the syncer delays the deletion
//! downstream.

mod allocated;
pub mod copy;
pub mod form;
pub mod registration;
pub mod step;

use berth_admission::Denial;
use berth_apimachinery::budget::Budget;
use berth_apimachinery::{FieldError, Meta, Object, patch};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha224};

use crate::edit::{
    ANNOTATIONS, LABELS, deletion, has_syncer_finalizer, set, set_deletion, set_state, set_syncer_finalizer,
    state, text,
};
use crate::machine::{Actor, SyncState};
use crate::names::{
    ADVANCED_SCHEDULING, DELETION, INTERNAL_SCHEDULING, NAMESPACE_LOCATOR, PLACEMENT, PROBLEM,
    SOFT_FINALIZERS, SPEC_DIFF, STATE, STATUS_OF, SYNCER_FINALIZER,
};

/// Highest number of bytes that the patch of a spec may copy, equal to the maximum size of annotations. The
/// number is limited, since the patched spec is cached for every object and syncer.
const SPEC_DIFF_COPIES: u64 = 256 * 1024;

/// The syncer of one workload cluster, with its view of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syncer<'a> {
    /// The identifier of the syncer's cluster.
    pub identifier: &'a str,
    /// Whether annotations of each object contain a separate spec and status for the cluster (the feature
    /// `advancedscheduling`).
    pub advanced: bool,
}

/// An object in the view of a syncer.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncerObject {
    /// The object in the form of the view.
    pub object: Value,
    /// Sentences about parts of the stored object that could not be translated.
    pub problems: Vec<String>,
}

impl Syncer<'_> {
    /// Whether the syncer sees `object`: its state label is exactly `Sync`.
    #[must_use]
    pub fn sees(&self, object: &Value) -> bool {
        state(object, self.identifier) == Some(SyncState::Sync)
    }

    /// Whether the view of `object` is equal to its stored form.
    #[must_use]
    pub fn looks_as_stored(&self, object: &Object) -> bool {
        let meta = object.meta();
        let (own, deletion) = (self.key(SYNCER_FINALIZER), self.key(DELETION));
        !self.advanced
            && meta.deletion_timestamp().is_none()
            && !object.annotations().contains_key(&deletion)
            && meta.finalizers().iter().all(|name| *name == own)
            && meta.labels().keys().all(|key| !self.is_foreign(key))
            && object.annotations().keys().all(|key| !self.is_foreign(&key))
    }

    /// The view of `object`; `None` if the syncer does not see it.
    #[must_use]
    pub fn view(&self, object: &Value) -> Option<SyncerObject> {
        self.sees(object).then(|| self.show(object))
    }

    /// Returns `object` in the form of the view, even if the syncer does not see the object, such as after
    /// the object's release.
    #[must_use]
    pub fn show(&self, object: &Value) -> SyncerObject {
        let mut new = object.clone();
        let mut problems = Vec::new();
        self.hide_foreign(&mut new);
        if let Some(metadata) = new["metadata"].as_object_mut() {
            for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
                metadata.remove(field);
            }
            self.show_deletion(object, metadata, &mut problems);
        }
        if self.advanced {
            self.show_spec(object, &mut new, &mut problems);
            self.show_status(object, &mut new, &mut problems);
        }
        SyncerObject {
            object: new,
            problems,
        }
    }

    /// Whether a key of labels or annotations is hidden from this syncer: a key for another cluster, or for a
    /// controller.
    fn is_foreign(&self, key: &str) -> bool {
        let prefixes = [STATE, DELETION, SOFT_FINALIZERS, STATUS_OF, SPEC_DIFF];
        let others = prefixes.iter().any(|prefix| {
            key.strip_prefix(prefix)
                .is_some_and(|identifier| identifier != self.identifier)
        });
        others || key == PLACEMENT || key == PROBLEM || key.starts_with(INTERNAL_SCHEDULING)
    }

    fn key(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.identifier)
    }

    /// Removes the labels, annotations and finalizers that are hidden from this syncer.
    fn hide_foreign(&self, object: &mut Value) {
        for name in [LABELS, ANNOTATIONS] {
            if let Some(map) = object["metadata"][name].as_object_mut() {
                map.retain(|key, _| !self.is_foreign(key));
            }
        }
        let own_finalizer = self.key(SYNCER_FINALIZER);
        if let Some(list) = object["metadata"]["finalizers"].as_array_mut() {
            list.retain(|name| name.as_str() == Some(&own_finalizer));
        }
        // The mutable indexing above has created missing values as null.
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|_, value| !value.is_null());
        }
    }

    fn show_deletion(&self, object: &Value, metadata: &mut Map<String, Value>, problems: &mut Vec<String>) {
        let key = self.key(DELETION);
        match (text(object, ANNOTATIONS, &key), deletion(object, self.identifier)) {
            (_, Some(at)) => {
                metadata.insert(
                    "deletionTimestamp".to_owned(),
                    berth_apimachinery::time::rfc3339(at).into(),
                );
            }
            (Some(text), None) => {
                problems.push(format!("annotation {key}: \"{text}\" is not an RFC 3339 time; the object is not shown as being deleted"));
            }
            (None, None) => {}
        }
    }

    /// Applies the patch of the spec for this cluster. If the patch cannot be applied, `new` gets an
    /// annotation with the problem.
    fn show_spec(&self, object: &Value, new: &mut Value, problems: &mut Vec<String>) {
        let key = self.key(SPEC_DIFF);
        let Some(text) = text(object, ANNOTATIONS, &key) else {
            return;
        };
        let mut spec = new.get("spec").cloned().unwrap_or_else(|| json!({}));
        let patched = serde_json::from_str::<patch::Patch>(text)
            .map_err(|error| error.to_string())
            .and_then(|patch| {
                let mut budget = Budget::new("the JSON patch", patch::STEP_LIMIT, SPEC_DIFF_COPIES);
                // Missing fields cannot be replaced: their path is probably misspelled, and a cluster would
                // drop the field.
                patch::apply_strictly(&patch, &mut spec, &mut budget).map_err(|problem| problem.to_string())
            });
        match patched {
            Ok(()) => new["spec"] = spec,
            // The common spec must not be synced to this cluster.
            Err(error) => {
                let problem = format!("annotation {key}: the JSON patch cannot be applied to spec: {error}");
                set(new, ANNOTATIONS, PROBLEM, Some(&problem));
                problems.push(problem);
            }
        }
    }

    /// Replaces the common status in `new` by the status that this cluster reported.
    fn show_status(&self, object: &Value, new: &mut Value, problems: &mut Vec<String>) {
        let key = self.key(STATUS_OF);
        let status = match text(object, ANNOTATIONS, &key).map(serde_json::from_str::<Value>) {
            Some(Ok(status)) => Some(status),
            Some(Err(error)) => {
                problems.push(format!("annotation {key}: is not JSON: {error}"));
                None
            }
            None => None,
        };
        match (status, new.as_object_mut()) {
            (Some(status), Some(fields)) => drop(fields.insert("status".to_owned(), status)),
            (None, Some(fields)) => drop(fields.remove("status")),
            (_, None) => {}
        }
    }

    /// Returns the stored object after the syncer's update to `written`, which is in the form of the view.
    /// The server has compared resourceVersions. Only a change of the syncer's own finalizer is accepted. If
    /// the object is being deleted in the view, the removal of this finalizer releases the object, which then
    /// leaves the view.
    ///
    /// If the object is a namespace, `remaining` is the number of its resources that the cluster still has.
    /// The namespace is released after these resources.
    ///
    /// # Errors
    /// [`Denial::Invalid`] with every field that the syncer may not change, and with the syncer's finalizer
    /// if it is removed too early. [`Denial::Forbidden`] if the syncer does not see the object.
    pub fn update(&self, stored: &Value, written: &Value, remaining: usize) -> Result<Value, Denial> {
        let view = self.view(stored).ok_or_else(|| self.unseen())?;
        let mut errors = change_errors(&view.object, written, &["status", "metadata"]);
        errors.extend(self.metadata_errors(&view.object, written));
        let has_finalizer = has_syncer_finalizer(written, self.identifier);
        let deleting = view.object["metadata"].get("deletionTimestamp").is_some();
        let own_finalizer = self.key(SYNCER_FINALIZER);
        if !has_finalizer && !deleting {
            let detail = format!("must contain \"{own_finalizer}\" until the object is being deleted");
            errors.push(FieldError::required("metadata.finalizers", detail));
        }
        if !has_finalizer && deleting && remaining > 0 {
            let detail = format!(
                "may not be removed yet: the cluster still has {remaining} resources of the namespace"
            );
            errors.push(FieldError::forbidden(
                format!("metadata.finalizers[{own_finalizer}]"),
                detail,
            ));
        }
        if !errors.is_empty() {
            return Err(Denial::Invalid(errors));
        }
        let mut new = stored.clone();
        set_syncer_finalizer(&mut new, self.identifier, has_finalizer);
        if !has_finalizer {
            self.release(&mut new);
        }
        Ok(new)
    }

    /// Returns the stored object after the syncer's update of the status to the status of `written`.
    ///
    /// # Errors
    /// [`Denial::Forbidden`] if the syncer does not see the object.
    pub fn update_status(&self, stored: &Value, written: &Value) -> Result<Value, Denial> {
        if !self.sees(stored) {
            return Err(self.unseen());
        }
        let mut new = stored.clone();
        let status = written.get("status").filter(|status| !status.is_null());
        if self.advanced {
            let status = status.map(Value::to_string);
            set(&mut new, ANNOTATIONS, &self.key(STATUS_OF), status.as_deref());
        } else if let Some(fields) = new.as_object_mut() {
            match status {
                Some(status) => fields.insert("status".to_owned(), status.clone()),
                None => fields.remove("status"),
            };
        }
        Ok(new)
    }

    fn unseen(&self) -> Denial {
        let label = self.key(STATE);
        Denial::Forbidden(format!(
            "the syncer may only access objects with the label {label}=Sync"
        ))
    }

    fn release(&self, object: &mut Value) {
        set_state(object, self.identifier, None);
        set_deletion(object, self.identifier, None);
        for prefix in [STATUS_OF, SPEC_DIFF] {
            set(object, ANNOTATIONS, &self.key(prefix), None);
        }
    }

    /// Errors about changes of the metadata by the syncer, other than changes of the syncer's own finalizer.
    fn metadata_errors(&self, view: &Value, written: &Value) -> Vec<FieldError> {
        // Fields that the server changes for every client, and the finalizers, which are checked separately.
        const FREE: [&str; 3] = ["finalizers", "managedFields", "resourceVersion"];
        let null = Value::Null;
        let metadata_of = |object: &'_ Value| object.get("metadata").unwrap_or(&null).clone();
        let mut errors: Vec<FieldError> = change_errors(&metadata_of(view), &metadata_of(written), &FREE)
            .into_iter()
            .map(|error| FieldError {
                path: format!("metadata.{}", error.path),
                ..error
            })
            .collect();
        let own_finalizer = self.key(SYNCER_FINALIZER);
        let foreign = crate::edit::finalizers(written).filter(|name| **name != own_finalizer);
        errors.extend(foreign.map(|name| {
            FieldError::forbidden(
                format!("metadata.finalizers[{name}]"),
                "is not the syncer's own finalizer",
            )
        }));
        errors
    }
}

/// An error for each field that differs, except for fields in `free`. Absent fields, and empty maps and
/// lists, count as equal.
fn change_errors(view: &Value, written: &Value, free: &[&str]) -> Vec<FieldError> {
    let empty = Map::new();
    let (old, new) = (
        view.as_object().unwrap_or(&empty),
        written.as_object().unwrap_or(&empty),
    );
    let content = |value: Option<&Value>| match value {
        Some(Value::Object(map)) if map.is_empty() => None,
        Some(Value::Array(list)) if list.is_empty() => None,
        Some(Value::Null) | None => None,
        Some(value) => Some(value.clone()),
    };
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let differs =
        |name: &&String| !free.contains(&name.as_str()) && content(old.get(*name)) != content(new.get(*name));
    let error = |name: &String| {
        FieldError::forbidden(
            name.as_str(),
            "the syncer may only change its own finalizer and the status",
        )
    };
    names.into_iter().filter(differs).map(error).collect()
}

/// The annotation `kcp.dev/namespace-locator` of the downstream namespace of `namespace`.
#[must_use]
pub fn namespace_locator(logical_cluster: &str, namespace: &str) -> String {
    // The keys are sorted and there are no spaces, since the text is hashed.
    json!({"logical-cluster": logical_cluster, "namespace": namespace}).to_string()
}

/// The name of the downstream namespace of `namespace`. The name is unique, and equal on every workload
/// cluster.
#[must_use]
pub fn downstream_namespace(logical_cluster: &str, namespace: &str) -> String {
    let hash = Sha224::digest(namespace_locator(logical_cluster, namespace));
    format!("kcp{}", hex(&hash))
}

/// The upstream namespace in the annotation `kcp.dev/namespace-locator` of the downstream namespace `down`.
#[must_use]
pub fn located(logical_cluster: &str, down: &Value) -> Option<String> {
    let text = text(down, ANNOTATIONS, NAMESPACE_LOCATOR)?;
    let locator: Value = serde_json::from_str(text).ok()?;
    let namespace = locator["namespace"].as_str()?;
    (locator["logical-cluster"] == logical_cluster).then(|| namespace.to_owned())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The label about a syncer's access to an object: the syncer sees the object only if the value is [`SEEN`].
#[must_use]
pub fn state_label(identifier: &str) -> String {
    format!("{STATE}{identifier}")
}

/// The value of [`state_label`] on objects that a syncer sees.
pub const SEEN: &str = SyncState::Sync.as_str();

/// The user name of the syncer of the workload cluster `identifier`.
#[must_use]
pub fn user(identifier: &str) -> String {
    crate::admission::user_of(Actor::Syncer).replace("<identifier>", identifier)
}

/// The identifier of a workload cluster: its uid, or its name if it has no uid.
#[must_use]
pub fn identifier(cluster: &Meta) -> &str {
    crate::fleet::identifier(cluster)
}

/// Whether objects have a separate spec and status for the workload cluster (the feature
/// `advancedscheduling`).
#[must_use]
pub fn is_advanced(cluster: &Object) -> bool {
    cluster
        .annotations()
        .get(ADVANCED_SCHEDULING)
        .is_some_and(|value| value == "true")
}

#[cfg(test)]
mod tests;
