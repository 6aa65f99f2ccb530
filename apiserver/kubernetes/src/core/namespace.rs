//! `v1` Namespace, and its `finalize` subresource.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::name::NameError;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{
    Column, Definition, Draft, FieldError, GroupResource, Key, Kind, KindInfo, Object, Schema, Scope,
    SelectableField, Status, StatusMetadata, Timestamp, Write, WriteOperation, described_by, name,
};
use berth_apiserver::{Call, Registry, Reply, RequestInfo, Subresource, SubresourceHandler};
use berth_storage::{Expect, Step};
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::value;

/// Resource of Namespaces.
pub const RESOURCE: GroupResource = GroupResource::new("", "namespaces");
/// Finalizer for the namespace's content: the namespace deleter removes it when the content is gone.
pub const FINALIZER: &str = "kubernetes";
/// Name of the subresource that changes the finalizers of the spec.
const FINALIZE: &str = "finalize";
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
            status_subresource: true,
            unconditional_update: true,
            strategic_merge_patch: true,
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
            Some(_) if write.operation == WriteOperation::Subresource(FINALIZE) => {}
            // Finalizers of the spec change only through the subresource finalize.
            Some(old) => set_finalizers(new, value::list(old, &["spec", "finalizers"]).to_vec()),
        }
        set_name_label(new);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = finalizer_errors(new);
        if write.operation == WriteOperation::Subresource("status") {
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

    fn hold_deletion(&self, object: &mut Value, _: Timestamp) -> bool {
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
        subresource: FINALIZE,
        object: (!removes).then_some(draft),
        expect: Expect::At(current.revision()),
        guards: Vec::new(),
    })
}

/// Returns the subresource `namespaces/<name>/finalize`, which writes through `registry`: the only way for
/// clients to change spec.finalizers after the create.
#[must_use]
pub fn finalize(registry: &Arc<Registry>) -> Subresource {
    let handler = FinalizeHandler(Arc::clone(registry));
    Subresource::new(FINALIZE, "Namespace", &["update"], handler)
}

struct FinalizeHandler(Arc<Registry>);

#[async_trait]
impl SubresourceHandler for FinalizeHandler {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn update(&self, call: &Call, body: Value) -> Result<Reply, Status> {
        let key = Key::new(RESOURCE, "", &call.name);
        let edit = |stored: &Object| Ok(finalized(stored, &body));
        let object = self.0.edit_subresource(call, &key, FINALIZE, edit).await?;
        Ok(Reply::Object(object))
    }
}

/// Returns the `stored` namespace with the finalizers of `body` in the spec, and with the resource version
/// and the UID of `body`, which are preconditions.
fn finalized(stored: &Object, body: &Value) -> Value {
    let mut next = stored.parse();
    set_finalizers(&mut next, value::list(body, &["spec", "finalizers"]).to_vec());
    for field in ["resourceVersion", "uid"] {
        let precondition = value::text(body, &["metadata", field]);
        if !precondition.is_empty() {
            next["metadata"][field] = precondition.into();
        }
    }
    next
}

#[cfg(test)]
mod tests;
