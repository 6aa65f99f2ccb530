//! A step of `rows.json` as a request, for runners with a server.

use serde_json::{Value, json};

/// A request of a step.
pub struct ReferenceRequest {
    /// HTTP method.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// Media type of the body.
    pub content: &'static str,
    /// Body of the request.
    pub body: Value,
    /// Whether the resulting object is stored without managed fields: the stored fields then have no owner.
    pub seeds: bool,
}

/// Path of Widgets, or of the Widget `name` if it is not empty.
#[must_use]
pub fn path(version: &str, name: &str) -> String {
    let all = format!("/apis/example.dev/{version}/namespaces/default/widgets");
    match name {
        "" => all,
        name => format!("{all}/{name}"),
    }
}

/// Returns the request of `step` about the Widget `name`, which is `live` if it exists.
///
/// # Panics
/// When the step has no action.
#[must_use]
pub fn asked(step: &Value, name: &str, live: Option<&Value>) -> ReferenceRequest {
    let of = |verb: &'static str| step[verb].as_str().map(|manager| (verb, manager));
    let verbs = ["A", "A!", "MP", "PUT", "POST", "SEED"];
    let (verb, manager) = verbs.into_iter().find_map(of).expect("a step does something");
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

/// Returns the expected status code of `step`; `is_there` is true if the object exists before it.
#[must_use]
pub fn code(step: &Value, is_there: bool) -> u64 {
    let creates = !is_there && step["SEED"].is_null();
    let usual = match step.get("409") {
        Some(_) => 409,
        None => 200 + u64::from(creates),
    };
    step["code"].as_u64().unwrap_or(usual)
}
