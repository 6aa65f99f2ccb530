//! `v1` Namespace, and its `finalize` subresource.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::name::NameError;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{
    Column, Definition, Draft, FieldError, GroupResource, Key, Kind, KindInfo, Object, Schema, Scope,
    SelectableField, Status, StatusMetadata, Timestamp, Via, Write, described_by, name,
};
use berth_apiserver::{Call, Reply, RequestInfo, SubresourceHandler};
use berth_storage::{At, Expect, Step, Store, StoreError};
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::value;

/// Resource of Namespaces.
pub const RESOURCE: GroupResource = GroupResource::new("", "namespaces");
/// Finalizer for the namespace's content: the namespace deleter removes it when the content is gone.
pub const FINALIZER: &str = "kubernetes";
/// Label with the namespace's own name, for selectors.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The fields of a Namespace.
#[derive(JsonSchema)]
pub struct NamespaceFields {
    /// Finalizers that block the namespace's deletion.
    pub spec: Option<NamespaceSpec>,
    /// Phase of the namespace; set by the server.
    pub status: Option<NamespaceStatus>,
}

/// Finalizers that block a namespace's deletion.
#[derive(JsonSchema)]
pub struct NamespaceSpec {
    /// Finalizers that must be removed, through the subresource finalize, before the namespace is removed.
    pub finalizers: Option<Vec<String>>,
}

/// Phase of a namespace.
#[derive(JsonSchema)]
pub struct NamespaceStatus {
    /// Active, or Terminating while the objects in the namespace are deleted.
    pub phase: Option<String>,
    /// Conditions of a terminating namespace, which report what remains before its removal.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "type",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
        "uniqueItems" = false,
    ))]
    pub conditions: Option<Vec<NamespaceCondition>>,
}

/// A condition of a terminating namespace.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceCondition {
    /// Type of the condition, such as NamespaceContentRemaining.
    pub r#type: String,
    /// True, False or Unknown.
    pub status: String,
    /// Time of the last change of the status.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
    /// The reason, as a token.
    pub reason: Option<String>,
    /// The reason, as a sentence.
    pub message: Option<String>,
}

/// The kind Namespace: a scope for the names of objects.
#[derive(Clone, Copy, Debug)]
pub struct Namespace;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Status", "Active, or Terminating while its objects are deleted").at(".status.phase"),
        Column::AGE,
    ],
    selectable: &[
        SelectableField::at("status.phase"),
        SelectableField::computed("name", |object| {
            value::text(object, &["metadata", "name"]).to_owned()
        }),
    ],
    ..Definition::new(
        KindInfo {
            singular: "namespace",
            short_names: &["ns"],
            scope: Scope::Cluster,
            verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
            status: true,
            unconditional_update: true,
            strategic: true,
            ..KindInfo::new("", &["v1"], "Namespace", "namespaces")
        },
        Schema::of::<NamespaceFields>,
    )
};

impl Kind for Namespace {
    described_by!(DEFINITION);

    fn status_metadata(&self) -> StatusMetadata {
        StatusMetadata::Written
    }

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        match write.old {
            None => {
                let mut finalizers: Vec<Value> = value::list(new, &["spec", "finalizers"]).to_vec();
                if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
                    finalizers.push(FINALIZER.into());
                }
                set_finalizers(new, finalizers);
                new["status"] = serde_json::json!({"phase": "Active"});
            }
            // Finalizers of the spec change only through the subresource finalize.
            Some(old) => set_finalizers(new, value::list(old, &["spec", "finalizers"]).to_vec()),
        }
        set_name_label(new);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = finalizer_errors(new);
        if write.via == Via::Subresource("status") {
            let phase = value::text(new, &["status", "phase"]);
            let deleting = !value::text(new, &["metadata", "deletionTimestamp"]).is_empty();
            let (expected, detail) = match deleting {
                false => ("Active", "may only be 'Active' if `deletionTimestamp` is empty"),
                true => (
                    "Terminating",
                    "may only be 'Terminating' if `deletionTimestamp` is not empty",
                ),
            };
            if phase != expected {
                errors.push(FieldError::invalid("status.phase", phase, detail));
            }
        }
        errors
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        name::dns_label(name)
    }

    fn holds_deletion(&self, object: &mut Value, _: Timestamp) -> bool {
        if let Some(status) = value::object_mut(object, "status") {
            status.insert("phase".to_owned(), "Terminating".into());
        }
        !value::list(object, &["spec", "finalizers"]).is_empty()
    }
}

/// Creates a Namespace object, ready to be stored: for namespaces that the server itself creates.
#[must_use]
pub fn new(name: &str, now: Timestamp) -> Value {
    serde_json::json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "uid": uuid::Uuid::new_v4().to_string(),
            "generation": 1,
            "creationTimestamp": berth_apimachinery::time::rfc3339(now),
            "labels": {NAME_LABEL: name},
        },
        "spec": {"finalizers": [FINALIZER]},
        "status": {"phase": "Active"},
    })
}

/// Sets the label with the namespace's own name.
fn set_name_label(new: &mut Value) {
    let name = value::text(new, &["metadata", "name"]).to_owned();
    if name.is_empty() {
        return;
    }
    if let Some(metadata) = new.get_mut("metadata")
        && let Some(labels) = value::object_mut(metadata, "labels")
    {
        labels.insert(NAME_LABEL.to_owned(), name.into());
    }
}

/// Sets `finalizers` in the spec.
pub(crate) fn set_finalizers(new: &mut Value, finalizers: Vec<Value>) {
    let Some(spec) = value::object_mut(new, "spec") else {
        return;
    };
    if finalizers.is_empty() {
        spec.remove("finalizers");
    } else {
        spec.insert("finalizers".to_owned(), finalizers.into());
    }
}

fn finalizer_errors(new: &Value) -> Vec<FieldError> {
    let finalizers = value::list(new, &["spec", "finalizers"]).iter().enumerate();
    finalizers
        .filter_map(|(index, finalizer)| {
            let text = finalizer.as_str()?;
            let problem = match text.split_once('/') {
                Some((prefix, rest)) => name::dns_subdomain(prefix)
                    .err()
                    .map(String::from)
                    .or_else(|| rest.is_empty().then(|| "name part must be non-empty".to_owned())),
                None if text == FINALIZER => None,
                None => {
                    Some("name is neither a standard finalizer name nor is it fully qualified".to_owned())
                }
            };
            problem.map(|problem| FieldError::invalid(format!("spec.finalizers[{index}]"), text, problem))
        })
        .collect()
}

/// The step that stores `current` with `finalizers` in the spec. It removes a namespace that is being deleted
/// when neither spec nor metadata have a finalizer left.
///
/// # Errors
/// When the new object cannot be encoded, which does not happen for a stored `current`.
pub(crate) fn finalize_step(current: &Object, finalizers: Vec<Value>) -> Result<Step, String> {
    let meta = current.meta();
    let removes =
        meta.deletion_timestamp().is_some() && finalizers.is_empty() && meta.finalizers().is_empty();
    let mut next = current.parse();
    set_finalizers(&mut next, finalizers);
    let draft = Draft::new(&next).map_err(|problem| problem.to_string())?;
    Ok(Step {
        verb: if removes { Verb::Delete } else { Verb::Update },
        key: Key::new(RESOURCE, "", meta.name()),
        subresource: "finalize",
        object: (!removes).then_some(draft),
        expect: Expect::At(current.revision()),
        guards: Vec::new(),
    })
}

/// Handler of the subresource `namespaces/<name>/finalize`: the only way for clients to change
/// spec.finalizers after the create.
pub struct FinalizeHandler {
    store: Arc<dyn Store>,
}

impl FinalizeHandler {
    /// Creates a handler for the namespaces in `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }
}

#[async_trait]
impl SubresourceHandler for FinalizeHandler {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn update(&self, call: &Call, body: Value) -> Result<Reply, Status> {
        let errors = finalizer_errors(&body);
        if !errors.is_empty() {
            return Err(Status::invalid("", "Namespace", &call.name, &errors));
        }
        let finalizers = value::list(&body, &["spec", "finalizers"]);
        let revision = value::text(&body, &["metadata", "resourceVersion"]);
        let uid = value::text(&body, &["metadata", "uid"]);
        loop {
            let namespaces = self.store.list(RESOURCE, At::Latest).await.map_err(unavailable)?;
            let missing = || Status::not_found(RESOURCE, &call.name);
            let current = namespaces.get("", &call.name).ok_or_else(missing)?;
            let current_uid = current.meta().uid();
            if !uid.is_empty() && uid != current_uid {
                let text = format!(
                    "Precondition failed: UID in precondition: {uid}, UID in object meta: {current_uid}"
                );
                return Err(Status::conflict(RESOURCE, &call.name, &text));
            }
            if !revision.is_empty() && revision != current.revision().to_string() {
                return Err(conflict(&call.name));
            }
            let step = finalize_step(current, finalizers.to_vec()).map_err(Status::internal)?;
            let preview = preview_of(current, &step);
            if call.dry_run {
                return Ok(Reply::Object(preview));
            }
            match self.store.apply(vec![step]).await {
                Ok(applied) => {
                    return Ok(Reply::Object(
                        applied
                            .into_iter()
                            .next()
                            .map_or(preview, |applied| applied.object),
                    ));
                }
                // Without a resource version from the client, the change is repeated on the new object.
                Err(StoreError::Conflict { .. }) if revision.is_empty() => {}
                Err(StoreError::Conflict { .. }) => return Err(conflict(&call.name)),
                Err(StoreError::NotFound { .. }) => return Err(missing()),
                Err(error) => return Err(unavailable(error)),
            }
        }
    }
}

fn preview_of(current: &Arc<Object>, step: &Step) -> Arc<Object> {
    step.object.as_ref().map_or_else(
        || Arc::clone(current),
        |draft| Arc::new(draft.at(current.revision())),
    )
}

fn conflict(name: &str) -> Status {
    let text = "the object has been modified; please apply your changes to the latest version and try again";
    Status::conflict(RESOURCE, name, text)
}

fn unavailable(error: StoreError) -> Status {
    Status::unavailable(error.to_string(), 1)
}

#[cfg(test)]
mod tests;
