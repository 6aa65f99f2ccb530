//! The schema of `metadata` of every kind: `metav1.ObjectMeta`.

use std::sync::LazyLock;

use serde_json::{Value, json};

/// Name of the schema of ObjectMeta in OpenAPI documents.
pub const NAME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Reference from the schema of a kind to the schema of ObjectMeta.
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
        "description": "The metadata of a stored object: its identity, labels and owners, and fields that the server sets.",
        "properties": {
            "annotations": map_of_text("Free-form values for tools and people. Selectors do not match annotations."),
            "creationTimestamp": time("The time at which the server created the object, in UTC. Set by the server."),
            "deletionGracePeriodSeconds": number("Number of seconds for graceful termination of the object before it is removed. Set by the server when deletion is requested."),
            "deletionTimestamp": time("Time of the delete request. The object is removed once its finalizers are empty. Set by the server."),
            "finalizers": {
                "type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
                "description": "Finalizers that must be removed before the deleted object is removed. Each controller removes its own finalizer.",
            },
            "generateName": text("A prefix from which the server generates a unique name if `name` is empty."),
            "generation": number("The sequence number of the desired state, which increases with each change. Set by the server."),
            "labels": map_of_text("Names and values that selectors match."),
            "managedFields": {
                "type": "array", "items": managed_fields_entry(), "x-kubernetes-list-type": "atomic",
                "description": "The fields that each field manager has set. Internal bookkeeping: users rarely need it.",
            },
            "name": text("The name, unique within the namespace. Immutable."),
            "namespace": text("The namespace of the object; empty for cluster-scoped kinds. Immutable."),
            "ownerReferences": {
                "type": "array", "items": owner_reference(),
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-merge-key": "uid", "x-kubernetes-patch-strategy": "merge",
                "description": "The owners of this object. When all owners have been deleted, the object is garbage collected.",
            },
            "resourceVersion": text("The version of the stored object. An update with an older version is refused. Set by the server."),
            "selfLink": text("Deprecated: no longer set."),
            "uid": text("An identifier that, unlike the name, is never used for another object. Set by the server."),
        },
    })
}

fn map_of_text(description: &str) -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}, "description": description})
}

fn owner_reference() -> Value {
    json!({
        "type": "object",
        "description": "A reference to an owner of the object, in the same namespace or cluster-scoped.",
        "required": ["apiVersion", "kind", "name", "uid"],
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "apiVersion": {"type": "string", "description": "The owner's API version."},
            "blockOwnerDeletion": {"type": "boolean", "description": "Whether a foreground deletion of the owner waits for this object."},
            "controller": {"type": "boolean", "description": "Whether the owner is the managing controller; true for at most one owner."},
            "kind": {"type": "string", "description": "The owner's kind."},
            "name": {"type": "string", "description": "The owner's name."},
            "uid": {"type": "string", "description": "The owner's uid."},
        },
    })
}

fn managed_fields_entry() -> Value {
    json!({
        "type": "object",
        "description": "The fields that one manager has set, by one operation in one version.",
        "properties": {
            "apiVersion": {"type": "string", "description": "The API version to which the names of the fields belong."},
            "fieldsType": {"type": "string", "description": "The format of `fieldsV1`."},
            "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": "The set of fields."},
            "manager": {"type": "string", "description": "The name of the field manager."},
            "operation": {"type": "string", "description": "Apply or Update."},
            "subresource": {"type": "string", "description": "The subresource through which the fields were set; empty for the object itself."},
            "time": {"type": "string", "format": "date-time", "description": "Time at which the fields were last set."},
        },
    })
}
