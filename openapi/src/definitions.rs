//! Definitions in OpenAPI documents: one for each served kind, one for its list if it can be listed, and the
//! shared definitions of `meta/v1`.
//!
//! The definitions have the form of OpenAPI v3; the document of OpenAPI v2 rewrites the references.

use std::collections::BTreeMap;

use berth_apimachinery::object_meta;
use serde_json::{Value, json};

use crate::resource::{Entry, Gvk, Version};
use crate::{crd, names};

/// Name of the definition of `Status`.
pub(crate) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
/// Name of the definition of `DeleteOptions`.
pub(crate) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
/// Name of the definition of a patch.
pub(crate) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const PRECONDITIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions";
const STATUS_DETAILS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails";
const STATUS_CAUSE: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause";

const GVK: &str = "x-kubernetes-group-version-kind";
const SELECTABLE: &str = "x-kubernetes-selectable-fields";

/// Returns a reference to the definition `name`.
pub(crate) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Returns group, version and kind in the form of the OpenAPI extensions.
pub(crate) fn gvk_value(gvk: &Gvk) -> Value {
    json!({"group": gvk.group, "version": gvk.version, "kind": gvk.kind})
}

/// Returns all definitions that one group-version needs, by name.
pub(crate) fn of_version(version: &Version<'_>) -> BTreeMap<String, Value> {
    let mut all = common();
    for entry in &version.entries {
        add(&mut all, &entry.gvk, entry.schema.openapi());
        add_selectable(&mut all, entry);
        if entry.verbs.contains(&"list") {
            let (name, list) = list(entry);
            all.insert(name, list);
        }
    }
    for sub in version.entries.iter().flat_map(|entry| &entry.subresources) {
        // A kind that is also served as a resource already has a definition.
        if all.contains_key(&names::definition(&sub.gvk)) {
            continue;
        }
        match sub.schema {
            Some(schema) => add(&mut all, &sub.gvk, schema.openapi()),
            None => add(
                &mut all,
                &sub.gvk,
                &json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            ),
        }
    }
    all
}

fn add(all: &mut BTreeMap<String, Value>, gvk: &Gvk, schema: &Value) {
    let mut schema = schema.clone();
    schema[GVK] = json!([gvk_value(gvk)]);
    all.insert(names::definition(gvk), schema);
}

/// Adds the selectable fields to the definition of `entry`, as kube-apiserver does for custom resources.
fn add_selectable(all: &mut BTreeMap<String, Value>, entry: &Entry<'_>) {
    if entry.info.strategic_merge_patch {
        return;
    }
    let fields = crd::selectable_fields(entry.kind, entry.schema.openapi());
    let fields: Vec<Value> = fields.map(|path| json!({"fieldPath": path})).collect();
    if let (false, Some(schema)) = (fields.is_empty(), all.get_mut(&names::definition(&entry.gvk))) {
        schema[SELECTABLE] = fields.into();
    }
}

/// Returns the name and the definition of the list of `entry`.
fn list(entry: &Entry<'_>) -> (String, Value) {
    let own = names::definition(&entry.gvk);
    let kind = format!("{}List", entry.gvk.kind);
    let schema = json!({
        "description": format!("A list of {} objects.", entry.gvk.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": "The API group and version of the list."},
            "items": {"type": "array", "items": reference(&own), "description": "The objects."},
            "kind": {"type": "string", "description": "The kind of the list."},
            "metadata": with_description(reference(LIST_META), "Standard list metadata."),
        },
        GVK: [gvk_value(&Gvk { kind, ..entry.gvk.clone() })],
    });
    (format!("{own}List"), schema)
}

fn with_description(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

/// Returns the definitions of `meta/v1` that every document has.
fn common() -> BTreeMap<String, Value> {
    let definitions = [
        (object_meta::NAME, object_meta::definition().clone()),
        (LIST_META, list_meta()),
        (STATUS, status()),
        (STATUS_DETAILS, status_details()),
        (STATUS_CAUSE, status_cause()),
        (DELETE_OPTIONS, delete_options()),
        (PRECONDITIONS, preconditions()),
        (
            PATCH,
            json!({"type": "object", "description": "A patch in the format of the request's media type."}),
        ),
    ];
    definitions
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn integer(format: &str, description: &str) -> Value {
    json!({"type": "integer", "format": format, "description": description})
}

fn boolean(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

fn core_gvk(kind: &str) -> Value {
    json!([{"group": "", "version": "v1", "kind": kind}])
}

fn list_meta() -> Value {
    json!({
        "type": "object",
        "description": "Standard list metadata: the version of the list, and the token of its next page.",
        "properties": {
            "continue": text("The token to request the next page; empty on the last page."),
            "remainingItemCount": integer(
                "int64",
                "Number of objects after this page; absent if it is not known.",
            ),
            "resourceVersion": text("The version of the list, from which a watch can start."),
            "selfLink": text("Deprecated: no longer set."),
        },
    })
}

fn status() -> Value {
    json!({
        "type": "object",
        "description": "The outcome of a request whose response is not an object.",
        "properties": {
            "apiVersion": text("Always `v1`."),
            "code": integer("int32", "The HTTP status code."),
            "details": with_description(
                reference(STATUS_DETAILS),
                "The object of the request, and the causes of its failure.",
            ),
            "kind": text("Always `Status`."),
            "message": text("The message for people."),
            "metadata": with_description(reference(LIST_META), "Empty."),
            "reason": text("The reason for programs, as a token such as `NotFound`."),
            "status": text("`Success` or `Failure`."),
        },
        GVK: core_gvk("Status"),
    })
}

fn status_details() -> Value {
    json!({
        "type": "object",
        "description": "The object of a request, and the causes of its failure.",
        "properties": {
            "causes": {
                "type": "array", "items": reference(STATUS_CAUSE), "x-kubernetes-list-type": "atomic",
                "description": "The causes of the failure.",
            },
            "group": text("The API group."),
            "kind": text("The kind or resource."),
            "name": text("The name of the object."),
            "retryAfterSeconds": integer("int32", "Number of seconds to wait before a retry."),
            "uid": text("The uid of the object."),
        },
    })
}

fn status_cause() -> Value {
    json!({
        "type": "object",
        "description": "A cause of a failure.",
        "properties": {
            "field": text("The field, as a path from the root of the object."),
            "message": text("The message for people."),
            "reason": text("The reason for programs, as a token such as `FieldValueInvalid`."),
        },
    })
}

fn delete_options() -> Value {
    json!({
        "type": "object",
        "description": "Options of a delete request.",
        "properties": {
            "apiVersion": text("The API version of the options."),
            "dryRun": {
                "type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic",
                "description": "`All` runs every check without deleting the object.",
            },
            "gracePeriodSeconds": integer(
                "int64",
                "Number of seconds for graceful termination before the object is removed.",
            ),
            "kind": text("`DeleteOptions`."),
            "orphanDependents": boolean("Deprecated: use propagationPolicy."),
            "preconditions": with_description(
                reference(PRECONDITIONS),
                "Conditions on the object; if one is not met, the response is 409 Conflict.",
            ),
            "propagationPolicy": text(
                "The deletion policy for the objects that this object owns: `Background`, `Foreground` or `Orphan`.",
            ),
        },
        GVK: core_gvk("DeleteOptions"),
    })
}

fn preconditions() -> Value {
    json!({
        "type": "object",
        "description": "Conditions on the object that must be met before it is deleted.",
        "properties": {
            "resourceVersion": text("The resource version that the object must have."),
            "uid": text("The uid that the object must have."),
        },
    })
}
