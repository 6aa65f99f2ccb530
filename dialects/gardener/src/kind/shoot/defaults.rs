//! What a Shoot gets that it does not say (docs/systems/gardener.md, "Shoot").

use serde_json::{Map, Value, json};

use crate::kind::{child, fill};
use crate::names::{DEFAULT_SCHEDULER, GARDEN_NAMESPACE, PROTECTED_TAINT, SEED_NAME_LABEL};

/// Purpose, scheduler, the kind of the profile, and what Gardener's own shoots tolerate.
pub(super) fn fill_in(root: &mut Map<String, Value>) {
    let in_garden = root
        .get("metadata")
        .and_then(|metadata| metadata.get("namespace")?.as_str())
        == Some(GARDEN_NAMESPACE);
    let Some(spec) = root.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    fill(spec, "purpose", "evaluation");
    fill(spec, "schedulerName", DEFAULT_SCHEDULER);
    if let Some(reference) = spec.get_mut("cloudProfile").and_then(Value::as_object_mut) {
        fill(reference, "kind", super::spec::CLOUD_PROFILE);
    }
    if in_garden {
        tolerate_protected(spec);
    }
}

fn tolerate_protected(spec: &mut Map<String, Value>) {
    fill(spec, "tolerations", json!([]));
    let Some(tolerations) = spec.get_mut("tolerations").and_then(Value::as_array_mut) else {
        return;
    };
    // One with a value is another toleration; of several for one key the last counts.
    let is_plain = |toleration: &Value| {
        toleration.get("key").and_then(Value::as_str) == Some(PROTECTED_TAINT)
            && toleration.get("value").is_none_or(Value::is_null)
    };
    if !tolerations.iter().any(is_plain) {
        tolerations.push(json!({"key": PROTECTED_TAINT}));
    }
}

/// Writes `name.seed.gardener.cloud/<seed>=true` for the seeds of spec and status, and takes away those of others.
pub(super) fn label_seeds(root: &mut Map<String, Value>) {
    let seed = |part: &str| {
        root.get(part)?
            .get("seedName")?
            .as_str()
            .map(|name| format!("{SEED_NAME_LABEL}{name}"))
    };
    let wanted: Vec<String> = [seed("spec"), seed("status")].into_iter().flatten().collect();
    let Some(metadata) = child(root, "metadata") else {
        return;
    };
    let labelled = metadata.get("labels").is_some_and(Value::is_object);
    if wanted.is_empty() && !labelled {
        return;
    }
    let Some(labels) = child(metadata, "labels") else {
        return;
    };
    labels.retain(|key, _| !key.starts_with(SEED_NAME_LABEL) || wanted.contains(key));
    for key in wanted {
        labels.insert(key, "true".into());
    }
}
