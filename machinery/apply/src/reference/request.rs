//! A step of `rows.json` as a request, for runners with a server.

use serde_json::{Value, json};

/// Request that corresponds to a step.
pub struct ReferenceRequest {
    /// HTTP method.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// Media type of the request's body.
    pub content: &'static str,
    /// Body of the request.
    pub body: Value,
    /// Whether the runner stores the resulting object without managed fields, so that no field has an owner.
    pub seeds: bool,
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
    let action = |verb: &'static str| step[verb].as_str().map(|manager| (verb, manager));
    let verbs = ["A", "A!", "MP", "PUT", "POST", "SEED"];
    let (verb, manager) = verbs.into_iter().find_map(action).expect("a step has an action");
    let version = step["version"].as_str().unwrap_or("v1");
    let mut body = json!({
        "apiVersion": format!("example.dev/{version}"), "kind": "Widget", "metadata": {"name": name},
    });
    if let (Some(live), "PUT") = (live, verb) {
        body = live.clone();
    }
    for part in ["spec", "status"] {
        if let Some(value) = step.get(part) {
            body[part] = value.clone();
        }
    }
    for (name, value) in step["metadata"].as_object().into_iter().flatten() {
        body["metadata"][name] = value.clone();
    }
    if let Some(entries) = step.get("managedFields") {
        body["metadata"]["managedFields"] = entries.clone();
    }
    let (method, content) = match verb {
        "A" | "A!" => ("PATCH", "application/apply-patch+yaml"),
        "MP" => ("PATCH", "application/merge-patch+json"),
        "PUT" => ("PUT", "application/json"),
        _ => ("POST", "application/json"),
    };
    let mut path = path(version, if method == "POST" { "" } else { name });
    if let Some(subresource) = step["to"].as_str() {
        path.extend(["/", subresource]);
    }
    path.extend(["?fieldManager=", manager]);
    path.push_str(if verb == "A!" { "&force=true" } else { "" });
    path.push_str(if step["dryRun"] == true { "&dryRun=All" } else { "" });
    ReferenceRequest {
        method,
        path,
        content,
        body,
        seeds: verb == "SEED",
    }
}

/// Returns the expected status code of `step`. `exists` means that the object exists before the step.
#[must_use]
pub fn code(step: &Value, exists: bool) -> u64 {
    let creates = !exists && step["SEED"].is_null();
    let default_code = match step.get("409") {
        Some(_) => 409,
        None => 200 + u64::from(creates),
    };
    step["code"].as_u64().unwrap_or(default_code)
}
