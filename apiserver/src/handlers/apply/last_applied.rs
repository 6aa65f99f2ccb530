//! Client-side `kubectl apply` stores the applied configuration in an annotation. When kubectl switches to
//! server-side apply, kubectl owns the fields that still have the values of the annotation, even if the
//! server has another manager for them. The annotation is kept current, for a switch back.

use berth_apply::Conflict;
use serde_json::Value;

use super::Cx;

/// Key of the annotation with the configuration that kubectl applied.
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Field manager of kubectl's server-side apply, which takes over the fields of the client-side apply.
const KUBECTL: &str = "kubectl";

/// Size limit of all annotations of an object.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Returns the conflicts that remain after kubectl has taken over the fields that it applied on the client
/// side.
pub(super) fn foreign(cx: &Cx<'_>, live: &Value, conflicts: Vec<Conflict>) -> Vec<Conflict> {
    let Some(before) = last_applied(cx, live) else {
        return conflicts;
    };
    let Ok(own) = cx.served.merge_schema().types.unchanged(&before, live) else {
        return conflicts;
    };
    let remaining = conflicts.into_iter().map(|conflict| Conflict {
        paths: conflict.paths.difference(&own),
        ..conflict
    });
    remaining.filter(|conflict| !conflict.paths.is_empty()).collect()
}

/// Returns the configuration that kubectl applied on the client side; `None` if there is none, if the request
/// is not from kubectl, or if the configuration is not in the version of the request.
fn last_applied(cx: &Cx<'_>, live: &Value) -> Option<Value> {
    let before: Value = serde_json::from_str(annotation(cx, live)?).ok()?;
    (before["apiVersion"] == *cx.served.api_version && before.is_object()).then_some(before)
}

/// Returns the value of the annotation, if the request is from kubectl.
fn annotation<'a>(cx: &Cx<'_>, live: &'a Value) -> Option<&'a str> {
    let text = live["metadata"]["annotations"][ANNOTATION].as_str()?;
    (cx.manager == KUBECTL && !text.is_empty()).then_some(text)
}

/// Sets the annotation to the configuration that kubectl applies now, if the request is from kubectl and the
/// object has the annotation. The managed fields do not change. The annotation is removed if all annotations
/// together become too large.
pub(super) fn update_annotation(cx: &Cx<'_>, live: &Value, config: &Value, applied: &mut Value) {
    if annotation(cx, live).is_none() {
        return;
    }
    let Some(annotations) = applied["metadata"]["annotations"].as_object_mut() else {
        return;
    };
    if !annotations.get(ANNOTATION).is_some_and(Value::is_string) {
        return;
    }
    let mut config = config.clone();
    // An index would insert `null` for what is missing.
    let own = config.pointer_mut("/metadata/annotations");
    if let Some(own) = own.and_then(Value::as_object_mut) {
        own.remove(ANNOTATION);
    }
    annotations.insert(ANNOTATION.to_owned(), format!("{config}\n").into());
    let size = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > ANNOTATIONS_LIMIT {
        annotations.remove(ANNOTATION);
    }
}
