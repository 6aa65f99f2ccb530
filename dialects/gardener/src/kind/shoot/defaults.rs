//! Defaults of a Shoot (docs/systems/gardener.md, "Shoot").

use serde_json::{Map, Value, json};

use super::spec::CLOUD_PROFILE;
use crate::kind::common::minor_version;
use crate::kind::{child, fill};
use crate::names::{DEFAULT_SCHEDULER, GARDEN_NAMESPACE, PROTECTED_TAINT, SEED_NAME_LABEL};

/// The older field for the cloud profile, which only has the name of a CloudProfile.
const OLD_PROFILE_FIELD: &str = "cloudProfileName";

/// Sets the defaults of a shoot: the purpose and the scheduler; the fields for the profile, unless the shoot
/// is being deleted; and, in the namespace `garden`, the toleration of protected seeds.
pub(super) fn set_defaults(root: &mut Map<String, Value>, old: Option<&Value>) {
    let in_garden = root
        .get("metadata")
        .and_then(|metadata| metadata.get("namespace")?.as_str())
        == Some(GARDEN_NAMESPACE);
    let deletion = root
        .get("metadata")
        .and_then(|metadata| metadata.get("deletionTimestamp"));
    let is_deleting = deletion.is_some_and(|at| !at.is_null());
    let Some(spec) = root.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    fill(spec, "purpose", "evaluation");
    fill(spec, "schedulerName", DEFAULT_SCHEDULER);
    if !is_deleting {
        align_profile_fields(spec, old.and_then(|old| old.get("spec")));
    }
    if in_garden {
        tolerate_protected(spec);
    }
}

/// Aligns the two fields for the profile, `cloudProfile` and `cloudProfileName`. The Kubernetes version of
/// the shoot decides: before 1.33 and without a version, both fields are set; in 1.33, `cloudProfileName` is
/// optional; since 1.34, only `cloudProfile` is allowed. A NamespacedCloudProfile can only be in
/// `cloudProfile`.
fn align_profile_fields(spec: &mut Map<String, Value>, old: Option<&Value>) {
    let version = spec
        .get("kubernetes")
        .and_then(|kubernetes| kubernetes.get("version"));
    let version = version.and_then(Value::as_str).and_then(minor_version);
    let has_only_reference = version >= Some((1, 34));
    let old_name = spec
        .get(OLD_PROFILE_FIELD)
        .and_then(Value::as_str)
        .map(str::to_owned);
    if !has_only_reference && let Some(name) = &old_name {
        fill(spec, "cloudProfile", json!({"kind": CLOUD_PROFILE, "name": name}));
    }
    let Some(reference) = spec.get_mut("cloudProfile").and_then(Value::as_object_mut) else {
        return;
    };
    fill(reference, "kind", CLOUD_PROFILE);
    let is_cluster_scoped = reference["kind"] == CLOUD_PROFILE;
    let Some(profile_name) = reference.get("name").and_then(Value::as_str).map(str::to_owned) else {
        return;
    };
    if has_only_reference {
        let stored_name = old.and_then(|old| old.get(OLD_PROFILE_FIELD)?.as_str());
        if is_cluster_scoped
            && old_name.as_deref() == Some(profile_name.as_str())
            && stored_name == Some(profile_name.as_str())
        {
            spec.remove(OLD_PROFILE_FIELD);
        }
    } else if !is_cluster_scoped {
        spec.remove(OLD_PROFILE_FIELD);
    } else if version.is_none_or(|version| version < (1, 33))
        || old_name.is_some_and(|old_name| old_name != profile_name)
    {
        spec.insert(OLD_PROFILE_FIELD.to_owned(), profile_name.into());
    }
}

/// Adds the toleration of protected seeds.
fn tolerate_protected(spec: &mut Map<String, Value>) {
    fill(spec, "tolerations", json!([]));
    let Some(tolerations) = spec.get_mut("tolerations").and_then(Value::as_array_mut) else {
        return;
    };
    // A toleration of this key with a value does not suffice. Of several tolerations with equal keys, the
    // last counts.
    let has_no_value = |toleration: &Value| {
        toleration.get("key").and_then(Value::as_str) == Some(PROTECTED_TAINT)
            && toleration.get("value").is_none_or(Value::is_null)
    };
    if !tolerations.iter().any(has_no_value) {
        tolerations.push(json!({"key": PROTECTED_TAINT}));
    }
}

/// Sets the label `name.seed.gardener.cloud/<seed>=true` for the seeds in the spec and in the status, and
/// removes the labels of other seeds.
pub(super) fn label_seeds(root: &mut Map<String, Value>) {
    let seed = |part: &str| {
        root.get(part)?
            .get("seedName")?
            .as_str()
            .map(|name| format!("{SEED_NAME_LABEL}{name}"))
    };
    let seed_labels: Vec<String> = [seed("spec"), seed("status")].into_iter().flatten().collect();
    let Some(metadata) = child(root, "metadata") else {
        return;
    };
    let has_labels = metadata.get("labels").is_some_and(Value::is_object);
    if seed_labels.is_empty() && !has_labels {
        return;
    }
    let Some(labels) = child(metadata, "labels") else {
        return;
    };
    labels.retain(|key, _| !key.starts_with(SEED_NAME_LABEL) || seed_labels.contains(key));
    for key in seed_labels {
        labels.insert(key, "true".into());
    }
}
