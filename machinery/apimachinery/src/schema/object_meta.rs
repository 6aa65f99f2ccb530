//! The schema of `metadata` of every kind: `metav1.ObjectMeta`.

use std::sync::LazyLock;

use serde_json::{Value, json};

/// Name of the definition in OpenAPI documents.
pub const NAME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Reference to the definition in schemas.
pub const REFERENCE: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The structural schema of ObjectMeta.
#[must_use]
pub fn definition() -> &'static Value {
    static DEFINITION: LazyLock<Value> = LazyLock::new(define);
    &DEFINITION
}

fn define() -> Value {
    let time =
        |description: &str| json!({"type": "string", "format": "date-time", "description": description});
    let text = |description: &str| json!({"type": "string", "description": description});
    let number =
        |description: &str| json!({"type": "integer", "format": "int64", "description": description});
    json!({
        "type": "object",
        "description": "What every stored object carries beside its own fields: identity, labels, owners and the bookkeeping of the server.",
        "properties": {
            "annotations": map_of_text("Free-form notes for tools and people. They are never selected by."),
            "creationTimestamp": time("When the server created the object, in UTC. Set by the server."),
            "deletionGracePeriodSeconds": number("The seconds the object may take to go away once it is being deleted. Set by the server."),
            "deletionTimestamp": time("When the object was asked to go away; it stays until its finalizers are gone. Set by the server."),
            "finalizers": {
                "type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
                "description": "Who must still do something before a deleted object may go. Each owner takes its own entry out.",
            },
            "generateName": text("A prefix from which the server makes a unique name when `name` is empty."),
            "generation": number("Counts the changes of the desired state. Set by the server."),
            "labels": map_of_text("Names and values that selectors match."),
            "managedFields": {
                "type": "array", "items": managed_fields_entry(), "x-kubernetes-list-type": "atomic",
                "description": "Which manager set which field. Kept for tools; rarely of interest to people.",
            },
            "name": text("The name, unique within the namespace. It cannot change."),
            "namespace": text("The namespace the object lives in; empty for cluster-scoped kinds. It cannot change."),
            "ownerReferences": {
                "type": "array", "items": owner_reference(),
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-merge-key": "uid", "x-kubernetes-patch-strategy": "merge",
                "description": "The objects this one belongs to. When all of them are gone it is collected.",
            },
            "resourceVersion": text("The version of the stored object. An update that names an older one is refused. Set by the server."),
            "selfLink": text("No longer used."),
            "uid": text("Identifies this object for all time, unlike its name. Set by the server."),
        },
    })
}

fn map_of_text(description: &str) -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}, "description": description})
}

fn owner_reference() -> Value {
    json!({
        "type": "object",
        "description": "Names the owner of an object, in the same namespace or cluster-scoped.",
        "required": ["apiVersion", "kind", "name", "uid"],
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "apiVersion": {"type": "string", "description": "The owner's API version."},
            "blockOwnerDeletion": {"type": "boolean", "description": "Whether a foreground deletion of the owner waits for this object."},
            "controller": {"type": "boolean", "description": "Whether the owner is the managing controller; at most one is."},
            "kind": {"type": "string", "description": "The owner's kind."},
            "name": {"type": "string", "description": "The owner's name."},
            "uid": {"type": "string", "description": "The owner's uid."},
        },
    })
}

fn managed_fields_entry() -> Value {
    json!({
        "type": "object",
        "description": "The fields one manager has set in one way.",
        "properties": {
            "apiVersion": {"type": "string", "description": "The version the fields are named in."},
            "fieldsType": {"type": "string", "description": "The format of `fieldsV1`."},
            "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": "The set of fields."},
            "manager": {"type": "string", "description": "Who set them."},
            "operation": {"type": "string", "description": "Apply or Update."},
            "subresource": {"type": "string", "description": "The subresource they were set through, if any."},
            "time": {"type": "string", "format": "date-time", "description": "When they were set."},
        },
    })
}
