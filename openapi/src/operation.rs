//! Operations of a group-version, from which the documents of OpenAPI v2 and v3 are rendered.

use crate::names;
use crate::resource::{Entry, Group, Gvk, Subresource, Version};

/// A query or path parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) r#type: &'static str,
    pub(crate) description: &'static str,
}

const fn parameter(name: &'static str, r#type: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        r#type,
        description,
    }
}

const PRETTY: Parameter = parameter("pretty", "string", "Whether the response is indented.");
const DRY_RUN: Parameter = parameter(
    "dryRun",
    "string",
    "`All` runs every check and returns the result without storing it.",
);
const FIELD_MANAGER: Parameter = parameter(
    "fieldManager",
    "string",
    "The name of the field manager that makes the change: at most 128 printable characters.",
);
const FIELD_VALIDATION: Parameter = parameter(
    "fieldValidation",
    "string",
    "The treatment of unknown and duplicate fields: `Strict` refuses them, `Warn` returns warnings, `Ignore` accepts them silently.",
);
const FORCE: Parameter = parameter(
    "force",
    "boolean",
    "Whether the change takes over fields of other managers. Only for apply patches.",
);
const CONTINUE: Parameter = parameter(
    "continue",
    "string",
    "The token from the previous page, to request the next one.",
);
const FIELD_SELECTOR: Parameter = parameter(
    "fieldSelector",
    "string",
    "A selector that restricts the list by fields. All objects if omitted.",
);
const LABEL_SELECTOR: Parameter = parameter(
    "labelSelector",
    "string",
    "A selector that restricts the list by labels. All objects if omitted.",
);
const LIMIT: Parameter = parameter("limit", "integer", "Maximum number of objects in a page.");
const RESOURCE_VERSION: Parameter = parameter(
    "resourceVersion",
    "string",
    "The resource version from which a watch starts, or to which resourceVersionMatch applies for a list.",
);
const RESOURCE_VERSION_MATCH: Parameter = parameter(
    "resourceVersionMatch",
    "string",
    "The way in which resourceVersion is applied: `Exact` or `NotOlderThan`.",
);
const TIMEOUT: Parameter = parameter(
    "timeoutSeconds",
    "integer",
    "Number of seconds after which the list or watch ends.",
);
const WATCH: Parameter = parameter(
    "watch",
    "boolean",
    "Whether the response is a stream of changes in place of a list.",
);
const BOOKMARKS: Parameter = parameter(
    "allowWatchBookmarks",
    "boolean",
    "Whether a watch may send bookmarks: events with only a newer resource version.",
);
const INITIAL_EVENTS: Parameter = parameter(
    "sendInitialEvents",
    "boolean",
    "Whether a watch starts with the existing objects, followed by a bookmark with the annotation `k8s.io/initial-events-end`.",
);
const GRACE: Parameter = parameter(
    "gracePeriodSeconds",
    "integer",
    "Number of seconds for graceful termination before the object is removed.",
);
const ORPHAN: Parameter = parameter(
    "orphanDependents",
    "boolean",
    "Deprecated: use propagationPolicy.",
);
const PROPAGATION: Parameter = parameter(
    "propagationPolicy",
    "string",
    "The deletion policy for the objects that this object owns: `Background`, `Foreground` or `Orphan`.",
);

const READ: &[Parameter] = &[PRETTY];
const LIST: &[Parameter] = &[
    PRETTY,
    BOOKMARKS,
    CONTINUE,
    FIELD_SELECTOR,
    LABEL_SELECTOR,
    LIMIT,
    RESOURCE_VERSION,
    RESOURCE_VERSION_MATCH,
    INITIAL_EVENTS,
    TIMEOUT,
    WATCH,
];
const WRITE: &[Parameter] = &[PRETTY, DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];
const PATCH: &[Parameter] = &[PRETTY, DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION, FORCE];
const DELETE: &[Parameter] = &[PRETTY, DRY_RUN, GRACE, ORPHAN, PROPAGATION];
const DELETE_COLLECTION: &[Parameter] = &[
    PRETTY,
    CONTINUE,
    DRY_RUN,
    FIELD_SELECTOR,
    GRACE,
    LABEL_SELECTOR,
    LIMIT,
    ORPHAN,
    PROPAGATION,
    RESOURCE_VERSION,
    RESOURCE_VERSION_MATCH,
    TIMEOUT,
];

/// The path parameter `name`.
pub(crate) const NAME: Parameter = parameter("name", "string", "The name of the object.");
/// The path parameter `namespace`.
pub(crate) const NAMESPACE: Parameter = parameter("namespace", "string", "The namespace of the object.");

/// Media types of patches. Server-side apply, the first type, and strategic merge patches, the last type, are
/// not supported for all kinds.
const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// Returns the body of a patch, with the media types that a kind supports.
fn patches(apply: bool, strategic: bool) -> Body {
    Body::Patch(&PATCHES[usize::from(!apply)..3 + usize::from(strategic)])
}

/// Body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    None,
    /// An object of the named definition.
    Object(String),
    /// DeleteOptions, which may be omitted.
    DeleteOptions,
    /// A patch, with the accepted media types.
    Patch(&'static [&'static str]),
}

/// An operation: a method of a path.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) path: String,
    pub(crate) method: &'static str,
    /// Value of `x-kubernetes-action`.
    pub(crate) action: &'static str,
    pub(crate) id: String,
    pub(crate) tag: String,
    pub(crate) description: String,
    pub(crate) gvk: Gvk,
    pub(crate) query: &'static [Parameter],
    pub(crate) body: Body,
    /// Name of the definition of the response.
    pub(crate) response: String,
}

impl Operation {
    /// Returns the parameters in the path.
    pub(crate) fn path_parameters(path: &str) -> Vec<Parameter> {
        let mut list = Vec::new();
        if path.contains("/{name}") {
            list.push(NAME);
        }
        if path.contains("/{namespace}") {
            list.push(NAMESPACE);
        }
        list
    }

    /// Returns the status codes of success.
    pub(crate) fn codes(&self) -> &'static [(&'static str, &'static str)] {
        match self.method {
            "post" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
            "put" | "patch" => &[("200", "OK"), ("201", "Created")],
            "delete" if self.action == "delete" => &[("200", "OK"), ("202", "Accepted")],
            _ => &[("200", "OK")],
        }
    }
}

/// HTTP method and names of a verb in operations, and its query parameters.
struct Verb {
    method: &'static str,
    action: &'static str,
    word: &'static str,
    query: &'static [Parameter],
}

fn verb(name: &str) -> Option<Verb> {
    let verb = |method, action, word, query| {
        Some(Verb {
            method,
            action,
            word,
            query,
        })
    };
    match name {
        "get" => verb("get", "get", "read", READ),
        "list" => verb("get", "list", "list", LIST),
        "create" => verb("post", "post", "create", WRITE),
        "update" => verb("put", "put", "replace", WRITE),
        "patch" => verb("patch", "patch", "patch", PATCH),
        "delete" => verb("delete", "delete", "delete", DELETE),
        "deletecollection" => verb(
            "delete",
            "deletecollection",
            "deleteCollection",
            DELETE_COLLECTION,
        ),
        // A watch is a list with `watch=true`, and has no operation of its own.
        _ => None,
    }
}

/// Returns every operation of `version`.
pub(crate) fn operations(group: &Group<'_>, version: &Version<'_>) -> Vec<Operation> {
    let root = format!("/{}/{}", group.root(), version.name);
    let mut list = Vec::new();
    for entry in &version.entries {
        let namespace_part = if entry.info.namespaced() {
            "/namespaces/{namespace}"
        } else {
            ""
        };
        let collection = format!("{root}{namespace_part}/{}", entry.info.plural);
        let item = format!("{collection}/{{name}}");
        for &name in &entry.verbs {
            let path = if matches!(name, "list" | "create" | "deletecollection") {
                &collection
            } else {
                &item
            };
            list.extend(operation(entry, name, path.clone()));
        }
        if entry.verbs.contains(&"create") && !entry.verbs.contains(&"patch") {
            list.extend(operation(entry, "patch", item.clone()).map(unserved_patch));
        }
        if entry.info.namespaced() && entry.verbs.contains(&"list") {
            list.extend(
                operation(entry, "list", format!("{root}/{}", entry.info.plural)).map(for_all_namespaces),
            );
        }
        for sub in &entry.subresources {
            let path = format!("{item}/{}", sub.name);
            list.extend(
                sub.verbs
                    .iter()
                    .filter_map(|name| subresource_operation(entry, sub, name, path.clone())),
            );
        }
    }
    list
}

/// Adds to the description of a patch operation that the server refuses it, for kinds that can only be
/// created. kubectl learns from the patch operation of a kind whether the server validates fields. Without
/// the operation, kubectl lists CustomResourceDefinitions, which most users may not do, and fails.
fn unserved_patch(mut operation: Operation) -> Operation {
    operation.description.push_str(
        " (refused with 405: the resource can only be created; described because clients look here for fieldValidation)",
    );
    operation
}

fn for_all_namespaces(mut operation: Operation) -> Operation {
    operation.id = operation.id.replacen("Namespaced", "", 1) + "ForAllNamespaces";
    operation.description.push_str(" of all namespaces");
    operation
}

fn operation(entry: &Entry<'_>, name: &str, path: String) -> Option<Operation> {
    let verb = verb(name)?;
    let definition = names::definition(&entry.gvk);
    let response = match name {
        "list" => format!("{definition}List"),
        "delete" | "deletecollection" => crate::definitions::STATUS.to_owned(),
        _ => definition.clone(),
    };
    let id = id(entry, verb.word, entry.info.kind);
    let description = format!("{} {}", verb.word, entry.info.kind);
    Some(Operation {
        path,
        method: verb.method,
        action: verb.action,
        id,
        tag: names::tag(&entry.gvk.group, &entry.gvk.version),
        description,
        gvk: entry.gvk.clone(),
        query: verb.query,
        body: body(
            name,
            definition,
            patches(
                entry.apply && entry.verbs.contains(&"patch"),
                entry.info.strategic_merge_patch,
            ),
        ),
        response,
    })
}

fn subresource_operation(
    entry: &Entry<'_>,
    sub: &Subresource<'_>,
    name: &str,
    path: String,
) -> Option<Operation> {
    let verb = verb(name)?;
    let definition = names::definition(&sub.gvk);
    let id = id(
        entry,
        verb.word,
        &format!("{}{}", entry.info.kind, names::camel(sub.name)),
    );
    let description = format!("{} {} of {}", verb.word, sub.name, entry.info.kind);
    Some(Operation {
        path,
        method: verb.method,
        action: verb.action,
        id,
        tag: names::tag(&entry.gvk.group, &entry.gvk.version),
        description,
        gvk: sub.gvk.clone(),
        query: verb.query,
        body: body(
            name,
            definition.clone(),
            patches(sub.apply, entry.info.strategic_merge_patch),
        ),
        response: definition,
    })
}

fn body(verb: &str, definition: String, patches: Body) -> Body {
    match verb {
        "create" | "update" => Body::Object(definition),
        "patch" => patches,
        "delete" | "deletecollection" => Body::DeleteOptions,
        _ => Body::None,
    }
}

/// Returns the id of an operation, such as `listSchedulingBerthDevV1alpha1NamespacedDecision`.
fn id(entry: &Entry<'_>, word: &str, subject: &str) -> String {
    let group = names::group_part(&entry.gvk.group);
    let version = names::camel(&entry.gvk.version);
    let namespaced = if entry.info.namespaced() { "Namespaced" } else { "" };
    let collection = word.strip_suffix("Collection");
    let (word, kind) = collection.map_or((word, ""), |word| (word, "Collection"));
    format!("{word}{group}{version}{kind}{namespaced}{subject}")
}
