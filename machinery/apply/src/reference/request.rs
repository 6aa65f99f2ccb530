//! The HTTP requests of the reference sequences, for tests that play the sequences on an API server.
//! [`crate::reference`] describes the sequences, which are in `rows.json`, and the fields of their steps.

use serde_json::{Value, json};

/// Request of a step.
pub struct ReferenceRequest {
    /// HTTP method.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// Media type of the request's body.
    pub media_type: &'static str,
    /// Body of the request.
    pub body: Value,
    /// Whether the test then stores the resulting object without managed fields, so that no field has an
    /// owner.
    pub clears_managed_fields: bool,
}

/// Action of a step. The step has the field manager at the action's key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Server-side apply.
    Apply,
    /// Server-side apply that takes over fields of other managers.
    ForcedApply,
    /// JSON merge patch.
    MergePatch,
    /// PUT of the stored object, with the changes of the step.
    Replace,
    /// POST.
    Create,
    /// POST of an object whose managed fields are then cleared.
    CreateWithoutOwners,
}

impl Action {
    const ALL: [Self; 6] = [
        Self::Apply,
        Self::ForcedApply,
        Self::MergePatch,
        Self::Replace,
        Self::Create,
        Self::CreateWithoutOwners,
    ];

    /// Key of the action in a step.
    const fn key(self) -> &'static str {
        match self {
            Self::Apply => "A",
            Self::ForcedApply => "A!",
            Self::MergePatch => "MP",
            Self::Replace => "PUT",
            Self::Create => "POST",
            Self::CreateWithoutOwners => "SEED",
        }
    }

    /// Method and media type of the request.
    const fn method_and_media_type(self) -> (&'static str, &'static str) {
        match self {
            Self::Apply | Self::ForcedApply => ("PATCH", "application/apply-patch+yaml"),
            Self::MergePatch => ("PATCH", "application/merge-patch+json"),
            Self::Replace => ("PUT", "application/json"),
            Self::Create | Self::CreateWithoutOwners => ("POST", "application/json"),
        }
    }
}

/// Returns the path of the Widget `name`, or of all Widgets if `name` is empty.
#[must_use]
pub fn path(version: &str, name: &str) -> String {
    let all = format!("/apis/example.dev/{version}/namespaces/default/widgets");
    match name {
        "" => all,
        name => format!("{all}/{name}"),
    }
}

/// Converts `step` to its request about the Widget `name`. `live` is the Widget before the step, if it
/// exists.
///
/// # Panics
/// When the step has no action.
#[must_use]
pub fn from_step(step: &Value, name: &str, live: Option<&Value>) -> ReferenceRequest {
    let with_manager = |action: Action| Some((action, step[action.key()].as_str()?));
    let mut actions = Action::ALL.into_iter();
    let (action, manager) = actions.find_map(with_manager).expect("a step has an action");
    let version = step["version"].as_str().unwrap_or("v1");
    let (method, media_type) = action.method_and_media_type();
    let mut path = path(version, if method == "POST" { "" } else { name });
    if let Some(subresource) = step["to"].as_str() {
        path.extend(["/", subresource]);
    }
    path.extend(["?fieldManager=", manager]);
    if action == Action::ForcedApply {
        path.push_str("&force=true");
    }
    if step["dryRun"] == true {
        path.push_str("&dryRun=All");
    }
    let new = json!({
        "apiVersion": format!("example.dev/{version}"), "kind": "Widget", "metadata": {"name": name},
    });
    let replaced = live.filter(|_| action == Action::Replace);
    ReferenceRequest {
        method,
        path,
        media_type,
        body: body(step, replaced.cloned().unwrap_or(new)),
        clears_managed_fields: action == Action::CreateWithoutOwners,
    }
}

/// Returns `object` with the fields that `step` sends.
fn body(step: &Value, mut object: Value) -> Value {
    for part in ["spec", "status"] {
        if let Some(value) = step.get(part) {
            object[part] = value.clone();
        }
    }
    for (field, value) in step["metadata"].as_object().into_iter().flatten() {
        object["metadata"][field] = value.clone();
    }
    if let Some(entries) = step.get("managedFields") {
        object["metadata"]["managedFields"] = entries.clone();
    }
    object
}

/// Returns the status code that `step` names, or otherwise the code of a conflict (409), a create (201) or
/// another success (200). A step has the key `409` if a conflict is expected. `exists` means that the object
/// exists before the step.
#[must_use]
pub fn expected_code(step: &Value, exists: bool) -> u64 {
    // The answer about an object without owners is the answer to the request that clears them.
    let creates = !exists && step[Action::CreateWithoutOwners.key()].is_null();
    let default_code = match step.get("409") {
        Some(_) => 409,
        None => 200 + u64::from(creates),
    };
    step["code"].as_u64().unwrap_or(default_code)
}
